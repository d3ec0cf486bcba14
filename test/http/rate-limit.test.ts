import type { Express } from 'express';
import supertest from 'supertest';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { generateApiKey } from '../../src/identity/api-key.ts';
import { type Api, base, createApi, listCodes, signedInApi } from '../setup/api.ts';
import { makeKey, makeSession } from '../setup/organization.ts';
import { createLimitClock } from '../setup/rate-limits.ts';
import { useOrganization } from '../setup/use-organization.ts';

const { clock, forget } = createLimitClock();
const org = useOrganization({ settings: { rateLimitPerMinute: 60 }, clock });
let first: Api;
let second: Api;
beforeAll(async () => {
  [first, second] = [await another(), await another()];
});
beforeEach(() => forget(org.ctx));
/** With a key of its own. */
const newKey = async (): Promise<string> => (await makeKey(org.ctx, org.id)).secret;
const another = async (): Promise<Api> => createApi(org.app, await newKey());

const setHits = (like: string, hits: number, seconds = 60) =>
  org.ctx.db.control.raw(
    'update rate_limits set hits = ?, resets_at = clock_timestamp() + make_interval(secs => ?) where key like ?',
    [hits, seconds, like],
  );

/** Keeps the window open until the test's last request, however long the test takes. */
const heldSeconds = 600;
const holdOpen = (like: string) =>
  org.ctx.db.control.raw(
    'update rate_limits set resets_at = clock_timestamp() + make_interval(secs => ?) where key like ?',
    [heldSeconds, like],
  );
/** Expects `seconds` to be what remains of `of` seconds since `sinceMs`, by `performance.now()`. */
const expectLeft = (seconds: number, of: number, sinceMs: number): void => {
  expect(seconds).toBeLessThanOrEqual(of);
  expect(seconds).toBeGreaterThanOrEqual(Math.floor(of - (performance.now() - sinceMs) / 1_000));
};

describe('the rate limit', () => {
  it('serves 60 requests a minute and rejects the 61st with Retry-After', async () => {
    const startedMs = performance.now();
    const opening = await first('get', '/api-keys');
    const [, left, seconds] = /r=(\d+); t=(\d+)/.exec(String(opening.headers['ratelimit'])) ?? [];
    expect([opening.status, left]).toEqual([200, '59']);
    expectLeft(Number(seconds), 60, startedMs);
    expect(opening.headers['ratelimit-policy']).toMatch(/q=60; w=60/);
    const heldMs = performance.now();
    await holdOpen('key:%');
    const statuses = [];
    for (let count = 1; count < 60; count += 1) statuses.push((await first('get', '/api-keys')).status);
    expect(statuses).toEqual(Array(59).fill(200));
    const refused = await first('get', '/api-keys');
    expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expectLeft(Number(refused.headers['retry-after']), heldSeconds, heldMs);
    expect((await second('get', '/api-keys')).status).toBe(200);
  });

  it('counts every authenticated request, rejected ones too, and restarts when the window ends', async () => {
    await first('get', '/api-keys');
    await setHits('key:%', 58);
    expect((await first('get', '/nothing')).status).toBe(404);
    expect((await first('post', '/api-keys', '{')).status).toBe(400);
    expect((await first('get', '/whoami')).status).toBe(429);
    await setHits('key:%', 100, -1);
    expect((await first('get', '/whoami')).headers['ratelimit']).toMatch(/r=59/);
  });

  it('serves all keys of an organization 600 requests a minute together, and people with sessions besides', async () => {
    const opening = await first('get', '/whoami');
    expect(opening.headers['ratelimit-policy']).toMatch(
      /^"60-in-1min"; q=60; w=60;[^,]*, "organization"; q=600; w=60;/,
    );
    expect(opening.headers['ratelimit']).toMatch(/^"60-in-1min"; r=59; t=\d+, "organization"; r=599; t=\d+$/);
    const heldMs = performance.now();
    await setHits(`organization:${org.id}`, 599, heldSeconds);
    expect((await second('get', '/whoami')).status).toBe(200);
    const refused = await (await another())('get', '/whoami');
    expect([refused.status, listCodes(refused)]).toEqual([429, ['organization_limit']]);
    expectLeft(Number(refused.headers['retry-after']), heldSeconds, heldMs);
    const batch = await supertest(org.app)
      .post('/mcp')
      .set({
        authorization: `Bearer ${await newKey()}`,
        'content-type': 'application/json',
      })
      .send('{}');
    expect(batch.status).toBe(429);
    const session = await makeSession(org.ctx, org.owner.id, org.id);
    const person = await signedInApi(org.app, org.ctx, session.cookie)('get', '/whoami');
    expect([person.status, person.headers['ratelimit']]).toEqual([
      200,
      expect.not.stringContaining('organization'),
    ]);
    expect((await (await org.another()).api('get', '/whoami')).status).toBe(200);
  });

  it('does not limit what needs no credential', async () => {
    const answer = await supertest(org.app).get(`${base}/openapi`);
    expect([answer.status, answer.headers['ratelimit']]).toEqual([200, undefined]);
  });
});

