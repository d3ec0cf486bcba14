// Record types that a customer's query defines, synced from a simulated account whose records change between
// the runs.
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRecordColumns } from '../../src/warehouse/columns.ts';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { publish } from '../chaos/oracle/publish.ts';
import { readShape, toResource } from '../chaos/oracle/published.ts';
import { until } from '../setup/until.ts';
import { useCompany } from './company.ts';

const company = useCompany();
/** Ids of customers that the account has. */
let customers: string[];
/** The record type of this test's query. */
let name = '';
let tests = 0;
beforeEach(async () => {
  tests += 1;
  name = `rows${tests}`;
  customers = (await company.truth('customer')).map(({ id }) => id);
});
afterEach(() => company.control('POST', '/reset'));

const edit = (id: string, fields: object, touch = 'header') =>
  company.control('PATCH', `/records/customer/${id}`, { fields, touch });
const customersBy = (columns: string, condition = '1 = 1') =>
  `SELECT ${columns} FROM customer WHERE ${condition}`;

type Input = { query: string; keyColumn?: string; modifiedColumn?: string | null };
const toInput = ({ query, keyColumn = 'id', modifiedColumn = null }: Input) => ({
  label: 'Rows',
  query,
  keyColumn,
  modifiedColumn,
});
/** Defines the record type, and how it is synced. */
async function define(input: Input): Promise<void> {
  const created = await company.api('post', '/netsuite/queries', { name, ...toInput(input) });
  expect([created.status, created.body.error?.details]).toEqual([201, undefined]);
  await company.config(name, { maxDeleteShare: 1 });
}
async function replace(input: Input): Promise<void> {
  const answer = await company.api('put', `/netsuite/queries/${name}`, toInput(input));
  expect([answer.status, answer.body.error?.details]).toEqual([200, undefined]);
}
const listOfConfig = async (list: 'drift' | 'rejections') =>
  (await company.api('get', `/sync-configs/${await company.config(name)}/${list}`)).body.data;

/** What readers see, by id and field. */
async function rows(): Promise<Map<string, Record<string, unknown>>> {
  const { data } = company.database.ctx.db;
  const schema = tenantSchema(company.organizationId);
  const state = await readRecordState(data, schema, name);
  const columns = await readRecordColumns(data, schema, name);
  const live = columns.filter((column) => column.state === 'live');
  const found = await data.query<Record<string, unknown>>(`select * from ${schema}.${state?.activeTable}`);
  return new Map(
    found.rows.map((row) => [
      String(row['id']),
      Object.fromEntries(live.map(({ column, field }) => [field, row[column] ?? null])),
    ]),
  );
}

describe('by modification time', () => {
  it('follows changes, rows that enter and leave, and deletions, and reads only those', async () => {
    await define({
      query: customersBy(
        'id, entityid, UPPER(comments) AS remark, lastmodifieddate AS changed',
        "isinactive = 'F'",
      ),
      modifiedColumn: 'changed',
    });
    await company.expectSuccess(name, 'incremental', {}, { mode: 'full' });
    const before = await rows();
    expect(before.size).toBeGreaterThan(100);
    const [changed = '', left = '', gone = ''] = [...before.keys()];
    await edit(changed, { comments: 'moved' });
    await edit(left, { isinactive: 'T' });
    await company.control('DELETE', `/records/customer/${gone}?listed=false`);
    const created = await company.control('POST', '/records/customer', { like: changed });
    await company.expectSuccess(
      name,
      'incremental',
      { inserted: 1, updated: 1, deleted: 2 },
      { mode: 'incremental' },
    );
    const after = await rows();
    expect(after.get(changed)).toMatchObject({ remark: 'MOVED' });
    expect([after.has(left), after.has(gone), after.has(created.id)]).toEqual([false, false, true]);
    expect(after.size).toBe(before.size - 1);
    await edit(left, { isinactive: 'F' });
    await company.expectSuccess(name, 'incremental', { inserted: 1, deleted: 0 });
    expect((await rows()).has(left)).toBe(true);
  });
});

