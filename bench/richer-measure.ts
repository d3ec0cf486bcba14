// The measurements of richer reads: each against the plain read that it adds to, in turn, so that a busy
// moment affects both.
import type { Pool } from 'pg';
import { dates, type Invoices, statuses } from './reads-data.ts';
import { measureLoad, quantile, type RequestSet } from './reads-load.ts';
import { buildHeaders } from './reads-measure.ts';
import { type RunningServer, startService } from './reads-servers.ts';
import { resource } from './richer-data.ts';
import { serverCpuSeconds } from './server-cpu.ts';

export type RicherBench = {
  readonly folder: string;
  readonly admin: Pool;
  readonly invoices: Invoices;
  readonly rounds: number;
  /** Duration of each measurement. */
  readonly ms: number;
};

const base = `/api/public/v1/${resource}`;
const connections = 16;
const generationsPerRound = 8;
/** As many values as a filter takes, other ones in each request. */
const hundred = (start: number, toItem: (n: number) => string): string =>
  Array.from({ length: 100 }, (_, n) => `lines.item=${toItem(start + n)}`).join('&');
const buildTenItems = (toItem: (n: number) => string): string =>
  encodeURIComponent(`(${Array.from({ length: 10 }, (_, n) => `lines.item:eq:${toItem(n)}`).join()})`);
const starts = Array.from({ length: 40 }, (_, n) => n * 100);

/** The requests of each kind. Pages of 25 records, the newest first where there is no other order. */
const paths = {
  plain: dates.map((date) => `${base}?trandate_after=${date}`),
  expand: dates.map((date) => `${base}?trandate_after=${date}&expand=related`),
  expandLines: dates.map((date) => `${base}?trandate_after=${date}&expand=whole`),
  oneKey: dates.map((date) => `${base}?trandate_after=${date}&sort=trandate`),
  twoKeys: dates.map((date) => `${base}?trandate_after=${date}&sort=trandate,-total`),
  search: Array.from({ length: 40 }, (_, n) => `${base}?q=${encodeURIComponent(`lantern ${n + 100}`)}`),
  lines: Array.from({ length: 40 }, (_, n) => `${base}?lines.item=${n * 100}`),
  lineRange: Array.from({ length: 40 }, (_, n) => `${base}?lines.rate_gt=${89_000 + n * 20}`),
  frequentLine: [0, 10, 20, 30].map((rate) => `${base}?lines.rate_gt=${rate}`),
  hundredItems: starts.map((start) => `${base}?${hundred(start, String)}`),
  hundredAbsent: starts.map((start) => `${base}?pageSize=1&${hundred(start, (n) => `absent${n}`)}`),
  hundredSorted: starts.map(
    (start) => `${base}?sort=duedate&order=desc&${hundred(start, (n) => `absent${n}`)}`,
  ),
  tenAlternatives: starts.map((start) => `${base}?or=${buildTenItems((n) => String(start + n))}`),
  tenAbsent: starts.map((start) => `${base}?pageSize=1&or=${buildTenItems((n) => `absent${start + n}`)}`),
  or: statuses.map(
    (status) => `${base}?or=${encodeURIComponent(`(statusName:eq:"${status}",total:gt:89000)`)}`,
  ),
} as const;
export type Kind = keyof typeof paths;
/** What a version declares beyond plain lists. */
export const declaredKinds = (Object.keys(paths) as Kind[]).filter((kind) => kind !== 'plain');
const first = {
  'summary by status': `${base}/summary?sum=total&by=statusName`,
  'summary by month and status': `${base}/summary?sum=total&avg=total&by=trandate.month&by=statusName`,
  'summary: the ten customers with the largest sums': `${base}/summary?sum=total&by=entity&sort=-sum.total&limit=10`,
  'summary of one customer': `${base}/summary?sum=total&entity=17`,
  'list of the records with a line of any rate, nearly all': `${base}?lines.rate_gt=1`,
} as const;
export type FirstKind = keyof typeof first;
export const firstKinds = Object.keys(first) as FirstKind[];

