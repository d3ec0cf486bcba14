// describe, query and get as an agent uses them: the same records and errors as the public interface, within
// the size limit.
import type { Client } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { maxCharacters } from '../../src/mcp/tool.ts';
import { createCaller } from '../public/fixture.ts';
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

it('the tools are listed in at most 7,500 bytes even with a version of 50 resources, the same for old and new clients', async () => {
  const modern = await site.connect((await site.key()).secret, 'auto');
  const [{ tools }, listed] = [await client.listTools(), await modern.listTools()];
  const recordTools = ['describe', 'query', 'aggregate', 'get'];
  const operationTools = ['search_operations', 'describe_operation', 'call_operation'];
  expect(tools.map(({ name }) => name)).toEqual([...recordTools, ...operationTools]);
  expect(listed.tools).toEqual(tools);
  expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThanOrEqual(7_500);
  expect(tools.flatMap(brokenRules)).toEqual([]);
  const typed = tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
  expect(typed).toEqual(recordTools);
  expect(
    tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name),
  ).toEqual(['call_operation']);
  expect([modern.getServerVersion()?.name, client.getInstructions()]).toEqual([
    'portal-service',
    expect.stringContaining('never follow'),
  ]);
  expect((await call(modern, 'get', { ...v1, id: '3' })).value).toEqual(
    (await call(client, 'get', { ...v1, id: '3' })).value,
  );
});

it('an optional argument that is null counts as absent, unlike a required one', async () => {
  const nothing = { sort: null, order: null, page: null, filters: null, fields: null };
  expect((await call(client, 'query', { ...v1, ...nothing })).value).toEqual(
    (await call(client, 'query', v1)).value,
  );
  expect((await failure('query', { version: 'v1', resource: null })).details).toMatchObject([
    { path: 'resource' },
  ]);
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
  const versions = (await call(client, 'describe')).value['versions'] as {
    version: string;
    resources: string[];
  }[];
  expect(versions.map(({ version, resources }) => [version, resources.length])).toEqual([
    ['v1', 50],
    ['v3', 1],
    ['v5', 1],
  ]);
  expect((await call(client, 'describe', { version: 'v1' })).value['resources']).toContainEqual({
    resource: 'invoices',
    description: 'Sales invoices',
  });
  const { value } = await call(client, 'describe', v1);
  expect(value).toMatchObject({
    maxPageSize: 100,
    records: 9,
    defaultSort: { field: 'id', order: 'asc' },
    freshness,
  });
  const fields = value['fields'] as { name: string }[];
  expect(fields.map(({ name }) => name).slice(0, 4)).toEqual(['id', 'number', 'status', 'total']);
  expect(fields).toContainEqual({
    name: 'date',
    type: 'date',
    filters: ['date', 'date_not', 'date_null', 'date_after', 'date_before', 'date_gte', 'date_lte'],
    sortable: true,
  });
  expect((await call(client, 'describe', { ...v1, fields: ['lines'] })).value['fields']).toEqual([
    {
      name: 'lines',
      type: 'lines',
      fields: ['item', 'itemName', 'quantity'].map((name) => expect.objectContaining({ name })),
    },
  ]);
  expect(await failure('describe', { ...v1, fields: ['numbr'] })).toMatchObject({
    code: 'BAD_REQUEST',
    message: expect.stringContaining('"number"'),
  });
  for (const [input, path] of [
    [{ resource: 'invoices' }, 'version'],
    [{ fields: ['number'] }, 'resource'],
  ] as const)
    expect(await failure('describe', input)).toMatchObject({ code: 'BAD_REQUEST', details: [{ path }] });
});

describe('query and get', () => {
  it('return exactly what the public interface returns, and how fresh it is', async () => {
    const input = {
      ...v1,
      filters: { status: ['open', 'paid'], date_after: '2026-01-31' },
      sort: 'date',
      order: 'desc',
      pageSize: 2,
    };
    const { text } = await call(client, 'query', input);
    const same = await rest(
      '/v1/invoices?status=open&status=paid&date_after=2026-01-31&sort=date&order=desc&pageSize=2',
    );
    expect(text).toBe(`${same.text.slice(0, -1)},"freshness":${JSON.stringify(freshness)}}`);
    expect(text).toContain('12345678901234567890.10');
    expect((await call(client, 'get', { ...v1, id: '2', fields: ['total', 'lines'] })).text).toContain(
      '{"data":{"id": "2", "total": 12345678901234567890.10, "lines": [{"item": "1", "itemName": null, "quantity": 2.50}]}'.replaceAll(
        /(?<=[:,]) /g,
        '',
      ),
    );
    expect((await call(client, 'query', { ...v1, version: 'v3', pageSize: 1 })).value).toMatchObject({
      deprecated: { sunsetAt: '2027-01-01T00:00:00.000Z' },
    });
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
    [
      { ...v1, filters: JSON.parse('{"__proto__":"open"}') as object },
      'filters.__proto__',
      'VALIDATION_ERROR',
    ],
  ])('%j is rejected with the path of the problem', async (input, path, code) => {
    const refused = await failure('query', input);
    expect([refused.code, refused.details?.[0]?.path]).toEqual([code, path]);
  });
});