describe('a modification time that a row loses', () => {
  it('fails the run, because changes of the row would be missed', async () => {
    const [emptied = ''] = customers;
    const query = customersBy(
      "id, entityid, CASE WHEN comments = 'none' THEN NULL ELSE lastmodifieddate END AS changed",
    );
    await define({ query, modifiedColumn: 'changed' });
    await company.expectSuccess(name, 'incremental');
    await edit(emptied, { entityid: 'Renamed', comments: 'none' });
    await company.expectFailure(name, 'incremental', 'MODIFIED_COLUMN_UNSUITABLE', {
      error: { message: expect.stringMatching(/^changed is empty in some rows$/) },
    });
    await edit(emptied, { comments: null });
    await company.expectSuccess(name, 'incremental');
    expect((await rows()).get(emptied)).toMatchObject({ entityid: 'Renamed' });
  });
});

describe('a modification time of year 0', () => {
  it('rejects the row, and no run fails for it', async () => {
    const [id = ''] = customers;
    await define({
      query: customersBy('id, entityid, lastmodifieddate AS changed'),
      modifiedColumn: 'changed',
    });
    await company.expectSuccess(name, 'incremental');
    await edit(id, { entityid: 'Renamed' }, '9999-12-01T10:00:00Z');
    company.wire.replace({ text: '9999-12-01T10:00:00Z', by: '0000-12-01T10:00:00Z' });
    const rejected = {
      status: 'partial',
      error: { code: 'RECORDS_REJECTED' },
      counts: { rejected: 1, deleted: 0 },
    };
    for (let run = 0; run < 2; run += 1)
      expect(await company.run(name, 'incremental')).toMatchObject(rejected);
    expect(await listOfConfig('rejections')).toMatchObject([
      { id, code: 'VALUE_UNREADABLE', message: expect.stringMatching(/^changed is not a time/) },
    ]);
    company.wire.replace(null);
    await edit(id, { entityid: 'Renamed' });
    await company.expectSuccess(name, 'incremental');
    expect((await rows()).get(id)).toMatchObject({ entityid: 'Renamed' });
  });
});

describe('without a modification time', () => {
  it('each run reads all rows', async () => {
    const query = `SELECT currency AS k, COUNT(*) AS customers, SUM(creditlimit) AS credit FROM customer GROUP BY currency`;
    await define({ query, keyColumn: 'k' });
    await company.expectSuccess(name, 'incremental', {}, { mode: 'full' });
    const [key = ''] = (await rows()).keys();
    const before = (await rows()).get(key);
    const [id = ''] = customers;
    const { fields } = await company.control('GET', `/records/customer/${id}`);
    await edit(id, { creditlimit: '123.45', currency: key }, 'none');
    await company.expectSuccess(name, 'incremental', {}, { mode: 'full' });
    const added = 123.45 - (fields.currency === key ? Number(fields.creditlimit ?? 0) : 0);
    expect(Number((await rows()).get(key)?.['credit'])).toBeCloseTo(
      Number(before?.['credit'] ?? 0) + added,
      2,
    );
  });
});

describe('a published resource', () => {
  it('serves the rows and their changes', async () => {
    const query =
      "SELECT currency AS k, COUNT(*) AS customers, MIN(entityid) AS first FROM customer WHERE isinactive = 'F' GROUP BY currency";
    await define({ query, keyColumn: 'k' });
    await company.run(name, 'incremental');
    const { version, problem } = await publish(company.api, [await readShape(company.api, name)]);
    expect(problem).toBeNull();
    const read = async () => {
      const { status, body } = await company.read(`/${version}/${toResource(name)}`);
      expect(status).toBe(200);
      return body.data.map(({ id, ...values }: { id: string }) => [id, Object.values(values)]);
    };
    const stored = async () =>
      [...(await rows())].map(([id, { customers: n, first }]) => [id, [Number(n), first]]);
    expect(await read()).toEqual(await stored());
    await edit(customers[0] ?? '', { isinactive: 'T' });
    await company.expectSuccess(name, 'incremental', { updated: 1 });
    const changed = await stored();
    await until(async () => isDeepStrictEqual(await read(), changed));
    await edit(customers[0] ?? '', { isinactive: 'F' });
  });
});

