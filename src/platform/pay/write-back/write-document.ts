// Writes one payment or refund into an ERP exactly once, whatever earlier attempts did: it looks up an
// existing record first, reads the open amounts of the invoices before it applies anything, and trusts only
// what it reads back. After a refusal the ERP's state decides, not its error message.
import { ErpError } from '../../../connectors/connector.ts';
import type { Application, PaymentRecord, PaymentWriter } from '../../../connectors/payment-writer.ts';
import { formatAmount, readAmount } from '../../../core/text/money.ts';

type Order = {
  readonly externalId: string;
  readonly customerId: string;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly memo: string;
  readonly account: string | null;
};
/** In the order of the checkout: the first invoice is paid first. */
type Invoices = readonly { readonly recordId: string; readonly amountMinor: bigint }[];
export type PaymentTask = Order & { readonly invoices: Invoices };
export type RefundTask = Order & {
  readonly paymentRecordId: string;
  readonly method: string | null;
  readonly invoices: Invoices;
  /** The bank returned the refund: the ERP must not show it. */
  readonly wasReturned: boolean;
};

/** What the ERP shows of a payment. */
export type ErpPaymentState = {
  readonly recordId: string;
  readonly appliedMinor: bigint;
  readonly unappliedMinor: bigint;
};

/** `mayAlreadyExist`: an earlier attempt may have written the record. */
export type WriteAttempt = { readonly mayAlreadyExist: boolean; readonly signal: AbortSignal };

const refused = (code: string, message: string, fix: string) => new ErpError('query', code, message, { fix });
const isRefusal = (error: unknown): boolean => error instanceof ErpError && error.kind === 'query';
const recordNotShown = (what: string): ErpError =>
  new ErpError('answer', 'RECORD_NOT_SHOWN', `The ERP accepted the ${what} but does not show it`, {
    fix: 'The next attempt may find it. If not, give the role of the ERP connection permission to see the records that it writes.',
  });

function toMinor(text: string, currency: string): bigint {
  const minor = readAmount(text, currency);
  if (minor === undefined)
    throw new ErpError(
      'answer',
      'AMOUNT_UNREADABLE',
      `The ERP shows an amount that is not valid in ${currency}`,
      {
        fix: 'Check the payment in the ERP: its currency differs from the currency of the payment configuration.',
      },
    );
  return minor;
}
const min = (...amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (b < a ? b : a));
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => a + b, 0n);

function toErpPaymentState(record: PaymentRecord, currency: string): ErpPaymentState {
  const applied = record.applications.map(({ amount }) => toMinor(amount, currency));
  return {
    recordId: record.id,
    appliedMinor: sum(applied),
    unappliedMinor: toMinor(record.unapplied, currency),
  };
}

/** What each invoice can take now: at most its planned and open amount, and what is left of the payment. */
async function planApplications(
  writer: PaymentWriter,
  { invoices, amountMinor, currency }: PaymentTask,
  signal: AbortSignal,
): Promise<Application[]> {
  const due = new Map(
    (
      await writer.readAmountsDue(
        invoices.map(({ recordId }) => recordId),
        signal,
      )
    ).map((each) => [each.invoiceId, toMinor(each.due, currency)]),
  );
  let leftMinor = amountMinor;
  return invoices.flatMap(({ recordId, amountMinor: wanted }) => {
    const takenMinor = min(wanted, due.get(recordId) ?? 0n, leftMinor);
    if (takenMinor <= 0n) return [];
    leftMinor -= takenMinor;
    return [{ invoiceId: recordId, amount: formatAmount({ amountMinor: takenMinor, currency }) }];
  });
}

/** Open amounts may change between reading and paying; after this many attempts the refusal is final. */
const maxRounds = 4;