export type RicherRound = {
  /** Requests per second. */
  readonly perSecond: Readonly<Record<Kind, number>>;
  readonly p50Ms: Readonly<Record<Kind, number>>;
  /** CPU time of PostgreSQL for one request, in ms. */
  readonly postgresMs: Readonly<Record<Kind, number>>;
  /** Of the same summary in one generation, and of a kept list. */
  readonly keptSummary: number;
  readonly keptList: number;
  /** Of the first request of a generation. */
  readonly coldMs: Readonly<Record<FirstKind, number>>;
};

const nextGeneration = ({ admin, invoices }: RicherBench): Promise<unknown> =>
  admin.query(
    `update ${invoices.schema}.record_state set generation = generation + 1 where record_type = 'invoice'`,
  );

/** The service may trust for this long that the generation is the newest. */
const trustMs = 1_100;

/** The median over several generations. */
async function measureCold(bench: RicherBench, { url }: RunningServer, path: string): Promise<number> {
  const durationsMs: number[] = [];
  for (let n = 0; n < generationsPerRound; n += 1) {
    await nextGeneration(bench);
    await new Promise((resolve) => setTimeout(resolve, trustMs));
    const startMs = performance.now();
    const response = await fetch(url + path, { headers: buildHeaders(bench.invoices) });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${path} returned status ${response.status}`);
    durationsMs.push(performance.now() - startMs);
  }
  return quantile(
    durationsMs.sort((a, b) => a - b),
    0.5,
  );
}

const mapValues = async <K extends string, T>(
  record: Readonly<Record<K, unknown>>,
  of: (key: K) => Promise<T>,
): Promise<Record<K, T>> => {
  const entries: [K, T][] = [];
  for (const key of Object.keys(record) as K[]) entries.push([key, await of(key)]);
  return Object.fromEntries(entries) as Record<K, T>;
};

async function findPostmaster(admin: RicherBench['admin']): Promise<number> {
  const { rows } = await admin.query<{ pid: number }>(
    "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid",
  );
  return rows[0]?.pid ?? Number.NaN;
}

export async function measureRicher(bench: RicherBench): Promise<RicherRound[]> {
  const { folder, invoices, rounds, ms } = bench;
  const headers = buildHeaders(invoices);
  const servers: RunningServer[] = [];
  try {
    const uncached = await startService(folder, { environment: { BODY_CACHE_MB: '0' } });
    servers.push(uncached);
    const caching = await startService(folder);
    servers.push(caching);
    const load = (server: RunningServer, list: readonly string[]) => {
      const requests: RequestSet = { url: server.url, headers, paths: list };
      return measureLoad(server.pid, requests, connections, ms);
    };
    const kept = [paths.plain[0] ?? '', first['summary by status']] as const;
    for (const list of Object.values(paths)) await load(uncached, list);
    for (const path of kept) await load(caching, [path]);
    const postmaster = await findPostmaster(bench.admin);
    const loadKind = async (kind: Kind) => {
      const before = serverCpuSeconds(postmaster);
      const found = await load(uncached, paths[kind]);
      return {
        ...found,
        postgresMs: ((serverCpuSeconds(postmaster) - before) * 1_000) / (found.perSecond * (ms / 1_000)),
      };
    };
    const results: RicherRound[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const loads = await mapValues(paths, loadKind);
      results.push({
        perSecond: await mapValues(paths, async (kind) => loads[kind].perSecond),
        p50Ms: await mapValues(paths, async (kind) => loads[kind].p50Ms),
        postgresMs: await mapValues(paths, async (kind) => loads[kind].postgresMs),
        keptList: (await load(caching, [kept[0]])).perSecond,
        keptSummary: (await load(caching, [kept[1]])).perSecond,
        coldMs: await mapValues(first, (kind) => measureCold(bench, caching, first[kind])),
      });
      console.log(`round ${round + 1}/${rounds}`);
    }
    return results;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}
