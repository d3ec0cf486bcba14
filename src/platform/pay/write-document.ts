// Brings one payment or refund into an ERP exactly once, whatever happened to attempts before: it looks up what may be there, asks what
// invoices take before it applies anything, and believes only what it reads back. What the ERP refuses it judges by the ERP's state, not
// by its words.
import { type Application, ErpError, type PaymentRecord, type PaymentWriter } from '../../connectors/connector.ts';
import { formatAmount, readAmount } from '../../core/money.ts';

type Order = {
  readonly externalId: string;
  readonly customerId: string;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly memo: string;
  readonly account: string | null;
};
/** In the order in which they were listed: the first gets its money first. */
type Invoices = readonly { readonly recordId: string; readonly amountMinor: bigint }[];
export type PaymentTask = Order & { readonly invoices: Invoices };
export type RefundTask = Order & {
  readonly paymentRecordId: string;
  readonly method: string | null;
  readonly invoices: Invoices;
  /** The bank did not take it after all: the ERP must not show it. */
  readonly cameBack: boolean;
};

/** What the ERP shows of a payment. */
export type Shown = { readonly recordId: string; readonly appliedMinor: bigint; readonly unappliedMinor: bigint };

/** An attempt before this one may have had its effect. */
export type Attempt = { readonly mayBeThere: boolean; readonly signal: AbortSignal };

const refused = (code: string, message: string, fix: string): ErpError => new ErpError('query', code, message, { fix });
const isRefusal = (error: unknown): boolean => error instanceof ErpError && error.kind === 'query';
const vanished = (what: string): ErpError =>
  new ErpError('answer', 'RECORD_NOT_SHOWN', `The ERP took the ${what} and does not show it`, {
    fix: 'The next attempt may find it; if not, let the role of the ERP connection see what it writes.',
  });

function toMinor(text: string, currency: string): bigint {
  const minor = readAmount(text, currency);
  if (minor === undefined)
    throw new ErpError('answer', 'AMOUNT_UNREADABLE', `The ERP shows an amount that is none in ${currency}`, {
      fix: 'Look at the payment in the ERP: its currency is another than that of the payment configuration.',
    });
  return minor;
}
const least = (...amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (b < a ? b : a));
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => a + b, 0n);

function shownOf(record: PaymentRecord, currency: string): Shown {
  const applied = record.applications.map(({ amount }) => toMinor(amount, currency));
  return { recordId: record.id, appliedMinor: sum(applied), unappliedMinor: toMinor(record.unapplied, currency) };
}

/** What of the payment its invoices take now, each no more than was meant for it. */
async function fitting(
  writer: PaymentWriter,
  { invoices, amountMinor, currency }: PaymentTask,
  signal: AbortSignal,
): Promise<Application[]> {
  const due = new Map(
    (
      await writer.dueOn(
        invoices.map(({ recordId }) => recordId),
        signal,
      )
    ).map((each) => [each.invoiceId, toMinor(each.due, currency)]),
  );
  let left = amountMinor;
  return invoices.flatMap(({ recordId, amountMinor: wanted }) => {
    const taken = least(wanted, due.get(recordId) ?? 0n, left);
    if (taken <= 0n) return [];
    left -= taken;
    return [{ invoiceId: recordId, amount: formatAmount({ amountMinor: taken, currency }) }];
  });
}

/** Others pay invoices at the same time; what one takes may change as often between the question and the payment. */
const mostRounds = 4;

async function createPayment(writer: PaymentWriter, task: PaymentTask, signal: AbortSignal): Promise<PaymentRecord> {
  const { externalId, customerId, currency, amountMinor, memo, account } = task;
  const order = { externalId, customerId, currency, memo, account, amount: formatAmount(task) };
  let applications = amountMinor > 0n ? await fitting(writer, task, signal) : [];
  for (let round = 1; ; round += 1) {
    let id: string;
    try {
      id = await writer.createPayment({ ...order, applications }, signal);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const existing = await writer.findPayment(externalId, signal);
      if (existing !== null) return existing;
      const now = await fitting(writer, task, signal);
      if (round === mostRounds || JSON.stringify(now) === JSON.stringify(applications)) throw error;
      applications = now;
      continue;
    }
    const made = await writer.readPayment(id, signal);
    if (made === null) throw vanished('payment');
    return made;
  }
}

/** Rejects with ErpError; of kind `query` when a person has to do something first. */
export async function writePayment(writer: PaymentWriter, task: PaymentTask, { mayBeThere, signal }: Attempt): Promise<Shown> {
  const found = mayBeThere ? await writer.findPayment(task.externalId, signal) : null;
  const record = found ?? (await createPayment(writer, task, signal));
  const isSameCurrency = record.currency === null || record.currency === task.currency;
  if (!isSameCurrency || record.customerId !== task.customerId || toMinor(record.amount, task.currency) !== task.amountMinor)
    throw refused(
      'ANOTHER_PAYMENT',
      `The ERP has a payment with the external id ${task.externalId} that is of another customer, currency or amount`,
      `Give the record ${record.id} another external id in the ERP, or make these what they are here, then try again.`,
    );
  return shownOf(record, task.currency);
}

async function readThere(writer: PaymentWriter, recordId: string, signal: AbortSignal): Promise<PaymentRecord> {
  const record = await writer.readPayment(recordId, signal);
  if (record === null)
    throw refused(
      'PAYMENT_GONE',
      `The payment ${recordId} is not in the ERP any more`,
      'It was deleted or voided in the ERP: enter there by hand what is missing and say so with end-write-back, or bring the payment back and try again.',
    );
  return record;
}

