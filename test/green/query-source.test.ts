// Record types that a customer's query defines, synced from a simulated account whose records change between
// the runs.
import { isDeepStrictEqual } from 'node:util';
import type { Express } from 'express';
import supertest from 'supertest';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../src/app.ts';
import { readRecordColumns } from '../../src/warehouse/columns.ts';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { publish } from '../chaos/oracle/publish.ts';
import { readShape } from '../chaos/oracle/published.ts';
import { openWire, type Wire } from '../chaos/wire.ts';
import { sendControl } from '../setup/account-control.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../sync/fixture.ts';

let erp: Erp;
let wire: Wire;
let database: TestDatabase;
let background: Awaited<ReturnType<typeof startBackground>>;
let app: Express;
let caller: { authorization: string; 'x-tenant-id': string };
let api: Api;
let schema: string;
/** Ids of customers that the account has. */
let customers: string[];

beforeAll(async () => {
  erp = await startErp(undefined, { control: {} });
  wire = await openWire(erp.account.url);
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [wire.host] } } });
  app = createApp(database.ctx);
  background = await startBackground(database.ctx);
});
beforeEach(async () => {
  const { id } = await makeOrganization(database.ctx);
  schema = tenantSchema(id);
  const { secret } = await makeKey(database.ctx, id, { permissions: ['write'] });
  api = createApi(app, secret);
  caller = { authorization: `Bearer ${secret}`, 'x-tenant-id': id };
  await erp.connect(api, wire.url);
  expect((await api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  const { records } = await sendControl(erp.account, 'GET', '/records/customer?limit=1000');
  customers = records.map((record: { id: string }) => record.id);
});
afterEach(() => sendControl(erp.account, 'POST', '/reset'));
afterAll(async () => {
  await background.stop();
  await database.close();
  await wire.close();
  await erp.stop();
});

const edit = (id: string, fields: object, touch = 'header') =>
  sendControl(erp.account, 'PATCH', `/records/customer/${id}`, { fields, touch });
const customersBy = (columns: string, condition = '1 = 1') =>
  `SELECT ${columns} FROM customer WHERE ${condition}`;

type Input = { query: string; keyColumn?: string; modifiedColumn?: string | null };
const toInput = ({ query, keyColumn = 'id', modifiedColumn = null }: Input) => ({
  label: 'Rows',
  query,
  keyColumn,
  modifiedColumn,
});
/** Defines the record type `rows` and how it is synced; returns the configuration's id. */
async function define(input: Input): Promise<string> {
  const created = await api('post', '/netsuite/queries', { name: 'rows', ...toInput(input) });
  expect([created.status, created.body.error?.details]).toEqual([201, undefined]);
  const config = await api('post', '/sync-configs', {
    name: 'Rows',
    recordType: 'rows',
    mode: 'incremental',
    maxDeleteShare: 1,
  });
  expect(config.status).toBe(201);
  return config.body.id;
}
async function replace(input: Input): Promise<void> {
  const answer = await api('put', '/netsuite/queries/rows', toInput(input));
  expect([answer.status, answer.body.error?.details]).toEqual([200, undefined]);
}

async function sync(configId: string) {
  const { id } = (await api('post', `/sync-configs/${configId}/trigger`, { mode: 'incremental' })).body;
  return until(async () => {
    const { body } = await api('get', `/sync-runs/${id}`);
    return ['succeeded', 'partial', 'failed', 'cancelled'].includes(body.status) && body;
  });
}
/** What readers see, by id and field. */
async function rows(): Promise<Map<string, Record<string, unknown>>> {
  const state = await readRecordState(database.ctx.db.data, schema, 'rows');
  const columns = await readRecordColumns(database.ctx.db.data, schema, 'rows');
  const live = columns.filter((column) => column.state === 'live');
  const found = await database.ctx.db.data.query<Record<string, unknown>>(
    `select * from ${schema}.${state?.activeTable}`,
  );
  return new Map(
    found.rows.map((row) => [
      String(row['id']),
      Object.fromEntries(live.map(({ column, field }) => [field, row[column] ?? null])),
    ]),
  );
}

describe('by modification time', () => {
  it('follows changes, rows that enter and leave, and deletions, and reads only those', async () => {
    const configId = await define({
      query: customersBy(
        'id, entityid, UPPER(comments) AS remark, lastmodifieddate AS changed',
        "isinactive = 'F'",
      ),
      modifiedColumn: 'changed',
    });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', mode: 'full', error: null });
    const before = await rows();
    expect(before.size).toBeGreaterThan(100);
    const [changed = '', left = '', gone = ''] = [...before.keys()];
    await edit(changed, { comments: 'moved' });
    await edit(left, { isinactive: 'T' });
    await sendControl(erp.account, 'DELETE', `/records/customer/${gone}?listed=false`);
    const created = await sendControl(erp.account, 'POST', '/records/customer', { like: changed });
    const run = await sync(configId);
    expect(run).toMatchObject({
      status: 'succeeded',
      mode: 'incremental',
      counts: { inserted: 1, updated: 1, deleted: 2 },
    });
    const after = await rows();
    expect(after.get(changed)).toMatchObject({ remark: 'MOVED' });
    expect([after.has(left), after.has(gone), after.has(created.id)]).toEqual([false, false, true]);
    expect(after.size).toBe(before.size - 1);
    await edit(left, { isinactive: 'F' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', counts: { inserted: 1, deleted: 0 } });
    expect((await rows()).has(left)).toBe(true);
  });
});

describe('a modification time that a row loses', () => {
  it('fails the run, because changes of the row would be missed', async () => {
    const [emptied = ''] = customers;
    const query = customersBy(
      "id, entityid, CASE WHEN comments = 'none' THEN NULL ELSE lastmodifieddate END AS changed",
    );
    const configId = await define({ query, modifiedColumn: 'changed' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
    await edit(emptied, { entityid: 'Renamed', comments: 'none' });
    expect(await sync(configId)).toMatchObject({
      status: 'failed',
      error: {
        code: 'MODIFIED_COLUMN_UNSUITABLE',
        message: expect.stringMatching(/^changed is empty in some rows$/),
      },
    });
    await edit(emptied, { comments: null });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
    expect((await rows()).get(emptied)).toMatchObject({ entityid: 'Renamed' });
  });
});

describe('a modification time of year 0', () => {
  it('rejects the row, and no run fails for it', async () => {
    const [id = ''] = customers;
    const configId = await define({
      query: customersBy('id, entityid, lastmodifieddate AS changed'),
      modifiedColumn: 'changed',
    });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
    await edit(id, { entityid: 'Renamed' }, '9999-12-01T10:00:00Z');
    wire.replace({ text: '9999-12-01T10:00:00Z', by: '0000-12-01T10:00:00Z' });
    const rejected = {
      status: 'partial',
      error: { code: 'RECORDS_REJECTED' },
      counts: { rejected: 1, deleted: 0 },
    };
    for (let run = 0; run < 2; run += 1) expect(await sync(configId)).toMatchObject(rejected);
    const { data } = (await api('get', `/sync-configs/${configId}/rejections`)).body;
    expect(data).toMatchObject([
      { id, code: 'VALUE_UNREADABLE', message: expect.stringMatching(/^changed is not a time/) },
    ]);
    wire.replace(null);
    await edit(id, { entityid: 'Renamed' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', error: null });
    expect((await rows()).get(id)).toMatchObject({ entityid: 'Renamed' });
  });
});

describe('without a modification time', () => {
  it('each run reads all rows', async () => {
    const query = `SELECT currency AS k, COUNT(*) AS customers, SUM(creditlimit) AS credit FROM customer GROUP BY currency`;
    const configId = await define({ query, keyColumn: 'k' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', mode: 'full' });
    const [key = ''] = (await rows()).keys();
    const before = (await rows()).get(key);
    const [id = ''] = customers;
    const { fields } = await sendControl(erp.account, 'GET', `/records/customer/${id}`);
    await edit(id, { creditlimit: '123.45', currency: key }, 'none');
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', mode: 'full', error: null });
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
    const configId = await define({ query, keyColumn: 'k' });
    await sync(configId);
    const { version, problem } = await publish(api, [await readShape(api, 'rows')]);
    expect(problem).toBeNull();
    const read = async () => {
      const { status, body } = await supertest(app).get(`/api/public/${version}/rows`).set(caller);
      expect(status).toBe(200);
      return body.data.map(({ id, ...values }: { id: string }) => [id, Object.values(values)]);
    };
    const stored = async () =>
      [...(await rows())].map(([id, { customers: n, first }]) => [id, [Number(n), first]]);
    expect(await read()).toEqual(await stored());
    await edit(customers[0] ?? '', { isinactive: 'T' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    const changed = await stored();
    await until(async () => isDeepStrictEqual(await read(), changed), 'the change');
    await edit(customers[0] ?? '', { isinactive: 'F' });
  });
});

describe('another query', () => {
  it('is read completely by the next run; columns that go, come or change type are drift', async () => {
    const modifiedColumn = 'lastmodifieddate';
    const configId = await define({
      query: customersBy('id, entityid AS code, companyname, lastmodifieddate'),
      modifiedColumn,
    });
    await sync(configId);
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', mode: 'incremental' });
    await replace({ query: customersBy('id, id * 2 AS code, email, lastmodifieddate'), modifiedColumn });
    const run = await sync(configId);
    expect(run).toMatchObject({ status: 'succeeded', mode: 'full' });
    const drift = (await api('get', `/sync-configs/${configId}/drift`)).body.data;
    expect(
      drift.map(({ kind, field }: { kind: string; field: string }) => `${kind} ${field}`).sort(),
    ).toEqual(['added email', 'retyped code', 'vanished companyname']);
    // The same columns with other values, in rows whose modification time stays.
    await replace({ query: customersBy('id, id * 3 AS code, email, lastmodifieddate'), modifiedColumn });
    expect(await sync(configId)).toMatchObject({
      status: 'succeeded',
      mode: 'full',
      counts: { updated: (await rows()).size },
    });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', mode: 'incremental' });
  });
});

describe('bad rows and refusals', () => {
  it('a run fails in the words of NetSuite while it refuses the query', async () => {
    const configId = await define({ query: customersBy('id, entityid, companyname') });
    await sendControl(erp.account, 'PUT', '/hidden', { columns: { customer: ['companyname'] } });
    const failed = await sync(configId);
    expect(failed).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining("Unknown identifier 'companyname'") },
    });
    await sendControl(erp.account, 'PUT', '/hidden', {});
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
  });

  it('an integer that becomes a decimal is drift, and its row is stored', async () => {
    const [first = '', second = ''] = customers;
    await edit(first, { creditlimit: '10' });
    const configId = await define({ query: customersBy('id, creditlimit', `id IN (${first}, ${second})`) });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
    await edit(second, { creditlimit: '10.5' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded', error: null });
    const drift = (await api('get', `/sync-configs/${configId}/drift`)).body.data;
    expect(drift).toMatchObject([
      { kind: 'retyped', field: 'creditlimit', fromType: 'integer', toType: 'number' },
    ]);
  });

  it('a key that stops to be an integer rejects its row, one that stops to be unique is named', async () => {
    const [first = '', second = '', third = ''] = customers;
    for (const [index, id] of [first, second, third].entries())
      await edit(id, { creditlimit: String(index + 1) });
    const query = customersBy('creditlimit AS k, entityid', `id IN (${first}, ${second}, ${third})`);
    const configId = await define({ query, keyColumn: 'k' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
    await edit(second, { creditlimit: '2.5' });
    expect(await sync(configId)).toMatchObject({ status: 'partial', counts: { rejected: 1 } });
    await edit(second, { creditlimit: '3' });
    expect(await sync(configId)).toMatchObject({ status: 'partial', counts: { rejected: 1 } });
    expect((await api('get', `/sync-configs/${configId}/rejections`)).body.data).toMatchObject([
      { id: '3', code: 'DUPLICATE_ID' },
    ]);
    await edit(second, { creditlimit: null });
    const empty = await sync(configId);
    expect(empty).toMatchObject({
      status: 'failed',
      error: { code: 'KEY_COLUMN_UNSUITABLE', message: 'k is empty in some rows' },
    });
    await edit(second, { creditlimit: '4' });
    expect(await sync(configId)).toMatchObject({ status: 'succeeded' });
    expect([...(await rows()).keys()].sort()).toEqual(['1', '3', '4']);
  });
});
