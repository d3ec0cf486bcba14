// What the read bench measures: the service and the least server in turns, so that a busy moment of the machine meets both.
import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Address } from '../src/db/connect.ts';
import { bindDocument } from '../src/public/bind.ts';
import { type CompiledEndpoint, compileSchema } from '../src/public/compile.ts';
import { planList, planRecord } from '../src/public/plan.ts';
import { plainRanges } from '../src/public/ranges.ts';
import { readQuery } from '../src/public/request.ts';
import { SchemaDocument } from '../src/public/schema-document.ts';
import { listStatement, recordStatement, type Statement } from '../src/public/sql.ts';
import { dates, endpointsOf, type Invoices, statuses } from './reads-data.ts';
import { type Ask, type Load, load, memoryOf, quantile } from './reads-load.ts';
import { type MinimalOrder, type MinimalStatement, type Running, startMinimal, startService } from './reads-servers.ts';

export type Bench = {
  readonly folder: string;
  readonly admin: Pool;
  readonly address: Address;
  readonly invoices: Invoices;
  readonly rounds: number;
  /** How long each measurement takes. */
  readonly ms: number;
};

const base = '/api/public/v1';
const pages = Array.from({ length: 20 }, (_, index) => index + 1);
const listPath = (status: string, date: string, page: number): string =>
  `${base}/invoices?statusName=${encodeURIComponent(status)}&trandate_after=${date}&sort=trandate&order=desc&page=${page}`;
/** 4 statuses × 12 dates × 20 pages. */
export const listPaths = statuses.flatMap((status) => dates.flatMap((date) => pages.map((page) => listPath(status, date, page))));
const randomIds = ({ records }: Invoices): string[] =>
  Array.from({ length: 10_000 }, () => `${base}/full/${1 + Math.floor(Math.random() * records)}`);
export const headersOf = ({ key, organizationId }: Invoices) => ({ Authorization: `Bearer ${key}`, 'x-tenant-id': organizationId });

const named = ({ values, write }: Statement): MinimalStatement => {
  const text = write();
  return { name: `s_${hash('sha256', text).slice(0, 20)}`, text, values };
};

/** Both endpoints, compiled as the published version is: the least server gets the very SQL of the service. */
function compiledEndpoints(invoices: Invoices): [CompiledEndpoint, CompiledEndpoint] {
  const document = SchemaDocument.parse({ endpoints: endpointsOf(invoices) });
  const bindings = bindDocument(document, { invoice: { label: '', idType: 'integer', columns: invoices.columns, hasData: true } });
  const [small, full] = [...compileSchema({ id: '', version: 'v1', bindings, ...document }).endpoints.values()];
  if (small === undefined || full === undefined) throw new Error('no endpoints');
  return [small, full];
}

export async function minimalOrder({ invoices, address, admin }: Pick<Bench, 'invoices' | 'address' | 'admin'>): Promise<MinimalOrder> {
  const [small, full] = compiledEndpoints(invoices);
  const place = { schema: invoices.schema, table: invoices.table };
  const lists: Record<string, MinimalOrder['lists'][string]> = {};
  for (const [status, date] of statuses.flatMap((each) => dates.map((day) => [each, day] as const))) {
    const counted = await admin.query<{ n: number }>(
      `select count(*)::int as n from ${place.schema}.${place.table} where l_status = $1 and f_trandate > $2`,
      [status, date],
    );
    for (const page of pages) {
      const path = listPath(status, date, page);
      const plan = planList(small, readQuery(path.slice(path.indexOf('?') + 1)));
      lists[path] = { statement: named(listStatement(place, plan, plainRanges(plan), false)), page, total: counted.rows[0]?.n ?? 0 };
    }
  }
  return { address, lists, record: named(recordStatement(place, planRecord(full, '1', new Map()))) };
}

const kinds = ['list', 'single'] as const;
type Kind = (typeof kinds)[number];
export type Round = {
  readonly at16: Readonly<Record<Kind, { readonly ours: Load; readonly least: Load }>>;
  readonly at64: Readonly<Record<Kind, { readonly ours: Load; readonly least: Load }>>;
  readonly kept: Load;
  readonly notModified: Load;
};

/** Until V8 has compiled what is hot, in either server: some twenty thousand requests. */
const warmUpMs = 10_000;

