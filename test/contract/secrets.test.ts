// No secret leaks: each is in the one response that shows it, if any, and in no other response, no log line
// at any level and no row of any table. The search looks for the secret itself and its usual encodings;
// hashes and encrypted values contain none of them.

import { createHash, createPrivateKey, randomBytes } from 'node:crypto';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { countByKey, encryptedColumns, findUnlistedColumns } from '../../src/admin/encrypted-columns.ts';
import { secretBinding } from '../../src/connectors/secret-binding.ts';
import { createId } from '../../src/core/id.ts';
import type { AnyRoute, Route } from '../../src/http/route/route.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { webhookBinding } from '../../src/platform/webhooks/secrets.ts';
import { startScheduler } from '../../src/sync/index.ts';
import { type Answer, type Api, base, createApi } from '../setup/api.ts';
import { testSettings } from '../setup/database.ts';
import { accountId } from '../setup/erp.ts';
import { openIssuer } from '../setup/issuer.ts';
import { makePerson, makeSession } from '../setup/organization.ts';
import { type StripeServer, startStripe } from '../setup/stripe/server.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

const recognizable = (what: string): string => `${what}-${randomBytes(12).toString('hex')}`;

/** The operator's secrets, from the environment. */
const configured = { clientSecret: recognizable('oidc'), smtpPassword: recognizable('smtp') };
/** Secrets that callers send. */
const sent = {
  consumerSecret: recognizable('consumer'),
  tokenSecret: recognizable('token'),
  newConsumerSecret: recognizable('consumer'),
  newTokenSecret: recognizable('token'),
  portalSecret: recognizable('portal'),
  refused: recognizable('refused'),
  malformed: recognizable('malformed'),
  misplaced: recognizable('misplaced'),
  bearer: recognizable('bearer'),
};

/** Secrets with the number of responses that may show each. */
const secrets = new Map<string, number>();
const lines: string[] = [];
const answers: { call: string; text: string }[] = [];
const driven = new Set<string>();

let stripe: StripeServer;
const stripeSettings = { ...testSettings.stripe };
beforeAll(async () => {
  stripe = await startStripe();
  stripeSettings.apiUrl = stripe.url;
});
afterAll(() => stripe.stop());
const org = useOrganization({
  erp: {},
  dns: true,
  lines,
  settings: {
    stripe: stripeSettings,
    mail: { ...testSettings.mail, smtpUrl: `smtp://portal:${configured.smtpPassword}@127.0.0.1:9` },
    oidc: {
      issuer: 'http://127.0.0.1:9',
      audience: 'portal',
      jwksUri: 'http://127.0.0.1:9/jwks',
      userinfoUri: null,
      client: { id: 'portal', secret: configured.clientSecret },
    },
  },
});
beforeAll(() => {
  const all = [configured, sent, stripe.secrets].flatMap((held) => Object.values(held));
  for (const never of [org.owner.secret, ...all]) secrets.set(never, 0);
});

const findRoute = (method: string, path: string): AnyRoute | undefined =>
  platformRoutes.find(
    (route) =>
      route.method === method.toUpperCase() &&
      new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?', 1)[0] ?? ''),
  );

