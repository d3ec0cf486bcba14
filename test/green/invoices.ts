// Invoices as a company serves them, compared with the account's truth: for tests of values that change
// without a trace in the ERP.
import { demoEndpoints } from '../../demo/schema.ts';
import { type Company, differingIds, type ErpRecord } from './company.ts';

const sources = {
  number: 'tranid',
  memo: 'memo',
  closedOn: 'closedate',
  statusId: 'status',
  amountDue: 'foreignamountunpaid',
} as const;
const numbers = new Set(['amountDue']);
const demoInvoices = demoEndpoints.find(({ name }) => name === 'invoices');
const field = (name: string, source: string) => ({ name, source, description: name });
const added = Object.entries(sources).filter(
  ([name]) => !demoInvoices?.fields.some((known) => known.name === name),
);

/** The demo's invoices with the memo, the day of closing and the code of the status. */
export const invoiceEndpoint = {
  ...demoInvoices,
  fields: [...(demoInvoices?.fields ?? []), ...added.map(([name, source]) => field(name, source))],
};

export const trueInvoices = async (company: Company): Promise<ErpRecord[]> =>
  await company.transactions('CustInvc');

const toText = (values: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(
    Object.keys(sources).map((name) => {
      const value = values[name] ?? null;
      return numbers.has(name) && value !== null ? Number(value) : value;
    }),
  );

/** Ids of invoices that are served with other values than the ERP has, or that only one side has. */
export async function wrongInvoices(company: Company, version = 'v1'): Promise<string[]> {
  const served = new Map(
    (await company.readAll(`${version}/invoices`)).map((record) => [String(record.id), toText(record)]),
  );
  const truth = new Map(
    (await trueInvoices(company)).map(({ id, fields }) => [
      id,
      toText(Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, fields[source]]))),
    ]),
  );
  return differingIds(served, truth);
}

/** Edits an invoice in the account; `touch` is `none`, `header`, `lines` or a time. */
export const editInvoice = (
  company: Company,
  id: string,
  fields: Readonly<Record<string, string | null>>,
  touch = 'none',
) => company.control('PATCH', `/records/transaction/${id}`, { fields, touch });

/** What callers of the account see as now. */
export const erpNow = async (company: Company): Promise<Date> =>
  new Date((await company.control('GET', '/state')).clock.now);
export const setClock = (company: Company, at: string) => company.control('POST', '/clock', { at });
export const passDays = (company: Company, days: number) =>
  company.control('POST', '/clock', { stepSeconds: days * 86_400 });
