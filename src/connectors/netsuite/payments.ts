// Payments and refunds in NetSuite's books: customerPayment and customerRefund of the record service. A write is answered with no content,
// so what became of it is always read back. Documents are found by their external id in SuiteQL, since reading by `eid:` is [unconfirmed].
import { z } from 'zod';
import { exactNumber } from '../../core/exact-json.ts';
import { type Application, ErpError, type PaymentOrder, type PaymentRecord, type PaymentWriter, type RefundRecord } from '../connector.ts';
import { inconsistent } from './errors.ts';
import type { NetsuiteHttp } from './http.ts';
import { largestPage, type Suiteql } from './suiteql.ts';
import { isIdText, parseValue } from './values.ts';

/** Misspelt or unknown names would otherwise be passed over in silence, and money with them. */
const writing = { 'content-type': 'application/json', 'x-netsuite-propertynamevalidation': 'Error' };

export function openPaymentWriter(http: NetsuiteHttp, suiteql: Suiteql): PaymentWriter {
  const find = async (type: 'CustPymt' | 'CustRfnd', externalId: string, signal: AbortSignal): Promise<string | null> => {
    const query = `SELECT t.id FROM transaction t WHERE t.type = '${type}' AND t.externalid = '${checkExternalId(externalId)}' ORDER BY t.id ASC`;
    const { rows } = await suiteql.ask(query, 2, signal);
    if (rows.length > 1) throw inconsistent(`Two records have the external id ${externalId}`);
    return rows[0] === undefined ? null : idOf(rows[0]['id']);
  };
  const read = async (type: string, id: string, signal: AbortSignal): Promise<unknown> => {
    try {
      return await http.send({ method: 'GET', path: `record/v1/${type}/${checkId(id)}?expandSubResources=true`, signal });
    } catch (error) {
      if (isAbsent(error)) return null;
      throw isRefusal(error) ? new ErpError('query', 'RECORD_UNREADABLE', error.message, { fix: readingFix, cause: error }) : error;
    }
  };
  const create = async (type: string, body: object, signal: AbortSignal): Promise<string> => {
    const location = await http.write({ method: 'POST', path: `record/v1/${type}`, headers: writing, body: JSON.stringify(body), signal });
    return idOf(/\/(-?\d+)$/.exec(location)?.[1]);
  };
  const currencies = openCurrencies(suiteql);
  const currencyOf = async (currency: string, signal: AbortSignal): Promise<string | null> =>
    (await currencies(signal)).find(({ symbol }) => symbol === currency)?.id ?? null;
  const readPayment = async (id: string, signal: AbortSignal): Promise<PaymentRecord | null> => {
    const answer = await read('customerPayment', id, signal);
    return answer === null ? null : paymentOf(answer, await currencies(signal));
  };
  return {
    dueOn: (invoiceIds, signal) => dueOn(suiteql, invoiceIds, signal),
    async findPayment(externalId, signal) {
      const id = await find('CustPymt', externalId, signal);
      return id === null ? null : readPayment(id, signal);
    },
    readPayment,
    async createPayment(order, signal) {
      const { amount, account, applications } = order;
      const place = account === null ? { undepFunds: true } : { undepFunds: false, account: { id: account } };
      const apply = applications.length === 0 ? {} : { apply: { items: applications.map(lineOf) } };
      const body = { ...headerOf(order, await currencyOf(order.currency, signal)), payment: exactNumber(amount), ...place, ...apply };
      return create('customerPayment', body, signal);
    },
    async changeApplications(paymentId, applications, signal) {
      const body = JSON.stringify({ apply: { items: applications.map(lineOf) } });
      await http.write({ method: 'PATCH', path: `record/v1/customerPayment/${checkId(paymentId)}`, headers: writing, body, signal });
    },
    async findRefund(externalId, signal) {
      const id = await find('CustRfnd', externalId, signal);
      const answer = id === null ? null : await read('customerRefund', id, signal);
      return answer === null ? null : refundOf(answer);
    },
    async createRefund(order, signal) {
      const { amount, account, method, paymentId } = order;
      const place = {
        ...(account === null ? {} : { account: { id: account } }),
        ...(method === null ? {} : { paymentMethod: { id: method } }),
      };
      const apply = { items: [lineOf({ invoiceId: paymentId, amount })] };
      return create('customerRefund', { ...headerOf(order, await currencyOf(order.currency, signal)), ...place, apply }, signal);
    },
  };
}

const headerOf = ({ customerId, externalId, memo }: Pick<PaymentOrder, 'customerId' | 'externalId' | 'memo'>, currency: string | null) => ({
  customer: { id: customerId },
  externalId,
  memo,
  ...(currency === null ? {} : { currency: { id: currency } }),
});

