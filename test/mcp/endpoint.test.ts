// Authentication, origin checks and rate limit of /mcp, and its protocol errors: the right code, and a text of
// this service rather than of the library behind it.
import { request as sendRequest } from 'node:http';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { listen } from '../contract/http.ts';
import { createApi } from '../setup/api.ts';
import { call, useMcp } from './fixture.ts';

const site = useMcp({ records: false });
let secret: string;
beforeAll(async () => {
  secret = (await site.key()).secret;
});

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const readError = async (response: Response) =>
  ((await response.json()) as { error: { code: string | number; message: string } }).error;
const wellKnown = (origin: string, path = '/mcp') =>
  fetch(`${origin}/.well-known/oauth-protected-resource${path}`);

/** `fetch` doesn't allow a Host header. */
const withHost = (host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = {
      host,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...bearer(secret),
    };
    const sent = sendRequest(`${site.origin}/mcp`, { method: 'POST', headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(ping));
  });

describe('credentials', () => {
  it('401 links to the metadata, which name the issuer and the resource', async () => {
    const response = await site.post(ping);
    expect([response.status, (await readError(response)).code]).toEqual([401, 'UNAUTHORIZED']);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${site.origin}/.well-known/oauth-protected-resource/mcp", scope="portal:read"`,
    );
    expect((await site.post(ping, bearer('nonsense'))).headers.get('www-authenticate')).toContain(
      'error="invalid_token"',
    );
    for (const path of ['', '/mcp']) {
      expect(await (await wellKnown(site.origin, path)).json()).toMatchObject({
        resource: `${site.origin}/mcp`,
        authorization_servers: [site.provider.issuer],
        scopes_supported: ['portal:read'],
      });
    }
  });

  it('a token for that resource is valid on both interfaces, like one for the configured audience', async () => {
    for (const resource of [`${site.origin}/mcp`, site.provider.settings.audience]) {
      const token = await site.agentToken(undefined, resource);
      const client = await site.connect(token);
      const { value } = await call(client, 'call_operation', { id: 'getWhoAmI' });
      expect(value).toMatchObject({ status: 200, body: { credential: { kind: 'oauth' } } });
      expect((await createApi(site.app, token)('get', '/whoami')).status).toBe(200);
    }
  });

  it('a session is not accepted', async () => {
    const cookie = `portal_session=${site.session}`;
    expect((await createApi(site.app, null)('get', '/whoami', undefined, { cookie })).status).toBe(200);
    expect((await site.post(ping, { cookie, origin: site.origin })).status).toBe(401);
  });

  it('a revoked key is rejected with the next message', async () => {
    const key = await site.key();
    const client = await site.connect(key.secret);
    expect((await call(client, 'describe')).isError).toBe(false);
    const writing = await site.key(site.organization.id, { permissions: ['write'] });
    const owner = createApi(site.app, writing.secret);
    expect((await owner('delete', `/api-keys/${key.id}`)).status).toBe(204);
    await expect(call(client, 'describe')).rejects.toThrow('UNAUTHORIZED');
  });
});

