// Delivers the sandbox's events to the service's webhook as a real provider would: signed, over HTTP, and
// retried until accepted. The address can't be configured: the process calls the address that it listens on
// itself, so the guarded fetch isn't needed.
import type { Ctx } from '../../../core/ctx.ts';
import { errorMessage } from '../../../core/errors.ts';
import { type Recurring, startRecurring } from '../../../core/recurring.ts';
import { startQueueWorker } from '../../../db/queue-worker.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { eventChannel } from './ledger.store.ts';
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

type Claim = { organization_id: string; id: string; attempts: number };

/** Why the webhook didn't accept the event, such as `HTTP 503`; null when it did. */
async function send(
  ctx: Ctx,
  accountId: string,
  body: string,
  stopping: AbortSignal,
): Promise<string | null> {
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

async function deliver(
  ctx: Ctx,
  { organization_id: organizationId, id, attempts }: Claim,
  stopping: AbortSignal,
): Promise<void> {
  const event = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('sandbox_events')
      .where({ organization_id: organizationId, id })
      .first<{ account_id: string; body: string } | undefined>('account_id', 'body'),
  );
  if (event === undefined) return;
  const problem = await send(ctx, event.account_id, event.body, stopping);
  const delayMs = problem !== null && stopping.aborted ? 0 : retryDelaysMs[attempts - 1];
  await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    // Only if no one else has claimed it in the meantime: each claim increments `attempts`.
    tx('sandbox_events')
      .where({ organization_id: organizationId, id, attempts })
      .update({
        answer: problem,
        delivered_at: problem === null ? tx.raw('clock_timestamp()') : null,
        next_attempt_at:
          problem === null || delayMs === undefined
            ? null
            : tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [delayMs]),
      }),
  );
  if (problem !== null)
    ctx.log.warn(
      { eventId: id, organizationId, attempt: attempts, problem },
      'the webhook did not accept a sandbox event',
    );
}

async function claimEvent(ctx: Ctx): Promise<Claim | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: Claim[] }>(
    "select organization_id, id, attempts from claim_sandbox_event(? * interval '1 millisecond')",
    [leaseMs],
  );
  return rows[0];
}

/**
 * Starts applying the sandbox's due changes and delivering its events. `tick` does both now, until nothing
 * more is due.
 */
export function startSandboxWork(ctx: Ctx): Recurring {
  const events = startQueueWorker<Claim>(ctx, {
    name: 'sandbox_events',
    channel: eventChannel,
    pollMs,
    concurrency,
    claim: () => claimEvent(ctx),
    work: (claim, stopping) => deliver(ctx, claim, stopping),
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