describe('failed authentication', () => {
  const fail = (authorization: string) => supertest(org.app).get(`${base}/whoami`).set({ authorization });

  it('401 twenty times a minute per address, 429 after that, while valid requests are served', async () => {
    const statuses = [(await fail(`Bearer ${generateApiKey().secret}`)).status];
    await holdOpen('failed-authentication:%');
    for (let count = 1; count < 21; count += 1)
      statuses.push((await fail(`Bearer ${generateApiKey().secret}`)).status);
    expect(statuses).toEqual([...Array(20).fill(401), 429]);
    const refused = await fail('Basic eDp5');
    expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await first('get', '/whoami')).status).toBe(200);
  });

  /** The rows of the limit, with the transaction that wrote each last. */
  const rows = async () =>
    (await org.ctx.db.control.raw('select key, hits, xmin::text from rate_limits')).rows;
  /** What reached PostgreSQL on the service's connections during the work. */
  async function captureStatements(work: () => Promise<unknown>): Promise<string[]> {
    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => void statements.push(sql);
    org.ctx.db.control.on('query', note);
    try {
      await work();
    } finally {
      org.ctx.db.control.removeListener('query', note);
    }
    return statements;
  }

  it('beyond the limit writes nothing: malformed credentials cost no statement, well-formed ones a lookup, and valid ones work', async () => {
    await fail('Bearer x');
    await org.ctx.db.control.raw('update rate_limits set hits = 20');
    expect((await fail('Bearer x')).status).toBe(429);
    const [before, session] = [await rows(), await makeSession(org.ctx, org.owner.id, org.id)];
    const malformed = [
      () => fail('Bearer psk_0000'),
      () => fail(`Bearer ${generateApiKey().secret.replace(/.$/, (last) => (last === '0' ? '1' : '0'))}`),
      () => fail('Bearer a.b.c'),
      () => fail('Basic eDp5'),
      () => supertest(org.app).get(`${base}/whoami`).set({ cookie: 'portal_session=guess' }),
      () => supertest(org.app).get(`${base}/whoami`),
      () => supertest(org.app).post('/mcp').set({ authorization: 'Bearer x', host: '127.0.0.1' }),
      () => supertest(org.app).get('/auth/session').set({ cookie: 'portal_session=guess' }),
      () => supertest(org.app).get('/unsubscribe?token=guess'),
    ];
    const cheap = await captureStatements(async () => {
      for (let count = 0; count < 100; count += 1) {
        const refused = await malformed[count % malformed.length]?.();
        expect([count, refused?.status, Number(refused?.headers['retry-after']) > 0]).toEqual([
          count,
          429,
          true,
        ]);
      }
    });
    expect(cheap).toEqual([]);
    const wellFormed = await captureStatements(async () => {
      for (let count = 0; count < 100; count += 1)
        expect((await fail(`Bearer ${generateApiKey().secret}`)).status).toBe(429);
    });
    expect([
      wellFormed.length,
      wellFormed.every((sql) => sql.startsWith('select * from find_api_key(')),
    ]).toEqual([100, true]);
    expect(await rows()).toEqual(before);
    expect((await first('get', '/whoami')).status).toBe(200);
    expect((await supertest(org.app).get(`${base}/whoami`).set(session.headers)).status).toBe(200);
  });

  it('beyond the limit is known to another process after one failure there, and forgotten when the minute ends', async () => {
    await fail('Bearer x');
    await org.ctx.db.control.raw('update rate_limits set hits = 20');
    expect((await fail('Bearer x')).status).toBe(429);
    const other = createApp(org.ctx);
    const failThere = async () =>
      (await supertest(other).get(`${base}/whoami`).set({ authorization: 'Bearer x' })).status;
    expect((await captureStatements(failThere)).length).toBe(1);
    expect(await captureStatements(failThere)).toEqual([]);
    expect(await failThere()).toBe(429);
    await forget(org.ctx);
    expect([await failThere(), (await fail('Bearer x')).status]).toEqual([401, 401]);
  });

  it('counts by address: by X-Forwarded-For only behind a trusted proxy, IPv6 by its network', async () => {
    const failFrom = (served: Express, address: string) =>
      supertest(served).get(`${base}/whoami`).set({ authorization: 'Bearer x', 'x-forwarded-for': address });
    const keys = async () => {
      const { rows } = await org.ctx.db.control.raw<{ rows: { key: string }[] }>(
        'select key from rate_limits order by key',
      );
      return rows.map(({ key }) => key.replace('failed-authentication:', ''));
    };
    await failFrom(org.app, '203.0.113.7');
    expect(await keys()).toEqual(['127.0.0.1']);
    const behind = createApp(org.ctx, { trustProxy: true });
    for (const address of [
      '203.0.113.7',
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:1::1',
      '::ffff:203.0.113.7',
      'x'.repeat(5000),
    ])
      expect((await failFrom(behind, address)).status).toBe(401);
    expect(await keys()).toEqual([
      '127.0.0.1',
      '2001:db8:0:1::/64',
      '2001:db8::/64',
      '203.0.113.7',
      'unknown',
    ]);
  });
});
