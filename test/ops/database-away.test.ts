// The service's PostgreSQL has no disk space left, is stopped, killed, frozen and started again, while the
// service itself keeps running. Every request gets a correct response or 503 with Retry-After in bounded time;
// published records and acknowledged writes are not lost; runs wait, continue and succeed.
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../chaos/cluster.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { openScratchFolder } from '../setup/scratch-folder.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';
import { freezeServer, processes } from './machine.ts';
import { type ServingProcess, startServer } from './server-process.ts';
import {
  ask,
  findRun,
  openPublished,
  type Published,
  type Reply,
  startRun,
  useErpSite,
  waitForEnd,
} from './site.ts';
import { isBusy, isDone, openTraffic, type Traffic } from './traffic.ts';

const run = promisify(execFile);
const maxConnections = 40;
/** Just above a WAL segment, because the WAL must still be written; not a whole number of pages. */
const limitBytes = 16 * 1024 * 1024 + 4_096;
/**
 * A repeated request with an Idempotency-Key may wait 20 seconds for the first one; the rest is for a busy
 * machine.
 */
const longestMs = 25_000;

const site = useErpSite();
let scratch: Awaited<ReturnType<typeof openScratchFolder>>;
let cluster: Cluster;
let server: ServingProcess;
let company: Published['company'];
let configs: Published['configs'];
let version: string;
let traffic: Traffic;
/** Resumes a frozen database. */
let thaw = (): void => undefined;

const address = () => ({ ...cluster.connection, database: 'portal' });
const asAdmin = <T extends object>(sql: string, values: string[] = []): Promise<T[]> =>
  asSuperuser(address(), async (client) => (await client.query<T>(sql, values)).rows);

beforeAll(async () => {
  scratch = await openScratchFolder('portal-away-');
  const { folder } = scratch;
  cluster = await startCluster(path.join(folder, 'data'), {
    max_connections: String(maxConnections),
    autovacuum: 'off',
  });
  await asSuperuser(cluster.connection, (client) => client.query('create database portal'));
  server = await startServer(
    { url: databaseUrl(address()), folder },
    {
      ...site.environment,
      SYNC_LEASE_SECONDS: '2',
      RATE_LIMIT_PER_MINUTE: '1000000',
      METRICS_PORT: '0',
      SHUTDOWN_SECONDS: '2',
    },
  );
  ({ company, configs, version } = await openPublished(address(), server.url, site));
});
afterAll(async () => {
  thaw();
  await traffic?.stop();
  await server?.kill();
  await company?.close();
  await cluster?.stop();
  await scratch.remove();
});

/**
 * Sets the limit for all processes of the server, including future ones. Only their own user may do so, in
 * some systems not even root.
 */
