// The proposal of a draft from synced records: it has what the records have, is saved as nothing, and can be
// saved, published and asked as it is, or under the demo's names. Rules for names and offers are in
// test/public/draft.
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { editProposal, Proposal } from '../../demo/edit-proposal.ts';
import { demoEndpoints, demoRecordTypes } from '../../demo/schema.ts';
import { startBackground } from '../../src/app.ts';
import type { ReadEngine } from '../../src/core/ctx.ts';
import { createReadEngine, type EndpointDefinition, publicMetrics } from '../../src/public/index.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { listCodes } from '../setup/api.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

let reads: ReadEngine;
const site = useOrganization({ erp: {}, reads: (ctx) => (reads = createReadEngine(ctx)) });
const recordTypes = ['invoice', 'customer', 'item'];

/** Ids of the sync configurations by record type. */
const configs = new Map<string, string>();
async function syncAll(types: readonly string[]): Promise<void> {
  const background = await startBackground(site.ctx);
  for (const type of types) await site.api('post', `/sync-configs/${configs.get(type)}/trigger`, {});
  const read = async (type: string) => (await site.api('get', `/sync-configs/${configs.get(type)}`)).body;
  for (const type of types) await until(async () => (await read(type)).lastRun?.status === 'succeeded');
  await background.stop();
}

beforeAll(async () => {
  await site.erp.connect(site.api);
  await site.api('post', '/netsuite/metadata/refresh');
  for (const config of demoRecordTypes)
    configs.set(config.recordType, (await site.api('post', '/sync-configs', config)).body.id);
  // Credit memos are known and configured, and not synced yet.
  await syncAll(recordTypes);
});

const draftFrom = (...types: readonly string[]) =>
  site.api('post', '/api-schema/draft-from', { recordTypes: types });
async function proposed(...types: readonly string[]): Promise<EndpointDefinition[]> {
  const { status, body } = await draftFrom(...types);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.endpoints;
}
async function publish(endpoints: readonly EndpointDefinition[]): Promise<string> {
  const made = await site.api('post', '/api-schema', { endpoints });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const { id, revision, version } = made.body;
  const validated = (await site.api('post', `/api-schema/${id}/validate`)).body;
  expect(validated).toMatchObject({ ready: true, problems: [] });
  expect((await site.api('post', `/api-schema/${id}/publish`, { revision })).status).toBe(202);
  await site.ctx.work.waitUntilIdle('publications');
  const after = (await site.api('get', `/api-schema/${id}`)).body;
  expect([after.status, after.publication?.problems]).toEqual(['published', []]);
  return version;
}
const ask = (address: string) =>
  supertest(site.app)
    .get(`/api/public/${address}`)
    .set({ authorization: `Bearer ${site.owner.secret}`, 'x-tenant-id': site.id });

type Counted = { readonly source: string; readonly filled: number };

