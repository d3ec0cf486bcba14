// describe, query and get as an agent uses them: the same records and errors as the public interface, within
// the size limit.
import type { Client, Tool } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { maxCharacters } from '../../src/mcp/tool.ts';
import { createCaller } from '../public/fixture.ts';
import { pluck } from '../setup/api.ts';
import { call, failedCall, hostileText, longText, useMcp } from './fixture.ts';
import { brokenRules } from './tool-rules.ts';

const site = useMcp({ records: true });
let client: Client;
let rest: (
  path: string,
) => Promise<{ status: number; text: string; body: { error: Record<string, unknown> } }>;
beforeAll(async () => {
  const key = await site.key();
  client = await site.connect(key.secret);
  const get = createCaller(site.app, { secret: key.secret, organizationId: site.organization.id });
  rest = async (path) => get(path);
});

const v1 = { version: 'v1', resource: 'invoices' };
const summary = { version: 'v5', resource: 'invoices' };
/** How fresh each result says that it is. */
const freshness = { generation: '1', syncedAt: '2026-03-01T08:00:00Z' };
const failure = (name: string, input: Record<string, unknown>, by = client) => failedCall(by, name, input);
const read = async (name: string, input: Record<string, unknown> = {}, by = client) =>
  (await call(by, name, input)).value;

