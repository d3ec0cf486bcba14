// What read replicas take off the primary, and what a second one adds. Two hot standbys of one primary, all
// on this machine; the service runs as `npm start` runs it. Two replicas on one core each are compared with
// one of them, for lists whose totals are always counted anew. Writes its table to bench/RESULTS.md. Usage:
// npm run bench -- replicas [records, default 300000] [rounds, default 5] [seconds, default 5]
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Pool } from 'pg';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/open-database.ts';
import { openCtx } from '../src/service.ts';
import { type Server, type Servers, startPair } from '../test/scale/harness/servers.ts';
import { startCleanupWatcher } from '../test/setup/cleanup-watcher.ts';
import { databaseUrl } from '../test/setup/database-url.ts';
import { type Invoices, loadInvoices, publishInvoices } from './reads-data.ts';
import { type LoadResult, measureLoad } from './reads-load.ts';
import { buildHeaders, listPaths } from './reads-measure.ts';
import { parseArguments, startService } from './reads-servers.ts';
import { listBackends, serverCpuSeconds } from './server-cpu.ts';
import { describeMachine, type Line, writeTable } from './table.ts';
import { withWorkspace } from './workspace.ts';

const database = 'portal';
const connections = 12;
/** Nearly all invoices are after these dates, so that the count is most of the work. */
const countPaths = Array.from({ length: 200 }, (_, day) => {
  const date = new Date(Date.UTC(2020, 0, 1 + day)).toISOString().slice(0, 10);
  return `/api/public/v1/invoices?trandate_after=${date}&sort=trandate&order=desc&pageSize=10`;
});

