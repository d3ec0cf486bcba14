// The public interface compared with two general database APIs over the same table, totals included. Writes
// its table to bench/RESULTS.md. Usage: npm run bench -- peers [records, default 1000000] [rounds, default 5]
// [seconds per measurement, default 2]
import { fileURLToPath } from 'node:url';
import {
  installPeers,
  loadAt16,
  type Peer,
  type PeerOptions,
  startDirectus,
  startPlatformatic,
} from './peers-servers.ts';
import { dates, type Invoices, loadInvoices, publishInvoices, statuses } from './reads-data.ts';
import type { LoadResult, RequestSet } from './reads-load.ts';
import { buildHeaders, createBaselineConfig, listPaths } from './reads-measure.ts';
import { parseArguments, type RunningServer, startBaseline, startService } from './reads-servers.ts';
import { describeMachine, type Goal, type Line, writeTable } from './table.ts';
import { type Database, withDatabase, withWorkspace } from './workspace.ts';

const peersFolder = fileURLToPath(new URL('../.data/bench-peers', import.meta.url));
const columns =
  'f_tranid f_trandate f_duedate f_entity l_entity l_status f_total f_balance f_email f_paid f_memo f_seq'.split(
    ' ',
  );
const starters = { 'platformatic/db 3.67.0': startPlatformatic, 'directus 12.4.0': startDirectus };
/** A list with few matches costs the peers little to count, so that less is gained by a total that is known. */
const goals = {
  large: { 'platformatic/db 3.67.0': [6, 1.3], 'directus 12.4.0': [18, 2.5] },
  small: { 'platformatic/db 3.67.0': [2, 1.3], 'directus 12.4.0': [6, 4] },
} as const satisfies Readonly<
  Record<string, Record<keyof typeof starters, readonly [cachedTotals: number, countedTotals: number]>>
>;
const largeRecords = 500_000;
const firstPort = 19_411;
const warmUpMs = 5_000;
const atLeast = (bound: number): Goal => ({ target: bound, floor: bound });

/**
 * `baseline`: the smallest server that can answer the same requests, as in the read benchmark; it counts no
 * totals and checks no key.
 */
type Services = {
  readonly cachedTotals: RunningServer;
  readonly countedTotals: RunningServer;
  /** As `cachedTotals`, with PROCESSES=2. */
  readonly twoProcesses: RunningServer;
  readonly baseline: RunningServer;
};

type Variant =
  | 'cachedTotals'
  | 'countedTotals'
  | 'single'
  | 'twoList'
  | 'twoSingle'
  | 'baselineSingle'
  | 'peerList'
  | 'peerSingle';
type LoadRound = Readonly<Record<Variant, LoadResult>>;

async function compare(
  name: keyof typeof starters,
  peer: Peer,
  services: Services,
  invoices: Invoices,
  ids: readonly number[],
  rounds: number,
  ms: number,
): Promise<Line[]> {
  const headers = buildHeaders(invoices);
  const list = ({ url }: RunningServer): RequestSet => ({ url, headers, paths: listPaths });
  const single: RequestSet = {
    url: services.cachedTotals.url,
    headers,
    paths: ids.map((id) => `/api/public/v1/full/${id}`),
  };
  const measured: Record<Variant, readonly [number, RequestSet]> = {
    cachedTotals: [services.cachedTotals.pid, list(services.cachedTotals)],
    countedTotals: [services.countedTotals.pid, list(services.countedTotals)],
    single: [services.cachedTotals.pid, single],
    twoList: [services.twoProcesses.pid, list(services.twoProcesses)],
    twoSingle: [services.twoProcesses.pid, { ...single, url: services.twoProcesses.url }],
    baselineSingle: [services.baseline.pid, { ...single, url: services.baseline.url }],
    peerList: [peer.pid, peer.list],
    peerSingle: [peer.pid, peer.single],
  };
  for (const [pid, requests] of Object.values(measured)) await loadAt16(pid, requests, warmUpMs);
  const loads: LoadRound[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const entries: [string, LoadResult][] = [];
    for (const [variant, [pid, requests]] of Object.entries(measured))
      entries.push([variant, await loadAt16(pid, requests, ms)]);
    loads.push(Object.fromEntries(entries) as LoadRound);
  }
  return createLines(name, loads, invoices.records >= largeRecords ? goals.large[name] : goals.small[name]);
}

