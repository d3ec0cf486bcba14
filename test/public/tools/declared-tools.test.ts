// The tools over a version that declares search, `or`, filters on lines, sort sets, relations and summaries:
// what they return is what the public interface returns for the address that a client would write by hand.
import { beforeAll, describe, expect, it } from 'vitest';
import { fullAccess, type RecordAccess, unlimitedLayer } from '../../../src/core/record-access.ts';
import {
  createReadEngine,
  createVersionTools,
  getRecordTools,
  type RecordTools,
} from '../../../src/public/index.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, openSite, publicApp } from '../fixture.ts';
import { randomInvoices, summarizedInvoices } from '../read/summary-fixture.ts';
import { allTargets, customersEndpoint, describeTargets, loadCustomers } from '../related.ts';

const declared = {
  ...summarizedInvoices,
  sortSets: [
    ['paid', '-total'],
    ['-date', 'number'],
  ],
  relations: [{ name: 'buyer', field: 'customer', resource: 'customers' }],
};
/** A filter where the other version has a parameter. */
const plainFields = [
  { name: 'q', source: 'tranid' },
  { name: 'or', source: 'status' },
  { name: 'count', source: 'seq' },
];
const plain = {
  name: 'invoices',
  recordType: 'invoice',
  fields: plainFields,
  filters: plainFields.map(({ name }) => ({ field: name, operators: ['eq'] })),
};

const site = useStarted(() => openSite({ rows: randomInvoices(120, 7), versions: [] }));
let tools: RecordTools;
let rest: Get;
beforeAll(async () => {
  const { ctx, organizationId, publish } = site;
  await describeTargets(ctx, organizationId, allTargets);
  const customers = Array.from({ length: 5 }, (_, n) => ({ id: `c${n + 1}`, name: `Customer ${n}` }));
  await loadCustomers(ctx, organizationId, customers, 'text');
  await publish({ endpoints: [declared, { ...customersEndpoint, relations: undefined }] });
  await publish({ version: 'v2', endpoints: [plain] });
  const reads = createReadEngine(ctx);
  tools = getRecordTools({ reads });
  rest = await site.callerWith({}, publicApp(ctx, undefined, reads));
});

const at = { version: 'v1', resource: 'invoices' };
type Name = 'query' | 'get' | 'summarize' | 'describe';
function call(
  name: Name,
  input: object,
  reads: RecordAccess = fullAccess,
  maxCharacters = 1_000_000,
): Promise<string> {
  const run = tools[name] as (tenant: object, access: object, input: object) => Promise<string>;
  return run(site.tenant, { reads, maxCharacters }, { ...at, ...input });
}
const refusal = async (name: Name, input: object, reads?: RecordAccess) =>
  call(name, input, reads).then(
    () => 'none',
    ({ code, message, details }) => ({ code, message, details }),
  );
const freshness = /,"freshness":\{"generation":"\d+","syncedAt":"[^"]+"\}\}$/;

