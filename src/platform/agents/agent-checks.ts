// Checks agents behind the answers that ask for it: what provisioning and restarting come to. A check belongs to one process at a time,
// by a lease; what a dead process left is taken up by whoever looks next.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { openTrackedWork } from '../../core/tracked-work.ts';
import { inTransaction } from '../../db/transaction.ts';
import { nextState } from './agent-state.ts';
import { type Claim, claimChecks, findAgent, giveCheckBack, moveAgent } from './agents.store.ts';
import { findProblem } from './fitness.ts';

const atOnce = 5;
const mostMs = 60_000;
/** Longer than a check may take. */
const leaseMs = 75_000;

const work = openTrackedWork();
export const checksSettled = work.settled;
export const stopChecks = work.stop;

async function problemOf(ctx: TenantCtx, { id, epoch }: Claim, stopping: AbortSignal): Promise<string | null | undefined> {
  const row = await inTransaction(ctx, (tx) => findAgent(tx, ctx.organizationId, id));
  if (row === undefined || row.epoch !== epoch) return undefined;
  const late = AbortSignal.timeout(mostMs);
  try {
    return await findProblem(ctx, row, AbortSignal.any([stopping, late]));
  } catch (error) {
    if (late.aborted) return `The check took longer than ${mostMs / 1_000} seconds`;
    ctx.log.error({ err: error, agentId: id }, 'an agent could not be checked');
    return 'The check could not be finished because of a failure of this service; restart the agent to try again';
  }
}

async function check(ctx: Ctx, claim: Claim, stopping: AbortSignal): Promise<void> {
  const { organizationId } = claim;
  const tenant = { ...ctx, organizationId };
  const problem = await problemOf(tenant, claim, stopping);
  if (problem === undefined) return;
  await inTransaction(tenant, async (tx) => {
    if (stopping.aborted) return void (await giveCheckBack(tx, organizationId, claim));
    const row = await findAgent(tx, organizationId, claim.id);
    const to = row === undefined ? undefined : nextState(row.status, problem === null ? 'ready' : 'fail');
    if (to !== undefined) await moveAgent(tx, organizationId, claim, to, problem);
  });
}

/** Goes on with whatever is due next, so that a slow model holds up one lane alone. */
async function lane(ctx: Ctx, first: Claim, stopping: AbortSignal): Promise<void> {
  for (let claim: Claim | undefined = first; claim !== undefined; [claim] = stopping.aborted ? [] : await claimChecks(ctx, 1, leaseMs)) {
    await check(ctx, claim, stopping).catch((error: unknown) =>
      ctx.log.error({ err: error, agentId: claim?.id }, 'the end of a check could not be noted; it is made again when its lease ends'),
    );
  }
}

/** Begins every check that is due. To be called after the transaction that made one due. */
export function checkInBackground(ctx: Ctx): void {
  work.track(ctx, async (stopping) => {
    try {
      const claims = await claimChecks(ctx, atOnce, leaseMs);
      await Promise.all(claims.map((claim) => lane(ctx, claim, stopping)));
    } catch (error) {
      ctx.log.warn({ err: error }, 'agents that wait for their check could not be claimed');
    }
  });
}
