// The service's PostgreSQL is stopped, killed, frozen and started again, while the service itself keeps
// running. Every request gets a correct response or 503 with Retry-After in bounded time; acknowledged writes
// are not lost; runs continue and succeed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type Cluster, startCluster } from '../chaos/cluster.ts';
import { startCleanupWatcher } from '../setup/cleanup-watcher.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { until } from '../setup/until.ts';
import { processes, signal } from './machine.ts';
import { type ServingProcess, startServer } from './server-process.ts';
import {
  ask,
  type Company,
  connectCompany,
  type ErpSite,
  makeCompany,
  openErpSite,
  publish,
  type Reply,
  startRun,
  sync,
  waitForEnd,
} from './site.ts';
import { isBusy, isDone, openTraffic, type Traffic } from './traffic.ts';

const maxConnections = 40;
/**
 * A repeated request with an Idempotency-Key may wait 20 seconds for the first one; the rest is for a busy
 * machine.
 */
const longestMs = 25_000;

let folder: string;
let tidied: () => void;
let site: ErpSite;
let cluster: Cluster;
let server: ServingProcess;
let company: Company;
let configs: Map<string, string>;
let version: string;
let traffic: Traffic;
/** Resumes a frozen database. */
let thaw = async (): Promise<void> => undefined;

const asAdmin = async <T>(sql: string): Promise<T[]> => {
  const admin = openKnex({ ...cluster.connection, database: 'portal' }, null, 1);
  try {
    return (await admin.raw<{ rows: T[] }>(sql)).rows;
  } finally {
    await admin.destroy();
  }
};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-away-'));
  tidied = startCleanupWatcher(folder);
  [site, cluster] = await Promise.all([
    openErpSite(),
    startCluster(path.join(folder, 'data'), { max_connections: String(maxConnections) }),
  ]);
  const admin = openKnex(cluster.connection, null, 1);
  await admin.raw('create database portal');
  await admin.destroy();
  const url = databaseUrl({ ...cluster.connection, database: 'portal' });
  server = await startServer(
    { url, folder },
    {
      ...site.environment,
      SYNC_LEASE_SECONDS: '2',
      RATE_LIMIT_PER_MINUTE: '1000000',
      METRICS_PORT: '0',
      SHUTDOWN_SECONDS: '2',
    },
  );
  company = await makeCompany({ ...cluster.connection, database: 'portal' });
  configs = await connectCompany(company, server.url, site);
  for (const id of configs.values()) await sync(company, server.url, id);
  version = await publish(company, server.url);
  traffic = openTraffic(company, server.url, version);
});
afterAll(async () => {
  await thaw();
  await traffic?.stop();
  server?.child.kill('SIGKILL');
  await server?.ended;
  await company?.close();
  await cluster?.stop();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
  tidied();
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

/** Suspends all processes of the database, as when its host freezes. */
async function freeze(): Promise<void> {
  const stopped = new Set<number>();
  const stop = (pid: number): void => {
    // A process that has just ended needs no stop.
    if (signal(pid, 'SIGSTOP')) stopped.add(pid);
  };
  thaw = async () => {
    thaw = async () => undefined;
    for (const pid of stopped) signal(pid, 'SIGCONT');
  };
  // First the postmaster; once it is suspended, there are no new processes.
  const first = await cluster.pid();
  stop(first);
  await until(async () =>
    (await processes()).find(({ pid }) => pid === first)?.state === 'T' ? true : undefined,
  );
  for (const { pid, parent } of await processes()) if (parent === first) stop(pid);
}

async function untilHealthy(): Promise<void> {
  await until(async () => {
    const replies = await Promise.all([
      company.read(server.url, `/${version}/invoice`),
      company.call(server.url, 'get', '/whoami'),
    ]);
    return replies.every(({ status }) => status === 200) ? true : undefined;
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
    return listening.length === 1 ? true : undefined;
  });
  return replies;
}
const refused = (replies: readonly Reply[]) => replies.filter(isBusy).length;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** How often the message is in its log. */
const countLogged = (words: string): number =>
  server.lines().filter(({ msg }) => msg?.startsWith(words) === true).length;
/** Waits until some client got an error: then the database is unavailable for all others too. */
const untilRefused = () => until(async () => (refused(traffic.replies()) > 0 ? true : undefined));

describe('PostgreSQL becomes unavailable and comes back', () => {
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
      await until(async () => (countLogged('PostgreSQL is unresponsive') > before ? true : undefined));
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
      await until(async () => (refused(traffic.replies()) >= known + 16 ? true : undefined));
      await thaw();
    });
    expect(refused(replies)).toBeGreaterThan(8);
    await until(async () =>
      countLogged('PostgreSQL responds again') === countLogged('PostgreSQL is unresponsive')
        ? true
        : undefined,
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
      const client = new Client({ ...cluster.connection, database: 'portal' });
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
      return rows.length === 0 ? true : undefined;
    });
    return async () => {
      await Promise.all(taken.map((client) => client.end()));
    };
  }

  it('503 with Retry-After, until connections are free again', async () => {
    traffic.begin();
    const giveBack = await takeConnections();
    await until(async () => (traffic.replies().filter(isBusy).length >= 8 ? true : undefined));
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
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  expect(await asked).toBe('cut');
  expect(server.lines().at(-1)).toMatchObject({ msg: 'stopped' });
  await thaw();
});
