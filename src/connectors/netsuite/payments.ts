// Payments and refunds in NetSuite's books: customerPayment and customerRefund of the record service. The
// response to a write has no content, so callers read the record back. Documents are found by their external
// id with SuiteQL, because reading by `eid:` is [unconfirmed].
import { z } from 'zod';
import { exactNumber } from '../../core/text/exact-json.ts';
import { ErpError } from '../connector.ts';
import type {
  Application,
  PaymentOrder,
  PaymentRecord,
  PaymentWriter,
  RefundOrder,
  RefundRecord,
} from '../payment-writer.ts';
import { inconsistentResponse } from './requests/errors.ts';
import type { NetsuiteHttp } from './requests/http.ts';
import { maxRowsPerQuery, type Suiteql } from './requests/suiteql.ts';
import { isZero } from './types/display-fields.ts';
import { isIdText, parseValue } from './types/values.ts';

/** Without this header NetSuite silently ignores misspelt or unknown field names, and the money in them. */
const writeHeaders = { 'content-type': 'application/json', 'x-netsuite-propertynamevalidation': 'Error' };

/** The calls of the record service for one kind of document each. */
function createDocuments(http: NetsuiteHttp, suiteql: Suiteql) {
  const find = async (type: 'CustPymt' | 'CustRfnd', externalId: string, signal: AbortSignal) => {
    const query = `SELECT t.id FROM transaction t WHERE t.type = '${type}' AND t.externalid = '${assertExternalId(externalId)}' ORDER BY t.id ASC`;
    const { rows } = await suiteql.query(query, 2, signal);
    if (rows.length > 1) throw inconsistentResponse(`Two records have the external id ${externalId}`);
    return rows[0] === undefined ? null : parseId(rows[0]['id']);
  };
  const read = async (type: string, id: string, signal: AbortSignal): Promise<unknown> => {
    try {
      const path = `record/v1/${type}/${assertId(id)}?expandSubResources=true`;
      return (await http.send({ method: 'GET', path, signal })).json;
    } catch (error) {
      if (isAbsent(error)) return null;
      throw isRefusal(error)
        ? new ErpError('query', 'RECORD_UNREADABLE', error.message, { fix: unreadableFix, cause: error })
        : error;
    }
  };
  const create = async (type: string, body: object, signal: AbortSignal): Promise<string> => {
    const location = await http.write({
      method: 'POST',
      path: `record/v1/${type}`,
      headers: writeHeaders,
      body: JSON.stringify(body),
      signal,
    });
    return parseId(/\/(-?\d+)$/.exec(location)?.[1]);
  };
  return { find, read, create };
}

/**
 * The errors are those that PaymentWriter describes. Throws a RangeError for an external id with anything but
 * letters, digits, `_` and `-`, because it is put into a query unquoted.
 */
export function createPaymentWriter(http: NetsuiteHttp, suiteql: Suiteql): PaymentWriter {
  const { find, read, create } = createDocuments(http, suiteql);
  const currencies = createCurrencyCache(suiteql);
  const findCurrencyId = async (currency: string, signal: AbortSignal): Promise<string | null> =>
    (await currencies(signal)).find(({ symbol }) => symbol === currency)?.id ?? null;
  const readPayment = async (id: string, signal: AbortSignal): Promise<PaymentRecord | null> => {
    const record = await read('customerPayment', id, signal);
    return record === null ? null : parsePayment(record, await currencies(signal));
  };
  return {
    readAmountsDue: (invoiceIds, signal) => readAmountsDue(suiteql, invoiceIds, signal),
    async findPayment(externalId, signal) {
      const id = await find('CustPymt', externalId, signal);
      return id === null ? null : readPayment(id, signal);
    },
    readPayment,
    async createPayment(order, signal) {
      const body = paymentBody(order, await findCurrencyId(order.currency, signal));
      return create('customerPayment', body, signal);
    },
    async updateApplications(paymentId, applications, signal) {
      const body = JSON.stringify({ apply: { items: applications.map(toLine) } });
      await http.write({
        method: 'PATCH',
        path: `record/v1/customerPayment/${assertId(paymentId)}`,
        headers: writeHeaders,
        body,
        signal,
      });
    },
    async findRefund(externalId, signal) {
      const id = await find('CustRfnd', externalId, signal);
      const record = id === null ? null : await read('customerRefund', id, signal);
      return record === null ? null : parseRefund(record);
    },
    async createRefund(order, signal) {
      return create(
        'customerRefund',
        refundBody(order, await findCurrencyId(order.currency, signal)),
        signal,
      );
    },
  };
}

const buildHeader = (
  { customerId, externalId, memo }: Pick<PaymentOrder, 'customerId' | 'externalId' | 'memo'>,
  currency: string | null,
) => ({
  customer: { id: customerId },
  externalId,
  memo,
  ...(currency === null ? {} : { currency: { id: currency } }),
});

const paymentBody = (order: PaymentOrder, currency: string | null): object => ({
  ...buildHeader(order, currency),
  payment: exactNumber(order.amount),
  ...(order.account === null ? { undepFunds: true } : { undepFunds: false, account: { id: order.account } }),
  ...(order.applications.length > 0 && { apply: { items: order.applications.map(toLine) } }),
});

const refundBody = (order: RefundOrder, currency: string | null): object => ({
  ...buildHeader(order, currency),
  ...(order.account !== null && { account: { id: order.account } }),
  ...(order.method !== null && { paymentMethod: { id: order.method } }),
  apply: { items: [toLine({ invoiceId: order.paymentId, amount: order.amount })] },
});

