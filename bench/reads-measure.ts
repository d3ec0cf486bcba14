// The measurements of the read benchmark. The service and the baseline server alternate, so that a busy
// moment of the machine affects both.
import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { DatabaseAddress } from '../src/db/connect.ts';
import { planList, planRecord } from '../src/public/read/plan/plan.ts';
import { plainRanges } from '../src/public/read/plan/ranges.ts';
import { parseQuery } from '../src/public/read/plan/request.ts';
import { listStatement, recordStatement, type Statement } from '../src/public/read/sql/list-sql.ts';
import { bindDocument } from '../src/public/version/bind.ts';
import { compileSchema, type ReadableEndpoint } from '../src/public/version/compile.ts';
import { readWhole } from '../src/public/version/narrow.ts';
import { SchemaDocument } from '../src/public/version/schema-document.ts';
import { buildEndpoints, dates, type Invoices, statuses } from './reads-data.ts';
import { type LoadResult, measureLoad, quantile, type RequestSet, readMemory } from './reads-load.ts';
import {
  type BaselineConfig,
  type BaselineStatement,
  type RunningServer,
  startBaseline,
  startService,
} from './reads-servers.ts';

export type Bench = {
  readonly folder: string;
  readonly admin: Pool;
  readonly address: DatabaseAddress;
  readonly invoices: Invoices;
  readonly rounds: number;
  /** Duration of each measurement. */
  readonly ms: number;
};

const base = '/api/public/v1';
const pages = Array.from({ length: 20 }, (_, index) => index + 1);
const listPath = (status: string, date: string, page: number): string =>
  `${base}/invoices?statusName=${encodeURIComponent(status)}&trandate_after=${date}&sort=trandate&order=desc&page=${page}`;
/** 4 statuses × 12 dates × 20 pages. */
export const listPaths = statuses.flatMap((status) =>
  dates.flatMap((date) => pages.map((page) => listPath(status, date, page))),
);
export const randomIds = ({ records }: Invoices): string[] =>
  Array.from({ length: 10_000 }, () => `${base}/full/${1 + Math.floor(Math.random() * records)}`);
export const buildHeaders = ({ key, organizationId }: Invoices) => ({
  Authorization: `Bearer ${key}`,
  'x-tenant-id': organizationId,
});

const namedStatement = ({ values, write }: Statement): BaselineStatement => {
  const text = write();
  return { name: `s_${hash('sha256', text).slice(0, 20)}`, text, values };
};

/**
 * Both endpoints, compiled as the published version is, so that the baseline server runs exactly the
 * service's SQL.
 */
function compiledEndpoints(invoices: Invoices): [ReadableEndpoint, ReadableEndpoint] {
  const document = SchemaDocument.parse({ endpoints: buildEndpoints(invoices) });
  const bindings = bindDocument(document, {
    invoice: { label: '', idType: 'integer', columns: invoices.columns, hasData: true },
  });
  const [small, full] = [
    ...compileSchema({ id: '', version: 'v1', bindings, ...document }).endpoints.values(),
  ];
  if (small === undefined || full === undefined) throw new Error('The schema has no endpoints');
  return [readWhole(small), readWhole(full)];
}

export async function createBaselineConfig({
  invoices,
  address,
  admin,
}: Pick<Bench, 'invoices' | 'address' | 'admin'>): Promise<BaselineConfig> {
  const [small, full] = compiledEndpoints(invoices);
  const target = { schema: invoices.schema, table: invoices.table };
  const lists: Record<string, BaselineConfig['lists'][string]> = {};
  for (const [status, date] of statuses.flatMap((each) => dates.map((day) => [each, day] as const))) {
    const counted = await admin.query<{ n: number }>(
      `select count(*)::int as n from ${target.schema}.${target.table} where l_status = $1 and f_trandate > $2`,
      [status, date],
    );
    for (const page of pages) {
      const path = listPath(status, date, page);
      const plan = planList(small, parseQuery(path.slice(path.indexOf('?') + 1)));
      lists[path] = {
        statement: namedStatement(listStatement(target, plan, plainRanges(plan), false)),
        page,
        total: counted.rows[0]?.n ?? 0,
      };
    }
  }
  return {
    address,
    lists,
    record: namedStatement(recordStatement(target, planRecord(full, '1', new Map()))),
  };
}

const kinds = ['list', 'single'] as const;
type Kind = (typeof kinds)[number];
export type Round = {
  readonly at16: Readonly<Record<Kind, { readonly service: LoadResult; readonly baseline: LoadResult }>>;
  readonly at64: Readonly<Record<Kind, { readonly service: LoadResult; readonly baseline: LoadResult }>>;
  readonly cached: LoadResult;
  readonly notModified: LoadResult;
};

/** Long enough for V8 to compile the hot code of either server: some twenty thousand requests. */
const warmUpMs = 10_000;

/** The ETag of the uncompressed response, which is what the load requests. */
async function fetchEtag(requestSet: RequestSet, path: string): Promise<string> {
  const response = await fetch(requestSet.url + path, {
    headers: { ...requestSet.headers, 'accept-encoding': 'identity' },
  });
  await response.arrayBuffer();
  return response.headers.get('etag') ?? '';
}