function note(call: string, answer: Answer): Answer {
  answers.push({ call, text: `${JSON.stringify(answer.headers)} ${answer.text ?? ''}` });
  return answer;
}
async function call(...[method, path, body, headers]: Parameters<Api>): Promise<Answer> {
  driven.add(findRoute(method, path)?.id ?? '');
  return note(`${method} ${path}`, await org.api(method, path, body, headers));
}
/** A request that no operation of the management interface is for. */
async function ask(what: string, path: string, headers: Record<string, string>): Promise<Answer> {
  return note(what, await supertest(org.app).get(path).set(headers));
}
async function good(...args: Parameters<Api>): Promise<Answer['body']> {
  const answer = await call(...args);
  expect(answer.status, `${args[0]} ${args[1]} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

describe('secrets', () => {
  it('of API keys are shown once each, and never in a replay', async () => {
    const twice = async (path: string, body: object) => {
      const once = { 'idempotency-key': path };
      const first = await good('post', path, body, once);
      expect((await good('post', path, body, once)).secret).toBeNull();
      return first;
    };
    const made = await twice('/api-keys', { name: 'Key', scopes: { permissions: ['read'] } });
    const rotated = await twice(`/api-keys/${made.id}/rotate`, { gracePeriodSeconds: 3600 });
    await good('patch', `/api-keys/${made.id}`, { name: 'Other' });
    for (const { secret } of [made, rotated]) {
      secrets.set(secret, 1);
      const authorization = `Bearer ${secret}`;
      await ask('GET /whoami', `${base}/whoami`, { authorization });
      await ask('public', '/api/public/v1/x', { authorization, 'x-tenant-id': org.id });
    }
    await good('delete', `/api-keys/${made.id}`);
    note('revoked', await createApi(org.app, made.secret)('get', '/whoami'));
  });

  it('of tokens are shown once each, and never in a replay', async () => {
    const key = await good('post', '/api-keys', { name: 'For customers' });
    secrets.set(key.secret, 1);
    const once = { 'idempotency-key': 'mint' };
    const body = { tokens: [{ subject: 'ann', scopes: {} }] };
    const [{ token }] = (await good('post', `/api-keys/${key.id}/tokens`, body, once)).tokens;
    expect((await good('post', `/api-keys/${key.id}/tokens`, body, once)).tokens).toBeNull();
    secrets.set(token, 1);
    note('GET /whoami', await createApi(org.app, token)('get', '/whoami'));
    const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': org.id };
    for (const path of ['v1/x', `v1/x/${token}`, `openapi/v1?draft=${token}`])
      await ask('public', `/api/public/${path}`, headers);
    await good('delete', `/api-keys/${key.id}/tokens?subject=ann`);
    await ask('revoked', '/api/public/v1/x', headers);
    await org.admin.raw('delete from rate_limits');
  });

  it('of the ERP connection are never returned, whether they are accepted, rejected or wrong', async () => {
    const tba = (given: object, more: object = {}) => ({
      accountId,
      baseUrl: org.erp.account.url,
      authentication: { method: 'tba', consumerKey: 'ck', tokenId: 'ti', ...given },
      ...more,
    });
    const first = { consumerSecret: sent.consumerSecret, tokenSecret: sent.tokenSecret };
    await good('put', '/netsuite/connection', tba(first), { 'x-request-id': 'first-connection' });
    expect((await good('post', '/netsuite/connection/test')).ok).toBe(false);
    await call('post', '/netsuite/metadata/refresh');
    await good(
      'put',
      '/netsuite/connection',
      tba({ consumerSecret: sent.newConsumerSecret, tokenSecret: sent.newTokenSecret }),
    );
    const kept = { consumerSecret: sent.newConsumerSecret, tokenSecret: sent.newTokenSecret };
    const { authentication, ...account } = tba({});
    const another = { kind: 'netsuite', settings: { ...account, authentication } };
    await good('post', '/connections', { name: 'sandbox', ...another, secrets: first });
    await good('patch', '/connections/sandbox', { ...another, secrets: kept });
    await good('delete', '/connections/sandbox');
    const refused = [
      tba({ consumerSecret: sent.refused }),
      tba({ consumerSecret: sent.refused, tokenSecret: sent.refused, more: sent.refused }),
      tba({ consumerSecret: sent.refused.repeat(20), tokenSecret: [sent.refused] }),
      tba({ consumerSecret: `${sent.refused}\0`, tokenSecret: { is: sent.refused } }),
      { ...tba({}), baseUrl: `https://user:${sent.refused}@elsewhere.example/${sent.refused}` },
      { ...tba({}), authentication: { method: sent.refused } },
    ];
    for (const body of refused) expect((await call('put', '/netsuite/connection', body)).status).toBe(422);
    const broken = `{"authentication":{"tokenSecret":"${sent.malformed}",}}`;
    expect((await call('put', '/netsuite/connection', broken)).status).toBe(400);
    const form = supertest(org.app)
      .put(`${base}/netsuite/connection`)
      .set({ authorization: `Bearer ${org.owner.secret}` })
      .type('form');
    expect(note('form', await form.send(`tokenSecret=${sent.malformed}`)).status).toBe(415);
  });

  it('of certificates are never returned, and the tokens that the ERP issues for them are not stored', async () => {
    const { certificateId } = await org.erp.connect(org.api);
    expect(certificateId).not.toBe('');
    await good('post', '/netsuite/connection/certificate', undefined, { 'idempotency-key': 'second-slot' });
    const { rows } = await org.admin.raw<{ rows: { slot: 1 | 2; private_key: string }[] }>(
      'select slot, private_key from erp_certificates',
    );
    expect(rows).toHaveLength(2);
    for (const { slot, private_key: box } of rows) {
      const pem = org.ctx.keyring.decrypt(box, secretBinding(org.id, 'netsuite', `erp-private-key-${slot}`));
      // Only the private exponent: the rest of the key is public in the certificate.
      const number = createPrivateKey(pem).export({ format: 'jwk' }).d ?? '';
      expect(occurring(flat(pem), number)).toBeDefined();
      secrets.set(number, 0);
    }
    expect((await good('post', '/netsuite/connection/test')).ok).toBe(true);
    await good('post', '/netsuite/metadata/refresh');
    const config = await good('post', '/sync-configs', { name: 'Customers', recordType: 'customer' });
    const scheduler = startScheduler(org.ctx);
    onTestFinished(() => scheduler.stop());
    const run = await good('post', `/sync-configs/${config.id}/trigger`, {});
    await until(async () =>
      (await org.api('get', `/sync-runs/${run.id}`)).body.status === 'succeeded' ? true : undefined,
    );
    await good('get', `/sync-runs/${run.id}/events`);
  });

  it('of webhooks are returned once, and private keys never', async () => {
    const { id: keyId } = await good('post', '/api-keys', { name: 'Reader of webhooks' });
    for (const signature of ['v1', 'v1a']) {
      const sent = { url: 'https://hooks.example.test', events: ['sync.failed'], keyId, signature };
      const made = await good('post', '/webhooks', sent);
      const rotated = await good('post', `/webhooks/${made.id}/rotate`, {});
      for (const { secret } of [made, rotated]) if (secret !== null) secrets.set(secret, 1);
      await good('post', `/webhooks/${made.id}/test`);
      const [row] = await org.sql((tx) => tx('webhook_endpoints').where({ id: made.id }).select('secret'));
      const plain = org.ctx.keyring.decrypt(row.secret, webhookBinding(org.id, made.id));
      if (signature === 'v1a') secrets.set(plain, 0);
    }
  });

  it('of links to views are in one address each, and never in a replay', async () => {
    const view = await good('post', '/views', {
      name: 'Customers',
      recordType: 'customer',
      columns: ['email'],
    });
    const once = { 'idempotency-key': 'link' };
    const path = `/views/${view.id}/links`;
    const { id, url } = await good('post', path, {}, once);
    expect((await good('post', path, {}, once)).url).toBeNull();
    const { pathname } = new URL(url);
    secrets.set(pathname.slice('/links/'.length, -'.csv'.length), 1);
    await good('get', path);
    for (const end of ['', '?raw=no', '/more']) await ask('link', `${pathname}${end}`, {});
    await good('delete', `${path}/${id}`);
    await ask('revoked', pathname, { accept: 'text/html' });
  });

  it('of payment providers are never returned, whether they work or not', async () => {
    const invoices = {
      recordType: 'customer',
      number: 'entityid',
      amountDue: 'creditlimit',
      customer: 'email',
    };
    const put = (given: object) =>
      call('put', '/pay/config', { provider: 'stripe', currency: 'GBP', invoices, secrets: given });
    const taken = await put(stripe.secrets);
    expect([taken.status, taken.body.credentialHint]).toEqual([200, stripe.secrets.secretKey.slice(-4)]);
    const wrong = { secretKey: `sk_test_${sent.refused}`, webhookSecret: `whsec_${sent.refused}` };
    expect((await put(wrong)).status).toBe(422);
    expect((await put({ ...wrong, more: sent.malformed })).status).toBe(422);
    const to = new URL(taken.body.webhookUrl).pathname;
    const event = supertest(org.app)
      .post(to)
      .set({ 'stripe-signature': sent.bearer, 'content-type': 'application/json' });
    expect(note('webhook', await event.send(`{"id":"${sent.malformed}"}`)).status).toBe(400);
  });

  it('of the provider of the portal are never returned, whether they work or not', async () => {
    const put = async (change: object) => {
      const openIdConnect = { issuer: await openIssuer(), clientId: 'portal', ...change };
      return (await call('put', '/portal/sign-in', { openIdConnect })).status;
    };
    const { portalSecret: clientSecret, refused } = sent;
    const answers = [
      await put({ clientSecret }),
      await put({}),
      await put({ clientSecret: refused, issuer: 'http://127.0.0.1:9' }),
      await put({ clientSecret: [refused] }),
    ];
    expect(answers).toEqual([200, 200, 422, 422]);
  });

  it('in the wrong field are not repeated', async () => {
    const place = encodeURIComponent(sent.misplaced);
    await call('get', `/api-keys?api_key=${place}`);
    await call('get', '/whoami', undefined, { 'x-organization-id': sent.misplaced });
    await call('get', '/whoami', undefined, { cookie: `portal_session=${sent.misplaced}` });
    await call('post', '/api-keys', {
      name: 'x',
      expiresAt: sent.misplaced,
      scopes: { permissions: [sent.misplaced], versions: [sent.misplaced] },
    });
    await ask('public', `/api/public/v1/x?access_token=${place}`, { 'x-tenant-id': sent.misplaced });
    for (const authorization of [
      `Bearer ${sent.bearer}`,
      `Basic ${sent.bearer}`,
      `Bearer psk_${sent.bearer}`,
      `Bearer a.${sent.bearer}.c`,
      sent.bearer,
    ])
      await ask(authorization.split(' ', 1)[0] ?? '', `${base}/whoami`, { authorization });
    await org.admin.raw('delete from rate_limits');
  });

  it('of a session work and are not repeated', async () => {
    const { token, cookie } = await makeSession(org.ctx, org.owner.id, org.id);
    secrets.set(token, 0);
    expect((await ask('session', `${base}/whoami`, { cookie })).status).toBe(200);
    const foreign = { cookie, origin: 'https://elsewhere.example' };
    note('foreign origin', await createApi(org.app, null)('post', '/api-keys', { name: 'x' }, foreign));
  });

  it('of invitations are sent by mail only, and are not repeated to the caller', async () => {
    const token = randomBytes(32).toString('base64url');
    secrets.set(token, 0);
    const guest = await makePerson(org.ctx, 'guest@example.test');
    await org.sql(async (tx) => {
      const role = await tx('roles').where({ name: 'viewer' }).first<{ id: string }>('id');
      await good('post', `/organizations/${org.id}/invitations`, {
        email: 'other@example.test',
        roleId: role?.id,
      });
      await tx('invitations').insert({
        id: createId(),
        organization_id: org.id,
        email: guest.email,
        role_id: role?.id,
        role_name: 'viewer',
        token_hash: createHash('sha256').update(token).digest(),
        invited_by: org.owner.id,
        expires_at: '2100-01-01T00:00:00Z',
      });
    });
    const stranger = await makePerson(org.ctx, 'stranger@example.test');
    const accepting = (headers: Record<string, string>) =>
      createApi(org.app, null)('post', '/invitations/accept', { token }, headers);
    driven.add('acceptInvitation');
    for (const [person, status] of [
      [stranger, 403],
      [guest, 200],
      [guest, 422],
    ] as const) {
      const session = await makeSession(org.ctx, person.id);
      secrets.set(session.token, 0);
      expect(note('accept', await accepting(session.headers)).status).toBe(status);
    }
  });

  it('are not revealed when the database rejects their row', async () => {
    const alter = async (change: string) => {
      for (const table of ['api_keys', 'erp_connections', 'erp_certificates', 'domains', 'idempotency_keys'])
        await org.admin.raw(`alter table ${table} ${change}`);
    };
    await alter('add constraint nothing_goes check (false) not valid');
    const before = lines.length;
    const connection = { accountId, baseUrl: org.erp.account.url };
    const refused = { consumerSecret: sent.refused, tokenSecret: sent.refused };
    const authentication = { method: 'tba', consumerKey: 'ck', tokenId: 'ti', ...refused };
    const failing = [
      await call('post', '/api-keys', { name: 'x' }),
      await call('put', '/netsuite/connection', { ...connection, authentication }),
      await call('post', '/netsuite/connection/certificate'),
      await call('post', `/organizations/${org.id}/domains`, { hostname: 'acme.example' }),
      await call('post', '/api-keys', { name: 'x' }, { 'idempotency-key': 'refused' }),
    ];
    expect(failing.map(({ status }) => status)).toEqual(failing.map(() => 500));
    expect(lines.slice(before).join('')).toContain('nothing_goes');
    await alter('drop constraint nothing_goes');
  });
});