describe('another query', () => {
  it('is read completely by the next run; columns that go, come or change type are drift', async () => {
    const modifiedColumn = 'lastmodifieddate';
    await define({
      query: customersBy('id, entityid AS code, companyname, lastmodifieddate'),
      modifiedColumn,
    });
    await company.run(name, 'incremental');
    await company.expectSuccess(name, 'incremental', {}, { mode: 'incremental' });
    await replace({ query: customersBy('id, id * 2 AS code, email, lastmodifieddate'), modifiedColumn });
    await company.expectSuccess(name, 'incremental', {}, { mode: 'full' });
    const drift = await listOfConfig('drift');
    expect(
      drift.map(({ kind, field }: { kind: string; field: string }) => `${kind} ${field}`).sort(),
    ).toEqual(['added email', 'retyped code', 'vanished companyname']);
    // The same columns with other values, in rows whose modification time stays.
    await replace({ query: customersBy('id, id * 3 AS code, email, lastmodifieddate'), modifiedColumn });
    await company.expectSuccess(name, 'incremental', { updated: (await rows()).size }, { mode: 'full' });
    await company.expectSuccess(name, 'incremental', {}, { mode: 'incremental' });
  });
});

describe('bad rows and refusals', () => {
  it('a run fails in the words of NetSuite while it refuses the query', async () => {
    await define({ query: customersBy('id, entityid, companyname') });
    await company.control('PUT', '/hidden', { columns: { customer: ['companyname'] } });
    await company.expectFailure(name, 'incremental', 'QUERY_UNSUITABLE', {
      error: { message: expect.stringContaining("Unknown identifier 'companyname'") },
    });
    await company.control('PUT', '/hidden', {});
    await company.expectSuccess(name, 'incremental');
  });

  it('an integer that becomes a decimal is drift, and its row is stored', async () => {
    const [first = '', second = ''] = customers;
    await edit(first, { creditlimit: '10' });
    await define({ query: customersBy('id, creditlimit', `id IN (${first}, ${second})`) });
    await company.expectSuccess(name, 'incremental');
    await edit(second, { creditlimit: '10.5' });
    await company.expectSuccess(name, 'incremental');
    const drift = await listOfConfig('drift');
    expect(drift).toMatchObject([
      { kind: 'retyped', field: 'creditlimit', fromType: 'integer', toType: 'number' },
    ]);
  });

  it('a key that stops to be an integer rejects its row, one that stops to be unique is named', async () => {
    const [first = '', second = '', third = ''] = customers;
    for (const [index, id] of [first, second, third].entries())
      await edit(id, { creditlimit: String(index + 1) });
    const query = customersBy('creditlimit AS k, entityid', `id IN (${first}, ${second}, ${third})`);
    await define({ query, keyColumn: 'k' });
    await company.expectSuccess(name, 'incremental');
    await edit(second, { creditlimit: '2.5' });
    await company.expectPartial(name, 'incremental', 'RECORDS_REJECTED', { rejected: 1 });
    await edit(second, { creditlimit: '3' });
    await company.expectPartial(name, 'incremental', 'RECORDS_REJECTED', { rejected: 1 });
    expect(await listOfConfig('rejections')).toMatchObject([{ id: '3', code: 'DUPLICATE_ID' }]);
    await edit(second, { creditlimit: null });
    await company.expectFailure(name, 'incremental', 'KEY_COLUMN_UNSUITABLE', {
      error: { message: 'k is empty in some rows' },
    });
    await edit(second, { creditlimit: '4' });
    await company.expectSuccess(name, 'incremental');
    expect([...(await rows()).keys()].sort()).toEqual(['1', '3', '4']);
  });
});
