// Related records in lists and records: each is what a separate request of the same reader for it returns, or
// null.
import { beforeAll, describe, expect, it } from 'vitest';
import type { RowScopes } from '../../../src/core/record-access.ts';
import { testClock } from '../../setup/database.ts';
import { createRandom } from '../../setup/random.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, type InvoiceRow, invoicesEndpoint, openSite, type Site, withFields } from '../fixture.ts';
import {
  allTargets,
  type CustomerRow,
  customersEndpoint,
  describeTargets,
  loadCustomers,
  relatedInvoices,
} from '../related.ts';

const { below: random, pick } = createRandom(20_261_123);

const oddTexts = [null, '', '0', '007', ' 7', '7 ', '+7', '7.0', '1e1', '-3', 'abc'];
const oddIds = [...oddTexts, '9223372036854775807', '9223372036854775808', '99999999999999999999'];
const customerIds = ['-3', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9223372036854775807'];
const customers: CustomerRow[] = customerIds.map((id, index) => ({
  id,
  name: `Customer "${id}" é\\`,
  segment: ['retail', 'trade', null][index % 3] ?? null,
  credit: ['12345678901234567890.12', '10.50', null][index % 3] ?? null,
  since: '2026-01-31T23:59:59.999999Z',
  parent: ['1', '99', null][index % 3] ?? null,
  lines: ['[{"street":"Main, \\"1\\""}]', '[]', null][index % 3] ?? null,
}));
const anyId = (): string | null => (random(3) === 0 ? pick(oddIds) : pick(customerIds));
const invoices: InvoiceRow[] = Array.from({ length: 120 }, (_, index) => ({
  id: index + 1,
  tranid: `INV-${index}`,
  entity: anyId(),
  status: anyId(),
  total: pick([null, '1', '2', '2.00', '3.5', '7']),
  seq: pick([null, '1', '5', '119', '120', '121', '-1']),
  trandate: `2026-0${1 + random(9)}-11`,
  lines: JSON.stringify([{ item: String(index), quantity: index }]),
}));

const maskedCustomers = withFields(customersEndpoint, { name: { mask: 'last4' } });
const maskedInvoices = withFields(relatedInvoices, { customer: { mask: 'hash' } });
/** As they were before relations could be declared; a filter has the name of the parameter. */
const oldInvoices = {
  ...invoicesEndpoint,
  fields: [...invoicesEndpoint.fields, { name: 'expand', source: 'status' }],
  filters: [...invoicesEndpoint.filters, { field: 'expand', operators: ['eq'] }],
};

const retailers = (others: boolean): RowScopes => ({
  resources: {
    customers: {
      recordType: 'customer',
      conditions: [{ field: 'segment', source: 'segment', in: ['retail'] }],
    },
  },
  others,
});
const keys = {
  whole: {},
  unmasked: { unmasked: true },
  retail: { rows: retailers(true) },
  onlyInvoices: { resources: ['invoices'] },
  fewFields: {
    fields: {
      customers: ['credit', 'addresses'],
      invoices: ['number', 'customer', 'status', 'seq', 'total'],
    },
  },
  otherType: {
    rows: {
      resources: {
        customers: { recordType: 'vendor', conditions: [] },
        invoices: { recordType: 'invoice', conditions: [] },
      },
      others: true,
    },
  },
} as const;
type KeyName = keyof typeof keys;
type Scopes = Parameters<Site['callerWith']>[0];
type Body = Record<string, unknown> & { id: string };
type Embedding = Readonly<Record<'buyer' | 'payer', { readonly name: string } | null>>;

const clock = testClock();
const site = useStarted(() => openSite({ clock, rows: invoices, versions: [] }));
const callers = new Map<KeyName, Get>();
const as = (name: KeyName): Get => callers.get(name) ?? site.get;

beforeAll(async () => {
  await loadCustomers(site.ctx, site.organizationId, customers);
  await describeTargets(site.ctx, site.organizationId, allTargets);
  await site.publish({ endpoints: [relatedInvoices, customersEndpoint] });
  await site.publish({ version: 'v2', endpoints: [relatedInvoices, maskedCustomers] });
  await site.publish({ version: 'v3', endpoints: [maskedInvoices, customersEndpoint] });
  await site.publish({ version: 'v4', endpoints: [oldInvoices, customersEndpoint] });
  for (const [name, scopes] of Object.entries(keys))
    callers.set(name as KeyName, await site.callerWith(structuredClone(scopes) as Scopes));
});

/** Another organization with these records, whose customers have ids of that type. */
async function another(rows: InvoiceRow[], others: CustomerRow[], idType?: 'text'): Promise<Get> {
  const { organizationId, publish, get } = await site.another({ rows, versions: [] });
  await loadCustomers(site.ctx, organizationId, others, idType);
  const { customer, invoice } = allTargets;
  await describeTargets(site.ctx, organizationId, idType === undefined ? { customer, invoice } : { invoice });
  const [buyer] = relations;
  const byText = [
    { ...invoicesEndpoint, relations: [buyer] },
    { ...customersEndpoint, relations: undefined },
  ];
  await publish({ endpoints: idType === undefined ? [relatedInvoices, customersEndpoint] : byText });
  return get;
}

/** Makes the new generation known: what was read before is no longer trusted. */
const bump = async (recordType: string, set = ''): Promise<void> => {
  await site.sql(`update $wh.record_state set generation = generation + 1${set} where record_type = $1`, [
    recordType,
  ]);
  clock.advance(site.ctx.settings.cacheTtlMs + 1);
};

const relations = relatedInvoices.relations;
/** What a separate request for the related record returns; null for an error of any kind. */
async function separately(get: Get, version: string, resource: string, id: unknown): Promise<unknown> {
  if (id === null || id === undefined || id === '') return null;
  const answer = await get(`/${version}/${resource}/${encodeURIComponent(String(id))}`);
  return answer.status === 200 ? answer.body.data : null;
}

/** The expected records, from requests that expand nothing. */
async function readExpanded(
  get: Get,
  version: string,
  path: string,
  query: string,
  names: readonly string[],
): Promise<Body[]> {
  const selected = await get(`/${version}/${path}?${query}`).expect(200);
  const whole = await get(`/${version}/${path}?${query.replace(/fields=[^&]*&?/, '')}`).expect(200);
  const [rows, sources] = [[selected.body.data].flat() as Body[], [whole.body.data].flat() as Body[]];
  const expected: Body[] = [];
  for (const [index, row] of rows.entries()) {
    const embedded: Record<string, unknown> = {};
    for (const { name, field, resource } of relations)
      if (names.includes(name))
        embedded[name] = await separately(get, version, resource, sources[index]?.[field]);
    expected.push({ ...row, ...embedded });
  }
  return expected;
}

const queries = [
  '',
  'pageSize=50',
  'page=3&pageSize=7',
  'sort=total&order=desc',
  'seq_null=true&sort=date',
  'fields=number&total_gt=1',
  'fields=id',
];

describe('expand', () => {
  it.each(Object.keys(keys) as KeyName[])('embeds what separate requests return: %s', async (key) => {
    const get = as(key);
    for (let round = 0; round < 5; round += 1) {
      const version = pick(['v1', 'v2']);
      const [first, second] = [pick(relations).name, pick(relations).name];
      const names = [...new Set([first, second])];
      const query = pick(queries.filter((text) => key !== 'fewFields' || !/date/.test(text)));
      const expected = await readExpanded(get, version, 'invoices', query, names);
      const list = await get(`/${version}/invoices?${query}&expand=${names.join()}`).expect(200);
      expect([version, query, names, list.body.data]).toEqual([version, query, names, expected]);
      const id = 1 + random(120);
      const [wanted] = await readExpanded(get, version, `invoices/${id}`, '', names);
      expect((await get(`/${version}/invoices/${id}?expand=${names.join()}`).expect(200)).body.data).toEqual(
        wanted,
      );
    }
  });

  it('writes the related record to the last character as its own resource does, after the fields', async () => {
    const { text } = await as('whole')('/v1/customers/2');
    expect(text).toContain('12345678901234567890.12,');
    const inner = text.slice('{"data":'.length, -1);
    const row = invoices.findIndex(({ entity }) => entity === '2');
    const answer = await as('whole')(`/v1/invoices/${row + 1}?fields=number&expand=buyer`).expect(200);
    expect(answer.text).toBe(`{"data":{"id":"${row + 1}","number":"INV-${row}","buyer":${inner}}}`);
  });

  it('embeds the same under ids that are texts', async () => {
    const texts = ['a', 'A', 'ä', 'a/b', '7', '007'];
    const rows = [...texts, 'b', '', null].map((entity, index) => ({ id: index + 1, entity }));
    const get = await another(
      rows,
      texts.map((id) => ({ id, name: `Name of ${id}` })),
      'text',
    );
    const { body } = await get('/v1/invoices?expand=buyer').expect(200);
    expect(body.data.map(({ buyer }: Embedding) => buyer?.name ?? null)).toEqual([
      ...texts.map((id) => `Name of ${id}`),
      null,
      null,
      null,
    ]);
  });

  it('comes in pieces when the embedded records are large', async () => {
    const name = 'x'.repeat(40_000);
    const rows = Array.from({ length: 50 }, (_, at) => ({ id: at + 1, entity: String(at % 3), status: '1' }));
    const get = await another(rows, [
      { id: 1, name },
      { id: 2, name: name.repeat(16) },
    ]);
    const { body } = await get('/v1/invoices?pageSize=50&expand=payer,buyer&fields=id').expect(200);
    const sizes = [undefined, name.length, 16 * name.length];
    expect(body.data.map(({ buyer, payer }: Embedding) => [buyer?.name.length, payer?.name.length])).toEqual(
      rows.map((_row, at) => [sizes[at % 3], name.length]),
    );
    const one = await get('/v1/invoices/2?expand=buyer,payer').expect(200);
    expect(one.body.data).toMatchObject({ buyer: { name }, payer: { name } });
    expect((await get('/v1/invoices/3?expand=buyer').expect(200)).body.data.buyer.name).toBe(name.repeat(16));
  });
});

/** The table of the customers; other tests replace it. */
const customerTable = async (): Promise<string> =>
  (await site.sql("select active_table from $wh.record_state where record_type = 'customer'"))[0]?.[
    'active_table'
  ] as string;

describe('the freshness of embedded records', () => {
  it('changes the entity tag with the related records alone, and is that of the oldest', async () => {
    for (const path of ['/v1/invoices?expand=buyer,parent', '/v1/invoices/1?expand=buyer,parent']) {
      const get = as('whole');
      const first = await get(path).expect(200);
      const etag = first.headers['etag'] ?? '';
      const generationSql = "select generation::text from $wh.record_state where record_type = 'invoice'";
      const generation = (await site.sql(generationSql))[0]?.['generation'];
      const fresh = { 'x-data-synced-at': '2026-02-01T08:00:00Z', 'x-data-generation': generation };
      const again = await get(path, { 'if-none-match': etag }).expect(304);
      for (const { headers } of [first, again]) expect(headers).toMatchObject(fresh);
      await get(path.replace('expand=buyer,parent', ''), { 'if-none-match': etag })
        .expect(200)
        .expect('x-data-synced-at', '2026-03-01T08:00:00Z');
      await site.sql(`update $wh."${await customerTable()}" set f_name = f_name || '!' where id = 1`);
      await bump('customer');
      const changed = await get(path, { 'if-none-match': etag }).expect(200);
      expect(changed.headers['etag']).not.toBe(etag);
      expect(changed.headers['x-data-generation']).toBe(generation);
      await get(path, { 'if-none-match': changed.headers['etag'] ?? '' }).expect(304);
      await bump('invoice');
      await get(path, { 'if-none-match': changed.headers['etag'] ?? '' }).expect(200);
    }
  });

  it('is not part of an answer that embeds no record of the resource', async () => {
    const get = as('onlyInvoices');
    const path = '/v1/invoices?expand=buyer';
    const { headers } = await get(path).expect(200);
    expect(headers['x-data-synced-at']).toBe('2026-03-01T08:00:00Z');
    await bump('customer');
    await get(path, { 'if-none-match': headers['etag'] ?? '' }).expect(304);
  });

  it('names stale fields of related records after the relation, and refuses when a field of their scope is stale', async () => {
    const times = { since: '2026-02-10T08:00:00Z', syncedAt: '2026-01-01T08:00:00Z' };
    const stale = { segment: { ...times, reason: 'unreadable', message: 'Hidden' } };
    await bump('customer', `, stale_fields = '${JSON.stringify(stale)}'`);
    const answer = await as('whole')('/v1/invoices?expand=buyer').expect(200);
    expect(answer.headers['x-data-stale-fields']).toBe('buyer.segment; since="2026-02-10T08:00:00Z"');
    expect(answer.headers['x-data-synced-at']).toBe('2026-01-01T08:00:00Z');
    const refused = await as('retail')('/v1/invoices?expand=buyer').expect(503);
    expect(refused.body.error.details[0].code).toBe('scope_field_stale');
    await as('retail')('/v1/invoices/1?expand=payer').expect(503);
    await as('retail')('/v1/invoices').expect(200);
    await bump('customer', ", stale_fields = '{}'");
  });

  it('follows the related records to another table', async () => {
    const path = '/v1/invoices?pageSize=100&expand=buyer';
    await as('whole')(path).expect(200);
    const former = await customerTable();
    const moved = customers.map((row) => ({ ...row, name: 'moved' }));
    await loadCustomers(site.ctx, site.organizationId, moved);
    await site.sql(`drop table $wh."${former}"`);
    // Another page: the state in the cache still names the table that is gone.
    const { body } = await as('whole')(`${path}&sort=number`).expect(200);
    const names = body.data.flatMap(({ buyer }: Embedding) => buyer?.name ?? []);
    expect([names.length > 10, new Set(names)]).toEqual([true, new Set(['moved'])]);
  });
});

describe('a request that expand refuses', () => {
  it.each([
    ['/v1/invoices?expand=buyers', 'unknown_relation'],
    ['/v1/invoices?expand=customer', 'unknown_relation'],
    ['/v1/invoices?expand=buyer.parent', 'unknown_relation'],
    ['/v1/invoices?expand=', 'empty_value'],
    ['/v1/invoices?expand=buyer&expand=payer', 'repeated_parameter'],
    ['/v1/invoices?expand=buyer,payer,parent,byTotal', 'too_many_values'],
    ['/v1/invoices/1?expand=toString', 'unknown_relation'],
    ['/v1/invoices/changes?expand=buyer', 'unknown_parameter'],
    ['/v4/invoices/1?expand=buyer', 'unknown_parameter'],
  ])('%s', async (path, code) => {
    const { body } = await as('whole')(path).expect(400);
    expect(body.error.details[0].code).toBe(code);
  });

  it.each(['application/x-ndjson', 'text/csv'])('as %s', async (accept) => {
    const { body } = await as('whole')('/v1/invoices?expand=buyer', { accept }).expect(400);
    expect(body.error.details).toMatchObject([{ path: 'expand', code: 'not_exported' }]);
  });

  it('by a field that is masked for the reader, or that the reader has not', async () => {
    for (const path of ['/v3/invoices?expand=buyer', '/v3/invoices/1?expand=payer,buyer']) {
      const { body } = await as('whole')(path).expect(403);
      expect(body.error.details).toMatchObject([{ path: 'expand', code: 'field_masked' }]);
      await as('unmasked')(path).expect(200);
    }
    await as('whole')('/v3/invoices?expand=payer').expect(200);
    const limited = await site.callerWith({ fields: { invoices: ['number', 'status'] } });
    await limited('/v1/invoices?expand=payer').expect(200);
    const none = await site.callerWith({ fields: { invoices: ['number'] } });
    for (const [get, code] of [
      [limited, 'unknown_relation'],
      [none, 'unknown_parameter'],
    ] as const)
      expect((await get('/v1/invoices?expand=buyer').expect(400)).body.error.details[0].code).toBe(code);
  });

  it('names only the relations that the description shows to the reader', async () => {
    const message = async (name: KeyName, path: string): Promise<string> =>
      (await as(name)(path).expect(400)).body.error.message;
    const shown = async (name: KeyName): Promise<string[]> => {
      const { paths } = (await as(name)('/openapi/v1').expect(200)).body;
      const parameters: { name: string; schema: { items: { enum: string[] } } }[] =
        paths['/v1/invoices'].get.parameters;
      return parameters.find((parameter) => parameter.name === 'expand')?.schema.items.enum ?? [];
    };
    for (const name of ['whole', 'retail', 'fewFields', 'onlyInvoices'] as const) {
      const names = await shown(name);
      for (const path of ['/v1/invoices?expand=bayer', '/v1/invoices/1?expand=bayer']) {
        const text = await message(name, path);
        const named = relations
          .map((relation) => relation.name)
          .filter((one) => new RegExp(`\\b${one}\\b`).test(text));
        expect({ name, named }).toEqual({ name, named: names });
      }
      expect((await message(name, '/v1/invoices?expant=buyer')).includes('"expand"')).toBe(names.length > 0);
    }
    expect(await shown('onlyInvoices')).toEqual(['parent']);
    const fields = { invoices: ['number', 'customer'] };
    const get = await site.callerWith({ resources: ['invoices'], fields });
    for (const path of ['/v1/invoices?expand=bayer', '/v1/invoices/1?expand=bayer', '/v1/invoices?expant=b'])
      expect((await get(path).expect(400)).body.error.message).not.toMatch(
        /buyer|"expand" takes|Did you mean/,
      );
    await get('/v1/invoices?expand=buyer').expect(200);
  });

  it('is a filter where an endpoint without relations has a field of this name', async () => {
    const { body } = await as('whole')('/v4/invoices?expand=1&pageSize=100').expect(200);
    const found = invoices.flatMap(({ id, status }) => (status === '1' ? [String(id)] : []));
    expect(body.data.map(({ id }: Body) => id)).toEqual(found);
  });
});
