// Who owes the most, and how the open amounts are spread over the months: three requests, whatever the number
// of invoices.
const setting = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`Set ${name}`);
  return value;
};
const portal = setting('PORTAL_URL');
const headers = { authorization: `Bearer ${setting('PORTAL_KEY')}`, 'x-tenant-id': setting('PORTAL_TENANT') };
const currency = setting('CURRENCY');

async function get<T>(path: string, query: readonly [string, string][] = []): Promise<T> {
  const response = await fetch(`${portal}${path}?${new URLSearchParams([...query])}`, {
    headers,
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

type Version = {
  readonly version: string;
  readonly state: string;
  readonly resources: readonly { readonly name: string; readonly path: string }[];
};
type Group = {
  readonly customerName: string | null;
  readonly 'date.month': string;
  readonly count: number;
  readonly sum: { readonly amountDue: string };
};
type Summary = { readonly data: readonly Group[]; readonly total: number };

const { data: versions } = await get<{ readonly data: readonly Version[] }>('/api/public');
const newest = versions.findLast(({ state }) => state === 'published');
const invoices = newest?.resources.find(({ name }) => name === 'invoices')?.path;
if (invoices === undefined) throw new Error('This key can read no invoices');

/** Amounts are text with exact digits: they are printed as they are, and never added up as numbers. */
const open: readonly [string, string][] = [
  ['sum', 'amountDue'],
  ['count', 'true'],
  ['amountDue_gt', '0'],
  ['currency', currency],
];
const owing = await get<Summary>(`${invoices}/summary`, [
  ...open,
  ['by', 'customerName'],
  ['sort', '-sum.amountDue'],
  ['limit', '3'],
]);
console.log(`${owing.total} customers owe something. The largest amounts:`);
for (const { customerName, sum, count } of owing.data)
  console.log(`  ${customerName ?? 'no customer'}: ${sum.amountDue} ${currency}, ${count} invoices`);

const months = await get<Summary>(`${invoices}/summary`, [...open, ['by', 'date.month']]);
console.log('Open amounts by month of the invoice:');
for (const row of months.data) console.log(`  ${row['date.month']}: ${row.sum.amountDue} ${currency}`);
