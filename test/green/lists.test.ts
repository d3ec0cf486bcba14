// Answers that leave out what changed: the lists of changes are proved by the ERP's own counts. And changes
// whose times mislead.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { demoEndpoints } from '../../demo/schema.ts';
import { useCompany } from './company.ts';

const company = useCompany();
let closed: string[];
beforeAll(async () => {
  for (const type of ['invoice', 'customer']) await company.run(type);
  const added: Record<string, object> = {
    invoices: { name: 'memo', source: 'memo', description: 'Memo' },
    customers: { name: 'phone', source: 'phone', description: 'Phone' },
  };
  const chosen = demoEndpoints.filter(({ name }) => name in added);
  await company.publish(
    chosen.map((endpoint) => ({ ...endpoint, fields: [...endpoint.fields, added[endpoint.name]] })),
  );
  closed = (await invoices()).flatMap(({ id, fields }) =>
    fields['status'] === 'B' && (fields['closedate'] ?? '9') < '2011-08-15' ? [id] : [],
  );
});
beforeEach(() => company.control('POST', '/reset'));

const invoices = async () => await company.transactions('CustInvc');
const served = async (id: string) => (await company.read(`/v1/invoices/${id}`)).body.data;
const edit = (id: string, change: object) => company.control('PATCH', `/records/transaction/${id}`, change);
const take = (count: number) => closed.splice(0, count);
const only = () => take(1)[0] ?? '';
const step = (stepSeconds: number) => company.control('POST', '/clock', { stepSeconds });

it('changed records that pages and list leave out alike: the run fails, and the next one reads them', async () => {
  const ids = take(30);
  for (const id of ids) await edit(id, { fields: { memo: `left out ${id}` }, touch: 'header' });
  await company.control('PUT', '/faults', [
    { on: { table: 'transaction', kind: 'rows' }, dropRows: { where: { status: 'B' } } },
  ]);
  await company.expectFailure('invoice', 'incremental', 'COUNT_MISMATCH');
  await company.control('PUT', '/faults', []);
  await company.expectSuccess('invoice', 'incremental');
  for (const id of ids) expect((await served(id)).memo).toBe(`left out ${id}`);
});

it('records with changed lines that the list leaves out: they are listed again', async () => {
  const ids = take(2);
  for (const id of ids)
    await edit(id, { lines: [{ line: 1, fields: { memo: `line of ${id}` } }], touch: 'lines' });
  await company.control('PUT', '/faults', [
    { on: { table: 'transactionline', kind: 'rows' }, times: 1, dropRows: { every: 1 } },
  ]);
  await company.expectSuccess('invoice', 'incremental');
  for (const id of ids) expect((await served(id)).lines[0].description).toBe(`line of ${id}`);
});

it('a line that changes in the repeated hour, after another one of its document', async () => {
  const id =
    (await invoices()).find((record) => closed.includes(record.id) && (record.lines?.length ?? 0) > 1)?.id ??
    '';
  const change = (line: number, text: string) =>
    edit(id, { lines: [{ line, fields: { memo: text } }], touch: 'lines' });
  await change(1, 'before the hour');
  await company.expectSuccess('invoice', 'incremental');
  await step(-3_600);
  await change(2, 'in the hour');
  await company.expectSuccess('invoice', 'incremental');
  expect((await served(id)).lines.map(({ description }: { description: string }) => description)).toEqual(
    expect.arrayContaining(['before the hour', 'in the hour']),
  );
});

it('a clock that went ahead and back: the next calendar day is scanned all the same', async () => {
  const id = only();
  await company.expectSuccess('invoice', 'incremental');
  await step(3 * 86_400);
  await company.expectSuccess('invoice', 'incremental');
  await step(-3 * 86_400);
  await edit(id, { fields: { foreignamountunpaid: '1.23' }, touch: 'none' });
  await company.run('invoice', 'incremental');
  await step(86_400);
  await company.expectSuccess('invoice', 'incremental');
  expect((await served(id)).amountDue).toBe(1.23);
});

it('a stale answer about a record that was edited twice: the list shows the newer time, and it is read again', async () => {
  const [{ id } = { id: '' }] = await company.truth('customer');
  const call = (phone: string) =>
    company.control('PATCH', `/records/customer/${id}`, { fields: { phone }, touch: 'header' });
  await call('first');
  await company.expectSuccess('customer', 'incremental');
  await step(5);
  await call('second');
  await company.control('PUT', '/faults', [
    { on: { table: 'customer', kind: 'rows' }, times: 1, stalePage: true },
  ]);
  await company.expectSuccess('customer', 'incremental');
  expect((await company.read(`/v1/customers/${id}`)).body.data.phone).toBe('second');
});

it('a hidden line column that a version shows: the daily scan notices it although nothing changed', async () => {
  await company.expectSuccess('invoice', 'incremental');
  await step(86_400);
  await company.control('PUT', '/hidden', { columns: { transactionline: ['memo'] } });
  await company.expectPartial('invoice', 'incremental', 'FIELDS_UNREADABLE');
  expect((await company.read('/v1/invoices?pageSize=1')).headers['x-data-stale-fields']).toContain('lines');
  await company.control('PUT', '/hidden', {});
  await company.expectSuccess('invoice', 'incremental');
});

it('records whose modification time is left out of pages and list alike: the run fails, and the next one reads them', async () => {
  const id = only();
  await edit(id, { fields: { memo: 'without a time' }, touch: 'header' });
  await company.control('PUT', '/faults', [
    { on: { table: 'transaction', kind: 'rows' }, nullColumn: 'lastmodifieddate' },
  ]);
  await company.expectFailure('invoice', 'incremental', 'ANSWER_INCONSISTENT');
  await company.control('PUT', '/faults', []);
  await company.expectSuccess('invoice', 'incremental');
  expect((await served(id)).memo).toBe('without a time');
});