describe('query and get', () => {
  it.each<[object, string]>([
    [{ q: 'inv-1' }, 'q=inv-1'],
    [
      { q: 'mer 2', filters: { paid: true }, sort: 'date', order: 'desc' },
      'q=mer%202&paid=true&sort=date&order=desc',
    ],
    [{ or: { status: 'USD', seq_gt: 3 } }, 'or=(status:eq:USD,seq:gt:3)'],
    [
      { or: { status: ['USD', 'a "quoted" \\ one'], total_lt: '-0.05' } },
      'or=(status:eq:USD,status:eq:"a%20""quoted""%20\\%20one",total:lt:-0.05)',
    ],
    [
      { or: { status_not: 'USD', date_null: true }, q: 'inv', filters: { paid: [true] } },
      'or=(status:not:USD,date:null:true)&q=inv&paid=true',
    ],
    [{ or: { 'lines.item': 'a', 'lines.quantity_gt': 6 } }, 'or=(lines.item:eq:a,lines.quantity:gt:6)'],
    [
      { filters: { 'lines.quantity_gt': 4, 'lines.item': ['a', 'c'] } },
      'lines.quantity_gt=4&lines.item=a&lines.item=c',
    ],
    [{ sort: 'paid,-total', pageSize: 40 }, 'sort=paid,-total&pageSize=40'],
    [{ sort: '-date,number', page: 2 }, 'sort=-date,number&page=2'],
    [{ sort: '-total' }, 'sort=-total'],
    [{ expand: ['buyer'], fields: ['number'], pageSize: 50 }, 'expand=buyer&fields=number&pageSize=50'],
  ])('query %j returns what the list returns for the same parameters', async (input, parameters) => {
    const same = await rest(`/v1/invoices?${parameters}`);
    expect([same.status, await call('query', input)]).toEqual([200, expect.stringMatching(freshness)]);
    expect((await call('query', input)).replace(freshness, '}')).toBe(same.text);
    expect(JSON.parse(same.text).pagination.total).toBeGreaterThan(0);
  });

  it('get embeds related records, and both tell the oldest time of the data', async () => {
    const found = JSON.parse(
      await call('query', { expand: ['buyer'], filters: { customer: 'c2' }, pageSize: 1 }),
    );
    const [{ id, buyer }] = found.data;
    expect(buyer).toMatchObject({ id: 'c2', name: 'Customer 1' });
    const text = await call('get', { id, expand: ['buyer'] });
    expect(text.replace(freshness, '}')).toBe((await rest(`/v1/invoices/${id}?expand=buyer`)).text);
    for (const { freshness: shown } of [found, JSON.parse(text)])
      expect(shown.syncedAt).toBe('2026-02-01T08:00:00Z');
    expect(JSON.parse(await call('get', { id })).freshness.syncedAt).toBe('2026-03-01T08:00:00Z');
    const narrow: RecordAccess = { layers: [{ ...unlimitedLayer, resources: ['invoices'] }], unmasked: true };
    expect(JSON.parse(await call('get', { id, expand: ['buyer'] }, narrow)).data.buyer).toBeNull();
  });

  it.each<[Name, object, string]>([
    ['query', { q: 'in' }, 'q=in'],
    ['query', { or: { status: 'USD' } }, 'or=(status:eq:USD)'],
    ['query', { or: { statsu: 'USD', seq: 1 } }, 'or=(statsu:eq:USD,seq:eq:1)'],
    ['query', { sort: 'total,-paid' }, 'sort=total,-paid'],
    ['query', { expand: ['seller'] }, 'expand=seller'],
  ])('%s %j is refused as the list refuses it', async (name, input, parameters) => {
    const { status, body } = await rest(`/v1/invoices?${parameters}`);
    expect([status, await refusal(name, input)]).toEqual([
      400,
      { code: body.error.code, message: expect.any(String), details: body.error.details },
    ]);
  });

  it('a list of values in `or` is refused where it would mean something else than in a filter', async () => {
    expect(await refusal('query', { or: { status_not: ['USD', 'EUR'], seq: 1 } })).toMatchObject({
      code: 'BAD_REQUEST',
      details: [{ path: 'status_not', code: 'repeated_parameter' }],
    });
  });

  it('a parameter is never taken for a filter of the same name, nor the other way round', async () => {
    const v2 = { version: 'v2' };
    expect(JSON.parse(await call('query', { ...v2, filters: { q: 'INV-3', count: 2 } })).data).toEqual(
      JSON.parse((await rest('/v2/invoices?q=INV-3&count=2')).text).data,
    );
    for (const input of [{ q: 'INV-3' }, { or: { count: 1 } }])
      expect(await refusal('query', { ...v2, ...input })).toMatchObject({
        code: 'BAD_REQUEST',
        details: [{ code: 'unknown_parameter' }],
      });
    expect(await refusal('query', { ...v2, expand: ['buyer'] })).toMatchObject({
      details: [{ path: 'expand', code: 'unknown_parameter' }],
    });
    for (const name of ['q', 'or', 'expand', 'sort'])
      expect(await refusal('query', { filters: { [name]: 'x' } })).toMatchObject({
        details: [{ path: name, code: 'unknown_parameter' }],
      });
  });
});