export const readShown = async (writer: PaymentWriter, recordId: string, currency: string, signal: AbortSignal): Promise<Shown> =>
  shownOf(await readThere(writer, recordId, signal), currency);

/** What each invoice keeps once `short` was taken back: from the last listed first, and at the end from those that the ERP's users chose. */
export function takeBack(record: PaymentRecord, { invoices, currency }: RefundTask, short: bigint): Application[] {
  const listed = invoices.map(({ recordId }) => recordId).reverse();
  const byTurn = record.applications.toSorted((a, b) => turn(listed, a.invoiceId) - turn(listed, b.invoiceId));
  let left = short;
  return byTurn.flatMap(({ invoiceId, amount }) => {
    const applied = toMinor(amount, currency);
    const taken = least(applied, left);
    if (taken <= 0n) return [];
    left -= taken;
    return [{ invoiceId, amount: formatAmount({ amountMinor: applied - taken, currency }) }];
  });
}
const turn = (listed: readonly string[], invoiceId: string): number => {
  const at = listed.indexOf(invoiceId);
  return at === -1 ? listed.length : at;
};

/**
 * After it, so much of the payment is applied to no invoice. It decides by `record`, what the ERP showed before the refund was looked for:
 * one of an attempt given up may land at any moment, and what it used up would be taken off the invoices a second time.
 */
async function freeUp(writer: PaymentWriter, task: RefundTask, record: PaymentRecord, signal: AbortSignal): Promise<void> {
  const { externalId, paymentRecordId, currency, amountMinor } = task;
  const shown = shownOf(record, currency);
  const short = amountMinor - shown.unappliedMinor;
  if (short <= 0n) return;
  if (short > shown.appliedMinor)
    throw refused(
      'PAYMENT_USED_UP',
      `Of the payment ${paymentRecordId} the ERP shows less than ${formatAmount(task)} ${currency} that could be given back`,
      'See in the ERP where the rest went: if the refund was entered there by hand, delete it and try again.',
    );
  await writer.changeApplications(paymentRecordId, takeBack(record, task, short), signal);
  const after = await readShown(writer, paymentRecordId, currency, signal);
  if (after.unappliedMinor < amountMinor && (await writer.findRefund(externalId, signal)) === null)
    throw refused(
      'NOT_TAKEN_BACK',
      `The ERP did not take back what the payment ${paymentRecordId} is applied to`,
      'Take the payment off its invoices in the ERP as far as it is refunded, then try again.',
    );
}

async function createRefund(writer: PaymentWriter, task: RefundTask, before: PaymentRecord, signal: AbortSignal): Promise<void> {
  const { externalId, customerId, currency, memo, account, method, paymentRecordId } = task;
  await freeUp(writer, task, before, signal);
  try {
    const order = { externalId, customerId, currency, memo, account, method, amount: formatAmount(task), paymentId: paymentRecordId };
    await writer.createRefund(order, signal);
  } catch (error) {
    if (!isRefusal(error) || (await writer.findRefund(externalId, signal)) === null) throw error;
  }
}

/** Undoing what the ERP has booked is a person's: the period may be closed, and the invoices may have been paid otherwise meanwhile. */
async function withoutRefund(writer: PaymentWriter, task: RefundTask, signal: AbortSignal) {
  const { externalId, paymentRecordId, currency } = task;
  const record = await writer.findRefund(externalId, signal);
  if (record !== null)
    throw refused(
      'REFUND_CAME_BACK',
      `The refund of ${formatAmount(task)} ${currency} came back from the bank after it was entered in the ERP`,
      `Delete the refund ${record.id} in the ERP and apply the payment ${paymentRecordId} to its invoices again, or give the money back otherwise; then try again.`,
    );
  return { recordId: null, payment: await readShown(writer, paymentRecordId, currency, signal) };
}

/**
 * Gives the ERP's id of the refund, null where there must be none, and what it shows of the payment after it. Rejects like
 * `writePayment`.
 */
export async function writeRefund(
  writer: PaymentWriter,
  task: RefundTask,
  { mayBeThere, signal }: Attempt,
): Promise<{ readonly recordId: string | null; readonly payment: Shown }> {
  const { externalId, paymentRecordId, currency } = task;
  if (task.cameBack) return withoutRefund(writer, task, signal);
  const before = await readThere(writer, paymentRecordId, signal);
  let record = mayBeThere ? await writer.findRefund(externalId, signal) : null;
  if (record === null) {
    await createRefund(writer, task, before, signal);
    record = await writer.findRefund(externalId, signal);
  }
  if (record === null) throw vanished('refund');
  const given = sum(record.of.filter(({ paymentId }) => paymentId === paymentRecordId).map(({ amount }) => toMinor(amount, currency)));
  if (record.customerId !== task.customerId || given !== task.amountMinor)
    throw refused(
      'ANOTHER_REFUND',
      `The ERP has a refund with the external id ${externalId} that is of another customer, payment or amount`,
      `Give the record ${record.id} another external id in the ERP, or make it one of ${formatAmount(task)} ${currency} of this payment, then try again.`,
    );
  return { recordId: record.id, payment: await readShown(writer, paymentRecordId, currency, signal) };
}
