// The proposal of a draft from synced records: it has what the records have, is saved as nothing, and can be
// saved, published and asked as it is. Rules for names and offers are in test/public/draft.
import type { Express } from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../src/app.ts';
import type { ReadEngine } from '../../src/core/ctx.ts';
import { openKnex } from '../../src/db/connect.ts';
import { createReadEngine, type EndpointDefinition, publicMetrics } from '../../src/public/index.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type Api, createApi, listCodes } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';

let erp: Erp;
let database: TestDatabase;
let app: Express;
let reads: ReadEngine;
let organizationId: string;
let owner: Api;
let secret: string;

const recordTypes = ['invoice', 'customer', 'item'];

beforeAll(async () => {
  erp = await startErp();
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  reads = createReadEngine(database.ctx);
  app = createApp(database.ctx, { reads });
  organizationId = (await makeOrganization(database.ctx)).id;
  secret = (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret;
  owner = createApi(app, secret);
  await erp.connect(owner);
  await owner('post', '/netsuite/metadata/refresh');
  const background = await startBackground(database.ctx);
  const configs = await Promise.all(
    recordTypes.map(
      async (recordType) =>
        (await owner('post', '/sync-configs', { name: recordType, recordType })).body.id as string,
    ),
  );
  for (const id of configs) await owner('post', `/sync-configs/${id}/trigger`, {});
  for (const id of configs)
    await until(async () =>
      (await owner('get', `/sync-configs/${id}`)).body.lastRun?.status === 'succeeded' ? true : undefined,
    );
  // Known, configured and never run.
  await owner('post', '/sync-configs', { name: 'Credits', recordType: 'creditMemo' });
  await background.stop();
});
afterAll(async () => {
  await database.ctx.work.waitUntilIdle('publications');
  await database.close();
  await erp.stop();
});

const draftFrom = (...types: readonly string[]) =>
  owner('post', '/api-schema/draft-from', { recordTypes: types });
async function proposed(...types: readonly string[]): Promise<EndpointDefinition[]> {
  const { status, body } = await draftFrom(...types);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.endpoints;
}
async function publish(endpoints: readonly EndpointDefinition[]): Promise<string> {
  const made = await owner('post', '/api-schema', { endpoints });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const { id, revision, version } = made.body;
  expect((await owner('post', `/api-schema/${id}/validate`)).body).toMatchObject({
    ready: true,
    problems: [],
  });
  expect((await owner('post', `/api-schema/${id}/publish`, { revision })).status).toBe(202);
  await database.ctx.work.waitUntilIdle('publications');
  const after = (await owner('get', `/api-schema/${id}`)).body;
  expect([after.status, after.publication?.problems]).toEqual(['published', []]);
  return version;
}
const ask = (address: string) =>
  supertest(app)
    .get(`/api/public/${address}`)
    .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': organizationId });

type Counted = { readonly source: string; readonly filled: number };

/** How many records have a value, by source: counted in the whole table. */
async function countFilled(recordType: string): Promise<Counted[]> {
  const schema = tenantSchema(organizationId);
  const state = await database.ctx.db.data.query<{ active_table: string; row_count: string }>(
    `select active_table, row_count from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  const columns = await database.ctx.db.data.query<{ column_name: string; field: string; part: string }>(
    `select column_name, field, part from ${schema}.record_columns where record_type = $1 and part <> 'lines'`,
    [recordType],
  );
  const counts = columns.rows.map(({ column_name: name }) => `count(nullif("${name}"::text, ''))::integer`);
  const { rows } = await database.ctx.db.data.query<{ counts: number[] }>(
    `select array[${counts.join()}] as counts from ${schema}."${state.rows[0]?.active_table}"`,
  );
  return columns.rows.map(({ field, part }, index) => ({
    source: part === 'label' ? `${field}.name` : field,
    filled: rows[0]?.counts[index] ?? 0,
  }));
}

describe('POST /api-schema/draft-from', () => {
  it('proposes readable names, and what can be asked', async () => {
    const [invoices, customers, items] = await proposed(...recordTypes);
    const names = Object.fromEntries((invoices?.fields ?? []).map(({ name, source }) => [name, source]));
    expect(invoices?.name).toBe('invoices');
    expect(names).toMatchObject({
      ...{
        number: 'tranid',
        date: 'trandate',
        customerId: 'entity',
        customerName: 'entity.name',
        currency: 'currency.name',
      },
      ...{
        total: 'foreigntotal',
        amountUnpaid: 'foreignamountunpaid',
        status: 'displayStatus',
        modifiedAt: 'lastmodifieddate',
      },
    });
    expect(invoices).toMatchObject({
      defaultSort: { field: 'date', order: 'desc' },
      filters: expect.arrayContaining([
        { field: 'number', operators: ['eq', 'contains', 'starts_with'] },
        { field: 'date', operators: ['eq', 'after', 'before', 'gte', 'lte'] },
        { field: 'amountUnpaid', operators: ['gte', 'lte', 'gt', 'lt'] },
        { field: 'lines.itemId', operators: ['eq'] },
      ]),
      sorts: expect.arrayContaining(['number', 'date', 'total']),
      aggregates: expect.arrayContaining([
        { field: 'amountUnpaid', functions: ['sum', 'avg', 'min', 'max'] },
      ]),
      groups: expect.arrayContaining(['customerId', 'currency', 'status']),
      relations: [{ name: 'customer', field: 'customerId', resource: 'customers' }],
      search: expect.arrayContaining(['number', 'customerName']),
      or: true,
    });
    expect(invoices?.fields.filter(({ scopable }) => scopable).map(({ name }) => name)).toContain(
      'customerId',
    );
    const lines = invoices?.fields.find(({ source }) => source === 'lines')?.fields ?? [];
    expect(lines.map(({ name, source }) => [name, source])).toEqual(
      expect.arrayContaining([
        ['itemId', 'item'],
        ['itemName', 'item.name'],
        ['quantity', 'displayQuantity'],
        ['description', 'memo'],
      ]),
    );
    expect([customers?.name, items?.name]).toEqual(['customers', 'items']);
  });

  it('has the fields with values and leaves out those without', async () => {
    for (const endpoint of await proposed(...recordTypes)) {
      const sources = new Set(endpoint.fields.map(({ source }) => source));
      const counted = await countFilled(endpoint.recordType);
      const empty = counted.filter(({ filled }) => filled === 0).map(({ source }) => source);
      expect(empty.filter((source) => sources.has(source))).toEqual([]);
      expect(empty.length).toBeGreaterThan(0);
      // Each field with values is there, in one form: itself, its label, or what the connector derives from
      // it.
      const fields = new Set(
        [...sources].flatMap((source) => [
          source.split('.')[0] ?? '',
          source.replace(/^display/, '').toLowerCase(),
        ]),
      );
      const filled = counted
        .filter(({ filled: count }) => count > 0)
        .map(({ source }) => source.split('.')[0] ?? '');
      expect(filled.filter((field) => !fields.has(field))).toEqual([]);
    }
  });

  it('can be saved, published and asked as it is', async () => {
    const endpoints = await proposed(...recordTypes);
    const version = await publish(endpoints);
    for (const { name, filters, sorts } of endpoints) {
      const address = `${version}/${name}`;
      const { status, body } = await ask(`${address}?pageSize=1`);
      expect([status, body.pagination.total > 0]).toEqual([200, true]);
      for (const sort of sorts) expect((await ask(`${address}?pageSize=1&sort=${sort}`)).status).toBe(200);
      for (const { field } of filters.filter(({ operators }) => operators.includes('null')))
        expect((await ask(`${address}?pageSize=1&${field}_null=false`)).status).toBe(200);
    }
    const search = (await ask(`${version}/invoices?pageSize=1`)).body.data[0].number as string;
    expect((await ask(`${version}/invoices?q=${search}`)).body.data).toContainEqual(
      expect.objectContaining({ number: search }),
    );
    const summary = await ask(`${version}/invoices/summary?sum=total&by=currency`);
    expect([summary.status, summary.body.data]).toEqual([
      200,
      expect.arrayContaining([expect.objectContaining({ sum: { total: expect.any(String) } })]),
    ]);
    const expanded = await ask(`${version}/invoices?expand=customer&pageSize=1&customerId_null=false`);
    const { customer, customerId } = expanded.body.data[0];
    expect(customer).toMatchObject({ id: customerId, number: expect.any(String) });
  });

  it('may be edited to compute numbers of which the ERP does not say that they are no amounts', async () => {
    const [invoices] = await proposed('invoice');
    const rate = { field: 'exchangeRate', functions: ['max'] };
    const askRate = async (own: object) => {
      const version = await publish([
        { ...invoices, relations: undefined, aggregates: [{ ...rate, ...own }] },
      ] as never);
      return ask(`${version}/invoices/summary?max=exchangeRate`);
    };
    expect((await askRate({})).body.error.details).toMatchObject([{ code: 'several_currencies' }]);
    expect((await askRate({ currency: 'none' })).body.data).toEqual([
      { max: { exchangeRate: expect.any(String) } },
    ]);
  });

  it('saves nothing, and proposes the same again', async () => {
    const state = async () =>
      JSON.stringify([
        (await owner('get', '/api-schema')).body,
        (await owner('get', `/organizations/${organizationId}/audit-log`)).body,
      ]);
    const before = await state();
    const first = await draftFrom(...recordTypes);
    expect((await draftFrom(...recordTypes)).body).toEqual(first.body);
    expect(await state()).toBe(before);
  });

  it('proposes each record type once, and relations only to those named with it', async () => {
    const [alone, ...others] = await proposed('invoice', 'invoice');
    expect([alone?.name, others, alone?.relations]).toEqual(['invoices', [], undefined]);
  });

  it('masks what a published version masks', async () => {
    const [customers] = await proposed('customer');
    const number = customers?.fields.find(({ source }) => source === 'entityid');
    if (customers === undefined || number === undefined) throw new Error('the customers have no number');
    await publish([
      {
        ...{
          name: 'people',
          recordType: 'customer',
          description: '',
          filters: [],
          sorts: [],
          defaultSort: null,
          maxPageSize: 100,
        },
        fields: [{ ...number, mask: 'last4' }],
      },
    ]);
    const [masked] = await proposed('customer');
    expect(masked?.fields.find(({ source }) => source === 'entityid')).toMatchObject({ mask: 'last4' });
    const offered = [
      ...(masked?.filters.map(({ field }) => field) ?? []),
      ...(masked?.sorts ?? []),
      ...(masked?.search ?? []),
    ];
    expect(offered.filter((name) => name === 'number')).toEqual([]);
  });

  it('samples the records in the queue of reads', async () => {
    const admin = openKnex(database.address, null, 2);
    const lock = await admin.transaction();
    try {
      await lock.raw(`lock table ${tenantSchema(organizationId)}."customer_1" in access exclusive mode`);
      const asked = proposed('customer');
      await until(async () => {
        const blocked =
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%sampled%'";
        return (await admin.raw<{ rows: object[] }>(blocked)).rows.length === 1 ? true : undefined;
      });
      const { queues } = publicMetrics({ reads });
      await lock.rollback();
      expect(await asked).toHaveLength(1);
      expect([queues['reads']?.running, queues['free_reads']?.running]).toEqual([1, 1]);
      expect(publicMetrics({ reads }).queues['reads']?.running).toBe(0);
    } finally {
      await admin.destroy();
    }
  });

  it('422 for record types that are unknown or have no records yet', async () => {
    const answer = await draftFrom('invoice', 'invoices', 'creditMemo', 'constructor');
    expect([answer.status, listCodes(answer)]).toEqual([
      422,
      ['unknown_record_type', 'not_synced', 'unknown_record_type'],
    ]);
    expect(answer.body.error.details.map(({ path }: { path: string }) => path)).toEqual(
      [1, 2, 3].map((index) => `recordTypes[${index}]`),
    );
    expect(answer.body.error.details[0].message).toContain('invoice');
    expect((await owner('post', '/api-schema/draft-from', { recordTypes: [] })).status).toBe(422);
  });

  it('403 for keys that may only read; another organization has no such records', async () => {
    const reading = createApi(
      app,
      (await makeKey(database.ctx, organizationId, { permissions: ['read'] })).secret,
    );
    expect((await reading('post', '/api-schema/draft-from', { recordTypes })).status).toBe(403);
    const other = await makeOrganization(database.ctx);
    const stranger = createApi(
      app,
      (await makeKey(database.ctx, other.id, { permissions: ['write'] })).secret,
    );
    const refused = await stranger('post', '/api-schema/draft-from', { recordTypes });
    expect([refused.status, listCodes(refused)]).toEqual([422, recordTypes.map(() => 'unknown_record_type')]);
  });
});