/** Keeps a server on one core; false without `taskset`. */
async function pin(server: Server, core: number): Promise<boolean> {
  const postmaster = await server.pid();
  try {
    for (const pid of [postmaster, ...listBackends(postmaster)])
      execFileSync('taskset', ['-pc', String(core), String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

type Bench = {
  readonly folder: string;
  readonly servers: Servers;
  readonly invoices: Invoices;
  /** Of the owner of the database, for migrations; and of the service, at a server. */
  readonly owner: string;
  readonly loginAt: (server: Server) => string;
  readonly ms: number;
};
type Measured = { readonly load: LoadResult; readonly primaryUs: number; readonly replicasUs: number };

/**
 * Lists over these replicas, after a second to warm up. `primaryUs`, `replicasUs`: CPU time of the servers
 * per list.
 */
async function measure(
  { folder, servers, invoices, owner, loginAt, ms }: Bench,
  replicas: readonly Server[],
  counts: boolean,
): Promise<Measured> {
  const service = await startService(folder, {
    environment: {
      DATABASE_URL: loginAt(servers.primary),
      MIGRATION_DATABASE_URL: owner,
      READ_URL: replicas.map(loginAt).join(','),
      BODY_CACHE_MB: '0',
      SYNC_WORKERS: '0',
      ...(counts && { TOTAL_CACHE_MB: '0', ANCHOR_CACHE_MB: '0' }),
    },
  });
  try {
    const requests = {
      url: service.url,
      headers: buildHeaders(invoices),
      paths: counts ? countPaths : listPaths,
    };
    const cpu = async () => {
      const used = await Promise.all(
        [servers.primary, ...servers.standbys].map(async (server) => serverCpuSeconds(await server.pid())),
      );
      return { primary: used[0] ?? 0, replicas: used.slice(1).reduce((sum, seconds) => sum + seconds, 0) };
    };
    await measureLoad(service.pid, requests, connections, 1_000);
    const [before, startMs] = [await cpu(), performance.now()];
    const load = await measureLoad(service.pid, requests, connections, ms);
    const after = await cpu();
    const lists = (load.perSecond * (performance.now() - startMs)) / 1_000;
    const perListUs = (seconds: number): number => (seconds * 1e6) / lists;
    return {
      load,
      primaryUs: perListUs(after.primary - before.primary),
      replicasUs: perListUs(after.replicas - before.replicas),
    };
  } finally {
    await service.stop();
  }
}

type Round = {
  readonly without: Measured;
  readonly withOne: Measured;
  readonly one: Measured | null;
  readonly two: Measured | null;
};

async function measureRound(bench: Bench): Promise<Round> {
  const [first, second] = bench.servers.standbys;
  if (first === undefined || second === undefined) throw new Error('The benchmark needs two replicas');
  const without = await measure(bench, [], false);
  const withOne = await measure(bench, [first], false);
  const isPinned = availableParallelism() > 1 && (await pin(first, 0)) && (await pin(second, 1));
  const one = isPinned ? await measure(bench, [first], true) : null;
  const two = isPinned ? await measure(bench, [first, second], true) : null;
  return { without, withOne, one, two };
}

const line = (
  measure: string,
  values: readonly number[],
  unit: string,
  digits: number,
  goal: Line['goal'] = null,
): Line => ({
  measure,
  goal,
  unit,
  values,
  digits,
});

function countLines(rounds: readonly Round[]): Line[] {
  const counted = rounds.flatMap(({ one, two }) => (one === null || two === null ? [] : [{ one, two }]));
  if (counted.length === 0)
    return [line('two replicas on a core each: not run, it needs `taskset` and two cores', [], '', 0)];
  const shares = counted.map(
    ({ one: { load, replicasUs } }) => (100 * replicasUs) / (replicasUs + load.cpuUs),
  );
  const [alone, together] = [
    counted.map(({ one }) => one.load.perSecond),
    counted.map(({ two }) => two.load.perSecond),
  ];
  const ratios = counted.map(({ one, two }) => two.load.perSecond / one.load.perSecond);
  return [
    line('lists with a cold count, one replica on one core', alone, '/s', 0),
    line('share of PostgreSQL in their CPU time', shares, ' %', 1, { target: 95, floor: 95 }),
    line('two replicas on a core each', together, '/s', 0),
    line('times as many', ratios, '', 2, { target: 1.6, floor: 1.6 }),
  ];
}

function createLines(rounds: readonly Round[]): Line[] {
  const shares = rounds.map(({ without, withOne }) => (100 * withOne.primaryUs) / without.primaryUs);
  const of = (pick: (round: Round) => number): number[] => rounds.map(pick);
  return [
    line(
      'primary, CPU time per list, without replicas',
      of(({ without }) => without.primaryUs),
      ' µs',
      0,
    ),
    line(
      '… with one replica',
      of(({ withOne }) => withOne.primaryUs),
      ' µs',
      1,
    ),
    line('… of that without', shares, ' %', 1, { target: 5, floor: 5, lowerIsBetter: true }),
    line(
      'service, CPU time per list, without replicas',
      of(({ without }) => without.load.cpuUs),
      ' µs',
      0,
    ),
    line(
      '… with one replica',
      of(({ withOne }) => withOne.load.cpuUs),
      ' µs',
      0,
    ),
    ...countLines(rounds),
  ];
}

async function main(folder: string, records: number, rounds: number, ms: number): Promise<boolean> {
  const stopWatcher = startCleanupWatcher(folder);
  const servers = await startPair(folder, {
    standbys: 0,
    settings: { shared_buffers: '512MB', autovacuum: 'on' },
  });
  try {
    await servers.primary.query(`create database ${database}`);
    const connection = { ...servers.primary.connection, database };
    const owner = databaseUrl(connection);
    const loginAt = (server: Server): string =>
      databaseUrl({ ...server.connection, database, user: 'portal_login' });
    const addresses = { DATABASE_URL: loginAt(servers.primary), MIGRATION_DATABASE_URL: owner };
    const config = readConfig({ DATA_DIR: folder, LOG_LEVEL: 'warn', ...addresses });
    const { ctx, close } = await openCtx(config, await openDatabase(config));
    const admin = new Pool(connection);
    // When a measurement fails, the servers stop before it is closed.
    admin.on('error', () => undefined);
    const invoices = await loadInvoices(ctx, admin, records);
    const service = await startService(folder, { environment: addresses });
    await publishInvoices(service.url, invoices, admin).finally(() => service.stop());
    await close();
    for (let added = 0; added < 2; added += 1) await servers.addStandby();
    const bench: Bench = { folder, servers, invoices, owner, loginAt, ms };
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round += 1) measured.push(await measureRound(bench));
    const heading = `Run of ${new Date().toISOString().slice(0, 10)}: ${records} invoices of 40 columns with 3 lines each, ${rounds} rounds.`;
    const text = `${heading}\n${await describeMachine(admin)}`;
    await admin.end();
    return await writeTable('replicas', text, createLines(measured));
  } finally {
    await servers.stop();
    stopWatcher();
  }
}

const { records, rounds, ms } = parseArguments('replicas', process.argv.slice(2));
await withWorkspace((folder) => main(folder, records, rounds, ms));
