// What an operator sees of a server process from outside: metrics, readiness, and a log without secrets.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';

const database = useOpsDatabase();
let admin: ReturnType<typeof openKnex>;
let server: ServingProcess;
let metricsUrl: string;
let organizationId: string;
let key: { id: string; secret: string };

beforeAll(async () => {
  admin = openKnex(database.address, null, 1);
  organizationId = (await makeOrganization(database.ctx, { name: 'Quibble & Sons' })).id;
  key = await makeKey(database.ctx, organizationId, { permissions: ['write'] });
  server = await database.start({
    METRICS_PORT: '0',
    SYNC_WORKERS: '0',
    RATE_LIMIT_PER_MINUTE: '1000',
  });
  const { port } = await server.line(({ msg }) => msg === 'metrics are served');
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
});
afterAll(() => admin.destroy());

const ask = async (
  path: string,
  headers: Record<string, string> = {},
  more: RequestInit = {},
): Promise<number> => {
  const answer = await fetch(`${server.url}${path}`, { headers, ...more });
  await answer.text();
  return answer.status;
};
const scrape = async (): Promise<string> => (await fetch(metricsUrl)).text();
/** The value of a series; undefined when it isn't exposed. */
const readMetric = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

describe('GET /metrics', () => {
  it('counts responses by the route template, not by anything that a caller chose', async () => {
    expect(await ask('/api/platform/v1/whoami', bearer(key.secret))).toBe(200);
    expect(await ask(`/api/platform/v1/teams/${createId()}`, bearer(key.secret))).toBe(404);
    expect(await ask('/api/platform/v1/whoami')).toBe(401);
    expect(await ask('/api/public/v7/zebras?stripes=9')).toBe(401);
    expect(
      await ask('/api/public/v7/zebras/12/', { ...bearer(key.secret), 'x-tenant-id': organizationId }),
    ).toBe(404);
    expect(await ask('/giraffes/of/my/own', { 'x-request-id': 'okapi-1234' })).toBe(404);
    expect(await ask('/giraffes', {}, { method: 'PROPFIND' })).toBe(404);
    const text = await scrape();
    for (const labels of [
      'route="/api/platform/v1/whoami",method="GET",status="200"',
      'route="/api/platform/v1/teams/{id}",method="GET",status="404"',
      'route="/api/platform/v1/*",method="GET",status="401"',
      'route="/api/public/{version}/{resource}",method="GET",status="401"',
      'route="/api/public/{version}/{resource}/{id}",method="GET",status="404"',
      'route="*",method="other",status="404"',
    ])
      expect([labels, readMetric(text, `portal_http_requests_total{${labels}}`)]).toEqual([labels, 1]);
    expect(readMetric(text, 'portal_http_request_duration_seconds_count{kind="list"}')).toBe(1);
    const names = ['zebras', 'stripes', 'giraffes', 'okapi', 'PROPFIND', 'v7', 'Quibble'];
    for (const chosen of [...names, organizationId, key.id, key.secret.slice(0, 12)])
      expect(text).not.toContain(chosen);
  });

  it('exposes pools, caches, queues, the event loop, the process and the build', async () => {
    const pools = ['control', 'lookups', 'data', 'exports'];
    const waiting = (text: string) =>
      pools.map((pool) => readMetric(text, `portal_pool_waiting{pool="${pool}"}`));
    // Background work may wait for a connection to open, and the event loop lag is only known ten
    // milliseconds after the last scrape.
    const text = await until(async () => {
      const now = await scrape();
      return readMetric(now, 'nodejs_eventloop_lag_p99_seconds') !== 0 &&
        waiting(now).every((count) => count === 0)
        ? now
        : undefined;
    });
    expect(readMetric(text, 'portal_pool_size{pool="data"}')).toBe(10);
    expect(readMetric(text, 'portal_cache_requests_total{cache="keys",result="miss"}')).toBe(1);
    expect(readMetric(text, 'portal_turns{kind="exports",state="waiting"}')).toBe(0);
    expect(readMetric(text, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(readMetric(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(text).toMatch(/portal_build_info\{version="\d+\.\d+\.\d+",node="v24/);
    expect(readMetric(text, 'portal_scheduler_tick_age_seconds')).toBeLessThan(180);
  });

  it('exposes queues, and which syncs are behind their schedule', async () => {
    const [late, met] = [createId(), createId()];
    await inTransaction({ ...database.ctx, organizationId }, async (tx) => {
      const own = { organization_id: organizationId };
      const config = { ...own, record_type: 'invoice', mode: 'full', deletions: 'none' };
      const yearly = { schedule: '0 0 1 1 *', timezone: 'UTC' };
      const ago = (minutes: number) => tx.raw('clock_timestamp() - make_interval(mins => ?)', [minutes]);
      const run = { ...own, record_type: 'invoice', mode: 'full', trigger: 'schedule' };
      await tx('sync_configs').insert([
        { ...config, ...yearly, id: late, name: 'late' },
        { ...config, ...yearly, id: met, name: 'met', record_type: 'customer' },
      ]);
      const queued = (minutes: number) => ({ scheduled_for: ago(minutes), queued_at: ago(minutes) });
      const ended = (from: number, to: number) => ({ started_at: ago(from), finished_at: ago(to) });
      for (const one of [
        { sync_config_id: late, status: 'succeeded', ...queued(300), ...ended(299, 290) },
        { sync_config_id: late, status: 'failed', ...queued(120), ...ended(119, 30) },
        { sync_config_id: late, status: 'queued', ...queued(60) },
        { sync_config_id: met, status: 'succeeded', ...queued(120), ...ended(118, 100) },
      ])
        await tx('sync_runs').insert({ ...run, ...one, id: createId() });
    });
    const text = await until(async () => {
      const now = await scrape();
      return readMetric(now, 'portal_sync_runs{state="queued"}') === 1 ? now : undefined;
    });
    expect(readMetric(text, 'portal_sync_runs_ended_1h{state="failed"}')).toBe(1);
    // Zero is exposed as 0, because alerts can't use an absent series.
    expect(readMetric(text, 'portal_sync_runs{state="publishing"}')).toBe(0);
    expect(readMetric(text, 'portal_sync_runs_ended_1h{state="partial"}')).toBe(0);
    expect(readMetric(text, 'portal_queue_waiting{queue="sync_runs"}')).toBe(1);
    expect(readMetric(text, 'portal_queue_oldest_seconds{queue="sync_runs"}')).toBeGreaterThan(3_599);
    // Since the oldest slot that no successful run has covered, whatever attempts there were.
    expect(readMetric(text, `portal_sync_lag_seconds{sync_config="${late}"}`)).toBeGreaterThan(7_199);
    expect(text).not.toContain(met);
    const behind = (seconds: number) => readMetric(text, `portal_syncs_behind{seconds="${seconds}"}`);
    expect([60, 900, 3_600, 86_400].map(behind)).toEqual([1, 1, 1, 0]);
    expect(readMetric(text, 'portal_database_figures_up')).toBe(1);
  });

  it('works also while the database is unavailable, and on no other port', async () => {
    await admin.raw('revoke execute on function operational_figures from portal_service');
    const text = await until(async () => {
      const now = await scrape();
      return readMetric(now, 'portal_database_figures_up') === 0 ? now : undefined;
    });
    expect(text).not.toMatch(/^portal_queue_waiting\{/m);
    expect(readMetric(text, 'portal_pool_size{pool="data"}')).toBe(10);
    await admin.raw('grant execute on function operational_figures to portal_service');
    expect(await ask('/metrics')).toBe(404);
    expect((await fetch(metricsUrl.replace('/metrics', '/'))).status).toBe(404);
  });
});

describe('GET /readyz', () => {
  const readiness = async () => {
    const answer = await fetch(`${server.url}/readyz`);
    return { status: answer.status, body: (await answer.json()) as { checks: Record<string, string> } };
  };
  /** Polls, because a process that was briefly suspended may have found the database too slow once. */
  const becomes = (migrations: string) =>
    until(async () => {
      const found = await readiness();
      return found.body.checks['migrations'] === migrations ? found : undefined;
    });

  it('is 503 while the database lacks a migration of this code, but not when it has later ones', async () => {
    expect(await becomes('ok')).toEqual({
      status: 200,
      body: { status: 'ready', checks: { process: 'ok', database: 'ok', migrations: 'ok', scheduler: 'ok' } },
    });
    const later = { name: '9999_of_tomorrow.ts', batch: 99, migration_time: new Date() };
    await admin('knex_migrations').insert(later);
    expect((await becomes('ahead of this version')).status).toBe(200);
    await admin('knex_migrations').where({ name: later.name }).delete();
    expect((await becomes('ok')).status).toBe(200);
    const needed = { name: '0003_erp_and_syncs.ts' };
    const gone = await admin('knex_migrations').where(needed).delete().returning('*');
    expect((await becomes('behind this version')).status).toBe(503);
    await admin('knex_migrations').insert(gone);
    expect((await becomes('ok')).status).toBe(200);
  });

  it('works while all connections of the pools are in use, as the metrics do, and logs nothing', async () => {
    const lines = () =>
      server.lines().filter(({ msg, path }) => msg === 'probe' || path === '/readyz' || path === '/healthz');
    const before = lines().length;
    // Every lookup of a key waits for this lock while it occupies a connection.
    const lock = await admin.transaction();
    await lock.raw('lock table api_keys in access exclusive mode');
    const waiting = Array.from({ length: 20 }, () => ask('/api/platform/v1/whoami', bearer(key.secret)));
    await until(async () => (readMetric(await scrape(), 'portal_pool_waiting{pool="control"}') ?? 0) > 0);
    expect((await becomes('ok')).status).toBe(200);
    expect(await ask('/healthz')).toBe(200);
    expect(await ask('/healthz', {}, { method: 'POST' })).toBe(405);
    await lock.rollback();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
    expect(lines().length).toBe(before);
  });
});

it('no secret of a caller reaches the log, wherever it was sent', async () => {
  const { secret } = key;
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';
  const session = 'Q2hlZXNlQW5kQ3JhY2tlcnM0Mg';
  const tokenSecret = '4f1e2d3c4b5a69788796a5b4c3d2e1f0';
  const sealed = { consumerSecret: tokenSecret, tokenSecret, privateKey: tokenSecret };
  const json = { ...bearer(secret), 'content-type': 'application/json' };
  await Promise.all([
    ask(`/api/public/${secret}/x`),
    ask(`/api/public/v1/psk%5F${secret.slice(4)}?key=${secret}`, { 'x-tenant-id': secret }),
    ask(`/${jwt}`, { authorization: `Bearer ${jwt}`, cookie: `portal_session=${session}` }),
    ask('/api/platform/v1/whoami', {
      cookie: `portal_session=${session}`,
      'x-request-id': secret.slice(0, 60),
    }),
    ask('/api/platform/v1/whoami', {
      authorization: `Bearer ${secret}x`,
      'user-agent': secret,
      referer: `http://x/${secret}`,
    }),
    ask(
      '/api/platform/v1/teams',
      { ...json, 'idempotency-key': secret },
      { method: 'POST', body: `{"name": "${secret}` },
    ),
    ask('/api/platform/v1/netsuite/connection', json, {
      method: 'PUT',
      body: JSON.stringify({
        accountId: '1234567',
        authentication: { method: 'tba', consumerKey: 'a', tokenId: 'b', ...sealed },
      }),
    }),
    ask(`/auth/callback?code=${jwt}&state=${session}`),
    ask(`/unsubscribe?token=${session}`),
    ask(`/invitations/accept?token=${session}`),
    ask('/mcp', json, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: secret, method: secret, params: { token: jwt } }),
    }),
  ]);
  // Lines are in the order in which responses end: when this one exists, all earlier ones do.
  await ask('/the/last/one');
  await server.line(({ path }) => path === '/the/last/one');
  const { stdout, stderr } = server.output();
  for (const hidden of [secret.slice(4), secret.slice(4, 40), jwt.split('.')[1], session, tokenSecret])
    expect(`${stdout}${stderr}`).not.toContain(hidden);
  expect(server.lines().find(({ path }) => path === '/api/public/…/x')).toMatchObject({
    requestId: expect.any(String),
    method: 'GET',
    route: '/api/public/{version}/{resource}',
    status: 401,
    ms: expect.any(Number),
  });
  expect(
    server.lines().find(({ route, status }) => route === '/api/platform/v1/whoami' && status === 200),
  ).toMatchObject({
    organizationId,
    credential: { kind: 'api-key', id: key.id },
  });
});
