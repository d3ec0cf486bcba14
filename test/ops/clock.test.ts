// A process whose machine's clock is set hours ahead and back while it runs. The service uses the database's
// time, so nothing changes.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base } from '../setup/api.ts';
import { until } from '../setup/until.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';
import { ask, openPublished, type Published, useErpSite } from './site.ts';

const preload = fileURLToPath(new URL('./clock-preload.ts', import.meta.url));
const hourMs = 3_600_000;

const site = useErpSite();
const database = useOpsDatabase();
let server: ServingProcess;
let company: Published['company'];
let configs: Published['configs'];
let version: string;

const setClock = async (offMs: number): Promise<void> => {
  await writeFile(path.join(database.folder, 'clock'), String(offMs));
  // Log lines have the time of the machine.
  await until(async () => {
    await ask(`${server.url}${base}/openapi`);
    const logged = server.lines().at(-1)?.['time'];
    const aheadMs = (typeof logged === 'number' ? logged : Date.parse(String(logged))) - Date.now() - offMs;
    return Math.abs(aheadMs) < 60_000;
  });
};

beforeAll(async () => {
  const clock = path.join(database.folder, 'clock');
  await writeFile(clock, '0');
  server = await database.start({
    ...site.environment,
    NODE_OPTIONS: `--import=${preload}`,
    CLOCK_FILE: clock,
    SYNC_LEASE_SECONDS: '10',
  });
  ({ company, configs, version } = await openPublished(database.address, server.url, site));
});
afterAll(() => company?.close());

describe.each([
  ['ahead', 5 * hourMs],
  ['back', -5 * hourMs],
])('a clock that is set five hours %s', (name, offMs) => {
  it('does not affect keys, sessions and their expiry', async () => {
    const session = await company.newSession();
    const inAnHour = new Date(Date.now() + hourMs).toISOString();
    const key = await company.call(server.url, 'post', '/api-keys', {
      name,
      expiresAt: inAnHour,
      scopes: { permissions: ['read'] },
    });
    expect(key.status).toBe(201);
    await setClock(offMs);
    const whoami = (headers: Record<string, string>) =>
      ask(`${server.url}${base}/whoami`, 'get', undefined, headers);
    expect((await whoami(session.headers)).status).toBe(200);
    expect((await whoami({ authorization: `Bearer ${key.body.secret}` })).status).toBe(200);
    expect((await company.read(server.url, `/${version}/invoice`)).status).toBe(200);
    // A time in an hour is still in the future; a time an hour ago is still in the past.
    const make = (expiresAt: string) => company.call(server.url, 'post', '/api-keys', { name, expiresAt });
    const anHourAgo = new Date(Date.now() - hourMs).toISOString();
    expect((await Promise.all([make(inAnHour), make(anHourAgo)])).map(({ status }) => status)).toEqual([
      201, 422,
    ]);
  });

  it('counts sixty requests in the same minute, and returns when it ends', async () => {
    const { secret } = await company.newKey();
    const call = () =>
      ask(`${server.url}${base}/whoami`, 'get', undefined, { authorization: `Bearer ${secret}` });
    const before = await Promise.all(Array.from({ length: 40 }, call));
    await setClock(0);
    const after = await Promise.all(Array.from({ length: 40 }, call));
    await setClock(offMs);
    const answers = [...before, ...after];
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    for (const { status, headers } of answers) {
      const seconds = Number(headers.get('retry-after') ?? 60);
      if (status === 429) expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(60);
    }
  });

  it('starts a due run soon after the step, none of later hours, and keeps its lease', async () => {
    const id = configs.get('customer') ?? '';
    // Hourly, half an hour from now and half an hour ago: no slot becomes due by itself during the test.
    const [half] = await database.query<{ minute: number; slot: Date }>(
      "select extract(minute from at)::int as minute, date_trunc('minute', at) as slot from (select now() - interval '30 minutes' as at)",
    );
    const schedule = await company.call(server.url, 'patch', `/sync-configs/${id}`, {
      schedule: `${half?.minute} * * * *`,
    });
    expect(schedule.status).toBe(200);
    await database.query("delete from sync_runs where trigger = 'schedule'");
    await database.query(
      "update sync_configs set scheduled_since = now() - interval '2 hours' where id = $1",
      [id],
    );
    const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
    site.wire.begin((count) => (count < 3 ? Promise.resolve() : gate));
    await setClock(-offMs);
    type Slot = { at: Date; status: string; attempt: number };
    const slots = () =>
      database.query<Slot>(
        "select scheduled_for as at, status, attempt from sync_runs where trigger = 'schedule'",
      );
    await until(async () => (await slots()).some(({ status }) => status === 'running'));
    await setClock(offMs);
    letGo();
    const [slot, ...more] = await until(async () => {
      const found = await slots();
      return found.every(({ status }) => status === 'succeeded') ? found : undefined;
    });
    expect(more).toEqual([]);
    expect(slot).toMatchObject({ at: half?.slot, attempt: 1 });
  });
});
