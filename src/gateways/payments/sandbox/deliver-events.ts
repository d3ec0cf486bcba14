// Delivers the sandbox's events to the service's webhook as a real provider would: signed, over HTTP, and
// retried until accepted. The address can't be configured: the process calls the address that it listens on
// itself, so the guarded fetch isn't needed.
import type { Ctx } from '../../../core/ctx.ts';
import { errorMessage } from '../../../core/errors.ts';
import { type Recurring, startRecurring } from '../../../core/work/recurring.ts';
import { startJobWorker } from '../../../db/job-worker.ts';
import { finishJob, type Job, lockJob, retryJob } from '../../../db/jobs.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { processDueChanges } from './process-due-changes.ts';
import { signatureHeader, signWebhook } from './webhook-signature.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** The delay after each failed attempt; the failure after the last delay is final. */
const retryDelaysMs = [second, 5 * second, 30 * second, 2 * minute, 10 * minute, hour, 6 * hour, 12 * hour];
const leaseMs = minute;
const timeoutMs = 15 * second;
const concurrency = 3;
const pollMs = 2 * second;

/** Why the webhook didn't accept the event, such as `HTTP 503`; null when it did. */
async function send(ctx: Ctx, accountId: string, body: string, stopping: AbortSignal) {
  const rawBody = Buffer.from(body);
  try {
    const response = await fetch(`${ctx.settings.ownUrl}/api/platform/v1/pay/webhooks/sandbox/${accountId}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        [signatureHeader]: signWebhook(ctx, accountId, rawBody),
      },
      body: rawBody,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]),
    });
    await response.arrayBuffer();
    return response.ok ? null : `HTTP ${response.status}`;
  } catch (error) {
    return errorMessage(error);
  }
}

async function deliver(ctx: Ctx, job: Job, stopping: AbortSignal): Promise<void> {
  const { organizationId, key: id, attempts } = job;
  const inTenant = <T>(work: (tx: Tx) => Promise<T>) => inTransaction({ db: ctx.db, organizationId }, work);
  const rows = (tx: Tx) => tx('sandbox_events').where({ organization_id: organizationId, id });
  const event = await inTenant((tx) =>
    rows(tx).first<{ account_id: string; body: string } | undefined>('account_id', 'body'),
  );
  if (event === undefined) return void (await inTenant((tx) => finishJob(tx, job)));
  const problem = await send(ctx, event.account_id, event.body, stopping);
  const delayMs = problem !== null && stopping.aborted ? 0 : retryDelaysMs[attempts - 1];
  await inTenant(async (tx) => {
    if (!(await lockJob(tx, job))) return;
    const deliveredAt = problem === null ? tx.raw('clock_timestamp()') : null;
    await rows(tx).update({ answer: problem, delivered_at: deliveredAt, attempts });
    if (problem === null || delayMs === undefined) await finishJob(tx, job);
    else await retryJob(tx, job, delayMs, problem);
  });
  if (problem !== null)
    ctx.log.warn(
      { eventId: id, organizationId, attempt: attempts, problem },
      'the webhook did not accept a sandbox event',
    );
}

/** Applies the sandbox's due changes and delivers its events. `tick` does both until nothing is due. */
export function startSandboxWork(ctx: Ctx): Recurring {
  const events = startJobWorker(ctx, {
    kind: 'sandbox_events',
    pollMs,
    leaseMs,
    concurrency,
    work: (job, stopping) => deliver(ctx, job, stopping),
  });
  const changes = startRecurring(
    pollMs,
    (stopping) => processDueChanges(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, "the sandbox's due changes could not be processed"),
  );
  return {
    tick: () => changes.tick().then(events.waitUntilIdle),
    stop: async () => {
      await Promise.all([changes.stop(), events.stop()]);
    },
  };
}