/** Whether the operation takes or creates a secret, according to its schemas. */
function handlesSecrets(route: AnyRoute): route is Route {
  if (route.access === 'public' || route.method === 'GET' || route.method === 'DELETE') return false;
  const body =
    route.body === undefined
      ? ''
      : JSON.stringify(z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' }));
  return (
    (route.shownOnce ?? []).length > 0 ||
    /Write-only|secret|password|token"/i.test(body) ||
    route.id === 'createErpCertificate'
  );
}

/** Every row of every table, read as the owner, who sees all. */
async function storedText(): Promise<string> {
  const { rows: tables } = await org.admin.raw<{ rows: { name: string }[] }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await org.admin.raw<{ rows: { text: string }[] }>(
      `select t::text as text from ${name} t`,
    );
    texts.push(name, ...rows.map(({ text }) => text));
  }
  return texts.join('\n');
}

/**
 * Base64 of the bytes at every possible offset; characters that depend on the neighbouring bytes are cut off
 * at both ends.
 */
const base64Forms = (secret: Buffer): string[] =>
  [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), secret]);
    const whole = Math.floor(bytes.length / 3) * 4;
    return (['base64', 'base64url'] as const).map((encoding) =>
      bytes.toString(encoding).slice(shift === 0 ? 0 : 4, whole),
    );
  });

