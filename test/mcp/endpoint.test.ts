// Authentication, origin checks and rate limit of /mcp, and the responses to protocol errors.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { listen } from '../contract/http.ts';
import { createApi } from '../setup/api.ts';
import { call, type McpSite, openMcpSite } from './fixture.ts';

let site: McpSite;
let secret: string;
beforeAll(async () => {
  site = await openMcpSite({ records: false });
  secret = (await site.key(site.organization.id)).secret;
});
afterAll(() => site.close());

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
    const sent = request(`${site.origin}/mcp`, { method: 'POST', headers }, (response) => {
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
      expect((await call(client, 'call_operation', { id: 'getWhoAmI' })).value).toMatchObject({
        status: 200,
        body: { credential: { kind: 'oauth' } },
      });
      expect((await createApi(site.app, token)('get', '/whoami')).status).toBe(200);
    }
  });

  it('a session is not accepted', async () => {
    const cookie = `portal_session=${site.session}`;
    expect((await createApi(site.app, null)('get', '/whoami', undefined, { cookie })).status).toBe(200);
    expect((await site.post(ping, { cookie, origin: site.origin })).status).toBe(401);
  });

  it('a revoked key is rejected with the next message', async () => {
    const key = await site.key(site.organization.id);
    const client = await site.connect(key.secret);
    expect((await call(client, 'describe')).isError).toBe(false);
    const owner = createApi(
      site.app,
      (await site.key(site.organization.id, { permissions: ['write'] })).secret,
    );
    expect((await owner('delete', `/api-keys/${key.id}`)).status).toBe(204);
    await expect(call(client, 'describe')).rejects.toThrow('UNAUTHORIZED');
  });
});

describe('another host or origin', () => {
  it('403, except for loopback names when the service has a loopback address', async () => {
    const port = new URL(site.origin).port;
    expect(await withHost(`localhost:${port}`)).toBe(200);
    expect(await withHost('evil.example')).toBe(403);
    expect((await site.post(ping, { ...bearer(secret), origin: site.origin })).status).toBe(200);
    for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:${Number(port) - 1}`]) {
      const refused = await site.post(ping, { ...bearer(secret), origin });
      expect([refused.status, (await readError(refused)).code]).toEqual([403, 'FORBIDDEN']);
    }
  });
});

describe('messages', () => {
  it.each([
    ['invalid JSON', '{', -32_700],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32_700],
    ['an object that is no message', { hello: 'world' }, -32_600],
    ['two messages with one id', [ping, ping], -32_600],
    [
      'more values than a body may contain',
      { ...ping, params: { many: Array.from({ length: 50_000 }, () => 1) } },
      -32_600,
    ],
  ])('%s is a protocol error', async (_what, body, code) => {
    const response = await site.post(body, bearer(secret));
    expect([response.status, (await readError(response)).code]).toEqual([400, code]);
  });

  it('405, 406, 413 and 415 as everywhere, with a request id', async () => {
    const get = await fetch(`${site.origin}/mcp`, { headers: bearer(secret) });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await site.post(ping, { ...bearer(secret), accept: 'text/html' })).status).toBe(406);
    expect((await site.post(ping, { ...bearer(secret), 'content-type': 'text/plain' })).status).toBe(415);
    const tooLarge = await site.post(
      JSON.stringify({ ...ping, params: { pad: 'x'.repeat(1 << 20) } }),
      bearer(secret),
    );
    expect([tooLarge.status, (await readError(tooLarge)).code]).toEqual([413, 'BAD_REQUEST']);
    expect(tooLarge.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await fetch(`${site.origin}/mcp/more`, { headers: bearer(secret) })).status).toBe(404);
  });

  it('of a batch get one combined response, notifications none', async () => {
    const batch = await site.post(
      [ping, { jsonrpc: '2.0', method: 'notifications/initialized' }, { ...ping, id: 'b' }],
      bearer(secret),
    );
    expect(await batch.json()).toEqual([1, 'b'].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
    const silent = await site.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, bearer(secret));
    expect([silent.status, await silent.text()]).toEqual([202, '']);
  });
});

describe('without an identity provider', () => {
  it('only keys are accepted; the rate limit is shared with the management interface, and each message of a batch counts', async () => {
    const settings = { ...site.ctx.settings, publicUrl: site.origin, oidc: null, rateLimitPerMinute: 6 };
    const app = createApp({ ...site.ctx, settings });
    const { url: origin, stop } = await listen(app);
    try {
      expect((await site.post(ping, {}, origin)).headers.get('www-authenticate')).toBe('Bearer');
      expect((await wellKnown(origin)).status).toBe(404);
      const key = await site.key(site.organization.id);
      const send = (body: unknown) => site.post(body, bearer(key.secret), origin);
      expect((await send(ping)).headers.get('ratelimit')).toContain('r=5');
      expect((await createApi(app, key.secret)('get', '/whoami')).headers['ratelimit']).toContain('r=4');
      expect((await send([1, 2, 3].map((id) => ({ ...ping, id })))).status).toBe(200);
      const refused = await send([1, 2].map((id) => ({ ...ping, id })));
      expect([refused.status, (await readError(refused)).code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await send(ping)).status).toBe(429);
    } finally {
      await stop();
    }
  });
});
