// Cuts the demo's data from the full data set: `node demo/make-data-slice.mjs <source folder> <target folder>
// [invoices]`. Takes whole days from the last one backwards until they hold that many invoices (default
// 2,000), with everything those days hold: credit memos, journals, all their lines, and the customers and
// items they name. Rows are copied unchanged.
import { createReadStream, createWriteStream, mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { parse } from 'csv-parse';

const [source, target, invoicesText = '2000'] = process.argv.slice(2);
const wantedInvoices = Number(invoicesText);
if (!source || !target || !Number.isInteger(wantedInvoices) || wantedInvoices < 1) {
  console.error('usage: node demo/make-data-slice.mjs <source folder> <target folder> [invoices]');
  process.exit(1);
}
mkdirSync(target, { recursive: true });

const read = (file, options = {}) =>
  createReadStream(path.join(source, file))
    .pipe(createGunzip())
    .pipe(parse({ columns: true, ...options }));

/**
 * Copies the header and the rows that `keep` wants, letter by letter; returns how many rows there were and
 * how many were kept.
 */
async function copy(file, keep) {
  const counts = { of: 0, kept: 0 };
  let isHeader = true;
  const rows = read(file, { columns: false, raw: true });
  let names = [];
  await pipeline(
    rows,
    async function* (records) {
      for await (const { record, raw } of records) {
        if (isHeader) {
          isHeader = false;
          names = record;
          yield `${raw.trimEnd()}\n`;
          continue;
        }
        counts.of += 1;
        if (!keep(Object.fromEntries(names.map((name, i) => [name, record[i]])))) continue;
        counts.kept += 1;
        yield `${raw.replace(/\r?\n$/, '')}\n`;
      }
    },
    createGzip({ level: 9 }),
    createWriteStream(path.join(target, file)),
  );
  return { file, ...counts, bytes: statSync(path.join(target, file)).size };
}

const invoicesByDay = new Map();
for await (const row of read('transaction.csv.gz')) {
  invoicesByDay.set(row.trandate, (invoicesByDay.get(row.trandate) ?? 0) + (row.type === 'CustInvc' ? 1 : 0));
}
const days = [...invoicesByDay.keys()].sort();
const lastDay = days.at(-1);
let [firstDay, found] = [lastDay, 0];
for (const day of days.reverse()) {
  if (found >= wantedInvoices) break;
  firstDay = day;
  found += invoicesByDay.get(day);
}

const [transactions, customers, items] = [new Set(), new Set(), new Set()];
const perType = {};
const copied = [
  await copy('transaction.csv.gz', (row) => {
    if (row.trandate < firstDay) return false;
    transactions.add(row.id);
    if (row.entity) customers.add(row.entity);
    perType[row.type] = (perType[row.type] ?? 0) + 1;
    return true;
  }),
  await copy('transactionline.csv.gz', (row) => {
    if (!transactions.has(row.transaction)) return false;
    if (row.item) items.add(row.item);
    return true;
  }),
  await copy('customer.csv.gz', (row) => customers.has(row.id)),
  await copy('item.csv.gz', (row) => items.has(row.id)),
];

/** The last ten days: what a demo may hold back and bring day by day. */
const replayFrom = new Date(Date.parse(`${lastDay}T00:00:00Z`) - 9 * 86_400_000).toISOString().slice(0, 10);
const invoicesBefore = [...invoicesByDay]
  .filter(([day]) => day >= firstDay && day < replayFrom)
  .reduce((sum, [, count]) => sum + count, 0);

const number = (value) => value.toLocaleString('en-GB');
const table = copied
  .toSorted((a, b) => (a.file < b.file ? -1 : 1))
  .map(({ file, kept, of }) => `| \`${file}\` | ${number(kept)} | ${number(of)} |`)
  .join('\n');
writeFileSync(
  path.join(target, 'README.md'),
  `# Demo data

Real transactions of a UK gift wholesaler from ${firstDay} to ${lastDay}, laid out as the SuiteQL tables that NetSuite would hold them in.

Source: UCI Machine Learning Repository, "Online Retail", D. Chen, licensed CC BY 4.0.
Changes: laid out as four tables with NetSuite's column names; cut to the last days that hold at least ${number(wantedInvoices)} invoices. Made by
\`demo/make-data-slice.mjs\`; rows are as in the full set.

| file | rows | of |
|---|---|---|
${table}

Transactions: ${Object.entries(perType)
    .sort()
    .map(([type, count]) => `${number(count)} ${type}`)
    .join(', ')}.
Gzipped CSV in UTF-8 with a header row; an empty value is null. Times are local (Europe/London). Currency 1 is GBP.

The last ten days begin on ${replayFrom}: held back to come one by one, they leave ${number(invoicesBefore)} invoices to begin with.

What was cut: everything before ${firstDay}, and the customers and items that nothing after it names. Some credit memos therefore have no
invoice to be set against, and customers and items were often created before the first day.

What is dirty, and was left so: cash sales without a customer, blank descriptions, prices and totals of zero, odd stock codes (\`POST\`, \`M\`,
\`gift_0001_40\`), products under several spellings. There is no status, due date, payment or tax;
what the simulated account derives is described in \`packages/netsuite-simulator/docs\`.
`,
);
for (const { file, kept, bytes } of copied) console.log(`${file}: ${kept} rows, ${bytes} bytes`);
console.log(`${firstDay} to ${lastDay}: ${found} invoices, ${invoicesBefore} of them before ${replayFrom}`);
