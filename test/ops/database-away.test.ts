// The service's PostgreSQL is stopped, killed, frozen and started again under a server process that is never restarted. Every request is
// answered in bounded time, rightly or by 503 with Retry-After; what was acknowledged is there; runs go on and end right.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type Cluster, startCluster } from '../chaos/cluster.ts';
import { leaveNothingBehind } from '../setup/last-will.ts';
import { until } from '../setup/until.ts';
import { processes, signal } from './machine.ts';
import { type ServingProcess, startServer } from './server-process.ts';
import {
  ask,
  type Company,
  connectCompany,
  type ErpSite,
  endOf,
  makeCompany,
  openErpSite,
  publish,
  type Reply,
  startRun,
  sync,
} from './site.ts';
import { isBusy, isDone, openTraffic, type Traffic } from './traffic.ts';

const mostConnections = 40;
/** A repetition under a key may wait 20 seconds for the first request; the rest is for a busy machine. */
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
/** Lets a frozen database go on. */
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
  tidied = leaveNothingBehind(folder);
  [site, cluster] = await Promise.all([
    openErpSite(),
    startCluster(path.join(folder, 'data'), { max_connections: String(mostConnections) }),
  ]);
  const admin = openKnex(cluster.connection, null, 1);
  await admin.raw('create database portal');
  await admin.destroy();
  const { host, port, user } = cluster.connection;
  const url = `postgres://${user}@/portal?host=${encodeURIComponent(host)}&port=${port}`;
  server = await startServer(
    { url, folder },
    { ...site.environment, SYNC_LEASE_SECONDS: '2', RATE_LIMIT_PER_MINUTE: '1000000', METRICS_PORT: '0', SHUTDOWN_SECONDS: '2' },
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

const metricsUrl = (): string => `http://127.0.0.1:${server.lines().find(({ msg }) => msg === 'metrics are served')?.['port']}/metrics`;

/** A run that stands in the middle of its reading until it is let go. */
async function standingRun(): Promise<{ id: string; letGo(): void }> {
  const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: isStanding, resolve: stands } = Promise.withResolvers<void>();
  site.wire.begin(async (count) => {
    if (count < 3) return;
    stands();
    await gate;
  });
  const id = await startRun(company, server.url, configs.get('invoice'), { mode: 'full' });
  await isStanding;
  return { id, letGo };
}

/** Stops every process of the database where it stands, as when its host freezes. */
async function freeze(): Promise<void> {
  const stopped = new Set<number>();
  const stop = (pid: number): void => {
    // One that ends just now needs no stop.
    if (signal(pid, 'SIGSTOP')) stopped.add(pid);
  };
  thaw = async () => {
    thaw = async () => undefined;
    for (const pid of stopped) signal(pid, 'SIGCONT');
  };
  // First the one that all others come from; once it stands there are no more of them.
  const first = await cluster.pid();
  stop(first);
  await until(async () => ((await processes()).find(({ pid }) => pid === first)?.state === 'T' ? true : undefined));
  for (const { pid, parent } of await processes()) if (parent === first) stop(pid);
}

async function isWellAgain(): Promise<void> {
  await until(async () => {
    const replies = await Promise.all([company.read(server.url, `/${version}/invoice`), company.call(server.url, 'get', '/whoami')]);
    return replies.every(({ status }) => status === 200) ? true : undefined;
  });
}

