// Decides, as part of publishing, which absent records are deleted and which wait in a proposal for approval. Records that the ERP lists
// as deleted, or whose deletion was approved, are deleted; merely absent ones only when there are few.
import type { PoolClient } from 'pg';
import { createId } from '../core/id.ts';
import type { RunState } from './run-state-row.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

/** Up to this many unconfirmed deletions are always carried out, however small the table. */
const alwaysDeletable = 20;

export type DeletionRules = {
  readonly deletions: 'feed' | 'reconcile' | 'none';
  readonly maxDeleteShare: number;
};
export type DeletionDecision = {
  readonly remove: readonly string[];
  /** Absent records that stay, listed by a proposal: `open` (waits for approval) or `kept` (the configuration deletes nothing). */
  readonly stay: readonly string[];
};

const maxDeletions = (rowCount: string, share: number): number => Math.max(alwaysDeletable, Math.floor(Number(rowCount) * share));

/**
 * `confirmed`: ids that the ERP lists as deleted or whose deletion was approved. With `feed`, absence alone deletes nothing unless the ERP
 * hides its deletion feed. Pure.
 */
export function decideDeletions(
  absent: readonly string[],
  confirmed: ReadonlySet<string>,
  rowCount: string,
  { deletions, maxDeleteShare }: DeletionRules,
  feed: RunState['plan']['feed'],
): DeletionDecision {
  if (deletions === 'none') return { remove: [], stay: absent };
  const unconfirmed = absent.filter((id) => !confirmed.has(id));
  const mayDeleteUnconfirmed = deletions === 'reconcile' || feed === 'hidden';
  if (mayDeleteUnconfirmed && unconfirmed.length <= maxDeletions(rowCount, maxDeleteShare)) return { remove: absent, stay: [] };
  return { remove: absent.filter((id) => confirmed.has(id)), stay: unconfirmed };
}

type RunTarget = { readonly client: PoolClient; readonly schema: string; readonly state: RunState };

/** The run's absent ids that the ERP lists as deleted or whose deletion was approved. */
export async function readConfirmedIds({ client, schema, state }: RunTarget): Promise<Set<string>> {
  const { rows } = await client.query<{ id: string }>(`select id from ${schema}.staged_deletions where run_id = $1 and proof <> 'absent'`, [
    state.runId,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Ids that the run found absent and that the table has. */
export async function readAbsentIds({ client, schema, state }: RunTarget, table: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select d.id from ${schema}.staged_deletions d where d.run_id = $1
     and exists (select from ${schema}.${quoteIdentifier(table)} t where t.id = d.id::${state.plan.idType === 'integer' ? 'bigint' : 'text'}) order by d.id`,
    [state.runId],
  );
  return rows.map(({ id }) => id);
}

type OpenProposal = { id: string; ids: string[]; status: 'open' | 'kept' };

const haveSameIds = (a: readonly string[], b: readonly string[]): boolean => {
  const ids = new Set(a);
  return a.length === b.length && b.every((id) => ids.has(id));
};

async function closeProposal({ client, schema }: RunTarget, id: string, status: 'superseded' | 'applied'): Promise<void> {
  await client.query(`update ${schema}.deletion_proposals set status = $2, closed_at = now() where id = $1`, [id, status]);
}

/** After a scan, which supersedes earlier ones. The same ids keep their proposal, so that an approval under way still finds it. */
async function replaceProposal(
  target: RunTarget,
  before: OpenProposal | undefined,
  ids: readonly string[],
  rules: DeletionRules,
  rows: string,
) {
  const { client, schema, state } = target;
  const status = rules.deletions === 'none' ? 'kept' : 'open';
  if (before !== undefined && before.status === status && haveSameIds(before.ids, ids)) return before.id;
  if (before !== undefined) await closeProposal(target, before.id, 'superseded');
  if (ids.length === 0) return null;
  const id = createId();
  const evidence = {
    runId: state.runId,
    mode: state.plan.mode,
    erpStartedAt: state.counters.erpStartedAt,
    rows: Number(rows),
    allowed: rules.deletions === 'reconcile' ? maxDeletions(rows, rules.maxDeleteShare) : 0,
    feed: state.plan.feed,
  };
  await client.query(`insert into ${schema}.deletion_proposals (id, record_type, ids, evidence, status) values ($1, $2, $3, $4, $5)`, [
    id,
    state.recordType,
    ids,
    JSON.stringify(evidence),
    status,
  ]);
  return id;
}

/** Without a scan the open proposal stays, and this counts what is left of it after the run's reads and deletions. */
async function keepProposal(target: RunTarget, before: OpenProposal, table: string, removed: readonly string[]) {
  const { client, schema, state } = target;
  const { rows } = await client.query<{ count: string }>(
    `select count(*) from unnest($1::text[]) p(id) where p.id <> all($3::text[])
     and exists (select from ${schema}.${quoteIdentifier(table)} t where t.id = p.id::${state.plan.idType === 'integer' ? 'bigint' : 'text'})
     and not exists (select from ${schema}.${quoteIdentifier(stagingTable(state.recordType))} s where s.run_id = $2 and s.id::text = p.id)`,
    [before.ids, state.runId, removed],
  );
  const held = Number(rows[0]?.count ?? 0);
  if (held === 0) await closeProposal(target, before.id, 'superseded');
  return held;
}

/** Closes, replaces or keeps the proposals of the record type. Returns how many records are held back, and the proposal that lists them. */
export async function updateProposals(
  target: RunTarget,
  table: string,
  { remove, stay }: DeletionDecision,
  rules: DeletionRules,
  rowCount: string,
): Promise<{ held: number; proposalId: string | null }> {
  const { client, schema, state } = target;
  for (const id of state.plan.approved) await closeProposal(target, id, 'applied');
  await client.query(`delete from ${schema}.deletion_proposals where record_type = $1 and closed_at < now() - interval '30 days'`, [
    state.recordType,
  ]);
  const { rows } = await client.query<OpenProposal>(
    `select id, ids, status from ${schema}.deletion_proposals where record_type = $1 and status in ('open', 'kept') for update`,
    [state.recordType],
  );
  const before = rows[0];
  const complete = state.plan.mode === 'full' || state.plan.scanned;
  if (complete) {
    const proposalId = await replaceProposal(target, before, stay, rules, rowCount);
    return rules.deletions === 'none' ? { held: 0, proposalId: null } : { held: stay.length, proposalId };
  }
  if (before === undefined || before.status === 'kept') return { held: 0, proposalId: null };
  const held = await keepProposal(target, before, table, remove);
  return { held, proposalId: held === 0 ? null : before.id };
}
