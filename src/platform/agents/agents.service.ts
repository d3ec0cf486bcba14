// Agents: what they are told and which version they read. Whether they run is decided by the table of states and found out by checks
// behind the answer.
import type { RequestCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { modelNames, offlineName } from '../../gateways/model/open-model.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { makeRoom } from '../room.ts';
import { checkInBackground } from './agent-checks.ts';
import { isBeingChecked, nextState } from './agent-state.ts';
import type { AgentChanges, AgentInput, AgentShown } from './agents.schemas.ts';
import * as store from './agents.store.ts';

const shown = (row: store.AgentRow): AgentShown => ({
  id: row.id,
  name: row.name,
  description: row.description,
  instructions: row.instructions,
  model: row.model,
  apiVersion: row.api_version,
  status: row.status,
  statusReason: row.status_reason,
  lastStartedAt: instantOrNull(row.last_started_at),
  creditsUsed: Number(row.credits_used),
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

export async function getAgentRow(tx: Tx, ctx: RequestCtx, id: string): Promise<store.AgentRow> {
  const row = await store.findAgent(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Agent');
  return row;
}

const changedMeanwhile = (): AppError =>
  invalid('The agent changed in this moment', [{ path: '', code: 'changed_meanwhile', message: 'Look at it again and repeat the call' }]);

const inOne = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    if (!violates(error, 'agent_name_is_unique')) throw error;
    throw invalid('Another agent has this name', [{ path: 'name', code: 'duplicate', message: 'Another agent has this name' }]);
  });

/** What an agent names must be there when it is named. */
async function checkNamed(tx: Tx, ctx: RequestCtx, { model, apiVersion }: Pick<AgentChanges, 'model' | 'apiVersion'>): Promise<void> {
  const names = modelNames(ctx.settings);
  const details = [];
  if (model !== undefined && !names.includes(model))
    details.push({ path: 'model', code: 'unknown_model', message: `There is no such model here; there are: ${names.join(', ')}` });
  const status = apiVersion === undefined ? 'published' : await store.findVersionStatus(tx, ctx.organizationId, apiVersion);
  if (status !== 'published' && status !== 'deprecated')
    details.push({ path: 'apiVersion', code: 'version_not_served', message: 'Name a published or deprecated version' });
  if (details.length > 0) throw invalid('The agent names what is not there', details);
}

export const listModels = (ctx: RequestCtx, page: PageQuery) => {
  const names = modelNames(ctx.settings);
  const from = (page.page - 1) * page.pageSize;
  const models = names.map((name, index) => ({ name, isDefault: index === 0, builtIn: name === offlineName }));
  return toPage(models.slice(from, from + page.pageSize), names.length, page);
};

export const listAgents = (ctx: RequestCtx, page: PageQuery, filters: store.AgentFilters) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listAgents(tx, ctx.organizationId, page, filters);
    return toPage(rows.map(shown), total, page);
  });

export const getAgent = (ctx: RequestCtx, id: string): Promise<AgentShown> =>
  inTransaction(ctx, async (tx) => shown(await getAgentRow(tx, ctx, id)));

export async function createAgent(ctx: RequestCtx, input: AgentInput): Promise<AgentShown> {
  const { apiVersion, model = modelNames(ctx.settings)[0] ?? offlineName, ...texts } = input;
  const made = await inOne(ctx, async (tx) => {
    await checkNamed(tx, ctx, { model, apiVersion });
    const id = newId();
    await makeRoom(tx, ctx, 'agents');
    await store.insertAgent(tx, ctx.organizationId, { id, ...texts, model, api_version: apiVersion });
    await writeAudit(tx, ctx, { action: 'agent.create', target: { type: 'agent', id }, changes: { ...texts, model, apiVersion } });
    return shown(await getAgentRow(tx, ctx, id));
  });
  checkInBackground(ctx);
  return made;
}

export async function changeAgent(ctx: RequestCtx, id: string, change: AgentChanges): Promise<AgentShown> {
  const { name, description, instructions, model, apiVersion } = change;
  const changed = await inOne(ctx, async (tx) => {
    const row = await getAgentRow(tx, ctx, id);
    await checkNamed(tx, ctx, change);
    await store.updateAgent(tx, ctx.organizationId, id, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description: description ?? '' }),
      ...(instructions !== undefined && { instructions: instructions ?? '' }),
      ...(model !== undefined && { model }),
      ...(apiVersion !== undefined && { api_version: apiVersion }),
    });
    const isAnother = (model ?? row.model) !== row.model || (apiVersion ?? row.api_version) !== row.api_version;
    const to = isAnother ? nextState(row.status, 'change') : undefined;
    if (to !== undefined && !(await store.moveAgent(tx, ctx.organizationId, row, to))) throw changedMeanwhile();
    await writeAudit(tx, ctx, { action: 'agent.update', target: { type: 'agent', id }, changes: { ...change } });
    return shown(await getAgentRow(tx, ctx, id));
  });
  if (isBeingChecked(changed.status)) checkInBackground(ctx);
  return changed;
}

export const deleteAgent = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { name } = await getAgentRow(tx, ctx, id);
    if ((await store.deleteAgent(tx, ctx.organizationId, id)) === 0) throw notFound('Agent');
    await writeAudit(tx, ctx, { action: 'agent.delete', target: { type: 'agent', id }, changes: { name } });
  });

/** What people ask for. Throws 422 where the state doesn't allow it. */
export async function steerAgent(ctx: RequestCtx, id: string, event: 'start' | 'restart' | 'stop'): Promise<AgentShown> {
  const moved = await inTransaction(ctx, async (tx) => {
    const row = await getAgentRow(tx, ctx, id);
    const to = nextState(row.status, event);
    if (to === undefined) {
      const message = `The agent is ${row.status}: "${event}" leads nowhere from there`;
      throw invalid(message, [{ path: '', code: 'illegal_transition', message }]);
    }
    if (!(await store.moveAgent(tx, ctx.organizationId, row, to))) throw changedMeanwhile();
    await writeAudit(tx, ctx, { action: `agent.${event}`, target: { type: 'agent', id }, changes: { status: { from: row.status, to } } });
    return shown(await getAgentRow(tx, ctx, id));
  });
  if (isBeingChecked(moved.status)) checkInBackground(ctx);
  return moved;
}