async function limitFiles(bytes: number | 'unlimited'): Promise<void> {
  const first = await cluster.pid();
  const { uid, gid } = await stat(`/proc/${first}`);
  const owner = process.getuid?.() === 0 ? { uid, gid } : {};
  const limit = (pid: number) =>
    run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`], { ...owner, cwd: '/' }).catch(
      (error: Error) => {
        if (!/No such process/.test(error.message)) throw error;
      },
    );
  // The postmaster first: a process that it starts in the meantime inherits the limit, or is found.
  await limit(first);
  for (const { pid, parent } of await processes()) if (parent === first) await limit(pid);
}

describe('no disk space left', () => {
  const read = async () => {
    const { status, headers, body } = await company.read(server.url, `/${version}/invoice?pageSize=1000`);
    const generation = headers.get('x-data-generation');
    return { status, generation, total: body.pagination.total, data: body.data };
  };

  it('the run waits, reports the reason, and continues later; published records stay intact', async () => {
    const before = await read();
    expect(before).toMatchObject({ status: 200, total: 120 });
    // The table to which the next run writes has already reached the limit.
    const columns = 'run_id, id, content_hash';
    const schema = `wh_${company.id.replaceAll('-', '')}`;
    await asAdmin(`insert into ${schema}.staging_invoice (${columns})
      select gen_random_uuid(), n, decode(repeat('00', 200), 'hex') from generate_series(1, 120000) n`);
    await asAdmin('checkpoint');
    await limitFiles(limitBytes);
    await site.change(
      "update ledger.transaction set memo = 'after the flood', lastmodifieddate = now() where type = 'CustInvc'",
    );
    const id = await startRun(company, server.url, configs.get('invoice'), { mode: 'full' });
    const waiting = await until(async () => {
      const shown = await findRun(company, server.url, id);
      return shown?.status === 'waiting' ? shown : undefined;
    });
    expect(waiting.error).toMatchObject({ code: 'DATABASE_FULL' });
    expect(await read()).toEqual(before);
    expect((await company.call(server.url, 'get', '/whoami')).status).toBe(200);

    await limitFiles('unlimited');
    // Make its next attempt due now instead of in ten seconds.
    await asAdmin('update sync_runs set wake_at = now() where id = $1', [id]);
    expect(await waitForEnd(company, server.url, id)).toMatchObject({
      status: 'succeeded',
      counts: { fetched: 120, updated: 120 },
    });
    // The process caches a page for a second.
    const after = await until(async () => {
      const found = await read();
      return found.generation === before.generation ? undefined : found;
    });
    const generation = String(Number(before.generation) + 1);
    expect(after).toMatchObject({ status: 200, total: 120, generation });
    const memos = after.data.map(({ memo }: { memo: string }) => memo);
    expect(new Set(memos)).toEqual(new Set(['after the flood']));
  });
});

const metricsUrl = (): string =>
  `http://127.0.0.1:${server.lines().find(({ msg }) => msg === 'metrics are served')?.['port']}/metrics`;

/** A run that is paused in the middle of reading until it is released. */
async function startPausedRun(): Promise<{ id: string; release(): void }> {
  const { promise: gate, resolve: release } = Promise.withResolvers<void>();
  const { promise: isPaused, resolve: markPaused } = Promise.withResolvers<void>();
  site.wire.begin(async (count) => {
    if (count < 3) return;
    markPaused();
    await gate;
  });
  const id = await startRun(company, server.url, configs.get('invoice'), { mode: 'full' });
  await isPaused;
  return { id, release };
}

const freeze = async (): Promise<void> => {
  thaw = await freezeServer(await cluster.pid());
};

async function untilHealthy(): Promise<void> {
  await until(async () => {
    const replies = await Promise.all([
      company.read(server.url, `/${version}/invoice`),
      company.call(server.url, 'get', '/whoami'),
    ]);
    return replies.every(({ status }) => status === 200);
  });
}

/** Checks the responses during `work`, which makes the database unavailable and available again. */
async function during(work: () => Promise<void>): Promise<Reply[]> {
  const { id, release } = await startPausedRun();
  traffic.begin();
  await work();
  release();
  await untilHealthy();
  expect(await waitForEnd(company, server.url, id)).toMatchObject({
    status: 'succeeded',
    error: null,
    counts: { fetched: 120 },
  });
  const replies = await traffic.end();
  expect(traffic.broken()).toEqual([]);
  const strange = replies.filter((reply) => !(reply.status < 300 || isBusy(reply) || isDone(reply)));
  expect(strange.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
  expect(replies.filter(({ ms }) => ms > longestMs).map(({ ms, text }) => `${ms} ${text}`)).toEqual([]);
  // The connection for notifications is back.
  await until(async () => {
    const listening = await asAdmin(
      "select from pg_stat_activity where application_name = 'portal-service listening'",
    );
    return listening.length === 1;
  });
  return replies;
}
const refused = (replies: readonly Reply[]) => replies.filter(isBusy).length;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** How often the message is in its log. */
const countLogged = (words: string): number =>
  server.lines().filter(({ msg }) => msg?.startsWith(words) === true).length;
/** Waits until some client got an error: then the database is unavailable for all others too. */
const untilRefused = () => until(async () => refused(traffic.replies()) > 0);

describe('PostgreSQL becomes unavailable and comes back', () => {
  beforeAll(() => {
    traffic = openTraffic(company, server.url, version);
  });

  it('smart and fast shutdown: new connections are rejected, then sessions are ended', async () => {
    const replies = await during(async () => {
      process.kill(await cluster.pid(), 'SIGTERM');
      await pause(300);
      await cluster.down('SIGINT');
      await pause(700);
      await untilRefused();
      await cluster.up();
    });
    expect(refused(replies)).toBeGreaterThan(0);
  });

  it('immediate shutdown', async () => {
    const replies = await during(async () => {
      await cluster.down('SIGQUIT');
      await pause(700);
      await untilRefused();
      await cluster.up();
    });
    expect(refused(replies)).toBeGreaterThan(0);
  });

  it('one of its backends killed, after which it ends all of them', async () => {
    await during(async () => {
      const [backend] = await asAdmin<{ pid: number }>(
        "select pid from pg_stat_activity where application_name = 'portal-service' and datname = 'portal' order by backend_start limit 1",
      );
      if (backend === undefined) throw new Error('the service holds no connection');
      process.kill(backend.pid, 'SIGKILL');
      await pause(500);
    });
  });

  it('its postmaster killed, its backends orphaned', async () => {
    const replies = await during(async () => {
      await cluster.down('SIGKILL');
      await pause(300);
      await untilRefused();
      await cluster.up();
    });
    expect(refused(replies)).toBeGreaterThan(0);
  });

  it('frozen: its connections stay open, but it does not respond', async () => {
    const before = countLogged('PostgreSQL is unresponsive');
    const replies = await during(async () => {
      await freeze();
      await until(async () => countLogged('PostgreSQL is unresponsive') > before);
      const [alive, ready, metrics] = await Promise.all([
        ask(`${server.url}/healthz`),
        ask(`${server.url}/readyz`),
        ask(metricsUrl()),
      ]);
      expect([alive.status, ready.status, ready.body.checks.database]).toEqual([
        200,
        503,
        "can't be reached",
      ]);
      expect(metrics.text).toContain('portal_database_figures_up 0');
      // Once it is known, every request is answered at once.
      const known = refused(traffic.replies());
      await until(async () => refused(traffic.replies()) >= known + 16);
      thaw();
    });
    expect(refused(replies)).toBeGreaterThan(8);
    await until(
      async () => countLogged('PostgreSQL responds again') === countLogged('PostgreSQL is unresponsive'),
    );
  });

  it('everything that was acknowledged exists exactly once', async () => {
    const acknowledged = await until(async () => {
      const so = [...traffic.acknowledged()];
      return so.length > 20 ? so : undefined;
    });
    const teams = await asAdmin<{ name: string; count: string }>(
      'select name, count(*) from teams group by 1',
    );
    const counts = new Map(teams.map(({ name, count }) => [name, count]));
    expect(acknowledged.filter((name) => counts.get(name) !== '1')).toEqual([]);
    // And nothing else: unacknowledged requests were repeated until they were acknowledged.
    expect([...counts.values()].filter((count) => count !== '1')).toEqual([]);
    const [audited] = await asAdmin<{ same: boolean }>(
      "select (select count(*) from audit_log where action = 'team.create') = (select count(*) from teams) as same",
    );
    expect(audited?.same).toBe(true);
  });
});

describe('no free connection', () => {
  /** Takes all connections, those of the service last, and releases them again. */
  async function takeConnections(): Promise<() => Promise<void>> {
    const taken: Client[] = [];
    const takeOne = async (): Promise<boolean> => {
      const client = new Client(address());
      client.on('error', () => undefined);
      try {
        await client.connect();
        taken.push(client);
        return true;
      } catch {
        return false;
      }
    };
    const takeAll = () => Promise.all(Array.from({ length: maxConnections }, takeOne));
    await until(async () => {
      await takeAll();
      const { rows } = (await taken[0]?.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'portal-service%'",
      )) ?? { rows: [] };
      // Immediately, because the service is about to reconnect.
      if (rows.length > 0) await takeAll();
      return rows.length === 0;
    });
    return async () => {
      await Promise.all(taken.map((client) => client.end()));
    };
  }

  it('503 with Retry-After, until connections are free again', async () => {
    traffic.begin();
    const giveBack = await takeConnections();
    await until(async () => traffic.replies().filter(isBusy).length >= 8);
    await giveBack();
    await untilHealthy();
    const replies = await traffic.end();
    expect(traffic.broken()).toEqual([]);
    expect(replies.filter((reply) => !(reply.status < 300 || isBusy(reply) || isDone(reply)))).toEqual([]);
    expect(replies.filter(({ ms }) => ms > longestMs).map(({ ms }) => ms)).toEqual([]);
  });
});

it('a process that is stopped while the database is unresponsive shuts down gracefully and in time', async () => {
  await traffic.stop();
  await freeze();
  const asked = company.call(server.url, 'get', '/whoami').catch(() => 'cut');
  expect(await server.stop()).toBe(0);
  expect(await asked).toBe('cut');
  expect(server.lines().at(-1)).toMatchObject({ msg: 'stopped' });
  thaw();
});
