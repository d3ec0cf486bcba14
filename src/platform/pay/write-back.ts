// Writes payments and refunds that succeeded back into the ERPs. Any number of processes may run it: a payment is claimed under a lease,
// its own document before those of its refunds, and each gets there once however often it is tried (write-document.ts).
import { type Connector, ErpError, type PaymentWriter } from '../../connectors/connector.ts';
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { formatAmount } from '../../core/money.ts';
import { type QueueWork, startQueueWork } from '../../db/queue-work.ts';
import { inTransaction } from '../../db/transaction.ts';
import { openConnectorOf } from '../../sync/index.ts';
import {
  beginAttempt,
  type Claim,
  claimPayment,
  type DueDocument,
  erpDocumentsChannel,
  type Problem,
  release,
  renewLease,
  type Setback,
  settleLanded,
  settleSetback,
} from './erp-documents.store.ts';
import { findTask, requireSameAccount, type Task } from './write-back.store.ts';
import { readShown, type Shown, writePayment, writeRefund } from './write-document.ts';

export type WriteBackOptions = {
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** The wait after the first failure in a row; it doubles with each. */
  readonly firstWaitMs?: number;
  readonly mostWaitMs?: number;
  readonly openConnector?: (ctx: TenantCtx) => Promise<Connector>;
};
const second = 1_000;
const hour = 3_600 * second;
const usual = {
  pollMs: 5 * second,
  leaseMs: 60 * second,
  firstWaitMs: 5 * second,
  mostWaitMs: hour,
  openConnector: (ctx: TenantCtx) => openConnectorOf(ctx),
};
type Options = Required<WriteBackOptions>;
/** Payments in hand at once in one process; the connector keeps to what an ERP takes at once, syncs included. */
const lanes = 2;

/** Without end, but slower and slower, and at times of its own so that those who wait together don't come together. */
function backOff(failures: number, leastMs: number, { firstWaitMs, mostWaitMs }: Options): number {
  const waitMs = Math.min(firstWaitMs * 2 ** Math.min(failures, 30), mostWaitMs);
  return Math.max(Math.min(leastMs, mostWaitMs), Math.round(waitMs * (0.5 + Math.random() / 2)));
}

/** What may pass by itself is told of when it has lasted so long. */
const patienceMs = hour;

/** An outage may be one of this document alone, for all that can be told: so others are tried a little later. */
const mostOutageMs = 60 * second;

/** Undefined for what is no matter of the ERP: it is thrown on. */
function setbackOf(error: unknown, failures: number, options: Options): Omit<Setback, 'shown'> | undefined {
  const { mostWaitMs } = options;
  if (error instanceof AppError && error.code === 'VALIDATION_ERROR') {
    const [detail] = error.details;
    const code = (detail?.code ?? 'no_connection').toUpperCase();
    return {
      problem: { code, message: error.message, fix: detail?.message ?? error.message },
      waitMs: mostWaitMs,
      tellAfterMs: 0,
      holdAccountMs: mostWaitMs,
    };
  }
  if (!(error instanceof ErpError)) return undefined;
  const { kind, code, message, fix, retryAfterMs } = error;
  const problem = { code, message, fix };
  if (kind === 'query') return { problem, waitMs: null, tellAfterMs: 0, holdAccountMs: 0 };
  // A person must act. Refused log-ins would lock the account's token, so nothing else is tried; a missing right concerns this document.
  if (kind === 'credentials' || kind === 'forbidden')
    return { problem, waitMs: mostWaitMs, tellAfterMs: 0, holdAccountMs: kind === 'credentials' ? mostWaitMs : 0 };
  const waitMs = backOff(failures, retryAfterMs ?? 0, options);
  const holds = { throttled: waitMs, down: Math.min(waitMs, mostOutageMs), answer: 0 };
  return { problem, waitMs, tellAfterMs: patienceMs, holdAccountMs: holds[kind] };
}