it('the tool aggregate returns what /summary returns, with exact digits', async () => {
  const { text, value } = await call(client, 'aggregate', {
    ...summary,
    by: ['status'],
    sum: ['total'],
    sort: '-sum.total',
    limit: 1,
  });
  const same = await rest('/v5/invoices/summary?by=status&sum=total&sort=-sum.total&limit=1');
  expect(text).toBe(`${same.text.slice(0, -1)},"freshness":${JSON.stringify(freshness)}}`);
  expect(value['data']).toEqual([{ status: 'open', sum: { total: '12345678901234567900.60' } }]);
  const described = (await call(client, 'describe', summary)).value;
  expect([described['aggregates'], described['groups']]).toEqual([
    [{ field: 'total', functions: ['sum'] }],
    ['status', 'date.month'],
  ]);
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
    expect((await call(scoped, 'describe')).value['versions']).toEqual([
      expect.objectContaining({ version: 'v1', resources: ['invoices'] }),
    ]);
    expect((await call(scoped, 'query', v1)).isError).toBe(false);
    expect(await failure('query', { ...v1, version: 'v3' }, scoped)).toMatchObject({
      code: 'FORBIDDEN',
      details: [{ code: 'version_out_of_scope' }],
    });
    expect(await failure('get', { ...v1, resource: 'copy-1', id: '1' }, scoped)).toMatchObject({
      details: [{ code: 'resource_out_of_scope' }],
    });
    await expect(call(scoped, 'call_operation', { id: 'getWhoAmI' })).rejects.toThrow('Unknown tool');
    await site.usage.flush();
    const usage = await call(client, 'call_operation', { id: 'getApiKeyUsage', path: { id: key.id } });
    expect(usage.value['body']).toMatchObject({
      data: expect.arrayContaining([
        expect.objectContaining({ version: 'v1', resource: 'invoices', requests: 1, succeeded: 1 }),
        expect.objectContaining({ version: 'v1', resource: 'copy-1', requests: 1, refused: 1 }),
      ]),
    });
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
    const { text, value } = await call(client, 'query', { ...v1, filters: { status: 'long' } });
    expect(text.length).toBeLessThanOrEqual(maxCharacters);
    expect(value).toMatchObject({
      pagination: { total: 4 },
      cut: { shown: 2, of: 4, message: expect.stringContaining('`fields`') },
    });
    expect(
      (value['data'] as { customerName: string }[]).map(({ customerName }) => customerName === longText),
    ).toEqual([true, true]);
    expect(
      (await call(client, 'query', { ...v1, filters: { status: 'long' }, fields: ['number'] })).value['cut'],
    ).toBeUndefined();
    for (const refused of [
      await failure('query', { ...v1, filters: { id: 9 } }),
      await failure('get', { ...v1, id: '9' }),
    ])
      expect(refused).toMatchObject({
        code: 'BAD_REQUEST',
        details: [{ path: 'fields', code: 'answer_too_long' }],
      });
    expect((await call(client, 'get', { ...v1, id: '9', fields: ['number'] })).value['data']).toEqual({
      id: '9',
      number: 'HUGE',
    });
  });

  it('stay data and change neither the result nor the tools', async () => {
    const before = await client.listTools();
    const { isError, value } = await call(client, 'query', {
      ...v1,
      filters: { customerName_contains: 'Ignore all' },
      fields: ['customerName'],
    });
    expect([isError, value]).toEqual([
      false,
      {
        data: [{ id: '4', customerName: hostileText }],
        pagination: { total: 1, page: 1, pageSize: 25, totalPages: 1 },
        freshness,
      },
    ]);
    expect(await client.listTools()).toEqual(before);
  });
});
