// OAuth 2.0 access tokens: tokens of a real provider are accepted, and everything that deviates from them is
// rejected.
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import jwt from 'jsonwebtoken';
import Provider from 'oidc-provider';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type Api, createApi, pluck } from '../setup/api.ts';
import { makeMember, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { useDatabase } from '../setup/use-database.ts';

const audience = 'https://portal.example.test/api/platform/v1';
const clientSecret = randomBytes(24).toString('hex');

type SigningKey = { kid: string; privateKey: KeyObject; jwk: object };
const makeSigningKey = (kid: string, type: 'rsa' | 'ec' = 'rsa'): SigningKey => {
  const { privateKey, publicKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const use = { kid, use: 'sig', alg: type === 'rsa' ? 'RS256' : 'ES256' };
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), ...use } };
};

const key = makeSigningKey('first');
let published: object[] = [key.jwk];
let keyRequests = 0;
let isProviderDown = false;
let server: Server;
let issuer: string;
const database = useDatabase();
let app: Express;
let organization: { id: string; ownerId: string };
/** The claims that the provider returns for the client, which acts for one person. */
let claimed: { email?: string; email_verified?: boolean } = {};
let userinfo: { status: number; body: object } = { status: 404, body: {} };

function startProvider(): void {
  const provider = new Provider(issuer, {
    clients: ['agent', 'fresh'].map((client_id) => ({
      ...{ client_id, client_secret: clientSecret, grant_types: ['client_credentials'] },
      ...{ redirect_uris: [], response_types: [] },
    })),
    jwks: { keys: [{ ...key.privateKey.export({ format: 'jwk' }), kid: key.kid, use: 'sig', alg: 'RS256' }] },
    scopes: ['portal:read'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          ...{ scope: 'portal:read', audience, accessTokenTTL: 600, accessTokenFormat: 'jwt' as const },
        }),
      },
    },
    extraTokenClaims: () => claimed,
    ttl: { ClientCredentials: 600 },
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/published-keys') {
      keyRequests += 1;
      if (isProviderDown) send(503, {});
      else send(200, { keys: published });
    } else if (request.url === '/userinfo') send(userinfo.status, userinfo.body);
    else void answer(request, response);
  });
}

const oidcSettings = (more: object = {}) => ({
  ...{ issuer, audience, jwksUri: `${issuer}/published-keys`, userinfoUri: null, client: null },
  ...more,
});
const appWith = (more: object = {}) =>
  createApp({ ...database.ctx, settings: { ...database.ctx.settings, oidc: oidcSettings(more) } });

beforeAll(async () => {
  server = createServer({ keepAliveTimeout: 0 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  startProvider();
  app = appWith({ jwksUri: `${issuer}/jwks` });
  organization = await makeOrganization(database.ctx, { ownerEmail: 'ada@example.test' });
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => database.ctx.db.control.raw('delete from rate_limits'));

/** A token as the provider issues it. */
async function issue(client: string, scope?: string): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      resource: audience,
      ...(scope !== undefined && { scope }),
    }),
  });
  const body = (await response.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(JSON.stringify(body));
  return body.access_token;
}

const now = () => Math.floor(Date.now() / 1000);
type Forged = { claims?: object; header?: object; key?: SigningKey; algorithm?: jwt.Algorithm };
/** A token signed with the provider's own key, but with claims that it wouldn't issue. */
function forge({ claims = {}, header = {}, key: signer = key, algorithm = 'RS256' }: Forged = {}): string {
  const payload = { iss: issuer, sub: 'agent', aud: audience, iat: now(), exp: now() + 600, ...claims };
  const whole = { alg: algorithm, typ: 'at+jwt', kid: signer.kid, ...header };
  return jwt.sign(JSON.parse(JSON.stringify(payload)), signer.privateKey, {
    algorithm,
    header: JSON.parse(JSON.stringify(whole)),
  });
}
const call = (token: string, headers: Record<string, string> = {}, served = app) =>
  createApi(served, token)('get', '/whoami', undefined, headers);
const linkedSubjects = async () => {
  const { rows } = await database.ctx.db.control.raw(
    "select (find_identity(?, s)).email, s from unnest(array['agent', 'fresh', 'other']) s",
    [issuer],
  );
  return pluck(rows, 's');
};