const isNothing = (amount: string): boolean => /^0*(?:\.0*)?$/.test(amount);
const lineOf = ({ invoiceId, amount }: Application): object => ({
  doc: { id: invoiceId },
  ...(isNothing(amount) ? { apply: false } : { apply: true, amount: exactNumber(amount) }),
});

function checkId(id: string): string {
  if (!isIdText(id)) throw inconsistent('An id of NetSuite is not an integer');
  return id;
}
const idOf = (value: unknown): string => checkId(typeof value === 'string' ? value : '');

/** Ours alone are ever asked for, and they need no quoting. */
function checkExternalId(externalId: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(externalId)) throw new RangeError('an external id has letters, digits and dashes');
  return externalId;
}

const isRefusal = (error: unknown): error is ErpError => error instanceof ErpError && error.kind === 'query';
/** Even to show a record, NetSuite opens it for editing. */
const readingFix =
  'Give the role of this connection "Customer Payment" and "Customer Refund" at level Edit and see that the record is not locked, then try again.';

/** A transaction that is gone is told in other words than a record that is. */
const isAbsent = (error: unknown): boolean =>
  isRefusal(error) && /record instance does not exist|Transaction type specified is incorrect/i.test(error.message);

type Currency = { readonly id: string; readonly symbol: unknown };

/** The account's currencies with their ISO codes; none where this role sees none: then NetSuite takes that of the customer. */
function openCurrencies(suiteql: Suiteql): (signal: AbortSignal) => Promise<readonly Currency[]> {
  let known: readonly Currency[] | undefined;
  return async (signal) => {
    known ??= await suiteql.ask('SELECT c.id, c.symbol FROM currency c ORDER BY c.id ASC', largestPage, signal).then(
      ({ rows }) => rows.map((row) => ({ id: idOf(row['id']), symbol: row['symbol'] })),
      (error: unknown) => {
        if (error instanceof ErpError && (error.kind === 'query' || error.kind === 'forbidden')) return [];
        throw error;
      },
    );
    return known;
  };
}

async function dueOn(suiteql: Suiteql, invoiceIds: readonly string[], signal: AbortSignal): ReturnType<PaymentWriter['dueOn']> {
  const ids = [...new Set(invoiceIds.map(checkId))];
  if (ids.length === 0) return [];
  const query = `SELECT t.id, t.foreignamountunpaid FROM transaction t WHERE t.type = 'CustInvc' AND t.id IN (${ids.join(', ')}) ORDER BY t.id ASC`;
  const { rows } = await suiteql.ask(query, largestPage, signal);
  return rows.map((row) => {
    const due = parseValue(row['foreignamountunpaid'], 'number');
    if (due === undefined) throw inconsistent('What is due on an invoice is not a number');
    return { invoiceId: idOf(row['id']), due: due ?? '0' };
  });
}

/** Numbers of the record service are JSON numbers: up to 15 digits these are what NetSuite wrote. */
const amount = z
  .number()
  .refine((value) => /^-?\d{1,15}(?:\.\d{1,12})?$/.test(String(value)) && String(value).replace(/\D/g, '').length <= 15);
const reference = z.object({ id: z.string() });
const line = z.object({ apply: z.boolean().optional(), doc: reference.optional(), amount: amount.optional() });
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

function parseRecord<T>(shape: z.ZodType<T>, answer: unknown): T {
  const parsed = shape.safeParse(answer);
  if (!parsed.success) throw inconsistent(`A record has another shape: ${z.prettifyError(parsed.error).slice(0, 300)}`);
  return parsed.data;
}

/** Open documents to which nothing is applied may be listed as well. */
function appliedLines({ items, hasMore }: z.infer<typeof lines>): { doc: string; amount: string }[] {
  if (hasMore === true) throw inconsistent('A record does not show all that it is applied to');
  return items.flatMap(({ apply, doc, amount: applied }) =>
    apply === false || doc === undefined || applied === undefined || applied === 0 ? [] : [{ doc: doc.id, amount: String(applied) }],
  );
}

function paymentOf(answer: unknown, currencies: readonly Currency[]): PaymentRecord {
  const record = parseRecord(paymentShape, answer);
  const currency = currencies.find(({ id }) => id === record.currency?.id)?.symbol;
  return {
    id: record.id,
    customerId: record.customer.id,
    currency: typeof currency === 'string' ? currency : null,
    amount: String(record.payment),
    applications: appliedLines(record.apply).map(({ doc, amount: applied }) => ({ invoiceId: doc, amount: applied })),
    unapplied: String(record.unapplied ?? 0),
  };
}

function refundOf(answer: unknown): RefundRecord {
  const { id, customer, apply } = parseRecord(refundShape, answer);
  return { id, customerId: customer.id, of: appliedLines(apply).map(({ doc, amount: given }) => ({ paymentId: doc, amount: given })) };
}
