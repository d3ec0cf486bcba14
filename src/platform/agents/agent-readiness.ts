// Checks whether an agent can work: its model is configured and responds, its version is served, and each of
// its resources can be read. A problem is a sentence for the people who manage the agent.
import { z } from 'zod';
import type { Ctx, ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { fullAccess } from '../../core/record-access.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { createModel, modelNames } from '../../gateways/model/create-model.ts';
import { ModelError } from '../../gateways/model/model.ts';
import { createVersionTools, getRecordTools } from '../../public/index.ts';
import { type AgentRow, findVersionStatus } from './agents.store.ts';

type Named = Pick<AgentRow, 'model' | 'api_version'>;

const notConfigured = (model: string): string => `The model "${model}" is not configured`;

/** Checks configuration and database only, without a request to the model. Null when there is no problem. */
export async function findConfigurationProblem(
  tx: Tx,
  ctx: TenantCtx,
  { model, api_version: version }: Named,
): Promise<string | null> {
  if (!modelNames(ctx.settings).includes(model)) return notConfigured(model);
  const status = await findVersionStatus(tx, ctx.organizationId, version);
  if (status === 'retired') return `The version ${version} has been retired`;
  if (status !== 'published' && status !== 'deprecated') return `The version ${version} is not served`;
  return null;
}

async function findModelProblem(ctx: Ctx, name: string, signal: AbortSignal): Promise<string | null> {
  try {
    await (await createModel(ctx, name)).check(signal);
    return null;
  } catch (error) {
    if (error instanceof ModelError) return `The model "${name}" does not respond. ${error.message}`;
    throw error;
  }
}

const Resources = z.looseObject({ resources: z.array(z.looseObject({ resource: z.string() })) });
/** Limit per tool call, far above what names and one record per resource need. */
const maxCharacters = 10_000_000;

async function findVersionProblem(ctx: ReadingCtx & TenantCtx, version: string, signal: AbortSignal) {
  const tools = createVersionTools(getRecordTools(ctx), ctx, { version, reads: fullAccess, maxCharacters });
  const call = async (name: string, input: object): Promise<string> =>
    (await tools.find((tool) => tool.name === name)?.run(input)) ?? '';
  let at = `The version ${version}`;
  try {
    const { resources } = Resources.parse(JSON.parse(await call('describe', {})));
    for (const { resource } of resources) {
      signal.throwIfAborted();
      at = `The resource "${resource}" of ${version}`;
      await call('query', { resource, pageSize: 1 });
    }
    return null;
  } catch (error) {
    if (error instanceof AppError) return `${at} cannot be read: ${error.message}`;
    throw error;
  }
}

/** Null when the agent is ready. Throws unexpected errors, and the signal's reason when it is aborted. */
export async function findAgentProblem(ctx: ReadingCtx & TenantCtx, agent: Named, signal: AbortSignal) {
  return (
    (await inTransaction(ctx, (tx) => findConfigurationProblem(tx, ctx, agent))) ??
    (await findModelProblem(ctx, agent.model, signal)) ??
    (await findVersionProblem(ctx, agent.api_version, signal))
  );
}
