// The protocol errors of /mcp: the right code, and a text of this service rather than of the library behind
// it.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type McpSite, openMcpSite } from './fixture.ts';

let site: McpSite;
let secret: string;
beforeAll(async () => {
  site = await openMcpSite({ records: false });
  ({ secret } = await site.key(site.organization.id));
});
afterAll(() => site.close());

type Answer = {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
};

async function send(body: unknown, headers: Record<string, string> = {}): Promise<[number, Answer]> {
  const response = await site.post(body, { authorization: `Bearer ${secret}`, ...headers });
  return [response.status, (await response.json()) as Answer];
}
const request = (method: string, params?: unknown) => ({ jsonrpc: '2.0', id: 7, method, params });

const hello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
};
const createMeta = (revision: string) => ({
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': hello.clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
});
const buildHeaders = (revision: string, method: string) => ({
  'mcp-protocol-version': revision,
  'mcp-method': method,
});
const without = (name: keyof typeof hello) =>
  Object.fromEntries(Object.entries(hello).filter(([key]) => key !== name));

describe('bad parameters', () => {
  it.each<[string, string, unknown, string]>([
    ['none', 'initialize', undefined, 'params'],
    ['no version', 'initialize', without('protocolVersion'), 'protocolVersion'],
    ['a version of another type', 'initialize', { ...hello, protocolVersion: 20_251_125 }, 'protocolVersion'],
    ['no client', 'initialize', without('clientInfo'), 'clientInfo'],
    [
      'a client without a version',
      'initialize',
      { ...hello, clientInfo: { name: 'test' } },
      'clientInfo.version',
    ],
    ['a client that is a list', 'initialize', { ...hello, clientInfo: [] }, 'clientInfo'],
    ['capabilities that are null', 'initialize', { ...hello, capabilities: null }, 'capabilities'],
    [
      'a capability of another type',
      'initialize',
      { ...hello, capabilities: { roots: 'all' } },
      'capabilities.roots',
    ],
    [
      'two',
      'initialize',
      { ...without('protocolVersion'), clientInfo: { version: '1' } },
      'protocolVersion, clientInfo.name',
    ],
    ['a tool without a name', 'tools/call', {}, 'name'],
    ['a tool with another name', 'tools/call', { name: 5 }, 'name'],
    ['arguments that are a text', 'tools/call', { name: 'query', arguments: 'all' }, 'arguments'],
    ['arguments that are a list', 'tools/call', { name: 'query', arguments: [] }, 'arguments'],
    ['no parameters of a call', 'tools/call', undefined, 'params'],
    ['a cursor of another type', 'tools/list', { cursor: 1 }, 'cursor'],
  ])('%s: names those of %s', async (_what, method, params, wrong) => {
    const message = `Invalid params: missing or of a wrong type: ${wrong}`;
    expect(await send(request(method, params))).toEqual([
      200,
      { jsonrpc: '2.0', id: 7, error: { code: -32_602, message } },
    ]);
  });

  it('in a batch concern only their own request', async () => {
    const batch = [
      request('ping'),
      { ...request('tools/call', {}), id: 'b' },
      { ...request('tools/list', { cursor: {} }), id: 9 },
    ];
    const [, answers] = await send(batch);
    expect(
      Object.values(answers as Answer[]).map(({ id, error }) => [id, error?.message.split(': ').at(-1)]),
    ).toEqual([
      [7, undefined],
      ['b', 'name'],
      [9, 'cursor'],
    ]);
  });

  it('are listed up to ten, with at most a hundred characters each', async () => {
    const experimental = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`${'x'.repeat(1_000)}${n}`, 1]),
    );
    const [, { error }] = await send(request('initialize', { ...hello, capabilities: { experimental } }));
    expect(error?.message.length).toBeLessThan(1_200);
  });

  it('never are answered with a text of the library, whatever they are', async () => {
    const own =
      /^(?:Invalid params(?:: missing or of a wrong type: .+|: _meta must have .+)?|Invalid request: send one .+|Unknown tool: .+|Method not found: .+|Unsupported protocol version.*|Subscriptions are not supported: .+)$/;
    const methods = [
      'initialize',
      'ping',
      'tools/list',
      'tools/call',
      'server/discover',
      'prompts/list',
      'x',
    ];
    const names = [...Object.keys(hello), 'name', 'version', 'arguments', 'cursor', '_meta', 'progressToken'];
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue(),
        fc.dictionary(fc.constantFrom(...names), tie('value')),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...methods, 'subscriptions/listen'),
        fc.oneof(value, fc.constant(undefined)),
        async (method, params) => {
          const [, { result, error }] = await send(request(method, params));
          if (result === undefined) expect(error?.message).toMatch(own);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('initialize', () => {
  it.each(['1999-01-01', 'x'.repeat(900_000), ''])(
    'with an unknown version gets one that is supported',
    async (protocolVersion) => {
      const [status, { result }] = await send(request('initialize', { ...hello, protocolVersion }));
      expect([status, result?.['protocolVersion']]).toEqual([200, '2025-11-25']);
    },
  );

  it('with a huge name is answered without it', async () => {
    const [status, answer] = await send(
      request('initialize', { ...hello, clientInfo: { name: 'x'.repeat(900_000), version: '1' } }),
    );
    expect([status, JSON.stringify(answer).length < 2_000]).toEqual([200, true]);
  });

  it('in a batch is an invalid request', async () => {
    const [status, { error }] = await send([request('initialize', hello), { ...request('ping'), id: 8 }]);
    expect([status, error?.code, error?.message]).toEqual([
      400,
      -32_600,
      expect.stringMatching(/^Invalid request: send one .* without/),
    ]);
  });
});

describe('other errors', () => {
  it.each<[string, unknown, number, number, string]>([
    [
      'parameters that are a list',
      request('initialize', []),
      400,
      -32_600,
      'Invalid request: send one JSON-RPC 2.0 message',
    ],
    [
      'a progress token of another type',
      request('ping', { _meta: { progressToken: {} } }),
      400,
      -32_600,
      'Invalid request: send one ',
    ],
    ['a batch of nothing', [], 400, -32_600, 'Invalid request: send one JSON-RPC 2.0 message'],
    ['an unknown tool', request('tools/call', { name: 'destroy' }), 200, -32_602, 'Unknown tool: '],
    ['an unknown method', request('destroy'), 200, -32_601, 'Method not found: '],
  ])('%s', async (_what, body, status, code, text) => {
    const [answered, { error }] = await send(body);
    expect([answered, error?.code, error?.message.startsWith(text)]).toEqual([status, code, true]);
  });

  it('of versions list the supported ones', async () => {
    const [status, { error }] = await send(request('tools/list'), { 'mcp-protocol-version': '1999-01-01' });
    expect([status, error?.message]).toEqual([
      400,
      expect.stringMatching(/^Unsupported protocol version in the header .*2025-11-25/),
    ]);
    const [refused, unknown] = await send(
      request('tools/list', { _meta: createMeta('2027-01-01') }),
      buildHeaders('2027-01-01', 'tools/list'),
    );
    expect([refused, unknown.error]).toMatchObject([
      400,
      { code: -32_022, message: 'Unsupported protocol version', data: { supported: ['2026-07-28'] } },
    ]);
  });

  it('of the newest revision: incomplete _meta, headers that disagree, parameters of a tool, subscribing', async () => {
    const revision = '2026-07-28';
    const _meta = createMeta(revision);
    const errorFor = async (asked: ReturnType<typeof request>, method = asked.method) =>
      (await send(asked, buildHeaders(revision, method)))[1].error;
    expect(await errorFor(request('tools/list', {}))).toEqual({
      code: -32_602,
      message: expect.stringMatching(/^Invalid params: _meta must have io\./),
    });
    expect(await errorFor(request('tools/call', { name: 'query', _meta }), 'tools/list')).toEqual({
      code: -32_020,
      message: expect.stringMatching(/^The headers MCP-Protocol-Version, /),
    });
    expect(await errorFor(request('tools/call', { _meta }))).toEqual({
      code: -32_602,
      message: 'Invalid params: missing or of a wrong type: name',
    });
    const subscription = request('subscriptions/listen', { notifications: {}, _meta });
    expect(await errorFor(subscription)).toMatchObject({ code: -32_603 });
  });

  it('a request that its own batch cancels is answered', async () => {
    const [, answer] = await send([
      request('tools/call', { name: 'describe', arguments: {} }),
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } },
    ]);
    expect(answer).toMatchObject({ id: 7, result: { content: expect.any(Array) } });
  });
});