/** The encodings of a secret. Private numbers are given as base64url, and are bytes everywhere else. */
function listEncodings(secret: string): string[] {
  const bytes = Buffer.from(secret, 'base64url');
  const asText = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return [
    ...new Set([
      ...asText,
      Buffer.from(secret).toString('hex'),
      bytes.toString('hex'),
      ...base64Forms(Buffer.from(secret)),
      ...base64Forms(bytes),
    ]),
  ];
}
const isJson = (text: string): boolean => {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
};
/**
 * Decoded parts of signed tokens, of any owner. An encrypted value may start with the same letters by chance,
 * without JSON after them.
 */
const tokensIn = (text: string): string[] =>
  [...text.matchAll(/eyJ[\w-]{10,}(?=\.)/g)]
    .map(([part]) => Buffer.from(part, 'base64url').toString())
    .filter(isJson);
/** Without the line breaks that PEM and logs insert. */
const flat = (text: string): string => text.replaceAll(/\s|\\+[nr]/g, '');
/** The form of the secret that occurs in a flat text. */
const occurring = (text: string, secret: string): string | undefined =>
  listEncodings(secret).find((form) => text.includes(form));

describe('afterwards', () => {
  it('every operation that takes or creates a secret was called', () => {
    const wanted = platformRoutes.filter(handlesSecrets).map(({ id }) => id);
    expect(wanted).toEqual(
      expect.arrayContaining(['createApiKey', 'rotateApiKey', 'putErpConnection', 'createErpCertificate']),
    );
    expect(wanted.filter((id) => !driven.has(id))).toEqual([]);
  });

  it('no response of any operation shows one', async () => {
    const ids = new Map<string, string>([['{recordType}', 'customer']]);
    for (const route of platformRoutes) {
      if (route.method !== 'GET') continue;
      const collection = route.path.split('/{', 1)[0] ?? '';
      const list =
        collection === '/organizations' || collection === route.path
          ? undefined
          : await org.api('get', collection);
      const id = collection === '/organizations' ? org.id : (list?.body?.data?.[0]?.id ?? createId());
      const path = route.path
        .replace('{id}', id)
        .replaceAll(/\{\w+\}/g, (name) => ids.get(name) ?? createId());
      expect((await call('get', path)).status, path).toBeLessThan(500);
    }
    for (const [secret, most] of secrets) {
      const showing = answers
        .filter(({ text }) => occurring(flat(text), secret) !== undefined)
        .map((answer) => answer.call);
      expect([secret.slice(0, 10), showing.length, showing]).toEqual([secret.slice(0, 10), most, showing]);
    }
  });

  it('no log line contains one', () => {
    const logged = flat(lines.join(''));
    expect(lines.filter((line) => line.includes('"msg":"request"')).length).toBeGreaterThan(50);
    const found = [...secrets.keys()].filter((secret) => occurring(logged, secret) !== undefined);
    expect(found.map((secret) => secret.slice(0, 10))).toEqual([]);
    expect(logged).not.toMatch(/PRIVATEKEY/);
    expect(tokensIn(logged)).toEqual([]);
  });

  it('no row of any table contains one, though stored keys work and have their prefix', async () => {
    const stored = await storedText();
    const prefixes = answers.flatMap(({ text }) =>
      [...text.matchAll(/"prefix":"(psk_\w+)"/g)].map(([, prefix = '']) => prefix),
    );
    for (const prefix of prefixes.slice(0, 2)) expect(stored).toContain(prefix);
    const found = [...secrets.keys()].filter((secret) => occurring(flat(stored), secret) !== undefined);
    expect(found.map((secret) => secret.slice(0, 10))).toEqual([]);
    expect(flat(stored)).not.toMatch(/PRIVATEKEY/);
    expect(tokensIn(flat(stored))).toEqual([]);
    expect(
      stored.split('\n').filter((line) => line.startsWith(`wh_${org.id.replaceAll('-', '')}.customer`)),
    ).not.toEqual([]);
  });

  it('encrypted values are in the columns that a rotation of the encryption key covers', async () => {
    const filled = await Promise.all(encryptedColumns.map((sealed) => countByKey(org.admin, sealed)));
    const seen = encryptedColumns
      .filter((_, index) => filled[index]?.has('test') === true)
      .map(({ table }) => table);
    expect(seen).toEqual(expect.arrayContaining(['erp_certificates', 'outgoing_mails']));
    expect(await findUnlistedColumns(org.admin, ['test'])).toEqual([]);
  });

  it('the search finds a secret in each encoding', async () => {
    const planted = recognizable('planted');
    expect(tokensIn('abceyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.')).toEqual(['{"alg":"none"}', '{"sub":"x"}']);
    expect(tokensIn('test.AAeyJ0123456789abc.rest')).toEqual([]);
    for (const form of listEncodings(planted)) {
      await org.sql((tx) =>
        tx('roles')
          .where({ name: 'viewer' })
          .update({ description: `a${form}b` }),
      );
      expect((await storedText()).includes(form)).toBe(true);
    }
    for (const around of ['', 'x', 'xy', 'xyz'])
      for (const encoding of ['base64', 'base64url', 'hex'] as const) {
        const text = Buffer.from(`${around}${planted}${around}`).toString(encoding);
        expect([around, encoding, occurring(text, planted) !== undefined]).toEqual([around, encoding, true]);
      }
  });
});
