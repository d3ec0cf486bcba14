// The page where a visitor chooses what to pay: open invoices in the currency of the organization's payments, with what
// is left to pay of each. What is charged is decided by `startCheckout`, from the ERP itself.
import Big from 'big.js';
import type { Request } from 'express';
import { AppError } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { currencyDigits } from '../../core/text/money.ts';
import { listVisitorPayments, readLeftToPay, recordsEndpoint } from '../../platform/index.ts';
import { findOffer, type Offer } from '../offer.ts';
import { listOpenTypes, sumOpen } from '../open-amounts.ts';
import { fieldsToRead, pickMeanings, recordAddress } from '../record-table.ts';
import {
  findMeaning,
  openQuery,
  type RecordRow,
  readingOf,
  toDigits,
  toMoney,
  toValue,
} from '../shown-fields.ts';
import type { PayPage, PayProblem, Value } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';

/** As many invoices as one checkout takes. */
const maxInvoices = 200;
/** Beyond them, as many as a visitor comes to from their own pages. */
const maxOthers = 10;

/** What the form says: of each chosen invoice the typed amount, null where none was. */
export type Chosen = ReadonlyMap<string, string | null>;

export type Payable = PayPage['rows'][number] & { readonly customer: string; readonly number: string };
export type PayRead = {
  readonly offer: Offer;
  readonly payable: readonly Payable[];
  readonly page: (chosen: Chosen, problems?: Problems) => PayPage;
};
export type Problems = { readonly form: PayProblem | null; readonly rows: ReadonlyMap<string, PayProblem> };
export const noProblems: Problems = { form: null, rows: new Map() };

const textOf = (value: unknown): string | null => (value == null ? null : toDigits(value));

/** What a visitor sends may be no id of the record type. */
function unlessNoId(error: unknown): { readonly records: string } {
  if (error instanceof AppError && error.status === 400) return { records: '[]' };
  throw error;
}

const meanings = ['number', 'date', 'dueDate'] as const;

/** Open invoices, the oldest due date first; before them those of the `wanted` ids that are not among the first. */
async function readRows(
  visit: Visit,
  recordType: string,
  fields: readonly string[],
  wanted: readonly string[],
) {
  const dueDate = findMeaning(visit, recordType, 'dueDate');
  const read = (query: Readonly<Record<string, string>>) =>
    visit.reader.list(recordsEndpoint(recordType), {
      ...{ ...openQuery(visit, recordType), ...query },
      fields: [...new Set(fields)].join(','),
    });
  const page = await read({
    ...(dueDate !== undefined && { sort: dueDate, order: 'asc' }),
    pageSize: String(maxInvoices),
  });
  const first = parseExact(page.records) as RecordRow[];
  const missing = wanted.filter((id) => !first.some((row) => String(row.id) === id));
  const others = await Promise.all(missing.slice(0, maxOthers).map((id) => read({ id }).catch(unlessNoId)));
  return { page, rows: [...others.flatMap(({ records }) => parseExact(records) as RecordRow[]), ...first] };
}

async function readInvoices(
  visit: Visit,
  { recordType, customer, amountDue, currencyField }: Offer,
  wanted: readonly string[],
) {
  const shown = pickMeanings(visit, recordType, meanings);
  const names = fieldsToRead(visit, recordType, shown).split(',');
  const fields = customer === undefined ? names : [...names, customer];
  const found = await readRows(visit, recordType, fields, wanted);
  const reading = readingOf(visit, recordType, found.page.fields);
  const rows = found.rows.map((row) => {
    const meant = (meaning: (typeof meanings)[number]): Value => {
      const field = shown.find((one) => one.meaning === meaning);
      return field === undefined ? null : toValue(field, row, reading);
    };
    const number = meant('number');
    return {
      id: String(row.id),
      customer: textOf(customer === undefined ? null : row[customer]) ?? visit.customer,
      number: number !== null && 'text' in number ? number.text : String(row.id),
      ...{ date: meant('date'), dueDate: meant('dueDate') },
      due: textOf(row[amountDue]) ?? '0',
      currency: currencyField === undefined ? null : textOf(row[currencyField]),
    };
  });
  return { rows, total: found.page.total, syncedAt: found.page.syncedAt };
}

/** What is open as credit, by currency: shown, never applied. */
async function readCredits(visit: Visit): Promise<PayPage['credits']> {
  const found = await Promise.all(listOpenTypes(visit, 'credit').map((entry) => sumOpen(visit, entry)));
  return found
    .flatMap(({ sums }) => sums)
    .map(({ currency, amount }) => ({ currency, amount: amount.abs().toFixed() }));
}

/** Throws 404 where visitors can't pay, and rejects as lists do. */
export async function readPay(visit: Visit, wanted: Iterable<string>): Promise<PayRead> {
  const offer = await findOffer(visit);
  if (offer === undefined) throw notFoundHere();
  const [{ rows, total, syncedAt }, credits, pending] = await Promise.all([
    readInvoices(visit, offer, [...wanted]),
    readCredits(visit),
    listVisitorPayments(visit.ctx, visit.family, { page: 1, pageSize: 20 }, 'PENDING'),
  ]);
  const left = await readLeftToPay(visit.ctx, offer, rows);
  const { currency, recordType, isTest } = offer;
  const payable = rows.flatMap(({ id, customer, number, date, dueDate, due }): Payable[] => {
    const free = left.get(id);
    if (free === undefined) return [];
    const href = recordAddress(visit, recordType, id);
    const shown = { id, href, number, customer, date, dueDate, due: toMoney(due, currency), left: free };
    return [{ ...shown, isChosen: false, typed: null, problem: null }];
  });
  const page = (chosen: Chosen, { form, rows: problems }: Problems = noProblems): PayPage => ({
    kind: 'pay',
    asOf: syncedAt,
    ...{ currency, digits: currencyDigits(currency), credits, isTest },
    address: `${visit.site.base}/pay`,
    payments: `${visit.site.base}/payments`,
    rows: payable.map(({ customer: _, ...row }) => ({
      ...row,
      isChosen: chosen.has(row.id),
      typed: chosen.get(row.id) ?? null,
      problem: problems.get(row.id) ?? null,
    })),
    others: rows.length - payable.length,
    notShown: total - rows.length,
    pending: pending.payments.map(({ id, amount, currency: of, createdAt }) => ({
      href: `${visit.site.base}/payments/${id}`,
      ...{ amount: { amount, currency: of }, createdAt },
    })),
    problem: form,
    canPay: visit.session.viewer_id === null,
    total: sumOf(payable, chosen, currency),
  });
  return { offer, payable, page };
}

/** Of the chosen invoices, where no script adds up what is typed. */
function sumOf(payable: readonly Payable[], chosen: Chosen, currency: string): PayPage['total'] {
  const sum = payable
    .filter(({ id }) => chosen.has(id))
    .reduce((total, { left }) => total.plus(left), new Big(0));
  return { amount: sum.toFixed(currencyDigits(currency)), currency };
}

/** The address may name an invoice to begin with: `?invoice=`. */
export async function readPayPage(visit: Visit, { query }: Request): Promise<PayPage> {
  const asked = query['invoice'];
  const chosen: Chosen = new Map(typeof asked === 'string' ? [[asked, null]] : []);
  return (await readPay(visit, chosen.keys())).page(chosen);
}
