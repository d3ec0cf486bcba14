// Writes successful payments and refunds back into the ERPs. Any number of processes may run it: a payment is
// a job, its own document is written before those of its refunds, and each is written once
// however often it is attempted (write-document.ts).
import { type Connector, ErpError } from '../../../connectors/connector.ts';
import type { PaymentWriter } from '../../../connectors/payment-writer.ts';
import type { Ctx, TenantCtx } from '../../../core/ctx.ts';
import { AppError } from '../../../core/errors.ts';
import { formatAmount } from '../../../core/text/money.ts';
import { type JobWorker, startJobWorker } from '../../../db/job-worker.ts';
import type { Job } from '../../../db/jobs.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { type ConnectionName, createTenantConnector } from '../../../sync/index.ts';
import type { ErpProblem } from '../ledger/erp-states.store.ts';
import { findPayConnection } from '../ledger/payments.store.ts';
import {
  type DueDocument,
  type FailedAttempt,
  recordFailedAttempt,
  recordWritten,
  releaseErpAttempt,
  startErpAttempt,
} from './erp-documents.store.ts';
import { assertSameErpAccount, findWriteBackTask, type WriteBackTask } from './task.store.ts';
import { type ErpPaymentState, readErpPaymentState, writePayment, writeRefund } from './write-document.ts';

export type WriteBackOptions = {
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** The delay after the first of several failures in a row; it doubles with each. */
  readonly firstWaitMs?: number;
  readonly maxWaitMs?: number;
  readonly createConnector?: (ctx: TenantCtx, connection: ConnectionName) => Promise<Connector>;
};
const second = 1_000;
const hour = 3_600 * second;
const defaults = {
  pollMs: 5 * second,
  leaseMs: 60 * second,
  firstWaitMs: 5 * second,
  maxWaitMs: hour,
  createConnector: (ctx: TenantCtx, connection: ConnectionName) => createTenantConnector(ctx, connection),
};
type Options = Required<WriteBackOptions>;
/** Payments at once in one process. The connector enforces the ERP's own limit, syncs included. */
const concurrency = 2;

/** Exponential backoff with jitter, at least `minMs` and at most `maxWaitMs`; attempts never end. */
function backoffMs(failures: number, minMs: number, { firstWaitMs, maxWaitMs }: Options): number {
  const waitMs = Math.min(firstWaitMs * 2 ** Math.min(failures, 30), maxWaitMs);
  return Math.max(Math.min(minMs, maxWaitMs), Math.round(waitMs * (0.5 + Math.random() / 2)));
}

/** A problem that may resolve itself is reported when it has lasted this long. */
const alertDelayMs = hour;

/** What looks like an outage may concern one document only: others are attempted after this at the latest. */
const maxOutagePauseMs = 60 * second;

/** How to continue after an error of the ERP or its connection; undefined for others, which are rethrown. */
function toFailedAttempt(
  error: unknown,
  failures: number,
  options: Options,
): Omit<FailedAttempt, 'afterRefund'> | undefined {
  const { maxWaitMs } = options;
  if (error instanceof AppError && error.code === 'VALIDATION_ERROR') {
    const [detail] = error.details;
    const code = (detail?.code ?? 'no_connection').toUpperCase();
    return {
      problem: { code, message: error.message, fix: detail?.message ?? error.message },
      waitMs: maxWaitMs,
      alertAfterMs: 0,
      pauseAccountMs: maxWaitMs,
    };
  }
  if (!(error instanceof ErpError)) return undefined;
  const { kind, code, message, fix, retryAfterMs } = error;
  const problem = { code, message, fix };
  if (kind === 'query') return { problem, waitMs: null, alertAfterMs: 0, pauseAccountMs: 0 };
  // A person must act. Repeated failed log-ins would lock the account's token, so nothing else is attempted;
  // a missing permission concerns this document only.
  if (kind === 'credentials' || kind === 'forbidden')
    return {
      problem,
      waitMs: maxWaitMs,
      alertAfterMs: 0,
      pauseAccountMs: kind === 'credentials' ? maxWaitMs : 0,
    };
  const waitMs = backoffMs(failures, retryAfterMs ?? 0, options);
  const pauses = { throttled: waitMs, down: Math.min(waitMs, maxOutagePauseMs), answer: 0 };
  return { problem, waitMs, alertAfterMs: alertDelayMs, pauseAccountMs: pauses[kind] };
}