/** Judges what came while `work` took the database away and brought it back. */
async function during(work: () => Promise<void>): Promise<Reply[]> {
  const { id, letGo } = await standingRun();
  traffic.begin();
  await work();
  letGo();
  await isWellAgain();
  expect(await endOf(company, server.url, id)).toMatchObject({ status: 'succeeded', error: null, counts: { fetched: 120 } });
  const replies = await traffic.end();
  expect(traffic.broken()).toEqual([]);
  const strange = replies.filter((reply) => !(reply.status < 300 || isBusy(reply) || isDone(reply)));
  expect(strange.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
  expect(replies.filter(({ ms }) => ms > longestMs).map(({ ms, text }) => `${ms} ${text}`)).toEqual([]);
  // The listening connection is back.
  await until(async () => {
    const heard = await asAdmin("select from pg_stat_activity where application_name = 'portal-service listening'");
    return heard.length === 1 ? true : undefined;
  });
  return replies;
}
const refused = (replies: readonly Reply[]) => replies.filter(isBusy).length;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** How often its log said so. */
const heard = (words: string): number => server.lines().filter(({ msg }) => msg?.startsWith(words) === true).length;
/** Until some caller was refused: then everybody else meets a database that is away, too. */
const isFelt = () => until(async () => (refused(traffic.replies()) > 0 ? true : undefined));

describe('PostgreSQL goes away and comes back', () => {
  it('stopped in order: nobody new is let in, then its sessions are ended', async () => {
    const replies = await during(async () => {
      process.kill(await cluster.pid(), 'SIGTERM');
      await pause(300);
      await cluster.down('SIGINT');
      await pause(700);
      await isFelt();
      await cluster.up();
    });
    expect(refused(replies)).toBeGreaterThan(0);
  });

  it('stopped at once, without a farewell', async () => {
    const replies = await during(async () => {
      await cluster.down('SIGQUIT');
      await pause(700);
      await isFelt();
      await cluster.up();
    });
    expect(refused(replies)).toBeGreaterThan(0);
  });

  it('one of its backends killed, which makes it end all of them', async () => {
    await during(async () => {
      const [backend] = await asAdmin<{ pid: number }>(
        "select pid from pg_stat_activity where application_name = 'portal-service' and datname = 'portal' order by backend_start limit 1",
      );
      if (backend === undefined) throw new Error('the service holds no connection');
      process.kill(backend.pid, 'SIGKILL');
      await pause(500);
    });
  });

  it('its first process killed, its backends orphaned', async () => {
    const replies = await during(async () => {
      await cluster.down('SIGKILL');
      await pause(300);
      await isFelt();
      await cluster.up();
    });
    expect(refused(replies)).toBeGreaterThan(0);
  });

  it('frozen: its connections stay open, and nothing is said on them', async () => {
    const before = heard('PostgreSQL says nothing');
    const replies = await during(async () => {
      await freeze();
      await until(async () => (heard('PostgreSQL says nothing') > before ? true : undefined));
      const [alive, ready, metrics] = await Promise.all([ask(`${server.url}/healthz`), ask(`${server.url}/readyz`), ask(metricsUrl())]);
      expect([alive.status, ready.status, ready.body.checks.database]).toEqual([200, 503, "can't be reached"]);
      expect(metrics.text).toContain('portal_database_figures_up 0');
      // Now that it is known, each caller hears it at once, however often he asks.
      const known = refused(traffic.replies());
      await until(async () => (refused(traffic.replies()) >= known + 16 ? true : undefined));
      await thaw();
    });
    expect(refused(replies)).toBeGreaterThan(8);
    await until(async () => (heard('PostgreSQL speaks again') === heard('PostgreSQL says nothing') ? true : undefined));
  });

  it('what was acknowledged through all of it is there, once', async () => {
    const acknowledged = await until(async () => {
      const so = [...traffic.acknowledged()];
      return so.length > 20 ? so : undefined;
    });
    const teams = await asAdmin<{ name: string; count: string }>('select name, count(*) from teams group by 1');
    const counts = new Map(teams.map(({ name, count }) => [name, count]));
    expect(acknowledged.filter((name) => counts.get(name) !== '1')).toEqual([]);
    // And nothing else: what was never acknowledged was asked for until it was.
    expect([...counts.values()].filter((count) => count !== '1')).toEqual([]);
    const [audited] = await asAdmin<{ same: boolean }>(
      "select (select count(*) from audit_log where action = 'team.create') = (select count(*) from teams) as same",
    );
    expect(audited?.same).toBe(true);
  });
});

describe('no connection to be had', () => {
  /** Takes every connection, those of the service last, and gives them back. */
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
    const takeAll = () => Promise.all(Array.from({ length: mostConnections }, takeOne));
    await until(async () => {
      await takeAll();
      const { rows } = (await taken[0]?.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'portal-service%'",
      )) ?? { rows: [] };
      // At once: the service is about to take them again.
      if (rows.length > 0) await takeAll();
      return rows.length === 0 ? true : undefined;
    });
    return async () => {
      await Promise.all(taken.map((client) => client.end()));
    };
  }

  it('is answered 503 with Retry-After, and passes by itself', async () => {
    traffic.begin();
    const giveBack = await takeConnections();
    await until(async () => (traffic.replies().filter(isBusy).length >= 8 ? true : undefined));
    await giveBack();
    await isWellAgain();
    const replies = await traffic.end();
    expect(traffic.broken()).toEqual([]);
    expect(replies.filter((reply) => !(reply.status < 300 || isBusy(reply) || isDone(reply)))).toEqual([]);
    expect(replies.filter(({ ms }) => ms > longestMs).map(({ ms }) => ms)).toEqual([]);
  });
});

it('a process that is told to stop while nothing is said stops in order and in time', async () => {
  await traffic.stop();
  await freeze();
  const asked = company.call(server.url, 'get', '/whoami').catch(() => 'cut');
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  expect(await asked).toBe('cut');
  expect(server.lines().at(-1)).toMatchObject({ msg: 'stopped' });
  await thaw();
});
