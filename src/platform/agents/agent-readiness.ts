// Whether an agent can work: its model is configured and answers, its version is served, and each of its resources can be read. A
// problem is a sentence for the people who look after the agent.
import { z } from 'zod';
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { ModelError } from '../../gateways/model/model.ts';
import { modelNames, openModel } from '../../gateways/model/open-model.ts';
import { openVersionTools } from '../../public/index.ts';
import { type AgentRow, findVersionStatus } from './agents.store.ts';

type Named = Pick<AgentRow, 'model' | 'api_version'>;

const notConfigured = (model: string): string => `The model "${model}" is not among those that the service is configured for`;

/** What a look at the configuration tells, without asking anyone. Null: nothing is wrong. */
export async function configuredProblem(tx: Tx, ctx: TenantCtx, { model, api_version: version }: Named): Promise<string | null> {
  if (!modelNames(ctx.settings).includes(model)) return notConfigured(model);
  const status = await findVersionStatus(tx, ctx.organizationId, version);
  if (status === 'retired') return `The version ${version} has been retired; its answers have ended`;
  if (status !== 'published' && status !== 'deprecated') return `The version ${version} is not served`;
  return null;
}

async function modelProblem(ctx: Ctx, name: string, signal: AbortSignal): Promise<string | null> {
  try {
    await (await openModel(ctx, name)).check(signal);
    return null;
  } catch (error) {
    if (error instanceof ModelError) return `The model "${name}" does not answer. ${error.message}`;
    throw error;
  }
}

const Resources = z.looseObject({ resources: z.array(z.looseObject({ resource: z.string() })) });
/** Of names and one record each, which nobody keeps. */
const mostCharacters = 10_000_000;

async function versionProblem(ctx: TenantCtx, version: string, signal: AbortSignal): Promise<string | null> {
  const tools = openVersionTools(ctx)(ctx, { version, resources: [], mostCharacters });
  const call = async (name: string, input: object): Promise<string> => (await tools.find((tool) => tool.name === name)?.run(input)) ?? '';
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
    if (error instanceof AppError) return `${at} can't be read: ${error.message}`;
    throw error;
  }
}

/** Null: it is fit. Throws what is nobody's doing, and the signal's reason. */
export async function findProblem(ctx: TenantCtx, agent: Named, signal: AbortSignal): Promise<string | null> {
  return (
    (await inTransaction(ctx, (tx) => configuredProblem(tx, ctx, agent))) ??
    (await modelProblem(ctx, agent.model, signal)) ??
    (await versionProblem(ctx, agent.api_version, signal))
  );
}
