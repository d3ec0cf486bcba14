// Background checks of agents that are being provisioned or restarted. A lease gives each check to one
// process at a time; when that process dies, another one claims the check after the lease has expired.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { findAgentProblem } from './agent-readiness.ts';
import { nextState } from './agent-state.ts';
import {
  type AgentCheckClaim,
  claimAgentChecks,
  findAgent,
  releaseCheck,
  updateAgentState,
} from './agents.store.ts';

const maxConcurrency = 5;
const checkTimeoutMs = 60_000;
/** Longer than `checkTimeoutMs`. */
const leaseMs = 75_000;

async function findProblem(
  ctx: ReadingCtx & TenantCtx,
  { id, epoch }: AgentCheckClaim,
  stopping: AbortSignal,
): Promise<string | null | undefined> {
  const row = await inTransaction(ctx, (tx) => findAgent(tx, ctx.organizationId, id));
  if (row === undefined || row.epoch !== epoch) return undefined;
  const timeout = AbortSignal.timeout(checkTimeoutMs);
  try {
    return await findAgentProblem(ctx, row, AbortSignal.any([stopping, timeout]));
  } catch (error) {
    if (timeout.aborted) return `The check took longer than ${checkTimeoutMs / 1_000} seconds`;
    ctx.log.error({ err: error, agentId: id }, 'an agent could not be checked');
    return 'The check failed because of an internal error of this service. Restart the agent to try again.';
  }
}

async function runCheck(ctx: ReadingCtx, claim: AgentCheckClaim, stopping: AbortSignal): Promise<void> {
  const { organizationId } = claim;
  const tenant = { ...ctx, organizationId };
  const problem = await findProblem(tenant, claim, stopping);
  if (problem === undefined) return;
  await inTransaction(tenant, async (tx) => {
    if (stopping.aborted) return void (await releaseCheck(tx, organizationId, claim));
    const row = await findAgent(tx, organizationId, claim.id);
    const to = row === undefined ? undefined : nextState(row.status, problem === null ? 'ready' : 'fail');
    if (to !== undefined) await updateAgentState(tx, organizationId, claim, to, problem);
  });
}

/**
 * Runs one check after the other until none is due, so that a slow model occupies only one of the concurrent
 * loops.
 */
async function runChecks(ctx: ReadingCtx, first: AgentCheckClaim, stopping: AbortSignal): Promise<void> {
  for (
    let claim: AgentCheckClaim | undefined = first;
    claim !== undefined;
    [claim] = stopping.aborted ? [] : await claimAgentChecks(ctx, 1, leaseMs)
  ) {
    await runCheck(ctx, claim, stopping).catch((error: unknown) =>
      ctx.log.error(
        { err: error, agentId: claim?.id },
        'the result of a check could not be saved; the check runs again when its lease expires',
      ),
    );
  }
}

/** Starts every check that is due. Call after the transaction that made one due has committed. */
export function startAgentChecks(ctx: ReadingCtx): void {
  void ctx.work.track('agent-checks', async (stopping) => {
    try {
      const claims = await claimAgentChecks(ctx, maxConcurrency, leaseMs);
      await Promise.all(claims.map((claim) => runChecks(ctx, claim, stopping)));
    } catch (error) {
      ctx.log.warn({ err: error }, 'agents that wait for a check could not be claimed');
    }
  });
}