describe('a token of the provider', () => {
  it('401 while there is no verified e-mail address', async () => {
    const email = 'ada@example.test';
    const unknown = { email: 'nobody@example.test', email_verified: true };
    for (const claims of [{}, { email }, { email, email_verified: false }, unknown]) {
      claimed = claims;
      expect([claims, (await call(await issue('agent'))).status]).toEqual([claims, 401]);
    }
    expect(await linkedSubjects()).toEqual([]);
  });

  it('links its person by a verified e-mail address on first use, also with concurrent requests', async () => {
    claimed = { email: 'Ada@Example.test', email_verified: true };
    const token = await issue('agent');
    const answers = await Promise.all(Array.from({ length: 4 }, () => call(token)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    claimed = {};
    const later = await call(await issue('agent'));
    const id = organization.ownerId;
    expect(later.body).toMatchObject({ user: { id }, credential: { kind: 'oauth', id } });
    // Activity is recorded in the background, after the response.
    const readMetrics = async () => (await call(await issue('agent'))).body.metrics;
    await until(async () => (await readMetrics()).monthlyActiveUsers === 1 || undefined);
  });

  it('is never linked to a person who already has another subject of that issuer', async () => {
    claimed = { email: 'ada@example.test', email_verified: true };
    expect((await call(await issue('fresh'))).status).toBe(401);
  });

  it('may only read when its scope is portal:read, in every notation', async () => {
    const api = createApi(app, await issue('agent', 'portal:read'));
    expect((await api('get', '/api-keys')).status).toBe(200);
    const create = (by: Api) => by('post', '/api-keys', { name: 'x' });
    const { message } = (await create(api)).body.error;
    expect(message).toBe('Missing required permission: api-key:create');
    expect((await create(createApi(app, await issue('agent')))).status).toBe(201);
    const list = ['portal:read'];
    for (const claims of [{ scope: 'openid portal:read' }, { scope: list }, { scp: list }, { scp: list[0] }])
      expect((await create(createApi(app, forge({ claims })))).status).toBe(403);
  });

  it('uses userinfo when the token has no e-mail address, and accepts it only for the same subject', async () => {
    const asking = appWith({ userinfoUri: `${issuer}/userinfo` });
    const member = await makeMember(database.ctx, organization.id, 'viewer');
    const token = forge({ claims: { sub: 'other' } });
    const { email } = member;
    for (const body of [{}, { sub: 'agent', email, email_verified: true }, { sub: 'other', email }]) {
      userinfo = { status: 200, body };
      expect((await call(token, {}, asking)).status).toBe(401);
    }
    userinfo = { status: 200, body: { sub: 'other', email, email_verified: true } };
    expect((await call(token, {}, asking)).body.user.id).toBe(member.id);
    userinfo = { status: 500, body: {} };
    expect((await call(token, {}, asking)).status).toBe(200);
  });
});

describe('401 for a token', () => {
  const publicPem = () => createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString();
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = () => ({ iss: issuer, sub: 'agent', aud: audience, exp: now() + 600 });
  const elliptic = () => makeSigningKey('first', 'ec');
  const idToken = { aud: 'agent', nonce: 'n' };
  const unsigned = (header: object) => `${encode(header)}.${encode(claims())}.`;

  it.each<[string, () => string]>([
    ['that is none', () => 'not.a.token'],
    ['without a signature', () => unsigned({ alg: 'none', typ: 'at+jwt', kid: 'first' })],
    ['whose algorithm is none in capitals', () => unsigned({ alg: 'NONE', typ: 'at+jwt', kid: 'first' })],
    ['signed by HS256 with the public key', () => hmac(publicPem())],
    ['of another type', () => forge({ header: { typ: 'logout+jwt' } })],
    ['with a critical extension', () => forge({ header: { crit: ['exp'] } })],
    ['without a key id', () => forge({ header: { kid: undefined } })],
    ['with an unknown key id', () => forge({ key: makeSigningKey('unknown') })],
    ['with a known key id and another key', () => forge({ key: makeSigningKey('first') })],
    ['with an elliptic signature under an RSA key', () => forge({ key: elliptic(), algorithm: 'ES256' })],
    ['by PS256 under a key that names RS256', () => forge({ algorithm: 'PS256' })],
    ['by RS512', () => forge({ algorithm: 'RS512' })],
    ['of another issuer', () => forge({ claims: { iss: 'https://elsewhere.example.test' } })],
    ['of the issuer with a slash', () => forge({ claims: { iss: `${issuer}/` } })],
    ['for another audience', () => forge({ claims: { aud: 'https://elsewhere.example.test' } })],
    ['for no audience', () => forge({ claims: { aud: undefined } })],
    ['that is an ID token of a client', () => forge({ claims: idToken, header: { typ: 'JWT' } })],
    ['that has expired', () => forge({ claims: { exp: now() - 60 } })],
    ['that never expires', () => forge({ claims: { exp: undefined } })],
    ['that is not valid yet', () => forge({ claims: { nbf: now() + 60 } })],
    ['without a subject', () => forge({ claims: { sub: undefined } })],
    ['with an empty subject', () => forge({ claims: { sub: '' } })],
    ['whose claims were changed', () => tamper(forge({ claims: { scope: 'portal:read' } }))],
  ])('%s', async (_name, token) => {
    expect((await call(forge())).status).toBe(200);
    expect(await call(token())).toMatchObject({
      status: 401,
      body: { error: { code: 'UNAUTHORIZED' } },
      headers: { 'www-authenticate': 'Bearer' },
    });
  });

  const hmac = (secret: string) => {
    const header = { alg: 'HS256', kid: 'first', typ: 'at+jwt' };
    return jwt.sign(claims(), secret, { algorithm: 'HS256', header });
  };
  const tamper = (token: string): string => {
    const [header, payload = '', signature] = token.split('.');
    const signed = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return [header, encode({ ...signed, scope: '' }), signature].join('.');
  };
});

describe("the provider's keys", () => {
  /** An app whose time only the test moves, and the number of requests for keys since it was made. */
  function watchedApp(more: object = {}) {
    let laterMs = 0;
    const clock = { ...database.ctx.clock, monotonicMs: () => performance.now() + laterMs };
    const settings = { ...database.ctx.settings, oidc: oidcSettings(more) };
    const before = keyRequests;
    return {
      served: createApp({ ...database.ctx, clock, settings }),
      pass: (ms: number) => {
        laterMs += ms;
      },
      asked: () => keyRequests - before,
    };
  }
  const withUnknownKid = () => forge({ header: { kid: randomBytes(8).toString('hex') } });
  const unlimited = () => database.ctx.db.control.raw('delete from rate_limits');

  it('rotate: a new one is fetched on first use, an old one is rejected once it is no longer published', async () => {
    const { served, pass } = watchedApp();
    const next = makeSigningKey('second', 'ec');
    expect((await call(forge(), {}, served)).status).toBe(200);
    pass(60_000);
    expect((await call(forge({ key: next, algorithm: 'ES256' }), {}, served)).status).toBe(401);
    published = [key.jwk, next.jwk];
    pass(60_000);
    expect((await call(forge({ key: next, algorithm: 'ES256' }), {}, served)).status).toBe(200);
    published = [next.jwk];
    pass(600_000);
    // The first token after ten minutes is still accepted; it makes the service fetch the keys.
    await call(forge(), {}, served);
    await until(async () => (await call(forge(), {}, served)).status === 401 || undefined);
    published = [key.jwk];
  });

  it('may share an id when their types differ, and may stand among entries that are none', async () => {
    const [rsa, ec] = [makeSigningKey('shared'), makeSigningKey('shared', 'ec')];
    const { alg: _, ...unnamed } = rsa.jwk as { alg: string };
    for (const keys of [
      [unnamed, ec.jwk],
      [ec.jwk, unnamed],
      [null, 'none', { kid: 'shared' }, unnamed, ec.jwk],
    ]) {
      published = keys as object[];
      const { served } = watchedApp();
      for (const [signer, algorithm] of [
        [rsa, 'RS256'],
        [rsa, 'PS256'],
        [ec, 'ES256'],
      ] as const) {
        const { status } = await call(forge({ key: signer, algorithm }), {}, served);
        expect([algorithm, status]).toEqual([algorithm, 200]);
      }
    }
    published = [key.jwk];
  });

  it('503 while they are unavailable, because the token cannot be verified', async () => {
    const answer = await call(forge(), {}, appWith({ jwksUri: 'http://127.0.0.1:1/jwks' }));
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '10']);
  });

  it('unknown key ids cost valid tokens nothing: before the keys were fetched, after, and when they are fetched again', async () => {
    const { served, pass, asked } = watchedApp();
    const flood = () => Promise.all(Array.from({ length: 30 }, () => call(withUnknownKid(), {}, served)));
    const valid = async () => (await call(forge(), {}, served)).status;
    for (const [ms, requests] of [
      [0, 1],
      [0, 1],
      [601_000, 2],
    ] as const) {
      pass(ms);
      await flood();
      expect([await valid(), asked()]).toEqual([200, requests]);
    }
  });

  it('an unknown key id makes few requests: ten a minute for different ones, one for the same', async () => {
    const { served, pass, asked } = watchedApp();
    await call(forge(), {}, served);
    const flood = async (seconds: number, makeToken: () => string) => {
      for (let second = 0; second < seconds; second += 1) {
        pass(1_000);
        await call(makeToken(), {}, served);
      }
    };
    await flood(60, withUnknownKid);
    expect(asked()).toBeLessThanOrEqual(11);
    const before = asked();
    const same = withUnknownKid();
    await flood(50, () => same);
    expect(asked()).toBeLessThanOrEqual(before + 1);
  });

  it('callers with unknown key ids count as failed authentications', async () => {
    const { served } = watchedApp();
    await call(forge(), {}, served);
    await unlimited();
    const statuses = [];
    for (let n = 0; n < 22; n += 1) statuses.push((await call(withUnknownKid(), {}, served)).status);
    expect(statuses).toEqual([...Array(20).fill(401), 429, 429]);
    expect((await call(forge(), {}, served)).status).toBe(200);
  });

  it('stay usable for an hour while the provider is unavailable', async () => {
    const { served, pass } = watchedApp();
    expect((await call(forge(), {}, served)).status).toBe(200);
    isProviderDown = true;
    pass(3_000_000);
    expect((await call(forge(), {}, served)).status).toBe(200);
    expect((await call(forge(), {}, served)).status).toBe(200);
    pass(601_000);
    expect((await call(forge(), {}, served)).status).toBe(503);
    isProviderDown = false;
    pass(6_000);
    expect((await call(forge(), {}, served)).status).toBe(200);
  });
});