it('403 or 404 for another host, and 403 for another origin, except for loopback names when the service has a loopback address', async () => {
  const port = new URL(site.origin).port;
  expect(await withHost(`localhost:${port}`)).toBe(200);
  // At a name that is not the service's own there is nothing.
  expect(await withHost('evil.example')).toBe(404);
  expect(await withHost('192.0.2.7')).toBe(403);
  expect((await site.post(ping, { ...bearer(secret), origin: site.origin })).status).toBe(200);
  for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:${Number(port) - 1}`]) {
    const refused = await site.post(ping, { ...bearer(secret), origin });
    expect([refused.status, (await readError(refused)).code]).toEqual([403, 'FORBIDDEN']);
  }
});

describe('messages', () => {
  it.each([
    ['invalid JSON', '{', -32_700],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32_700],
    ['an object that is no message', { hello: 'world' }, -32_600],
    ['two messages with one id', [ping, ping], -32_600],
    ['more values than a body may contain', { ...ping, params: { many: Array(50_000).fill(1) } }, -32_600],
  ])('%s is a protocol error', async (_what, body, code) => {
    const response = await site.post(body, bearer(secret));
    expect([response.status, (await readError(response)).code]).toEqual([400, code]);
  });

  it('405, 406, 413 and 415 as everywhere, with a request id', async () => {
    const get = await fetch(`${site.origin}/mcp`, { headers: bearer(secret) });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await site.post(ping, { ...bearer(secret), accept: 'text/html' })).status).toBe(406);
    expect((await site.post(ping, { ...bearer(secret), 'content-type': 'text/plain' })).status).toBe(415);
    const padded = { ...ping, params: { pad: 'x'.repeat(1 << 20) } };
    const tooLarge = await site.post(JSON.stringify(padded), bearer(secret));
    expect([tooLarge.status, (await readError(tooLarge)).code]).toEqual([413, 'BAD_REQUEST']);
    expect(tooLarge.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await fetch(`${site.origin}/mcp/more`, { headers: bearer(secret) })).status).toBe(404);
  });

  it('of a batch get one combined response, notifications none', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const batch = await site.post([ping, notification, { ...ping, id: 'b' }], bearer(secret));
    expect(await batch.json()).toEqual([1, 'b'].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
    const silent = await site.post(notification, bearer(secret));
    expect([silent.status, await silent.text()]).toEqual([202, '']);
  });
});

it('without an identity provider, only keys are accepted; the rate limit is shared with the management interface, and each message of a batch counts', async () => {
  const settings = { ...site.ctx.settings, publicUrl: site.origin, oidc: null, rateLimitPerMinute: 6 };
  const app = createApp({ ...site.ctx, settings });
  const { url: origin, stop } = await listen(app);
  onTestFinished(() => stop());
  expect((await site.post(ping, {}, origin)).headers.get('www-authenticate')).toBe('Bearer');
  expect((await wellKnown(origin)).status).toBe(404);
  const key = await site.key();
  const send = (body: unknown) => site.post(body, bearer(key.secret), origin);
  expect((await send(ping)).headers.get('ratelimit')).toContain('r=5');
  expect((await createApi(app, key.secret)('get', '/whoami')).headers['ratelimit']).toContain('r=4');
  expect((await send([1, 2, 3].map((id) => ({ ...ping, id })))).status).toBe(200);
  const refused = await send([1, 2].map((id) => ({ ...ping, id })));
  expect([refused.status, (await readError(refused)).code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await send(ping)).status).toBe(429);
});

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

const clientInfo = { name: 'test', version: '1.0.0' };
const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
const createMeta = (revision: string) => ({
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
});
const buildHeaders = (revision: string, method: string) => ({
  'mcp-protocol-version': revision,
  'mcp-method': method,
});
const without = (name: keyof typeof hello) =>
  Object.fromEntries(Object.entries(hello).filter(([key]) => key !== name));
const withClient = (given: unknown) => ({ ...hello, clientInfo: given });
const withRoots = (roots: unknown) => ({ ...hello, capabilities: { roots } });
const invalid = 'Invalid request: send one ';

describe('bad parameters', () => {
  it.each<[string, string, unknown, string]>([
    ['none', 'initialize', undefined, 'params'],
    ['no version', 'initialize', without('protocolVersion'), 'protocolVersion'],
    ['a version of another type', 'initialize', { ...hello, protocolVersion: 20_251_125 }, 'protocolVersion'],
    ['no client', 'initialize', without('clientInfo'), 'clientInfo'],
    ['a client without a version', 'initialize', withClient({ name: 'test' }), 'clientInfo.version'],
    ['a client that is a list', 'initialize', withClient([]), 'clientInfo'],
    ['capabilities that are null', 'initialize', { ...hello, capabilities: null }, 'capabilities'],
    ['a capability that is a text', 'initialize', withRoots('all'), 'capabilities.roots'],
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
    const answer = { jsonrpc: '2.0', id: 7, error: { code: -32_602, message } };
    expect(await send(request(method, params))).toEqual([200, answer]);
  });

  it('in a batch concern only their own request', async () => {
    const named = { ...request('tools/call', {}), id: 'b' };
    const list = { ...request('tools/list', { cursor: {} }), id: 9 };
    const [, answers] = await send([request('ping'), named, list]);
    const read = Object.values(answers as Answer[]);
    expect(read.map(({ id }) => id)).toEqual([7, 'b', 9]);
    const wrong = read.map(({ error }) => error?.message.split(': ').at(-1));
    expect(wrong).toEqual([undefined, 'name', 'cursor']);
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
    const tools = ['tools/list', 'tools/call'];
    const methods = [...tools, 'initialize', 'ping', 'server/discover', 'prompts/list', 'x'];
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
    const huge = withClient({ name: 'x'.repeat(900_000), version: '1' });
    const [status, answer] = await send(request('initialize', huge));
    expect([status, JSON.stringify(answer).length < 2_000]).toEqual([200, true]);
  });

  it('in a batch is an invalid request', async () => {
    const [status, { error }] = await send([request('initialize', hello), { ...request('ping'), id: 8 }]);
    expect([status, error?.code]).toEqual([400, -32_600]);
    expect(error?.message).toMatch(/^Invalid request: send one .* without/);
  });
});

describe('other errors', () => {
  const badToken = { _meta: { progressToken: {} } };
  it.each<[string, unknown, number, number, string]>([
    ['parameters that are a list', request('initialize', []), 400, -32_600, `${invalid}JSON-RPC 2.0 message`],
    ['a progress token that is an object', request('ping', badToken), 400, -32_600, invalid],
    ['a batch of nothing', [], 400, -32_600, `${invalid}JSON-RPC 2.0 message`],
    ['an unknown tool', request('tools/call', { name: 'destroy' }), 200, -32_602, 'Unknown tool: '],
    ['an unknown method', request('destroy'), 200, -32_601, 'Method not found: '],
  ])('%s', async (_what, body, status, code, text) => {
    const [answered, { error }] = await send(body);
    expect([answered, error?.code, error?.message.startsWith(text)]).toEqual([status, code, true]);
  });

  it('of versions list the supported ones', async () => {
    const [status, { error }] = await send(request('tools/list'), { 'mcp-protocol-version': '1999-01-01' });
    expect(status).toBe(400);
    expect(error?.message).toMatch(/^Unsupported protocol version in the header .*2025-11-25/);
    const asked = request('tools/list', { _meta: createMeta('2027-01-01') });
    const [refused, unknown] = await send(asked, buildHeaders('2027-01-01', 'tools/list'));
    expect([refused, unknown.error?.code]).toEqual([400, -32_022]);
    const supported = ['2026-07-28'];
    expect(unknown.error).toMatchObject({ message: 'Unsupported protocol version', data: { supported } });
  });

  it('of the newest revision: incomplete _meta, headers that disagree, parameters of a tool, subscribing', async () => {
    const revision = '2026-07-28';
    const _meta = createMeta(revision);
    const errorFor = async (asked: ReturnType<typeof request>, method = asked.method) =>
      (await send(asked, buildHeaders(revision, method)))[1].error;
    const incomplete = expect.stringMatching(/^Invalid params: _meta must have io\./);
    expect(await errorFor(request('tools/list', {}))).toEqual({ code: -32_602, message: incomplete });
    const headers = expect.stringMatching(/^The headers MCP-Protocol-Version, /);
    const query = request('tools/call', { name: 'query', _meta });
    expect(await errorFor(query, 'tools/list')).toEqual({ code: -32_020, message: headers });
    const message = 'Invalid params: missing or of a wrong type: name';
    expect(await errorFor(request('tools/call', { _meta }))).toEqual({ code: -32_602, message });
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
