// Rows of agents. State changes go through `updateAgentState`, which reports whether the expected state held.
import type { Knex } from 'knex';
import { containsSql } from '../../core/text/folded-text.ts';
import { rescheduleJob } from '../../db/jobs.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { SchemaDocument } from '../../public/index.ts';
import { type AgentStatus, isBeingChecked } from './agent-state.ts';

export type AgentRow = {
  id: string;
  name: string;
  description: string;
  instructions: string;
  model: string;
  api_version: string;
  status: AgentStatus;
  status_reason: string | null;
  epoch: number;
  last_started_at: Date | null;
  credits_used: string;
  created_at: Date;
  updated_at: Date;
};

const selectAgents = (tx: Tx, organizationId: string): Knex.QueryBuilder =>
  tx('agents as a')
    .where('a.organization_id', organizationId)
    .select(
      'a.id',
      'a.name',
      'a.description',
      'a.instructions',
      'a.model',
      'a.api_version',
      'a.status',
      'a.status_reason',
      'a.epoch',
    )
    .select('a.last_started_at', 'a.created_at', 'a.updated_at')
    .select(
      tx.raw(`(select coalesce(sum(e.credits), 0) from agent_credit_entries e where e.organization_id = a.organization_id
        and e.agent_id = a.id and e.month = date_trunc('month', now() at time zone 'UTC')::date) as credits_used`),
    );

export type AgentFilters = { readonly q?: string | undefined; readonly status?: AgentStatus | undefined };

export function listAgents(tx: Tx, organizationId: string, page: PageQuery, { q, status }: AgentFilters) {
  const query = selectAgents(tx, organizationId).orderBy(newestFirst('a.created_at', 'a.id'));
  if (q !== undefined) query.whereRaw(containsSql('a.name'), [q]);
  if (status !== undefined) query.where('a.status', status);
  return readPage<AgentRow>(query, page);
}

export const findAgent = async (tx: Tx, organizationId: string, id: string): Promise<AgentRow | undefined> =>
  (await selectAgents(tx, organizationId).where('a.id', id).first()) as AgentRow | undefined;

/** An agent with the resources of its version. */
export type AgentVersion = Pick<AgentRow, 'id' | 'status'> & {
  readonly version: string;
  readonly versionStatus: string;
  readonly endpoints: SchemaDocument['endpoints'];
};

export const findAgentVersion = (tx: Tx, organizationId: string, id: string) =>
  tx('agents as a')
    .join('api_schemas as s', { 's.organization_id': 'a.organization_id', 's.version': 'a.api_version' })
    .where({ 'a.organization_id': organizationId, 'a.id': id })
    .first<AgentVersion | undefined>(
      'a.id',
      'a.status',
      'a.api_version as version',
      's.status as versionStatus',
      's.endpoints',
    );

type Columns = Pick<AgentRow, 'name' | 'description' | 'instructions' | 'model' | 'api_version'>;
export async function insertAgent(tx: Tx, organizationId: string, row: Columns & Pick<AgentRow, 'id'>) {
  await tx('agents').insert({ ...row, organization_id: organizationId });
  await requestCheck(tx, organizationId, row.id);
}
/** A check in progress no longer counts. */
const requestCheck = (tx: Tx, organizationId: string, id: string): Promise<void> =>
  rescheduleJob(tx, { kind: 'agent_checks', organizationId, key: id }, 0);
export const updateAgent = async (tx: Tx, organizationId: string, id: string, change: Partial<Columns>) =>
  tx('agents')
    .where({ organization_id: organizationId, id })
    .update({ ...change, updated_at: tx.fn.now() });
export const deleteAgent = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('agents').where({ organization_id: organizationId, id }).delete();

/**
 * Compares the epoch: false when the agent's state has changed since `from` was read. `reason` is only for
 * `failed`. A state that begins with a check requests it.
 */
export async function updateAgentState(
  tx: Tx,
  organizationId: string,
  from: Pick<AgentRow, 'id' | 'epoch'>,
  to: AgentStatus,
  reason: string | null = null,
): Promise<boolean> {
  const moved = await tx('agents')
    .where({ organization_id: organizationId, id: from.id, epoch: from.epoch })
    .update({
      status: to,
      status_reason: reason,
      epoch: from.epoch + 1,
      ...(to === 'running' && { last_started_at: tx.raw('clock_timestamp()') }),
      ...(isBeingChecked(to) && { updated_at: tx.raw('clock_timestamp()') }),
    });
  if (moved === 1 && isBeingChecked(to)) await requestCheck(tx, organizationId, from.id);
  return moved === 1;
}

/** Undefined when no version has this label. */
export async function findVersionStatus(tx: Tx, organizationId: string, version: string) {
  const row = await tx('api_schemas')
    .where({ organization_id: organizationId, version })
    .whereLike('version', 'v%')
    .first<{ status: string } | undefined>('status');
  return row?.status;
}
