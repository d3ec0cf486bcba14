// Tells the service what happened in the sandbox as a real provider would: signed, by HTTP, again and again until it is taken. Nothing of
// the address is anybody's to choose: the process calls the one that it listens at, so there is no one to send it elsewhere.
import type { Ctx } from '../../../core/ctx.ts';
import { causeOf } from '../../../core/errors.ts';
import { type Recurring, recurring } from '../../../core/recurring.ts';
import { startQueueWork } from '../../../db/queue-work.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { eventChannel } from './ledger.store.ts';
import { letTimePass } from './let-time-pass.ts';
import { signatureHeader, signWebhook } from './webhook-signature.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** After each failed attempt; one more failure than there are waits is the end. */
const waitsMs = [second, 5 * second, 30 * second, 2 * minute, 10 * minute, hour, 6 * hour, 12 * hour];
const leaseMs = minute;
const timeoutMs = 15 * second;
const lanes = 3;
const everyMs = 2 * second;

type Claim = { organization_id: string; id: string; attempts: number };

/** What the webhook answered, in few words; null when it took the event. */
async function send(ctx: Ctx, accountId: string, body: string, stopping: AbortSignal): Promise<string | null> {
  const rawBody = Buffer.from(body);
  try {
    const response = await fetch(`${ctx.settings.ownUrl}/api/platform/v1/pay/webhooks/sandbox/${accountId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [signatureHeader]: signWebhook(ctx, accountId, rawBody) },
      body: rawBody,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]),
    });
    await response.arrayBuffer();
    return response.ok ? null : `HTTP ${response.status}`;
  } catch (error) {
    return causeOf(error);
  }
}

async function deliver(ctx: Ctx, { organization_id: organizationId, id, attempts }: Claim, stopping: AbortSignal): Promise<void> {
  const event = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('sandbox_events')
      .where({ organization_id: organizationId, id })
      .first<{ account_id: string; body: string } | undefined>('account_id', 'body'),
  );
  if (event === undefined) return;
  const problem = await send(ctx, event.account_id, event.body, stopping);
  const waitMs = problem !== null && stopping.aborted ? 0 : waitsMs[attempts - 1];
  await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    // Only if nobody else has claimed it since.
    tx('sandbox_events')
      .where({ organization_id: organizationId, id, attempts })
      .update({
        answer: problem,
        delivered_at: problem === null ? tx.raw('clock_timestamp()') : null,
        next_attempt_at:
          problem === null || waitMs === undefined ? null : tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [waitMs]),
      }),
  );
  if (problem !== null) ctx.log.warn({ eventId: id, organizationId, attempt: attempts, problem }, 'an event of the sandbox was not taken');
}

async function claimEvent(ctx: Ctx): Promise<Claim | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: Claim[] }>(
    "select organization_id, id, attempts from claim_sandbox_event(? * interval '1 millisecond')",
    [leaseMs],
  );
  return rows[0];
}

/** Lets the sandbox's time pass and delivers what it tells. `tick` does both now, until nothing more is due. */
export function startSandbox(ctx: Ctx): Recurring {
  const events = startQueueWork<Claim>(ctx, {
    name: 'sandbox_events',
    channel: eventChannel,
    pollMs: everyMs,
    lanes,
    claim: () => claimEvent(ctx),
    work: (claim, stopping) => deliver(ctx, claim, stopping),
  });
  const passing = recurring(
    everyMs,
    (stopping) => letTimePass(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, "the sandbox's time stands still for the moment"),
  );
  return {
    tick: () => passing.tick().then(events.settled),
    stop: async () => {
      await Promise.all([passing.stop(), events.stop()]);
    },
  };
}
