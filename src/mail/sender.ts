// Sends queued mails. Any number of processes may run a sender: a mail is claimed under a lease, and before
// the first byte of the message is sent, that is recorded in the row under the same lease. A sender that has
// lost the lease can't record it and sends nothing, so each mail is sent at most once.
import type { Ctx } from '../core/ctx.ts';
import { errorMessage } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import { type QueueWorker, startQueueWorker } from '../db/queue-worker.ts';
import { sendMail } from '../gateways/mail.ts';
import type { MailOutcome, SmtpLimits } from '../gateways/mail-outcome.ts';
import { decryptMail } from './enqueue.ts';
import {
  claimMail,
  findClaimed,
  type MailClaim,
  mailChannel,
  markDataStarted,
  markEnded,
  markSent,
  releaseClaim,
  renewMailLease,
  scheduleRetry,
} from './outgoing-mails.store.ts';

export type MailSenderOptions = {
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** The delay after each failed attempt; the failure after the last delay is final. */
  readonly retryDelaysMs?: readonly number[];
  readonly limits?: Partial<SmtpLimits>;
};

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/**
 * Eight attempts within a day: frequent at first, for servers that greylist, then rare, for servers that are
 * down.
 */
const defaultRetryDelaysMs = [30 * second, 2 * minute, 10 * minute, hour, 3 * hour, 6 * hour, 12 * hour];
const defaults = { pollMs: 5 * second, leaseMs: minute, retryDelaysMs: defaultRetryDelaysMs, limits: {} };
/** Mails in flight at once per process, so that a slow mail server holds up at most three. */
const concurrency = 3;

type Options = Required<MailSenderOptions>;

async function recordOutcome(
  ctx: Ctx,
  claim: MailClaim,
  attempts: number,
  outcome: MailOutcome,
  { retryDelaysMs }: Options,
): Promise<void> {
  if (outcome.kind === 'sent') await markSent(ctx, claim);
  else if (outcome.kind === 'unknown') await markEnded(ctx, claim, 'unknown', outcome.error);
  else {
    const delayMs = outcome.kind === 'deferred' ? retryDelaysMs[attempts - 1] : undefined;
    if (delayMs === undefined) await markEnded(ctx, claim, 'failed', outcome.error);
    else await scheduleRetry(ctx, claim, outcome.error, delayMs);
  }
}

async function attempt(ctx: Ctx, claim: MailClaim, options: Options, stop: AbortSignal): Promise<void> {
  const found = await findClaimed(ctx, claim);
  if (found === undefined) return;
  const { row, shared } = found;
  let outcome: MailOutcome;
  try {
    const beforeData = async (): Promise<void> => {
      if (!(await markDataStarted(ctx, claim))) throw new Error('another sender took over');
    };
    // More attempts than allowed: their processes died before they could record an outcome.
    outcome =
      row.attempts > options.retryDelaysMs.length + 1
        ? { kind: 'failed', error: 'Every attempt ended before its outcome could be recorded' }
        : await sendMail(ctx.settings.mail, await decryptMail(ctx, row, shared), {
            beforeData,
            stop,
            limits: options.limits,
          });
  } catch (error) {
    outcome = { kind: 'deferred', error: `The queued mail cannot be read: ${errorMessage(error)}` };
  }
  if (outcome.kind === 'deferred' && stop.aborted) await releaseClaim(ctx, claim);
  else await recordOutcome(ctx, claim, row.attempts, outcome, options);
  ctx.log.info(
    { mailId: claim.id, organizationId: claim.organizationId, outcome: outcome.kind, attempt: row.attempts },
    'mail delivery attempted',
  );
}

/**
 * Starts sending due mails: as soon as a transaction that queued a mail commits, and by polling every few
 * seconds. On `stop`, mails whose message isn't under way yet go back to the queue; others get a few seconds
 * to finish.
 */
export function startMailSender(ctx: Ctx, given: MailSenderOptions = {}): QueueWorker {
  const options: Options = { ...defaults, ...given };
  const { pollMs, leaseMs } = options;
  return startQueueWorker<MailClaim>(ctx, {
    name: 'mails',
    channel: mailChannel,
    pollMs,
    concurrency,
    claim: () => claimMail(ctx, createId(), leaseMs),
    work: (claim, stopping) => attempt(ctx, claim, options, stopping),
    // A renewal that fails needs no handling: `markDataStarted` notices a lost lease.
    lease: { ms: leaseMs, renew: (claim) => renewMailLease(ctx, claim, leaseMs) },
  });
}
