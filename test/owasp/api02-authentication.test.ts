// API2:2023 Broken authentication. Tokens in detail: test/identity/access-token; sessions and their cookies:
// test/identity/sessions and sign-in; rate limits: test/http/rate-limit. Here all entry points together:
// forged credentials, counted guesses wherever guessing is possible, and cross-site requests to every operation
// that writes.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import jwt from 'jsonwebtoken';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { platformBase } from '../../src/http/served.ts';
import { buildPath, guardedRoutes } from '../contract/walk.ts';
import { openBrowser } from '../setup/identity-provider.ts';
import { makeKey, makeSession } from '../setup/organization.ts';
import { createLimitClock } from '../setup/rate-limits.ts';
import { useSignIn } from '../setup/use-sign-in.ts';

const { clock, forget: forgetLimits } = createLimitClock();
const site = useSignIn({ settings: { rateLimitPerMinute: 1_000_000 }, clock });
let key: string;
beforeAll(async () => {
  key = (await makeKey(site.ctx, site.organization.id, { permissions: ['write'] })).secret;
});
const forget = () => forgetLimits(site.ctx);
beforeEach(forget);

const whoami = `${platformBase}/whoami`;
const mcpBody = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
/** The response of each entry point to these headers. */
async function readStatuses(headers: Record<string, string>): Promise<number[]> {
  const asked = [
    fetch(`${site.origin}${whoami}`, { headers }),
    fetch(`${site.origin}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: mcpBody,
    }),
    fetch(`${site.origin}/api/public/v1/invoices`, {
      headers: { 'x-tenant-id': site.organization.id, ...headers },
    }),
  ];
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  await forget();
  return statuses;
}
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

/** The parts of a token, modified. */
function changed(
  token: string,
  header: object,
  claims: object = {},
  sign?: (input: string) => string,
): string {
  const [head = '', body = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  const text = [
    { ...JSON.parse(head), ...header },
    { ...JSON.parse(body), ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${text}.${sign?.(text) ?? token.split('.')[2]}`;
}

describe('a nearly valid credential', () => {
  it('is rejected everywhere; valid ones are accepted', async () => {
    const token = await site.agentToken();
    expect(await readStatuses(bearer(key))).toEqual([200, 200, 404]);
    expect(await readStatuses(bearer(token))).toEqual([200, 200, 401]);
    const flipped = (text: string, at: number) =>
      text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
    const wrongKeys = [
      ...[key.slice(0, -1), `${key}a`, flipped(key, key.length - 1), flipped(key, 10)],
      ...[key.replace('psk_', ''), key.replace('psk_', 'PSK_'), `${key},${key}`, `${key}%00`],
      ...['psk_', `psk_${'0'.repeat(8_000)}`, "psk_' or true --"],
    ];
    const [head = '', claims = '', signature = ''] = token.split('.');
    const unsigned = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    // More of them: test/identity/access-token.
    const wrongTokens = [
      `${head}.${claims}.`,
      `${unsigned}.${claims}.`,
      `${head}.${flipped(claims, 20)}.${signature}`,
    ];
    for (const wrong of [...wrongKeys, ...wrongTokens])
      expect([wrong, await readStatuses(bearer(wrong))]).toEqual([wrong, [401, 401, 401]]);
    for (const authorization of [key, `Basic ${btoa(`${key}:`)}`, `Bearer ${key} ${key}`, 'Bearer'])
      expect([authorization, await readStatuses({ authorization })]).toEqual([
        authorization,
        [401, 401, 401],
      ]);
    expect(await readStatuses({ 'x-api-key': key })).toEqual([401, 401, 401]);
  });

  it('as a token: no other algorithm, key, audience, issuer, type or time', async () => {
    const token = await site.agentToken();
    const { keys } = (await (await fetch(site.ctx.settings.oidc?.jwksUri ?? '')).json()) as {
      keys: { kid: string }[];
    };
    const published = JSON.stringify(keys[0]);
    const now = Math.floor(Date.now() / 1000);
    const hmac = (secret: string) =>
      jwt.sign({ ...(jwt.decode(token) as object), exp: now + 600 }, secret, {
        algorithm: 'HS256',
        keyid: keys[0]?.kid,
      });
    const forged = [
      changed(token, { alg: 'none' }, {}, () => ''),
      hmac(published),
      changed(token, { kid: "x' or '1'='1" }),
      changed(token, { jku: `${site.origin}/keys`, jwk: keys[0] }),
      changed(token, { crit: ['exp'] }),
      changed(token, {}, { aud: 'someone-else' }),
      changed(token, {}, { sub: 'grace' }),
      `${token.split('.').slice(0, 2).join('.')}.`,
    ];
    for (const wrong of forged)
      expect([wrong, await readStatuses(bearer(wrong))]).toEqual([wrong, [401, 401, 401]]);
  });
});

describe('guessing', () => {
  it.each([
    ['a key', 'GET', whoami, bearer('psk_0000'), 401],
    ['a session', 'GET', whoami, { cookie: 'portal_session=guess' }, 401],
    [
      'a session where a page asks who is here',
      'GET',
      '/auth/session',
      { cookie: 'portal_session=guess' },
      200,
    ],
    ['a key of MCP', 'POST', '/mcp', bearer('psk_0000'), 401],
    ['an unsubscribe link', 'GET', '/unsubscribe?token=guess', {}, 404],
    ['an unsubscribe link, pressed', 'POST', '/unsubscribe?token=guess', {}, 404],
    ['a payment page', 'GET', '/pay/sandbox/guess', {}, 404],
    ['a payment page, sent', 'POST', '/pay/sandbox/guess', {}, 404],
    [
      'a webhook',
      'POST',
      `${platformBase}/pay/webhooks/stripe/00000000-0000-4000-8000-000000000000`,
      {},
      404,
    ],
  ])('%s is counted, and rejected after twenty in a minute', async (_name, method, at, headers, first) => {
    const ask = () => fetch(`${site.origin}${at}`, { method, headers, redirect: 'manual' });
    expect((await ask()).status).toBe(first);
    await site.ctx.db.control.raw(
      "update rate_limits set hits = 20 where key like 'failed-authentication:%'",
    );
    const refused = await ask();
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect((await fetch(`${site.origin}${whoami}`, { headers: bearer(key) })).status).toBe(200);
  });

  it('does not count requests without a cookie, or with a valid one', async () => {
    const { headers } = await makeSession(site.ctx, site.organization.ownerId);
    for (const given of [{}, headers])
      expect((await fetch(`${site.origin}/auth/session`, { headers: given })).status).toBe(200);
    const { rows } = await site.ctx.db.control.raw(
      "select from rate_limits where key like 'failed-authentication:%'",
    );
    expect(rows).toHaveLength(0);
  });
});

describe('a session', () => {
  it('is replaced at each sign-in, whatever cookie was sent, and its cookie is limited to this service', async () => {
    const browser = openBrowser();
    const planted = 'planted-by-somebody-else';
    const set: string[] = [];
    const follow = async (url: string): Promise<Response> => {
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { cookie: `portal_session=${planted}` },
      });
      set.push(...response.headers.getSetCookie());
      return response;
    };
    expect((await follow(`${site.origin}/auth/login`)).status).toBe(302);
    await browser.signIn(site.origin, 'owner');
    const first = browser.session();
    await browser.signIn(site.origin, 'owner');
    expect(new Set([planted, first, browser.session()]).size).toBe(3);
    expect(await readStatuses({ cookie: `portal_session=${planted}` })).toEqual([401, 401, 401]);
    for (const line of set) expect(line).toMatch(/; Path=\/auth; .*HttpOnly; .*SameSite=Lax/);
    expect(set.length).toBeGreaterThan(0);
  });

  it('writes nothing for a page of another site, in any operation', async () => {
    const { cookie } = await makeSession(site.ctx, site.organization.ownerId, site.organization.id);
    const own = new URL(site.origin);
    const foreign = [
      undefined,
      'https://evil.example',
      'null',
      `${site.origin}.evil.example`,
      `http://evil.example:${own.port}`,
      `https://${own.host}`,
      `http://${own.hostname}:81`,
    ];
    const writes = guardedRoutes().filter(({ method }) => method !== 'GET');
    expect(writes.length).toBeGreaterThan(60);
    const wrong: string[] = [];
    for (const [index, route] of writes.entries()) {
      // Each operation gets one of them in turn: one place decides for all of them.
      const origin = foreign[index % foreign.length];
      const headers = { cookie, referer: site.origin, ...(origin !== undefined && { origin }) };
      const answer = await fetch(`${site.origin}${platformBase}${buildPath(route)}`, {
        method: route.method,
        headers,
      });
      if (answer.status !== 403 || !(await answer.text()).includes('foreign_origin'))
        wrong.push(`${route.id} ${origin} ${answer.status}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('secrets in the code', () => {
  const literal = /^(?:undefined|null|true|false|\d+|typeof)$/;
  const secretName = /(?:secret|token|hash|signature|digest|password|hmac|passphrase)$/i;
  const lastName = (side: string): string => /(\w+)\W*$/.exec(side)?.[1] ?? '';
  /** Two names, no literals, one of which ends like the name of a secret. */
  const comparisons = (text: string): string[] =>
    [...text.matchAll(/(['\w.?[\]]+)\s*[!=]==\s*(['\w.?[\]]+)/g)]
      .filter(([, ...sides]) => sides.every((side) => !side.includes("'") && !literal.test(side)))
      .filter(([, ...sides]) => sides.some((side) => secretName.test(lastName(side))))
      .map(([whole]) => whole);

  it('are never compared with ===, whose timing reveals how much was right', () => {
    expect(comparisons('if (given.token === row.token || signature !== made) {}')).toHaveLength(2);
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const found = files
      .map((file) => path.posix.join('src', file))
      .flatMap((file) => comparisons(readFileSync(file, 'utf8')).map((text) => `${file}: ${text}`));
    expect(found).toEqual([]);
  });

  it('are compared in constant time in these places, and looked up by their hash elsewhere', () => {
    const files = globSync('{src,packages/*/src}/**/*.ts');
    const constant = files.filter((file) => readFileSync(file, 'utf8').includes('timingSafeEqual(')).sort();
    expect(constant).toEqual([
      'packages/netsuite-simulator/src/control/guarded-server.ts',
      'packages/netsuite-simulator/src/sign-in/token-based.ts',
      'packages/odata-simulator/src/sign-in.ts',
      'src/core/secrets/keyring.ts',
      'src/gateways/payments/sandbox/webhook-signature.ts',
    ]);
  });
});
