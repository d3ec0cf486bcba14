// Sends queued mails. Any number of processes may run a sender: a mail is sent under a lease, and before
// the first byte of the message is sent, that is recorded in the row under the same lease. A sender that has
// lost the lease can't record it and sends nothing, so each mail is sent at most once.
import type { Ctx } from '../core/ctx.ts';
import { errorMessage } from '../core/errors.ts';
import { type JobWorker, startJobWorker } from '../db/job-worker.ts';
import type { Job } from '../db/jobs.ts';
import { sendMail } from '../gateways/mail.ts';
import type { MailOutcome, SmtpLimits } from '../gateways/mail-outcome.ts';
import { decryptMail } from './enqueue.ts';
import {
  markDataStarted,
  markEnded,
  markSent,
  releaseMail,
  scheduleRetry,
  startAttempt,
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
/** Eight attempts within a day: frequent at first, for greylisting, then rare, for servers that are down. */
const defaultRetryDelaysMs = [30 * second, 2 * minute, 10 * minute, hour, 3 * hour, 6 * hour, 12 * hour];
const defaults = { pollMs: 5 * second, leaseMs: minute, retryDelaysMs: defaultRetryDelaysMs, limits: {} };
/** Mails in flight at once per process, so that a slow mail server holds up at most three. */
const concurrency = 3;

type Options = Required<MailSenderOptions>;

async function recordOutcome(
  ctx: Ctx,
  job: Job,
  attempts: number,
  outcome: MailOutcome,
  { retryDelaysMs }: Options,
): Promise<void> {
  if (outcome.kind === 'sent') await markSent(ctx, job);
  else if (outcome.kind === 'unknown') await markEnded(ctx, job, 'unknown', outcome.error);
  else {
    const delayMs = outcome.kind === 'deferred' ? retryDelaysMs[attempts - 1] : undefined;
    if (delayMs === undefined) await markEnded(ctx, job, 'failed', outcome.error);
    else await scheduleRetry(ctx, job, outcome.error, delayMs);
  }
}

async function attempt(ctx: Ctx, job: Job, options: Options, stop: AbortSignal): Promise<void> {
  const found = await startAttempt(ctx, job);
  if (found === undefined) return;
  const { row, shared } = found;
  let outcome: MailOutcome;
  try {
    const beforeData = async (): Promise<void> => {
      if (!(await markDataStarted(ctx, job))) throw new Error('another sender took over');
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
  if (outcome.kind === 'deferred' && stop.aborted) await releaseMail(ctx, job);
  else await recordOutcome(ctx, job, row.attempts, outcome, options);
  ctx.log.info(
    { mailId: job.key, organizationId: job.organizationId, outcome: outcome.kind, attempt: row.attempts },
    'mail delivery attempted',
  );
}

/**
 * Starts sending due mails: when a transaction that queued one commits, and by polling every few seconds. On
 * `stop`, mails whose message isn't under way go back to the queue; others get a few seconds.
 */
export function startMailSender(ctx: Ctx, given: MailSenderOptions = {}): JobWorker {
  const options: Options = { ...defaults, ...given };
  return startJobWorker(ctx, {
    kind: 'mails',
    pollMs: options.pollMs,
    leaseMs: options.leaseMs,
    concurrency,
    work: (job, stopping) => attempt(ctx, job, options, stopping),
  });
}