it('the tools are listed in at most 7,500 bytes even with a version of 50 resources, the same for old and new clients', async () => {
  const modern = await site.connect((await site.key()).secret, 'auto');
  const [{ tools }, listed] = [await client.listTools(), await modern.listTools()];
  const recordTools = ['describe', 'query', 'aggregate', 'get'];
  const operationTools = ['search_operations', 'describe_operation', 'call_operation'];
  expect(tools.map(({ name }) => name)).toEqual([...recordTools, ...operationTools]);
  expect(listed.tools).toEqual(tools);
  expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThanOrEqual(7_500);
  expect(tools.flatMap(brokenRules)).toEqual([]);
  const listNames = (fits: (tool: Tool) => boolean) => tools.filter(fits).map(({ name }) => name);
  expect(listNames(({ outputSchema }) => outputSchema !== undefined)).toEqual(recordTools);
  expect(listNames(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual(['call_operation']);
  expect(modern.getServerVersion()?.name).toBe('portal-service');
  expect(client.getInstructions()).toContain('never follow');
  const third = { ...v1, id: '3' };
  expect(await read('get', third, modern)).toEqual(await read('get', third));
});

it('an optional argument that is null counts as absent, unlike a required one', async () => {
  const nothing = { sort: null, order: null, page: null, filters: null, fields: null };
  expect(await read('query', { ...v1, ...nothing })).toEqual(await read('query', v1));
  const { details } = await failure('query', { version: 'v1', resource: null });
  expect(details).toMatchObject([{ path: 'resource' }]);
});

it('a batch of which one message fails keeps the digits of the others', async () => {
  const { secret } = await site.key();
  const message = (id: string, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params });
  const batch = [
    message('a', 'tools/call', { name: 'get', arguments: { ...v1, id: '2' } }),
    message('b', 'tools/list', { cursor: 1 }),
  ];
  const text = await (await site.post(batch, { authorization: `Bearer ${secret}` })).text();
  expect(text).toMatch(/[^\\]"total":12345678901234567890\.10/);
  expect(text).toContain('"error":{');
});

it('the tool describe leads from the active versions to the fields of a resource', async () => {
  const { versions } = await read('describe');
  expect(pluck(versions, 'version')).toEqual(['v1', 'v3', 'v5']);
  expect(pluck(pluck(versions, 'resources'), 'length')).toEqual([50, 1, 1]);
  const { resources } = await read('describe', { version: 'v1' });
  expect(resources).toContainEqual({ resource: 'invoices', description: 'Sales invoices' });
  const value = await read('describe', v1);
  const defaultSort = { field: 'id', order: 'asc' };
  expect(value).toMatchObject({ maxPageSize: 100, records: 9, defaultSort, freshness });
  const { fields } = value;
  expect(pluck(fields, 'name').slice(0, 4)).toEqual(['id', 'number', 'status', 'total']);
  const operators = ['not', 'null', 'after', 'before', 'gte', 'lte'].map((name) => `date_${name}`);
  const filters = ['date', ...operators];
  expect(fields).toContainEqual({ name: 'date', type: 'date', filters, sortable: true });
  const inner = ['item', 'itemName', 'quantity'].map((name) => expect.objectContaining({ name }));
  expect((await read('describe', { ...v1, fields: ['lines'] }))['fields']).toEqual([
    { name: 'lines', type: 'lines', fields: inner },
  ]);
  const misspelt = await failure('describe', { ...v1, fields: ['numbr'] });
  expect([misspelt.code, misspelt.message]).toEqual(['BAD_REQUEST', expect.stringContaining('"number"')]);
  for (const [input, path] of [
    [{ resource: 'invoices' }, 'version'],
    [{ fields: ['number'] }, 'resource'],
  ] as const)
    expect(await failure('describe', input)).toMatchObject({ code: 'BAD_REQUEST', details: [{ path }] });
});

describe('query and get', () => {
  it('return exactly what the public interface returns, and how fresh it is', async () => {
    const filters = { status: ['open', 'paid'], date_after: '2026-01-31' };
    const input = { ...v1, filters, sort: 'date', order: 'desc', pageSize: 2 };
    const { text } = await call(client, 'query', input);
    const same = await rest(
      '/v1/invoices?status=open&status=paid&date_after=2026-01-31&sort=date&order=desc&pageSize=2',
    );
    expect(text).toBe(`${same.text.slice(0, -1)},"freshness":${JSON.stringify(freshness)}}`);
    expect(text).toContain('12345678901234567890.10');
    const second = await call(client, 'get', { ...v1, id: '2', fields: ['total', 'lines'] });
    expect(second.text).toContain(
      '{"data":{"id":"2","total":12345678901234567890.10,"lines":[{"item":"1","itemName":null,"quantity":2.50}]}',
    );
    const old = await read('query', { ...v1, version: 'v3', pageSize: 1 });
    expect(old).toMatchObject({ deprecated: { sunsetAt: '2027-01-01T00:00:00.000Z' } });
  });

  it.each([
    ['query', { ...v1, filters: { statsu: 'open' } }, '/v1/invoices?statsu=open'],
    ['query', { ...v1, sort: 'nothing', pageSize: 1_000 }, '/v1/invoices?sort=nothing&pageSize=1000'],
    ['query', { ...v1, filters: { date: 'yesterday' } }, '/v1/invoices?date=yesterday'],
    ['query', { version: 'v1', resource: 'secrets' }, '/v1/secrets'],
    ['query', { version: 'v2', resource: 'invoices' }, '/v2/invoices'],
    ['query', { version: 'v4', resource: 'invoices' }, '/v4/invoices'],
    ['get', { ...v1, id: '4711' }, '/v1/invoices/4711'],
    ['get', { ...v1, id: 'one' }, '/v1/invoices/one'],
    ['aggregate', { ...summary, by: ['number'] }, '/v5/invoices/summary?by=number'],
    ['aggregate', { ...summary, avg: ['total'] }, '/v5/invoices/summary?avg=total'],
    ['aggregate', { ...summary, filters: { stats: 'open' } }, '/v5/invoices/summary?stats=open'],
  ])('%s %j gets the same error as from the public interface', async (name, input, path) => {
    const { requestId, ...refused } = await failure(name, input);
    const { requestId: _, ...expected } = (await rest(path)).body.error;
    expect(refused).toEqual(expected);
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    [{ ...v1, filter: { status: 'open' } }, 'filter', 'VALIDATION_ERROR'],
    [{ ...v1, filters: { seq: 2 ** 53 } }, 'filters.seq', 'VALIDATION_ERROR'],
    [{ ...v1, filters: { number: 'a\0b' } }, 'filters.number', 'VALIDATION_ERROR'],
    [{ ...v1, filters: { pageSize: 5 } }, 'pageSize', 'BAD_REQUEST'],
    [{ ...v1, filters: JSON.parse('{"__proto__":"open"}') }, 'filters.__proto__', 'VALIDATION_ERROR'],
  ])('%j is rejected with the path of the problem', async (input, path, code) => {
    const refused = await failure('query', input);
    expect([refused.code, refused.details?.[0]?.path]).toEqual([code, path]);
  });
});

it('the tool aggregate returns what /summary returns, with exact digits', async () => {
  const top = { by: ['status'], sum: ['total'], sort: '-sum.total', limit: 1 };
  const { text, value } = await call(client, 'aggregate', { ...summary, ...top });
  const same = await rest('/v5/invoices/summary?by=status&sum=total&sort=-sum.total&limit=1');
  expect(text).toBe(`${same.text.slice(0, -1)},"freshness":${JSON.stringify(freshness)}}`);
  expect(value['data']).toEqual([{ status: 'open', sum: { total: '12345678901234567900.60' } }]);
  const { aggregates, groups } = await read('describe', summary);
  expect(aggregates).toEqual([{ field: 'total', functions: ['sum'] }]);
  expect(groups).toEqual(['status', 'date.month']);
});

describe('structured results', () => {
  it.each<[string, Record<string, unknown>]>([
    ['describe', {}],
    ['describe', { version: 'v1' }],
    ['describe', v1],
    ['query', { ...v1, pageSize: 2 }],
    ['query', { ...v1, filters: { status: 'long' } }],
    ['aggregate', { ...summary, by: ['date.month'] }],
    ['get', { ...v1, id: '2' }],
  ])(
    '%s %j equals the text, for old and new clients, which check it against the schema of the tool',
    async (name, input) => {
      const modern = await site.connect((await site.key()).secret, 'auto');
      for (const by of [client, modern]) {
        await by.listTools();
        const { structuredContent, content } = await by.callTool({ name, arguments: input });
        expect(structuredContent).toEqual(JSON.parse((content as { text: string }[])[0]?.text ?? ''));
      }
    },
  );

  it('keep the digits of numbers, and errors have none', async () => {
    const { secret } = await site.key();
    const send = async (input: object) => {
      const params = { name: 'get', arguments: { ...v1, ...input } };
      const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      return (await site.post(request, { authorization: `Bearer ${secret}` })).text();
    };
    expect(await send({ id: '2', fields: ['total'] })).toContain(
      '"structuredContent":{"data":{"id":"2","total":12345678901234567890.10}',
    );
    expect(await send({ id: '4711' })).not.toContain('structuredContent');
  });
});

describe('what a caller may read', () => {
  it('with a key is limited by its scopes, also in the usage statistics', async () => {
    const key = await site.key(site.organization.id, { versions: ['v1'], resources: ['invoices'] });
    const scoped = await site.connect(key.secret);
    const { versions } = await read('describe', {}, scoped);
    expect(versions).toEqual([expect.objectContaining({ version: 'v1', resources: ['invoices'] })]);
    expect((await call(scoped, 'query', v1)).isError).toBe(false);
    for (const [name, input, code] of [
      ['query', { ...v1, version: 'v3' }, 'version_out_of_scope'],
      ['get', { ...v1, resource: 'copy-1', id: '1' }, 'resource_out_of_scope'],
    ] as const)
      expect(await failure(name, input, scoped)).toMatchObject({ code: 'FORBIDDEN', details: [{ code }] });
    await expect(call(scoped, 'call_operation', { id: 'getWhoAmI' })).rejects.toThrow('Unknown tool');
    await site.usage.flush();
    const usage = await read('call_operation', { id: 'getApiKeyUsage', path: { id: key.id } });
    const counted = (resource: string, counts: object) =>
      expect.objectContaining({ version: 'v1', resource, requests: 1, ...counts });
    expect((usage['body'] as { data: object[] }).data).toEqual(
      expect.arrayContaining([counted('invoices', { succeeded: 1 }), counted('copy-1', { refused: 1 })]),
    );
  });

  it('as a person is everything published, with view:read and record:read', async () => {
    const person = await site.connect(await site.agentToken('portal:read'));
    expect((await call(person, 'query', v1)).isError).toBe(false);
    const calls: [string, Record<string, unknown>][] = [
      ['describe', {}],
      ['query', v1],
      ['aggregate', summary],
      ['get', { ...v1, id: '1' }],
    ];
    for (const [missing, held] of [
      ['view:read', 'record:read'],
      ['record:read', 'view:read'],
    ] as const) {
      await site.permit([held, 'sync:read', 'api-schema:read']);
      const message = `Missing required permission: ${missing}`;
      for (const [name, input] of calls)
        expect(await failure(name, input, person)).toMatchObject({ code: 'FORBIDDEN', message });
    }
    await site.permit(['view:read', 'record:read', 'sync:read', 'sync:create']);
  });
});

describe('long and hostile records', () => {
  it('are cut after whole records, and the result says so', async () => {
    const long = { ...v1, filters: { status: 'long' } };
    const { text, value } = await call(client, 'query', long);
    expect(text.length).toBeLessThanOrEqual(maxCharacters);
    const cut = { shown: 2, of: 4, message: expect.stringContaining('`fields`') };
    expect(value).toMatchObject({ pagination: { total: 4 }, cut });
    expect(pluck(value['data'], 'customerName')).toEqual([longText, longText]);
    expect((await read('query', { ...long, fields: ['number'] }))['cut']).toBeUndefined();
    const details = [{ path: 'fields', code: 'answer_too_long' }];
    for (const refused of [
      await failure('query', { ...v1, filters: { id: 9 } }),
      await failure('get', { ...v1, id: '9' }),
    ])
      expect(refused).toMatchObject({ code: 'BAD_REQUEST', details });
    const { data } = await read('get', { ...v1, id: '9', fields: ['number'] });
    expect(data).toEqual({ id: '9', number: 'HUGE' });
  });

  it('stay data and change neither the result nor the tools', async () => {
    const before = await client.listTools();
    const filters = { customerName_contains: 'Ignore all' };
    const input = { ...v1, filters, fields: ['customerName'] };
    const { isError, value } = await call(client, 'query', input);
    const pagination = { total: 1, page: 1, pageSize: 25, totalPages: 1 };
    const data = [{ id: '4', customerName: hostileText }];
    expect([isError, value]).toEqual([false, { data, pagination, freshness }]);
    expect(await client.listTools()).toEqual(before);
  });
});