/** Both codings of the answer would do; the load takes it plain. */
async function tagOf(ask: Ask, path: string): Promise<string> {
  const response = await fetch(ask.url + path, { headers: { ...ask.headers, 'accept-encoding': 'identity' } });
  await response.arrayBuffer();
  return response.headers.get('etag') ?? '';
}

export async function measureRounds(bench: Bench): Promise<Round[]> {
  const { invoices, folder, rounds, ms } = bench;
  const headers = headersOf(invoices);
  const paths = { list: listPaths, single: randomIds(invoices) };
  const servers: Running[] = [];
  const started = async <T extends Running>(server: Promise<T>): Promise<T> => {
    servers.push(await server);
    return server;
  };
  try {
    const least = await started(startMinimal(await minimalOrder(bench)));
    const plain = await started(startService(folder, { environment: { BODY_CACHE_MB: '0' } }));
    const keeping = await started(startService(folder));
    const ask = (server: Running, kind: Kind): Ask => ({ url: server.url, headers, paths: paths[kind] });
    const run = (server: Running, kind: Kind, connections: number) => load(server.pid, ask(server, kind), connections, ms);
    const both = async (kind: Kind, connections: number, flip: boolean) => {
      if (flip) {
        const least1 = await run(least, kind, connections);
        return { ours: await run(plain, kind, connections), least: least1 };
      }
      return { ours: await run(plain, kind, connections), least: await run(least, kind, connections) };
    };
    for (const kind of kinds) for (const server of servers) await load(server.pid, ask(server, kind), 16, warmUpMs);
    const path = listPaths[3] ?? '';
    const tag = await tagOf(ask(keeping, 'list'), path);
    const conditional: Ask = { url: keeping.url, headers: { ...headers, 'If-None-Match': tag }, paths: [path] };
    const results: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const flip = round % 2 === 1;
      results.push({
        at16: { list: await both('list', 16, flip), single: await both('single', 16, flip) },
        at64: { list: await both('list', 64, flip), single: await both('single', 64, flip) },
        kept: await run(keeping, 'list', 16),
        notModified: await load(keeping.pid, conditional, 16, ms, 304),
      });
      console.log(`round ${round + 1}/${rounds}`);
    }
    return results;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

export type Depth = { readonly firstDeepMs: number; readonly shallowMs: readonly number[]; readonly deepMs: readonly number[] };

/** Milliseconds from asking to the whole answer, one after the other, of the same list without a filter by a column with nulls. */
export async function measureDepth({ folder, invoices, rounds }: Bench): Promise<Depth> {
  const service = await startService(folder, { environment: { BODY_CACHE_MB: '0' } });
  const headers = headersOf(invoices);
  const lastPage = Math.floor(invoices.records / 25);
  const deepest = Math.min(20_000, lastPage - 50);
  const time = async (page: number): Promise<number> => {
    const startMs = performance.now();
    const response = await fetch(`${service.url}${base}/invoices?sort=duedate&order=desc&page=${page}`, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`page ${page} was answered ${response.status}`);
    return performance.now() - startMs;
  };
  const median = async (page: number): Promise<number> => {
    const took: number[] = [];
    for (let index = 0; index < 100; index += 1) took.push(await time(page + (index % 50)));
    return quantile(
      took.sort((a, b) => a - b),
      0.5,
    );
  };
  try {
    await median(1);
    const firstDeepMs = await time(deepest);
    await median(deepest);
    const [shallowMs, deepMs]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      shallowMs.push(await median(1));
      deepMs.push(await median(deepest));
    }
    return { firstDeepMs, shallowMs, deepMs };
  } finally {
    await service.stop();
  }
}

/** Peak in MB of a process that never did anything else, at 64 connections, without bodies kept. */
export async function measureMemory({ folder, invoices, ms }: Bench): Promise<{ idle: number; peak: number }> {
  const service = await startService(folder, { environment: { BODY_CACHE_MB: '0' } });
  try {
    const idle = (await memoryOf(service.pid)).now;
    await load(service.pid, { url: service.url, headers: headersOf(invoices), paths: listPaths }, 64, Math.max(10_000, 4 * ms));
    return { idle, peak: (await memoryOf(service.pid)).peak };
  } finally {
    await service.stop();
  }
}

/** From the start of the process to the whole first list, over the database that is there. */
export async function measureStart({ folder, invoices, rounds }: Bench): Promise<number[]> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const service = await startService(folder, { first: { path: listPaths[0] ?? '', headers: headersOf(invoices) } });
    took.push(service.startedMs);
    await service.stop();
  }
  return took;
}
