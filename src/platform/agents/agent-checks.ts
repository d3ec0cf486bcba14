// Background checks of agents that are being provisioned or restarted.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { type JobWorker, startJobWorker } from '../../db/job-worker.ts';
import { finishJob, type Job, releaseJob } from '../../db/jobs.ts';
import { inTransaction } from '../../db/transaction.ts';
import { findAgentProblem } from './agent-readiness.ts';
import { isBeingChecked, nextState } from './agent-state.ts';
import { type AgentRow, findAgent, updateAgentState } from './agents.store.ts';

const pollMs = 5_000;
const concurrency = 5;
const checkTimeoutMs = 60_000;
/** Longer than `checkTimeoutMs`. */
const leaseMs = 75_000;

async function findProblem(ctx: ReadingCtx & TenantCtx, row: AgentRow, stopping: AbortSignal) {
  const timeout = AbortSignal.timeout(checkTimeoutMs);
  try {
    return await findAgentProblem(ctx, row, AbortSignal.any([stopping, timeout]));
  } catch (error) {
    if (timeout.aborted) return `The check took longer than ${checkTimeoutMs / 1_000} seconds`;
    ctx.log.error({ err: error, agentId: row.id }, 'an agent could not be checked');
    return 'The check failed because of an internal error of this service. Restart the agent to try again.';
  }
}

async function runCheck(ctx: ReadingCtx, job: Job, stopping: AbortSignal): Promise<void> {
  const { organizationId } = job;
  const tenant = { ...ctx, organizationId };
  const row = await inTransaction(tenant, (tx) => findAgent(tx, organizationId, job.key));
  const isOpen = row !== undefined && isBeingChecked(row.status);
  const problem = isOpen ? await findProblem(tenant, row, stopping) : null;
  await inTransaction(tenant, async (tx) => {
    if (isOpen && stopping.aborted) return void (await releaseJob(tx, job));
    const to = row === undefined ? undefined : nextState(row.status, problem === null ? 'ready' : 'fail');
    if (isOpen && to !== undefined) await updateAgentState(tx, organizationId, row, to, problem);
    await finishJob(tx, job);
  });
}

/** `waitUntilIdle` resolves when every agent that waits for a check has been checked. */
export const startAgentChecks = (ctx: ReadingCtx): JobWorker =>
  startJobWorker(ctx, {
    kind: 'agent_checks',
    pollMs,
    leaseMs,
    concurrency,
    work: (job, signal) => runCheck(ctx, job, signal),
  });