async function createPayment(writer: PaymentWriter, task: PaymentTask, signal: AbortSignal) {
  const { externalId, customerId, currency, amountMinor, memo, account } = task;
  const order = { externalId, customerId, currency, memo, account, amount: formatAmount(task) };
  let applications = amountMinor > 0n ? await planApplications(writer, task, signal) : [];
  for (let round = 1; ; round += 1) {
    let id: string;
    try {
      id = await writer.createPayment({ ...order, applications }, signal);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const existing = await writer.findPayment(externalId, signal);
      if (existing !== null) return existing;
      const now = await planApplications(writer, task, signal);
      if (round === maxRounds || JSON.stringify(now) === JSON.stringify(applications)) throw error;
      applications = now;
      continue;
    }
    const written = await writer.readPayment(id, signal);
    if (written === null) throw recordNotShown('payment');
    return written;
  }
}

/**
 * Writes the payment, or finds it, and returns what the ERP shows of it. Rejects with ErpError; its kind is
 * `query` when a person has to act first.
 */
export async function writePayment(
  writer: PaymentWriter,
  task: PaymentTask,
  { mayAlreadyExist, signal }: WriteAttempt,
): Promise<ErpPaymentState> {
  const found = mayAlreadyExist ? await writer.findPayment(task.externalId, signal) : null;
  const record = found ?? (await createPayment(writer, task, signal));
  const isSameCurrency = record.currency === null || record.currency === task.currency;
  if (
    !isSameCurrency ||
    record.customerId !== task.customerId ||
    toMinor(record.amount, task.currency) !== task.amountMinor
  )
    throw refused(
      'ANOTHER_PAYMENT',
      `The ERP has another payment with the external id ${task.externalId}: its customer, currency or amount differs`,
      `Give the record ${record.id} another external id in the ERP, or correct its customer, currency and amount, then retry.`,
    );
  return toErpPaymentState(record, task.currency);
}

async function getPaymentRecord(writer: PaymentWriter, recordId: string, signal: AbortSignal) {
  const record = await writer.readPayment(recordId, signal);
  if (record === null)
    throw refused(
      'PAYMENT_GONE',
      `The payment ${recordId} is no longer in the ERP`,
      'It was deleted or voided in the ERP: enter what is missing there by hand and confirm with end-write-back, or restore the payment and retry.',
    );
  return record;
}

/** Rejects with ErpError: `PAYMENT_GONE` when the payment is no longer in the ERP. */
export const readErpPaymentState = async (
  writer: PaymentWriter,
  recordId: string,
  currency: string,
  signal: AbortSignal,
): Promise<ErpPaymentState> => toErpPaymentState(await getPaymentRecord(writer, recordId, signal), currency);

/**
 * The new applications that free `shortMinor` of the payment. The last listed invoice is reduced first;
 * invoices that the ERP's users chose come at the end. Throws ErpError `AMOUNT_UNREADABLE`.
 */
export function reduceApplications(
  record: PaymentRecord,
  { invoices, currency }: RefundTask,
  shortMinor: bigint,
): Application[] {
  const listed = invoices.map(({ recordId }) => recordId).reverse();
  const inOrder = record.applications.toSorted(
    (a, b) => rank(listed, a.invoiceId) - rank(listed, b.invoiceId),
  );
  let leftMinor = shortMinor;
  return inOrder.flatMap(({ invoiceId, amount }) => {
    const applied = toMinor(amount, currency);
    const takenMinor = min(applied, leftMinor);
    if (takenMinor <= 0n) return [];
    leftMinor -= takenMinor;
    return [{ invoiceId, amount: formatAmount({ amountMinor: applied - takenMinor, currency }) }];
  });
}
const rank = (listed: readonly string[], invoiceId: string): number => {
  const at = listed.indexOf(invoiceId);
  return at === -1 ? listed.length : at;
};

/**
 * Unapplies the payment from invoices until the refund's amount is free. It decides by `record`, read before
 * the refund was looked up: the refund of an aborted attempt may land at any moment, and with a later state
 * its amount would be taken off the invoices twice.
 */
