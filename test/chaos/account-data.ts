// A small company as a data folder: enough records for several pages, few enough that a seed takes seconds.
// Always the same. A part of it belongs to the large data set only: customers with documents of hundreds of
// lines.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

/** No document names the spare items, so that they can be deleted. */
const counts = { customers: 60, items: 40, spareItems: 4, invoices: 120, credits: 20 };
/**
 * Lines per large document: a request about the lines of all of them finds more than three pages of 1,000.
 */
const largeDocuments = [200, 1_200, 500, 350, 800];

/**
 * What a profile generates for a large customer names it; the account's own vendors and employees have ids
 * far above.
 */
const isOfLargeCustomer = `entity > ${counts.customers} and entity < 1000`;
const largeTransactions = `select id from first_day.transaction where ${isOfLargeCustomer}`;
/** SQL conditions for the rows of the large data set, by base table; `first_day` has all of them. */
export const isLarge: Readonly<
  Record<'customer' | 'transaction' | 'transactionline' | 'application', string>
> = {
  customer: `id > ${counts.customers} and id < 1000`,
  transaction: isOfLargeCustomer,
  transactionline: `transaction in (${largeTransactions})`,
  application: `(invoice in (${largeTransactions}) or credit in (${largeTransactions}))`,
};
const openingDay = Date.UTC(2011, 6, 1, 9);
const hourMs = 3_600_000;
const stamp = (hours: number): string =>
  new Date(openingDay + hours * hourMs).toISOString().slice(0, 19).replace('T', ' ');

const customers = (length: number): string[] => [
  'id,entityid,isperson,isinactive,currency,defaultcountry,datecreated,lastmodifieddate',
  ...Array.from({ length }, (_unused, n) => `${n + 1},CUST${n + 1},F,F,1,GB,${stamp(n)},${stamp(n)}`),
];
const items = (): string[] => [
  'id,itemid,displayname,itemtype,isinactive,createddate,lastmodifieddate',
  ...Array.from(
    { length: counts.items + counts.spareItems },
    (_unused, n) => `${n + 1},SKU${n + 1},Thing ${n + 1},InvtPart,F,${stamp(n)},${stamp(n)}`,
  ),
];

type Document = {
  readonly id: number;
  readonly type: 'CustInvc' | 'CustCred';
  readonly lines: number;
  readonly customer: number;
};
/** One in eight invoices is a cash sale. */
const smallDocuments: readonly Document[] = Array.from(
  { length: counts.invoices + counts.credits },
  (_unused, n) => ({
    id: 1_000 + n * 3,
    type: n % 7 === 6 ? 'CustCred' : 'CustInvc',
    lines: 1 + ((n * 5) % 6),
    customer: n % 7 !== 6 && n % 8 === 3 ? 0 : 1 + ((n * 7) % counts.customers),
  }),
);
const allDocuments: readonly Document[] = [
  ...smallDocuments,
  ...largeDocuments.map(
    (lines, n): Document => ({
      id: 3_000 + n * 11,
      type: n === 2 ? 'CustCred' : 'CustInvc',
      lines,
      customer: counts.customers + n + 1,
    }),
  ),
];
const sign = ({ type }: Document): number => (type === 'CustInvc' ? 1 : -1);
const computeQuantity = ({ id }: Document, line: number): number => 1 + ((id + line) % 5);
const computeRate = ({ id }: Document, line: number): number => ((id * 7 + line * 13) % 900) + 25;

function transactions(documents: readonly Document[]): string[] {
  const rows = documents.map((document, n) => {
    const pence = Array.from(
      { length: document.lines },
      (_unused, line) => computeQuantity(document, line) * computeRate(document, line),
    );
    const total = (sign(document) * pence.reduce((sum, part) => sum + part, 0)) / 100;
    const at = stamp(n * 6);
    const customer = document.customer === 0 ? '' : document.customer;
    return `${document.id},D${document.id},${document.type},${at.slice(0, 10)},${customer},1,1,T,${total.toFixed(2)},${at},${at}`;
  });
  return [
    'id,tranid,type,trandate,entity,currency,exchangerate,posting,foreigntotal,createddate,lastmodifieddate',
    ...rows,
  ];
}

function lines(documents: readonly Document[]): string[] {
  let key = 50_000;
  const rows = documents.flatMap((document, n) =>
    Array.from({ length: document.lines }, (_unused, line) => {
      key += 1;
      const quantity = -sign(document) * computeQuantity(document, line);
      const rate = computeRate(document, line) / 100;
      const item = 1 + ((document.id + line * 11) % counts.items);
      const amount = ((quantity * computeRate(document, line)) / 100).toFixed(2);
      return `${key},${line + 1},${document.id},${line + 1},${item},Line ${line + 1},${quantity},${rate.toFixed(2)},${amount},F,F,${stamp(n * 6)}`;
    }),
  );
  const names =
    'uniquekey,id,transaction,linesequencenumber,item,memo,quantity,rate,netamount,mainline,taxline,linelastmodifieddate';
  return [names, ...rows];
}

/** Without `large`, only the small data set. */
export async function writeAccountData(
  folder: string,
  { large }: { readonly large: boolean },
): Promise<void> {
  const documents = large ? allDocuments : smallDocuments;
  const files = {
    customer: customers(counts.customers + (large ? largeDocuments.length : 0)),
    item: items(),
    transaction: transactions(documents),
    transactionline: lines(documents),
  };
  for (const [name, rows] of Object.entries(files))
    await writeFile(path.join(folder, `${name}.csv.gz`), gzipSync(`${rows.join('\n')}\n`));
}