type Run = (server: RunningServer, kind: Kind, connections: number) => ReturnType<typeof measureLoad>;
type Compared = Readonly<Record<'baseline' | 'uncached', RunningServer>>;

/** Each kind of request to both servers, in one order or the other. */
async function runKinds(
  run: Run,
  { baseline, uncached }: Compared,
  connections: number,
  baselineFirst: boolean,
) {
  const runBoth = async (kind: Kind) => {
    const before = baselineFirst ? await run(baseline, kind, connections) : undefined;
    const service = await run(uncached, kind, connections);
    return { service, baseline: before ?? (await run(baseline, kind, connections)) };
  };
  return { list: await runBoth('list'), single: await runBoth('single') };
}

export async function measureRounds(bench: Bench): Promise<Round[]> {
  const { invoices, folder, rounds, ms } = bench;
  const headers = buildHeaders(invoices);
  const paths = { list: listPaths, single: randomIds(invoices) };
  const servers: RunningServer[] = [];
  const started = async <T extends RunningServer>(server: Promise<T>): Promise<T> => {
    servers.push(await server);
    return server;
  };
  try {
    const baseline = await started(startBaseline(await createBaselineConfig(bench)));
    const uncached = await started(startService(folder, { environment: { BODY_CACHE_MB: '0' } }));
    const caching = await started(startService(folder));
    const requestsTo = ({ url }: RunningServer, kind: Kind) => ({ url, headers, paths: paths[kind] });
    const run: Run = (server, kind, connections) =>
      measureLoad(server.pid, requestsTo(server, kind), connections, ms);
    for (const kind of kinds)
      for (const server of servers) await measureLoad(server.pid, requestsTo(server, kind), 16, warmUpMs);
    const path = listPaths[3] ?? '';
    const etag = await fetchEtag(requestsTo(caching, 'list'), path);
    const conditional = { url: caching.url, headers: { ...headers, 'If-None-Match': etag }, paths: [path] };
    const results: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      results.push({
        at16: await runKinds(run, { baseline, uncached }, 16, round % 2 === 1),
        at64: await runKinds(run, { baseline, uncached }, 64, round % 2 === 1),
        cached: await run(caching, 'list', 16),
        notModified: await measureLoad(caching.pid, conditional, 16, ms, 304),
      });
      console.log(`round ${round + 1}/${rounds}`);
    }
    return results;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

export type Depth = {
  readonly firstDeepMs: number;
  readonly shallowMs: readonly number[];
  readonly deepMs: readonly number[];
};

/**
 * Sequential requests for pages of an unfiltered list sorted by a nullable column, in ms from request to
 * complete response.
 */
export async function measureDepth({ folder, invoices, rounds }: Bench): Promise<Depth> {
  const service = await startService(folder, { environment: { BODY_CACHE_MB: '0' } });
  const headers = buildHeaders(invoices);
  const lastPage = Math.floor(invoices.records / 25);
  const deepPage = Math.min(20_000, lastPage - 50);
  const timePage = async (page: number): Promise<number> => {
    const startMs = performance.now();
    const response = await fetch(`${service.url}${base}/invoices?sort=duedate&order=desc&page=${page}`, {
      headers,
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`Page ${page} returned status ${response.status}`);
    return performance.now() - startMs;
  };
  const medianFromPage = async (page: number): Promise<number> => {
    const durationsMs: number[] = [];
    for (let index = 0; index < 100; index += 1) durationsMs.push(await timePage(page + (index % 50)));
    return quantile(
      durationsMs.sort((a, b) => a - b),
      0.5,
    );
  };
  try {
    await medianFromPage(1);
    const firstDeepMs = await timePage(deepPage);
    await medianFromPage(deepPage);
    const [shallowMs, deepMs]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      shallowMs.push(await medianFromPage(1));
      deepMs.push(await medianFromPage(deepPage));
    }
    return { firstDeepMs, shallowMs, deepMs };
  } finally {
    await service.stop();
  }
}

/** Memory in MB of a fresh process, idle and at its peak under 64 connections, without the page cache. */
export async function measureMemory({
  folder,
  invoices,
  ms,
}: Bench): Promise<{ idle: number; peak: number }> {
  const service = await startService(folder, { environment: { BODY_CACHE_MB: '0' } });
  try {
    const idle = (await readMemory(service.pid)).now;
    await measureLoad(
      service.pid,
      { url: service.url, headers: buildHeaders(invoices), paths: listPaths },
      64,
      Math.max(10_000, 4 * ms),
    );
    return { idle, peak: (await readMemory(service.pid)).peak };
  } finally {
    await service.stop();
  }
}

/** Milliseconds from the start of the process to the complete first list, over the existing database. */
export async function measureStart({ folder, invoices, rounds }: Bench): Promise<number[]> {
  const durationsMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const service = await startService(folder, {
      firstRequest: { path: listPaths[0] ?? '', headers: buildHeaders(invoices) },
    });
    durationsMs.push(service.startedMs);
    await service.stop();
  }
  return durationsMs;
}