async function unapplyForRefund(
  writer: PaymentWriter,
  task: RefundTask,
  record: PaymentRecord,
  signal: AbortSignal,
): Promise<void> {
  const { externalId, paymentRecordId, currency, amountMinor } = task;
  const state = toErpPaymentState(record, currency);
  const shortMinor = amountMinor - state.unappliedMinor;
  if (shortMinor <= 0n) return;
  if (shortMinor > state.appliedMinor)
    throw refused(
      'PAYMENT_USED_UP',
      `The payment ${paymentRecordId} has less than ${formatAmount(task)} ${currency} left to refund in the ERP`,
      'Check in the ERP how the rest was used: if the refund was entered there by hand, delete it and retry.',
    );
  await writer.updateApplications(paymentRecordId, reduceApplications(record, task, shortMinor), signal);
  const after = await readErpPaymentState(writer, paymentRecordId, currency, signal);
  if (after.unappliedMinor < amountMinor && (await writer.findRefund(externalId, signal)) === null)
    throw refused(
      'NOT_TAKEN_BACK',
      `The ERP did not unapply the payment ${paymentRecordId} from its invoices`,
      'Unapply the refunded amount of the payment from its invoices in the ERP, then retry.',
    );
}

async function createRefund(
  writer: PaymentWriter,
  task: RefundTask,
  before: PaymentRecord,
  signal: AbortSignal,
): Promise<void> {
  const { externalId, customerId, currency, memo, account, method, paymentRecordId } = task;
  await unapplyForRefund(writer, task, before, signal);
  try {
    const order = {
      externalId,
      customerId,
      currency,
      memo,
      account,
      method,
      amount: formatAmount(task),
      paymentId: paymentRecordId,
    };
    await writer.createRefund(order, signal);
  } catch (error) {
    if (!isRefusal(error) || (await writer.findRefund(externalId, signal)) === null) throw error;
  }
}

/**
 * For a refund that the bank returned. If it is already booked in the ERP, a person must undo it: the period
 * may be closed, and the invoices may have been paid in another way meanwhile.
 */
async function checkReturnedRefund(writer: PaymentWriter, task: RefundTask, signal: AbortSignal) {
  const { externalId, paymentRecordId, currency } = task;
  const record = await writer.findRefund(externalId, signal);
  if (record !== null)
    throw refused(
      'REFUND_CAME_BACK',
      `The refund of ${formatAmount(task)} ${currency} was returned by the bank after it was entered in the ERP`,
      `Delete the refund ${record.id} in the ERP and apply the payment ${paymentRecordId} to its invoices again, or refund the money in another way; then retry.`,
    );
  return { recordId: null, payment: await readErpPaymentState(writer, paymentRecordId, currency, signal) };
}

/**
 * Returns the refund's id in the ERP (null for a refund that was returned) and what the ERP shows of the
 * payment after it. Rejects like `writePayment`.
 */
export async function writeRefund(
  writer: PaymentWriter,
  task: RefundTask,
  { mayAlreadyExist, signal }: WriteAttempt,
): Promise<{ readonly recordId: string | null; readonly payment: ErpPaymentState }> {
  const { externalId, paymentRecordId, currency } = task;
  if (task.wasReturned) return checkReturnedRefund(writer, task, signal);
  const before = await getPaymentRecord(writer, paymentRecordId, signal);
  let record = mayAlreadyExist ? await writer.findRefund(externalId, signal) : null;
  if (record === null) {
    await createRefund(writer, task, before, signal);
    record = await writer.findRefund(externalId, signal);
  }
  if (record === null) throw recordNotShown('refund');
  const refundedMinor = sum(
    record.of
      .filter(({ paymentId }) => paymentId === paymentRecordId)
      .map(({ amount }) => toMinor(amount, currency)),
  );
  if (record.customerId !== task.customerId || refundedMinor !== task.amountMinor)
    throw refused(
      'ANOTHER_REFUND',
      `The ERP has another refund with the external id ${externalId}: its customer, payment or amount differs`,
      `Give the record ${record.id} another external id in the ERP, or correct it to a refund of ${formatAmount(task)} ${currency} of this payment, then retry.`,
    );
  return {
    recordId: record.id,
    payment: await readErpPaymentState(writer, paymentRecordId, currency, signal),
  };
}