/** How many records have a value, by source: counted in the whole table. */
async function countFilled(recordType: string): Promise<Counted[]> {
  const schema = tenantSchema(site.id);
  const state = await site.ctx.db.data.query<{ active_table: string; row_count: string }>(
    `select active_table, row_count from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  const columns = await site.ctx.db.data.query<{ column_name: string; field: string; part: string }>(
    `select column_name, field, part from ${schema}.record_columns where record_type = $1 and part <> 'lines'`,
    [recordType],
  );
  const counts = columns.rows.map(({ column_name: name }) => `count(nullif("${name}"::text, ''))::integer`);
  const { rows } = await site.ctx.db.data.query<{ counts: number[] }>(
    `select array[${counts.join()}] as counts from ${schema}."${state.rows[0]?.active_table}"`,
  );
  return columns.rows.map(({ field, part }, index) => ({
    source: part === 'label' ? `${field}.name` : field,
    filled: rows[0]?.counts[index] ?? 0,
  }));
}

const every = ['sum', 'avg', 'min', 'max'];
/** Of an endpoint: publishing measures no filters and no sorts. */
const nothingElse = { description: '', filters: [], sorts: [], defaultSort: null, maxPageSize: 100 };

describe('POST /api-schema/draft-from', () => {
  it('proposes readable names, and what can be asked', async () => {
    const [invoices, customers, items] = await proposed(...recordTypes);
    const names = Object.fromEntries((invoices?.fields ?? []).map(({ name, source }) => [name, source]));
    expect(invoices?.name).toBe('invoices');
    expect(names).toMatchObject({
      ...{ number: 'tranid', date: 'trandate', customerId: 'entity', customerName: 'entity.name' },
      ...{ currency: 'currency.name', total: 'foreigntotal', amountUnpaid: 'foreignamountunpaid' },
      ...{ status: 'displayStatus', modifiedAt: 'lastmodifieddate' },
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
      aggregates: expect.arrayContaining([{ field: 'amountUnpaid', functions: every }]),
      groups: expect.arrayContaining(['customerId', 'currency', 'status']),
      relations: [{ name: 'customer', field: 'customerId', resource: 'customers' }],
      search: expect.arrayContaining(['number', 'customerName']),
      or: true,
    });
    const scopable = invoices?.fields.filter((field) => field.scopable) ?? [];
    expect(scopable.map(({ name }) => name)).toContain('customerId');
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
      const { name, recordType, fields, filters } = invoices ?? {};
      const byCurrency = {
        filters: filters?.filter(({ field }) => field === 'currency'),
        groups: ['currency'],
      };
      const version = await publish([
        { ...nothingElse, ...byCurrency, name, recordType, fields, aggregates: [{ ...rate, ...own }] },
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
        (await site.api('get', '/api-schema')).body,
        (await site.api('get', `/organizations/${site.id}/audit-log`)).body,
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
    const fields: EndpointDefinition['fields'] = [{ ...number, mask: 'last4' }];
    await publish([{ ...nothingElse, name: 'people', recordType: 'customer', fields }]);
    const [masked] = await proposed('customer');
    expect(masked?.fields.find(({ source }) => source === 'entityid')).toMatchObject({ mask: 'last4' });
    const { filters = [], sorts = [], search = [] } = masked ?? {};
    expect([...filters.map(({ field }) => field), ...sorts, ...search]).not.toContain('number');
  });

  it('samples the records in the queue of reads', async () => {
    const { admin } = site;
    const lock = await admin.transaction();
    await lock.raw(`lock table ${tenantSchema(site.id)}."customer_1" in access exclusive mode`);
    const asked = proposed('customer');
    const blocked =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%sampled%'";
    await until(async () => (await admin.raw<{ rows: object[] }>(blocked)).rows.length === 1);
    const { queues } = publicMetrics({ reads });
    await lock.rollback();
    expect(await asked).toHaveLength(1);
    expect([queues['reads']?.running, queues['free_reads']?.running]).toEqual([1, 1]);
    expect(publicMetrics({ reads }).queues['reads']?.running).toBe(0);
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
    expect((await site.api('post', '/api-schema/draft-from', { recordTypes: [] })).status).toBe(422);
  });

  it('403 for keys that may only read; another organization has no such records', async () => {
    const reader = await site.join('viewer');
    expect((await reader.api('post', '/api-schema/draft-from', { recordTypes })).status).toBe(403);
    const other = await site.another();
    const refused = await other.api('post', '/api-schema/draft-from', { recordTypes });
    expect([refused.status, listCodes(refused)]).toEqual([422, recordTypes.map(() => 'unknown_record_type')]);
  });
});

describe("the demo's schema", () => {
  let version: string;
  beforeAll(() => syncAll(['creditMemo']));

  it('is the proposal under its own names, and adds to its lists', async () => {
    const types = demoRecordTypes.map(({ recordType }) => recordType);
    const edited = editProposal(Proposal.parse((await draftFrom(...types)).body));
    expect(edited).toMatchObject(
      demoEndpoints.map((own) => ({ ...own, filters: expect.arrayContaining(own.filters) })),
    );
    expect(edited.find(({ name }) => name === 'invoices')).toMatchObject({
      filters: expect.arrayContaining([{ field: 'lines.itemId', operators: ['eq'] }]),
      aggregates: expect.arrayContaining([{ field: 'amountDue', functions: every }]),
      groups: expect.arrayContaining([
        'customerId',
        'currency',
        { field: 'dueDate', periods: expect.arrayContaining(['month']) },
      ]),
      relations: [{ name: 'customer', field: 'customerId', resource: 'customers' }],
      ...{ search: ['number', 'customerName'], or: true, sortSets: [['date', '-total']] },
    });
    expect(edited.find(({ name }) => name === 'items')?.search).toContain('code');
    version = await publish(edited as EndpointDefinition[]);
  });

  it('answers in one request what took several', async () => {
    const read = async (address: string) => {
      const { status, body } = await ask(`${version}${address}`);
      expect([address, status, body.error]).toEqual([address, 200, undefined]);
      return body;
    };
    const newest =
      '/invoices?sort=date,-total&customerId_null=false&amountDue_gt=0&expand=customer&pageSize=1';
    const [first] = (await read(newest)).data;
    expect(first.customer).toEqual((await read(`/customers/${first.customerId}`)).data);
    const found = (await read(`/invoices?q=${first.number}`)).data;
    expect(found.map(({ id }: { id: string }) => id)).toContain(first.id);
    const [line] = first.lines;
    const sold = (await read(`/invoices?lines.itemId=${line.itemId}&pageSize=5`)).data;
    for (const { lines } of sold)
      expect(lines).toContainEqual(expect.objectContaining({ itemId: line.itemId }));
    const either = await read(`/invoices?or=(number:eq:${first.number},amountDue:gt:100000000)`);
    expect(either.pagination.total).toBe(1);
    const owing = '/invoices/summary?sum=amountDue&by=customerId&by=currency&sort=-sum.amountDue&limit=3';
    expect((await read(owing)).data).toHaveLength(3);
  });
});