describe('summarize', () => {
  it.each<[object, string]>([
    [{}, ''],
    [{ sum: ['total'], avg: ['total', 'seq'] }, 'sum=total&avg=total&avg=seq'],
    [
      { by: ['status', 'date.month'], count: true, max: ['modified'] },
      'by=status&by=date.month&count=true&max=modified',
    ],
    [
      { by: ['customer'], sum: ['total'], sort: '-sum.total', limit: 3 },
      'by=customer&sum=total&sort=-sum.total&limit=3',
    ],
    [
      {
        by: ['paid'],
        count_distinct: ['customerName'],
        min: ['date'],
        q: 'inv',
        or: { seq_gt: 1, paid: true },
        filters: { total_gte: 0 },
      },
      'by=paid&count_distinct=customerName&min=date&q=inv&or=(seq:gt:1,paid:eq:true)&total_gte=0',
    ],
    [
      { filters: { 'lines.item': 'c', 'lines.quantity_gt': 3 }, by: ['date.quarter'] },
      'lines.item=c&lines.quantity_gt=3&by=date.quarter',
    ],
  ])('%j returns what /summary returns', async (input, parameters) => {
    const same = await rest(`/v1/invoices/summary?${parameters}`);
    const text = await call('summarize', input);
    expect([same.status, text]).toEqual([200, expect.stringMatching(freshness)]);
    expect(text.replace(freshness, '}')).toBe(same.text);
    expect(JSON.parse(text).data.length).toBeGreaterThan(0);
  });

  it.each<[object, string]>([
    [{ sum: ['paid'] }, 'sum=paid'],
    [{ by: ['dat.month'] }, 'by=dat.month'],
    [{ by: ['status'], sort: 'sum.total' }, 'by=status&sort=sum.total'],
    [{ q: 'x', avg: ['seq'] }, 'q=x&avg=seq'],
  ])('%j is refused as /summary refuses it', async (input, parameters) => {
    const { status, body } = await rest(`/v1/invoices/summary?${parameters}`);
    expect([status, await refusal('summarize', input)]).toEqual([
      400,
      { code: body.error.code, message: expect.any(String), details: body.error.details },
    ]);
  });

  it('needs a declared summary, takes filters only as filters, and cuts long results after whole groups', async () => {
    expect(await refusal('summarize', { version: 'v2' })).toMatchObject({
      code: 'BAD_REQUEST',
      details: [{ code: 'no_summary' }],
    });
    expect(await refusal('summarize', { filters: { by: 'status' } })).toMatchObject({
      details: [{ path: 'by', code: 'unknown_parameter' }],
    });
    const asked = { by: ['number'], sum: ['total'] };
    const { data, total } = JSON.parse(await call('summarize', asked));
    const short = JSON.parse(await call('summarize', asked, fullAccess, 1_000));
    expect([total, short.total, short.cut.of]).toEqual([data.length, data.length, data.length]);
    expect(short.data).toEqual(data.slice(0, short.cut.shown));
    expect(short.cut.shown).toBeGreaterThan(0);
  });
});

describe('describe', () => {
  it('names what the resource declares, by the names that the other tools take', async () => {
    const value = JSON.parse(await call('describe', {}));
    expect(value).toMatchObject({
      sortSets: ['paid,-total', '-date,number'],
      search: ['number', 'customerName'],
      or: true,
      relations: [{ name: 'buyer', resource: 'customers' }],
      groups: expect.arrayContaining(['status', 'date.month', 'modified.year']),
    });
    expect(value.aggregates).toContainEqual({
      field: 'total',
      functions: ['sum', 'avg', 'min', 'max', 'count_distinct'],
    });
    const { fields } = value.fields.find(({ name }: { name: string }) => name === 'lines');
    expect(fields).toContainEqual({ name: 'quantity', type: 'number', filters: ['lines.quantity_gt'] });
    const old = JSON.parse(await call('describe', { version: 'v2' }));
    for (const name of ['aggregates', 'groups', 'relations', 'search', 'or', 'sortSets'])
      expect(old).not.toHaveProperty(name);
  });
});

describe('the tools of agents', () => {
  it('take search, or, expand and sort sets as well', async () => {
    const access = { version: 'v1', reads: fullAccess, maxCharacters: 100_000 };
    const own = createVersionTools(tools, site.tenant, access);
    const run = async (name: string, input: object) =>
      JSON.parse((await own.find((tool) => tool.name === name)?.run(input)) ?? '{}');
    const narrowed = { resource: 'invoices', q: 'inv', or: { status: 'USD', seq_gt: 3 } };
    const asked = { ...narrowed, sort: 'paid,-total', expand: ['buyer'] };
    expect((await run('query', asked)).data).toEqual(JSON.parse(await call('query', asked)).data);
    const { count } = await run('aggregate', narrowed);
    expect(count).toBe((await run('query', asked)).pagination.total);
  });
});
