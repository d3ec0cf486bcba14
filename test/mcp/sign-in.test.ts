// Clients that know nothing but the address of /mcp: they find the identity provider, register themselves
// there, and a person signs in.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { auth as authorize, type OAuthClientInformation } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { openClientStore } from '../../demo/identity-provider/client-store.ts';
import { startIdentityProvider } from '../../demo/identity-provider/identity-provider.ts';
import { createIdentityProviderSecrets } from '../../demo/identity-provider/secrets.ts';
import { openBrowser } from '../setup/identity-provider.ts';
import { callbackPath, openMcpClient, selfRegistering, signInMcpClient } from '../setup/mcp-client.ts';
import { call, useMcp } from './fixture.ts';

const site = useMcp({ records: true });
let url: string;
beforeAll(async () => {
  url = `${site.origin}/mcp`;
});

const parseClaims = (token = ''): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

const postClient = (issuer: string, metadata: object) => {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${issuer}/reg`, { method: 'POST', headers, body: JSON.stringify(metadata) });
};
const register = async (issuer: string, metadata: object) =>
  (await postClient(issuer, metadata)).json() as Promise<OAuthClientInformation>;
const postToken = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${site.provider.issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(form) });

/** The address at which a client asks the provider for a code; a change of undefined removes a parameter. */
async function authorizationUrl(
  changes: Record<string, string | undefined> = {},
  auth = selfRegistering(),
): Promise<URL> {
  await openMcpClient(url, auth)
    .connect()
    .catch(() => undefined);
  const opened = new URL(auth.kept.opened);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) opened.searchParams.delete(name);
    else opened.searchParams.set(name, value);
  return opened;
}

/** Registers a client without the scope that the service advertises, and lets the person allow this one. */
async function signIn(auth: ReturnType<typeof selfRegistering>, scope: string, metadata: object = {}) {
  auth.kept.client = await register(site.provider.issuer, { ...auth.clientMetadata, ...metadata });
  const asked = await authorizationUrl({ scope }, auth);
  const callback = await openBrowser().throughProvider(asked.href, 'person', callbackPath);
  const opened = openMcpClient(url, auth);
  await opened.transport.finishAuth(new URL(callback).searchParams);
  return opened;
}

describe('a client that registers itself', () => {
  it.each(['legacy', 'auto'] as const)('signs a person in and reads for them (%s)', async (mode) => {
    const { client, auth } = await signInMcpClient(url, 'person', { mode });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('query');
    const { value } = await call(client, 'query', { version: 'v1', resource: 'invoices', pageSize: 1 });
    expect(value).toMatchObject({ data: [expect.any(Object)] });
    const body = { credential: { kind: 'oauth' }, user: { email: site.people[0]?.email } };
    const asked = await call(client, 'call_operation', { id: 'getWhoAmI' });
    expect(asked.value).toMatchObject({ status: 200, body });
    const claims = { iss: site.provider.issuer, aud: url, sub: 'person', scope: 'portal:read' };
    expect(parseClaims(auth.kept.tokens?.access_token)).toMatchObject(claims);
    await client.close();
  });

  it('may only read with the scope that the service advertises, and write without it', async () => {
    await site.permit(['view:read', 'record:read', 'team:read', 'team:create']);
    const create = { id: 'createTeam', body: { name: 'Made by an agent' } };
    const reading = await signInMcpClient(url, 'person');
    const refused = await call(reading.client, 'call_operation', create);
    expect(refused.value.error).toMatchObject({ code: 'FORBIDDEN' });
    await reading.client.close();
    const auth = selfRegistering();
    const { client, connect } = await signIn(auth, 'openid');
    await connect();
    expect((await call(client, 'call_operation', create)).value).toMatchObject({ status: 201 });
    await client.close();
  });

  it('gets another token without the person, and the person can refuse', async () => {
    const { client, auth } = await signInMcpClient(url, 'person');
    const first = auth.kept.tokens?.access_token;
    expect(await authorize(auth, { serverUrl: url })).toBe('AUTHORIZED');
    expect(auth.kept.tokens?.access_token).not.toBe(first);
    expect(parseClaims(auth.kept.tokens?.access_token)).toMatchObject({ aud: url, scope: 'portal:read' });
    expect((await client.listTools()).tools).not.toEqual([]);
    await client.close();

    const refused = await openBrowser().throughProvider((await authorizationUrl()).href, null, callbackPath);
    expect(new URL(refused).searchParams.get('error')).toBe('access_denied');
  });

  it('only reads when it asks for another token without the scope that the person allowed', async () => {
    const auth = selfRegistering();
    await signIn(auth, 'openid portal:read', { grant_types: ['authorization_code', 'refresh_token'] });
    const refresh_token = auth.kept.tokens?.refresh_token ?? '';
    const form = { grant_type: 'refresh_token', refresh_token, scope: 'openid', resource: url };
    const response = await postToken({ ...form, client_id: auth.kept.client?.client_id ?? '' });
    const { access_token: token } = (await response.json()) as { access_token?: string };
    expect(parseClaims(token)).toMatchObject({ sub: 'person', scope: 'portal:read' });
  });

  it('needs consent each time, on a page that names it and may lead to its address only', async () => {
    const { browser, client } = await signInMcpClient(url, 'person');
    await client.close();
    const asked = await authorizationUrl({}, selfRegistering({ client_name: 'A <b>"friend"</b>' }));
    const started = await browser.send(asked.href);
    const page = new URL(started.headers.get('location') ?? '', asked);
    expect(page.pathname).toMatch(/^\/interaction\//);
    const shown = await browser.send(page.href);
    const text = await shown.text();
    expect(text).toContain('A &lt;b&gt;&quot;friend&quot;&lt;/b&gt;');
    expect(text).toContain('http://127.0.0.1:33418');
    const policy = "form-action 'self' http://127.0.0.1:33418;";
    expect(shown.headers.get('content-security-policy')).toContain(policy);
    const callback = await browser.throughProvider(asked.href, 'person', callbackPath);
    expect(new URL(callback).searchParams.get('code')).toBeTruthy();
  });

  it('may use an address with a scheme of its own, or any port of this machine', async () => {
    const own = selfRegistering({ redirect_uris: ['editor.example:/callback'], application_type: 'native' });
    const asked = await authorizationUrl({ redirect_uri: 'editor.example:/callback' }, own);
    const browser = openBrowser();
    const page = new URL((await browser.send(asked.href)).headers.get('location') ?? '', asked);
    const { headers } = await browser.send(page.href);
    expect(headers.get('content-security-policy')).toContain("form-action 'self' editor.example:;");
    const other = await authorizationUrl({ redirect_uri: 'http://127.0.0.1:50123/callback' });
    const callback = await openBrowser().throughProvider(other.href, 'person', callbackPath);
    expect(callback).toMatch(/^http:\/\/127\.0\.0\.1:50123\/callback\?code=/);
  });

  it.each([
    ['an address that it did not register', { redirect_uri: 'https://evil.example/callback' }],
    ['an id that was never registered', { client_id: 'unknown' }],
  ])('is not sent to %s', async (_what, changes) => {
    const response = await openBrowser().send((await authorizationUrl(changes)).href);
    expect([response.status, response.headers.get('location')]).toEqual([400, null]);
  });

  it.each([
    ['without a code challenge', { code_challenge: undefined }, 'invalid_request'],
    ['for another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
  ])('gets no code %s', async (_what, changes, error) => {
    const response = await openBrowser().send((await authorizationUrl(changes)).href);
    expect(new URL(response.headers.get('location') ?? '').searchParams.get('error')).toBe(error);
  });

  it('gets no token with the verifier of another', async () => {
    const auth = selfRegistering();
    const asked = await authorizationUrl({}, auth);
    const callback = await openBrowser().throughProvider(asked.href, 'person', callbackPath);
    auth.saveCodeVerifier('x'.repeat(43));
    const finishing = openMcpClient(url, auth).transport.finishAuth(new URL(callback).searchParams);
    await expect(finishing).rejects.toThrow();
    expect(auth.kept.tokens).toBeUndefined();
  });
});

describe('the provider', () => {
  it('gives no tokens without a person to clients that registered themselves', async () => {
    const metadata = { redirect_uris: [], response_types: [], grant_types: ['client_credentials'] };
    const response = await postClient(site.provider.issuer, metadata);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_client_metadata' });
  });

  it('keeps registered clients across restarts, the latest hundred', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'portal-clients-'));
    const secrets = await createIdentityProviderSecrets();
    const start = async () => {
      const clients = await openClientStore(path.join(folder, 'clients.json'));
      const nowMs = () => performance.now();
      const options = { port: 0, people: [], agentFor: '', secrets, clients, nowMs };
      const provider = await startIdentityProvider(options);
      provider.startServing('http://127.0.0.1:1');
      return provider;
    };
    const redirectUri = 'http://127.0.0.1/callback';
    const isKnown = async (issuer: string, id = '') => {
      const asked = `${issuer}/auth?client_id=${id}&redirect_uri=${redirectUri}`;
      return (await fetch(asked, { redirect: 'manual' })).status === 303;
    };
    try {
      const first = await start();
      const ids: string[] = [];
      const native = { application_type: 'native', token_endpoint_auth_method: 'none' } as const;
      for (let n = 0; n < 101; n += 1)
        ids.push((await register(first.issuer, { redirect_uris: [redirectUri], ...native })).client_id);
      await first.stop();
      const second = await start();
      const some = [ids[0], ids[1], ids[100]];
      const known = await Promise.all(some.map((id) => isKnown(second.issuer, id)));
      await second.stop();
      expect(known).toEqual([false, true, true]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('serves clients in a browser: metadata and discovery to pages of any origin, tokens to the page of the client', async () => {
    const headers = { origin: 'http://localhost:6274' };
    const allowedOrigin = async (asked: Promise<Response>) =>
      (await asked).headers.get('access-control-allow-origin');
    for (const address of [
      `${site.origin}/.well-known/oauth-protected-resource/mcp`,
      `${site.provider.issuer}/.well-known/oauth-authorization-server`,
    ])
      expect(await allowedOrigin(fetch(address, { headers }))).toMatch(/^\*|http:\/\/localhost:6274$/);
    const auth = selfRegistering({ redirect_uris: ['http://localhost:6274/oauth/callback'] });
    await authorizationUrl({}, auth);
    const client_id = auth.kept.client?.client_id ?? '';
    const form = { grant_type: 'authorization_code', client_id, code: 'x' };
    const ask = (origin: string) => allowedOrigin(postToken(form, { origin }));
    expect(await ask('http://localhost:6274')).toBe('http://localhost:6274');
    expect(await ask('https://evil.example')).toBeNull();
  });
});
