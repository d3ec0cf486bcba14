// Lets queued mails leave. Any number of processes may run one: a mail is claimed under a lease, and before the first byte of its
// message leaves, the row says so under that same lease. Whoever lost the lease can't write that mark and sends nothing, so one
// mail leaves once.
import type { Ctx } from '../core/ctx.ts';
import { causeOf } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { type QueueWork, startQueueWork } from '../db/queue-work.ts';
import { sendMail } from '../gateways/mail.ts';
import type { MailOutcome, SmtpLimits } from '../gateways/mail-outcome.ts';
import { openMail } from './enqueue.ts';
import {
  type Claim,
  claimMail,
  findClaimed,
  handBack,
  mailChannel,
  markDataBegun,
  renewMailLease,
  settleAgain,
  settleEnded,
  settleSent,
} from './outgoing-mails.store.ts';

export type MailSenderOptions = {
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** How long to wait after each failed attempt; one more failure than there are waits is the end. */
  readonly waitsMs?: readonly number[];
  readonly limits?: Partial<SmtpLimits>;
};

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** Eight attempts over most of a day: soon at first, for servers that greylist, then seldom, for those that are down. */
const usualWaitsMs = [30 * second, 2 * minute, 10 * minute, hour, 3 * hour, 6 * hour, 12 * hour];
const usual = { pollMs: 5 * second, leaseMs: minute, waitsMs: usualWaitsMs, limits: {} };
/** Mails in flight at once in one process, so that one slow server holds up few. */
const lanes = 3;

type Options = Required<MailSenderOptions>;

async function settle(ctx: Ctx, claim: Claim, attempts: number, outcome: MailOutcome, { waitsMs }: Options): Promise<void> {
  if (outcome.kind === 'sent') await settleSent(ctx, claim);
  else if (outcome.kind === 'unknown') await settleEnded(ctx, claim, 'unknown', outcome.error);
  else {
    const waitMs = outcome.kind === 'deferred' ? waitsMs[attempts - 1] : undefined;
    if (waitMs === undefined) await settleEnded(ctx, claim, 'failed', outcome.error);
    else await settleAgain(ctx, claim, outcome.error, waitMs);
  }
}

async function attempt(ctx: Ctx, claim: Claim, options: Options, stop: AbortSignal): Promise<void> {
  const found = await findClaimed(ctx, claim);
  if (found === undefined) return;
  const { row, shared } = found;
  let outcome: MailOutcome;
  try {
    const beforeData = async (): Promise<void> => {
      if (!(await markDataBegun(ctx, claim))) throw new Error('another sender took over');
    };
    // More attempts than are allowed: their processes died before they could say what happened.
    outcome =
      row.attempts > options.waitsMs.length + 1
        ? { kind: 'refused', error: 'Every attempt ended before it could be reported' }
        : await sendMail(ctx.settings.mail, await openMail(ctx, row, shared), { beforeData, stop, limits: options.limits });
  } catch (error) {
    outcome = { kind: 'deferred', error: `It cannot be read: ${causeOf(error)}` };
  }
  if (outcome.kind === 'deferred' && stop.aborted) await handBack(ctx, claim);
  else await settle(ctx, claim, row.attempts, outcome, options);
  ctx.log.info({ mailId: claim.id, organizationId: claim.organizationId, outcome: outcome.kind, attempt: row.attempts }, 'mail');
}

/**
 * Sends what is due, at once when a transaction that queued a mail commits, and by looking every few seconds. When it stops, mails that
 * have not begun to leave go back to the queue; others get a few seconds.
 */
export function startMailSender(ctx: Ctx, given: MailSenderOptions = {}): QueueWork {
  const options: Options = { ...usual, ...given };
  const { pollMs, leaseMs } = options;
  return startQueueWork<Claim>(ctx, {
    name: 'mails',
    channel: mailChannel,
    pollMs,
    lanes,
    claim: () => claimMail(ctx, newId(), leaseMs),
    work: (claim, stopping) => attempt(ctx, claim, options, stopping),
    // One that could not be renewed shows when the mark is written.
    lease: { ms: leaseMs, renew: (claim) => renewMailLease(ctx, claim, leaseMs) },
  });
}