const toLine = ({ invoiceId, amount }: Application): object => ({
  doc: { id: invoiceId },
  ...(isZero(amount) ? { apply: false } : { apply: true, amount: exactNumber(amount) }),
});

function assertId(id: string): string {
  if (!isIdText(id)) throw inconsistentResponse('A NetSuite id is not an integer');
  return id;
}
const parseId = (value: unknown): string => assertId(typeof value === 'string' ? value : '');

/** Only external ids that this service created are looked up, and those need no quoting. */
function assertExternalId(externalId: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(externalId))
    throw new RangeError("an external id must have 1 to 100 letters, digits, '_' and '-'");
  return externalId;
}

const isRefusal = (error: unknown): error is ErpError => error instanceof ErpError && error.kind === 'query';
/** NetSuite opens a record for editing even to show it. */
const unreadableFix =
  'Give the role of this connection "Customer Payment" and "Customer Refund" at level Edit and check that the record is not locked, then try again.';

/** NetSuite has another message for a missing transaction than for a missing record. */
const isAbsent = (error: unknown): boolean =>
  isRefusal(error) &&
  /record instance does not exist|Transaction type specified is incorrect/i.test(error.message);

type Currency = { readonly id: string; readonly symbol: unknown };

/**
 * The account's currencies with their ISO codes, read once. Empty where this role sees none: then NetSuite
 * uses the customer's currency.
 */
function createCurrencyCache(suiteql: Suiteql): (signal: AbortSignal) => Promise<readonly Currency[]> {
  let cached: readonly Currency[] | undefined;
  return async (signal) => {
    cached ??= await suiteql
      .query('SELECT c.id, c.symbol FROM currency c ORDER BY c.id ASC', maxRowsPerQuery, signal)
      .then(
        ({ rows }) => rows.map((row) => ({ id: parseId(row['id']), symbol: row['symbol'] })),
        (error: unknown) => {
          if (error instanceof ErpError && (error.kind === 'query' || error.kind === 'forbidden')) return [];
          throw error;
        },
      );
    return cached;
  };
}

async function readAmountsDue(
  suiteql: Suiteql,
  invoiceIds: readonly string[],
  signal: AbortSignal,
): ReturnType<PaymentWriter['readAmountsDue']> {
  const ids = [...new Set(invoiceIds.map(assertId))];
  if (ids.length === 0) return [];
  const query = `SELECT t.id, t.foreignamountunpaid FROM transaction t WHERE t.type = 'CustInvc' AND t.id IN (${ids.join(', ')}) ORDER BY t.id ASC`;
  const { rows } = await suiteql.query(query, maxRowsPerQuery, signal);
  return rows.map((row) => {
    const due = parseValue(row['foreignamountunpaid'], 'number');
    if (due === undefined) throw inconsistentResponse('The amount due on an invoice is not a number');
    return { invoiceId: parseId(row['id']), due: due ?? '0' };
  });
}

/** The record service's amounts are JSON numbers, which JavaScript holds exactly up to 15 digits. */
const amount = z
  .number()
  .refine(
    (value) =>
      /^-?\d{1,15}(?:\.\d{1,12})?$/.test(String(value)) && String(value).replace(/\D/g, '').length <= 15,
  );
const reference = z.object({ id: z.string() });
const line = z.object({
  apply: z.boolean().optional(),
  doc: reference.optional(),
  amount: amount.optional(),
});
const lines = z.object({ items: z.array(line), hasMore: z.boolean().optional() });
const paymentShape = z.object({
  id: z.string(),
  customer: reference,
  currency: reference.optional(),
  payment: amount,
  unapplied: amount.optional(),
  apply: lines,
});
const refundShape = z.object({ id: z.string(), customer: reference, apply: lines });

function parseRecord<T>(shape: z.ZodType<T>, record: unknown): T {
  const parsed = shape.safeParse(record);
  if (!parsed.success)
    throw inconsistentResponse(
      `A record has an unexpected shape: ${z.prettifyError(parsed.error).slice(0, 300)}`,
    );
  return parsed.data;
}

/** Without open documents to which nothing is applied: NetSuite may list these as well. */
function appliedLines({ items, hasMore }: z.infer<typeof lines>): { doc: string; amount: string }[] {
  if (hasMore === true) throw inconsistentResponse('A record does not list all of its applications');
  return items.flatMap(({ apply, doc, amount: applied }) =>
    apply === false || doc === undefined || applied === undefined || applied === 0
      ? []
      : [{ doc: doc.id, amount: String(applied) }],
  );
}

function parsePayment(response: unknown, currencies: readonly Currency[]): PaymentRecord {
  const record = parseRecord(paymentShape, response);
  const currency = currencies.find(({ id }) => id === record.currency?.id)?.symbol;
  return {
    id: record.id,
    customerId: record.customer.id,
    currency: typeof currency === 'string' ? currency : null,
    amount: String(record.payment),
    applications: appliedLines(record.apply).map(({ doc, amount: applied }) => ({
      invoiceId: doc,
      amount: applied,
    })),
    unapplied: String(record.unapplied ?? 0),
  };
}

function parseRefund(response: unknown): RefundRecord {
  const { id, customer, apply } = parseRecord(refundShape, response);
  return {
    id,
    customerId: customer.id,
    of: appliedLines(apply).map(({ doc, amount: refunded }) => ({ paymentId: doc, amount: refunded })),
  };
}
