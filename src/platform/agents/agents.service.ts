// Agents: instructions, model and version. agent-state.ts and background checks decide whether one runs.
import type { RequestCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { modelNames, offlineModelName } from '../../gateways/model/create-model.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { findPage, type NamedPageQuery } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf, listerOf } from '../rows.ts';
import { nextState } from './agent-state.ts';
import type { Agent, AgentPatch, NewAgent } from './agents.schemas.ts';
import * as store from './agents.store.ts';

const agentView = (row: store.AgentRow): Agent => ({
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

/** Throws 404 for an unknown agent. */
export const getAgentRow = getterOf(store.findAgent, 'Agent');

const changedMeanwhile = (): AppError =>
  invalid('The agent was changed concurrently', [
    { path: '', code: 'changed_meanwhile', message: 'Read the agent again and repeat the request' },
  ]);

const inAgentTransaction = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    if (!violatesConstraint(error, 'agent_name_is_unique')) throw error;
    throw invalid('Another agent has this name', [
      { path: 'name', code: 'duplicate', message: 'Another agent has this name' },
    ]);
  });

/** Throws 422 for a model that is not configured or a version that is neither published nor deprecated. */
async function assertModelAndVersionExist(
  tx: Tx,
  ctx: RequestCtx,
  { model, apiVersion }: Pick<AgentPatch, 'model' | 'apiVersion'>,
): Promise<void> {
  const names = modelNames(ctx.settings);
  const details = [];
  if (model !== undefined && !names.includes(model))
    details.push({
      path: 'model',
      code: 'unknown_model',
      message: `Unknown model. Available: ${names.join(', ')}`,
    });
  const status =
    apiVersion === undefined
      ? 'published'
      : await store.findVersionStatus(tx, ctx.organizationId, apiVersion);
  if (status !== 'published' && status !== 'deprecated')
    details.push({
      path: 'apiVersion',
      code: 'version_not_served',
      message: 'Must be a published or deprecated version',
    });
  if (details.length > 0) throw invalid('Unknown model or API version', details);
}

export function listAgentModels(ctx: RequestCtx, query: NamedPageQuery) {
  const models = modelNames(ctx.settings).map((name, index) => ({
    name,
    isDefault: index === 0,
    builtIn: name === offlineModelName,
  }));
  return findPage(models, query, ({ name }) => [name]);
}

export const listAgents = listerOf(store.listAgents, agentView);

/** Throws 404 for an unknown agent. */
export const getAgent = (ctx: RequestCtx, id: string): Promise<Agent> =>
  inTransaction(ctx, async (tx) => agentView(await getAgentRow(tx, ctx, id)));

/** Starts a check. Throws 422 for an unknown model or version, a duplicate name, or at the quota. */
export async function createAgent(ctx: RequestCtx, input: NewAgent): Promise<Agent> {
  const { apiVersion, model = modelNames(ctx.settings)[0] ?? offlineModelName, ...texts } = input;
  return inAgentTransaction(ctx, async (tx) => {
    await assertModelAndVersionExist(tx, ctx, { model, apiVersion });
    const id = createId();
    await assertQuota(tx, ctx, 'agents');
    await store.insertAgent(tx, ctx.organizationId, { id, ...texts, model, api_version: apiVersion });
    await writeAudit(tx, ctx, 'agent.create', ['agent', id], { ...texts, model, apiVersion });
    return agentView(await getAgentRow(tx, ctx, id));
  });
}

/** Another model or version restarts it. Throws 404, 422 if unknown, a taken name, a concurrent change. */
export async function updateAgent(ctx: RequestCtx, id: string, change: AgentPatch): Promise<Agent> {
  const { name, description, instructions, model, apiVersion } = change;
  return inAgentTransaction(ctx, async (tx) => {
    const row = await getAgentRow(tx, ctx, id);
    await assertModelAndVersionExist(tx, ctx, change);
    await store.updateAgent(tx, ctx.organizationId, id, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description: description ?? '' }),
      ...(instructions !== undefined && { instructions: instructions ?? '' }),
      ...(model !== undefined && { model }),
      ...(apiVersion !== undefined && { api_version: apiVersion }),
    });
    const isAnother =
      (model ?? row.model) !== row.model || (apiVersion ?? row.api_version) !== row.api_version;
    const to = isAnother ? nextState(row.status, 'change') : undefined;
    if (to !== undefined && !(await store.updateAgentState(tx, ctx.organizationId, row, to)))
      throw changedMeanwhile();
    await writeAudit(tx, ctx, 'agent.update', ['agent', id], { ...change });
    return agentView(await getAgentRow(tx, ctx, id));
  });
}

/** Throws 404 for an unknown agent. */
export const deleteAgent = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { name } = await getAgentRow(tx, ctx, id);
    if ((await store.deleteAgent(tx, ctx.organizationId, id)) === 0) throw notFound('Agent');
    await writeAudit(tx, ctx, 'agent.delete', ['agent', id], { name });
  });

/** Transitions requested by callers. Throws 404, 422 `illegal_transition` or `changed_meanwhile`. */
export async function transitionAgent(
  ctx: RequestCtx,
  id: string,
  event: 'start' | 'restart' | 'stop',
): Promise<Agent> {
  return inTransaction(ctx, async (tx) => {
    const row = await getAgentRow(tx, ctx, id);
    const to = nextState(row.status, event);
    if (to === undefined) {
      const message = `The agent is ${row.status}: "${event}" is not possible in this state`;
      throw invalid(message, [{ path: '', code: 'illegal_transition', message }]);
    }
    if (!(await store.updateAgentState(tx, ctx.organizationId, row, to))) throw changedMeanwhile();
    await writeAudit(tx, ctx, `agent.${event}`, ['agent', id], { status: { from: row.status, to } });
    return agentView(await getAgentRow(tx, ctx, id));
  });
}