const partlyApplied = ({ unappliedMinor }: Pick<Shown, 'unappliedMinor'>, currency: string): Problem => ({
  code: 'PARTLY_APPLIED',
  message: `${formatAmount({ amountMinor: unappliedMinor, currency })} ${currency} of the payment is applied to no invoice, since its invoices take no more`,
  fix: 'Apply it to another invoice of the customer in the ERP, or refund it; then ask for another look with retry-write-back.',
});

const landedOf = (shown: Shown, currency: string) => ({ amounts: shown, partly: partlyApplied(shown, currency) });

async function write(writer: PaymentWriter, { kind, task }: Task, attempt: Parameters<typeof writePayment>[2]) {
  if (kind === 'payment') {
    const shown = await writePayment(writer, task, attempt);
    return { recordId: shown.recordId, ...landedOf(shown, task.currency) };
  }
  const { recordId, payment } = await writeRefund(writer, task, attempt);
  return { recordId, ...landedOf(payment, task.currency) };
}

/** A refused refund may have taken its payment off invoices already. */
async function shownAfter(writer: PaymentWriter, { kind, task }: Task, signal: AbortSignal): Promise<Setback['shown']> {
  if (kind === 'payment') return null;
  return readShown(writer, task.paymentRecordId, task.currency, signal).then(
    (shown) => landedOf(shown, task.currency),
    () => null,
  );
}

const noWriter = new ErpError('query', 'NOT_SUPPORTED', 'The ERP connection takes no payments', {
  fix: 'Switch `writeBack` off in PUT /pay/config and enter payments in the ERP by hand; end-write-back says so of this one.',
});

async function attempt(ctx: Ctx, claim: Claim, due: DueDocument, options: Options, signal: AbortSignal): Promise<void> {
  const tenant: TenantCtx = { ...ctx, organizationId: claim.organizationId };
  const task = await inTransaction(tenant, (tx) => findTask(tx, claim.organizationId, due));
  if (task === undefined) return void (await release(ctx, claim));
  let writer: PaymentWriter | undefined;
  try {
    const { payments } = await options.openConnector(tenant);
    if (payments === undefined) throw noWriter;
    // After the connector was opened, so that what it is connected to is what is compared.
    await inTransaction(tenant, (tx) => requireSameAccount(tx, claim.organizationId, claim.paymentId));
    writer = payments;
    const landed = await write(writer, task, { mayBeThere: due.attempts > 1, signal });
    await settleLanded(ctx, claim, due, landed);
    ctx.log.info({ paymentId: claim.paymentId, kind: due.kind, recordId: landed.recordId, attempt: due.attempts }, 'written into the ERP');
  } catch (error) {
    if (signal.aborted) return void (await release(ctx, claim));
    const setback = setbackOf(error, due.failures, options);
    if (setback === undefined) throw error;
    const shown = setback.waitMs === null && writer !== undefined ? await shownAfter(writer, task, signal) : null;
    await settleSetback(ctx, claim, due, { ...setback, shown });
    const { code } = setback.problem;
    ctx.log.warn(
      { paymentId: claim.paymentId, kind: due.kind, code, waitMs: setback.waitMs, attempt: due.attempts },
      'not written into the ERP',
    );
  }
}

async function workOn(ctx: Ctx, claim: Claim, options: Options, signal: AbortSignal): Promise<void> {
  const due = await beginAttempt(ctx, claim);
  if (due === undefined) await release(ctx, claim);
  else await attempt(ctx, claim, due, options, signal);
}

/**
 * Writes what is due, at once when a transaction that queued a document commits, and by looking every few seconds. When it stops, what is
 * under way is given up and goes back to the queue; the next attempt looks up what became of it.
 */
export function startWriteBack(ctx: Ctx, given: WriteBackOptions = {}): QueueWork {
  const options: Options = { ...usual, ...given };
  const { pollMs, leaseMs } = options;
  return startQueueWork<Claim>(ctx, {
    name: 'pay_erp_documents',
    channel: erpDocumentsChannel,
    pollMs,
    lanes,
    claim: () => claimPayment(ctx, newId(), leaseMs),
    work: (claim, stopping) => workOn(ctx, claim, options, stopping),
    lease: { ms: leaseMs, renew: (claim) => renewLease(ctx, claim, leaseMs) },
  });
}