function createLines(
  name: keyof typeof starters,
  loads: readonly LoadRound[],
  [cachedGoal, countedGoal]: readonly [number, number],
): Line[] {
  const line = (
    what: string,
    goal: number | null,
    unit: string,
    digits: number,
    of: (round: LoadRound) => number,
  ): Line => ({
    measure: `${name}: ${what}`,
    goal: goal === null ? null : atLeast(goal),
    unit,
    digits,
    values: loads.map(of),
  });
  const ratio =
    (a: Variant, b: Variant) =>
    (round: LoadRound): number =>
      round[a].perSecond / round[b].perSecond;
  return [
    line('list, our totals cached', cachedGoal, '×', 1, ratio('cachedTotals', 'peerList')),
    line('list, totals counted on both sides', countedGoal, '×', 1, ratio('countedTotals', 'peerList')),
    line('list, our totals cached, PROCESSES=2', null, '×', 1, ratio('twoList', 'peerList')),
    line('single', null, '×', 2, ratio('single', 'peerSingle')),
    line('single, PROCESSES=2', null, '×', 2, ratio('twoSingle', 'peerSingle')),
    line('single, baseline server in our place', null, '×', 2, ratio('baselineSingle', 'peerSingle')),
    line('single, ours / baseline server in our place', 0.9, '', 2, ratio('single', 'baselineSingle')),
    line('its lists/s', null, '', 0, (round) => round.peerList.perSecond),
    line('its records/s', null, '', 0, (round) => round.peerSingle.perSecond),
    line('its CPU time per record', null, ' µs', 0, (round) => round.peerSingle.cpuUs),
    line('our CPU time per record', null, ' µs', 0, (round) => round.single.cpuUs),
  ];
}

async function measure(
  invoices: Invoices,
  options: PeerOptions,
  services: Services,
  rounds: number,
  ms: number,
): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [index, name] of (Object.keys(starters) as (keyof typeof starters)[]).entries()) {
    try {
      const peer = await starters[name](options, firstPort + index);
      try {
        lines.push(...(await compare(name, peer, services, invoices, options.ids, rounds, ms)));
      } finally {
        await peer.stop();
      }
    } catch (error) {
      lines.push({
        measure: `${name}: not measured: ${String(error).split('\n', 1)[0]}`,
        goal: null,
        unit: '',
        values: [],
        digits: 0,
      });
    }
    console.log(name);
  }
  return lines;
}

type Size = { readonly records: number; readonly rounds: number; readonly ms: number };

async function main(
  { ctx, admin, adminAddress: database }: Database,
  folder: string,
  { records, rounds, ms }: Size,
): Promise<boolean> {
  const services: RunningServer[] = [];
  const start = async (environment: Record<string, string>): Promise<RunningServer> => {
    const service = await startService(folder, { environment });
    services.push(service);
    return service;
  };
  try {
    const invoices = await loadInvoices(ctx, admin, records);
    const cachedTotals = await start({ BODY_CACHE_MB: '0' });
    await publishInvoices(cachedTotals.url, invoices, admin);
    const countedTotals = await start({ BODY_CACHE_MB: '0', TOTAL_CACHE_MB: '0' });
    const twoProcesses = await start({ BODY_CACHE_MB: '0', PROCESSES: '2' });
    const baseline = await startBaseline(await createBaselineConfig({ invoices, address: database, admin }));
    services.push(baseline);
    const pages = Array.from({ length: 20 }, (_, index) => index + 1);
    const lists = statuses.flatMap((status) =>
      dates.flatMap((date) => pages.map((page) => ({ status, date, page }))),
    );
    const ids = Array.from({ length: 10_000 }, () => 1 + Math.floor(Math.random() * records));
    const { schema, table } = invoices;
    const lines = await measure(
      invoices,
      { folder: peersFolder, database, schema, table, columns, lists, ids },
      { cachedTotals, countedTotals, twoProcesses, baseline },
      rounds,
      ms,
    );
    const day = ctx.clock.now().toISOString().slice(0, 10);
    const heading = `Run of ${day}: ${records} invoices, ${rounds} rounds, 16 connections.\n${await describeMachine(admin)}`;
    return await writeTable(records >= largeRecords ? 'peers' : 'peers 100000', heading, lines);
  } finally {
    await Promise.all(services.map((service) => service.stop()));
  }
}

const size = parseArguments('peers', process.argv.slice(2));
await withWorkspace(async (folder) => {
  await installPeers(peersFolder);
  return withDatabase(folder, {}, (database) => main(database, folder, size));
});