const partlyApplied = (
  { unappliedMinor }: Pick<ErpPaymentState, 'unappliedMinor'>,
  currency: string,
): ErpProblem => ({
  code: 'PARTLY_APPLIED',
  message: `${formatAmount({ amountMinor: unappliedMinor, currency })} ${currency} of the payment isn't applied to any invoice because its invoices have no balance left`,
  fix: 'Apply it to another invoice of the customer in the ERP, or refund it; then check again with retry-write-back.',
});

const toWritten = (state: ErpPaymentState, currency: string) => ({
  amounts: state,
  problemIfUnapplied: partlyApplied(state, currency),
});

async function write(
  writer: PaymentWriter,
  { kind, task }: WriteBackTask,
  attempt: Parameters<typeof writePayment>[2],
) {
  if (kind === 'payment') {
    const state = await writePayment(writer, task, attempt);
    return { recordId: state.recordId, ...toWritten(state, task.currency) };
  }
  const { recordId, payment } = await writeRefund(writer, task, attempt);
  return { recordId, ...toWritten(payment, task.currency) };
}

/** After a failed refund, which may have unapplied the payment from invoices. Null when it can't be read. */
async function stateAfterFailure(
  writer: PaymentWriter,
  { kind, task }: WriteBackTask,
  signal: AbortSignal,
): Promise<FailedAttempt['afterRefund']> {
  if (kind === 'payment') return null;
  return readErpPaymentState(writer, task.paymentRecordId, task.currency, signal).then(
    (state) => toWritten(state, task.currency),
    () => null,
  );
}

const noWriterError = new ErpError(
  'query',
  'NOT_SUPPORTED',
  'This ERP connection does not support payments',
  {
    fix: 'Disable the write-back in the payment configuration and enter payments in the ERP by hand; end the write-back of this one.',
  },
);

async function attempt(
  ctx: Ctx,
  job: Job,
  due: DueDocument,
  options: Options,
  signal: AbortSignal,
): Promise<void> {
  const tenant: TenantCtx = { ...ctx, organizationId: job.organizationId };
  const task = await inTransaction(tenant, (tx) => findWriteBackTask(tx, job.organizationId, due));
  if (task === undefined) return void (await releaseErpAttempt(ctx, job));
  let writer: PaymentWriter | undefined;
  try {
    const connection = await inTransaction(tenant, (tx) => findPayConnection(tx, job.organizationId));
    const { payments } = await options.createConnector(tenant, connection);
    if (payments === undefined) throw noWriterError;
    // After the connector was created, so that the compared account is the one that it is connected to.
    await inTransaction(tenant, (tx) => assertSameErpAccount(tx, job.organizationId, job.key));
    writer = payments;
    const written = await write(writer, task, { mayAlreadyExist: due.attempts > 1, signal });
    await recordWritten(ctx, job, due, written);
    ctx.log.info(
      { paymentId: job.key, kind: due.kind, recordId: written.recordId, attempt: due.attempts },
      'written to the ERP',
    );
  } catch (error) {
    if (signal.aborted) return void (await releaseErpAttempt(ctx, job));
    const failure = toFailedAttempt(error, due.failures, options);
    if (failure === undefined) throw error;
    const state =
      failure.waitMs === null && writer !== undefined ? await stateAfterFailure(writer, task, signal) : null;
    await recordFailedAttempt(ctx, job, due, { ...failure, afterRefund: state });
    const { code } = failure.problem;
    ctx.log.warn(
      { paymentId: job.key, kind: due.kind, code, waitMs: failure.waitMs, attempt: due.attempts },
      'not written to the ERP',
    );
  }
}

async function runAttempt(ctx: Ctx, job: Job, options: Options, signal: AbortSignal): Promise<void> {
  const due = await startErpAttempt(ctx, job);
  if (due !== undefined) await attempt(ctx, job, due, options, signal);
}

/** On stop, attempts in progress are aborted and released; the next attempt looks up what they did in the ERP. */
export function startWriteBack(ctx: Ctx, overrides: WriteBackOptions = {}): JobWorker {
  const options: Options = { ...defaults, ...overrides };
  return startJobWorker(ctx, {
    kind: 'pay_erp_documents',
    pollMs: options.pollMs,
    leaseMs: options.leaseMs,
    concurrency,
    work: (job, stopping) => runAttempt(ctx, job, options, stopping),
  });
}
