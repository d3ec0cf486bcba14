// How much is paid on each invoice of a checkout: what is requested, or all that is due and not in flight.
import { type ErrorDetail, invalid } from '../../../core/errors.ts';
import { formatAmount, parseAmount } from '../../../core/text/money.ts';
import type { Tx } from '../../../db/transaction.ts';
import { listErpStates } from '../ledger/erp-states.store.ts';
import { listShares, type ShareRow } from '../ledger/payments.store.ts';
import type { CheckoutInput } from '../pay.schemas.ts';
import { amountInFlight, type CurrentDue, type Share } from './in-flight.ts';
import type { OpenInvoices } from './open-invoices.ts';

/** What is to be paid, and by which customer. */
export type CheckoutOrder = Pick<CheckoutInput, 'customerId' | 'invoices' | 'allowStale'>;
type RequestedInvoice = CheckoutInput['invoices'][number];
export type Line = {
  readonly recordId: string;
  readonly number: string;
  readonly dueMinor: bigint;
  readonly requestedMinor: bigint | undefined;
};
const detailAt = (
  index: number,
  field: keyof RequestedInvoice,
  code: string,
  message: string,
): ErrorDetail => ({ path: `invoices[${index}].${field}`, code, message });

/** Checks one requested invoice against the ERP's state, before amounts in flight are subtracted. */
function checkLine(
  requested: RequestedInvoice,
  index: number,
  { customerId, invoices }: CheckoutOrder,
  { byId }: OpenInvoices,
  currency: string,
): Line | ErrorDetail {
  const { recordId, amount } = requested;
  const invoice = byId.get(recordId);
  if (invoices.findIndex((other) => other.recordId === recordId) < index)
    return detailAt(index, 'recordId', 'duplicate', `Duplicate invoice: ${recordId} appears twice`);
  // Another customer's invoice gets the same message as a missing one.
  if (invoice === undefined || invoice.customerId !== customerId)
    return detailAt(index, 'recordId', 'unknown_invoice', 'This customer has no invoice with this id');
  if (!invoice.isInCurrency)
    return detailAt(
      index,
      'recordId',
      'other_currency',
      `The invoice is not in ${currency}, the currency of the payment configuration`,
    );
  if (invoice.dueMinor === undefined)
    return detailAt(
      index,
      'recordId',
      'inexact_amount',
      `The open amount in the ERP is not a valid amount in ${currency}`,
    );
  if (invoice.dueMinor <= 0n)
    return detailAt(index, 'recordId', 'nothing_due', 'Nothing is due on this invoice');
  const requestedMinor = amount === undefined ? undefined : parseAmount(amount, currency);
  if (amount !== undefined && (requestedMinor === undefined || requestedMinor <= 0n))
    return detailAt(
      index,
      'amount',
      'invalid_amount',
      `Must be a positive amount in ${currency} with no more decimals than the currency has`,
    );
  return { recordId, number: invoice.number, dueMinor: invoice.dueMinor, requestedMinor };
}

function getLines(input: CheckoutOrder, read: OpenInvoices, currency: string): Line[] {
  const lines = input.invoices.map((requested, index) => checkLine(requested, index, input, read, currency));
  const details = lines.filter((line) => 'code' in line);
  if (details.length > 0) throw invalid("These invoices can't be paid", details.slice(0, 100));
  return lines.filter((line) => 'dueMinor' in line);
}

/**
 * How much of one invoice's share was refunded. A partial refund can be attributed only when the payment was
 * for that invoice alone, a refund of everything always.
 */
function refundedShare(row: ShareRow): bigint {
  const [amount, received, refunded] = [row.amount_minor, row.received_minor, row.refunded_minor].map(
    BigInt,
  ) as [bigint, bigint, bigint];
  if (amount === received) return refunded;
  return refunded > 0n && refunded === received ? amount : 0n;
}

async function listSharesByInvoice(
  tx: Tx,
  organizationId: string,
  erpAccount: string | null,
  recordIds: readonly string[],
): Promise<ReadonlyMap<string, (Share & { currency: string })[]>> {
  const rows = await listShares(tx, organizationId, erpAccount, recordIds);
  const states = await listErpStates(tx, organizationId, [...new Set(rows.map(({ payment_id: id }) => id))]);
  const shares = rows.map((row) => {
    const state = states.get(row.payment_id);
    return {
      recordId: row.record_id,
      status: row.status,
      currency: row.currency,
      amountMinor: BigInt(row.amount_minor),
      dueMinor: BigInt(row.due_minor),
      readAt: row.read_at,
      refundedMinor: refundedShare(row),
      erp: state === undefined || state.status === 'OFF' ? null : { writtenAt: state.writtenAt },
    };
  });
  return Map.groupBy(shares, ({ recordId }) => recordId);
}

/**
 * What can still be paid of an open amount. Amounts in another currency can't be compared, so with any of them in flight
 * nothing is free. Pure.
 */
function freeMinor(shares: readonly (Share & { currency: string })[], now: CurrentDue, currency: string) {
  const taken = amountInFlight(shares, now);
  const mixed = taken > 0n && shares.some((share) => share.currency !== currency);
  return mixed || taken >= now.dueMinor ? 0n : now.dueMinor - taken;
}

type Books = { readonly currency: string; readonly erpAccount: string | null };

/** By record id, what can still be paid of the open amounts that were read from the ERP no earlier than `readAt`. */
export async function readFreeAmounts(
  tx: Tx,
  organizationId: string,
  { currency, erpAccount }: Books,
  dues: ReadonlyMap<string, bigint>,
  readAt: Date,
): Promise<ReadonlyMap<string, bigint>> {
  const shares = await listSharesByInvoice(tx, organizationId, erpAccount, [...dues.keys()]);
  return new Map(
    [...dues].map(([id, dueMinor]) => [id, freeMinor(shares.get(id) ?? [], { dueMinor, readAt }, currency)]),
  );
}

export type PricedLine = { readonly line: Line; readonly amountMinor: bigint };

/**
 * The amount to pay on each requested invoice: the requested amount, or all that is free; never more than is
 * free. Throws 422 for an invoice that can't be paid, and `in_flight` or `more_than_due`.
 */
export async function priceLines(
  tx: Tx,
  organizationId: string,
  { currency, erpAccount }: Books,
  input: CheckoutOrder,
  read: OpenInvoices,
): Promise<PricedLine[]> {
  const lines = getLines(input, read, currency);
  const recordIds = lines.map(({ recordId }) => recordId);
  const shares = await listSharesByInvoice(tx, organizationId, erpAccount, recordIds);
  const priced = lines.map((line, index): PricedLine | ErrorDetail => {
    const now = { dueMinor: line.dueMinor, readAt: read.readAt };
    const free = freeMinor(shares.get(line.recordId) ?? [], now, currency);
    const left = formatAmount({ amountMinor: free, currency });
    if (free === 0n)
      return detailAt(
        index,
        'recordId',
        'in_flight',
        'Other payments in progress already cover the open amount',
      );
    if (line.requestedMinor !== undefined && line.requestedMinor > free)
      return detailAt(
        index,
        'amount',
        'more_than_due',
        read.hidesDue ? 'Less is left to pay' : `At most ${left} ${currency} is left to pay`,
      );
    return { line, amountMinor: line.requestedMinor ?? free };
  });
  const details = priced.filter((one) => 'code' in one);
  if (details.length > 0)
    throw invalid('The requested amount is more than what is due', details.slice(0, 100));
  return priced.filter((one) => 'line' in one);
}
