// Measures on the real data what a version will cost before it goes live: each filter with each sort is read as a client would, with a
// common, a rare and an absent value. Uses plan.ts and sql.ts like any request, so what is measured is what will run.
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { sqlState } from '../db/pg-errors.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { isNotSetUp, readRecordState } from '../warehouse/record-state.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { parseAnchors, spacingFor } from './anchors.ts';
import { type CompiledEndpoint, compileSchema, type FilterParameter } from './compile.ts';
import { type ListPlan, planList } from './plan.ts';
import { countPairs, type Pair, pairsOf } from './proof-pairs.ts';
import { type ColumnSample, sampleColumn, trialValues, type ValueKind } from './proof-values.ts';
import { anchoredRanges, boundedRanges, scanLimitWithoutTotal, sortedRanges } from './ranges.ts';
import { queryCanceled } from './read.ts';
import type { Bindings, SchemaDocument } from './schema-document.ts';
import { anchorsStatement, listStatement, type Statement, type TableRef } from './sql.ts';

export type Trial = {
  /** `all` when there is no filter. */
  readonly value: ValueKind | 'all';
  /** Records that match the filter. */
  readonly rows: number;
  /** Milliseconds for the first page when its total is known, planning included. */
  readonly ms: number;
  /** The same with the total still to be counted, in the default sort: what the first client after a sync waits. */
  readonly firstMs: number;
  /** Whether PostgreSQL read the table through indexes only; for a small table it may choose a sequential scan. */
  readonly byIndex: boolean;
};
export type PairReport = Pair & { readonly trials: readonly Trial[] };

/** A pair that hit the statement timeout, with the kind of value. */
export type TimedOut = Pair & { readonly value: Trial['value']; readonly counting: boolean };

export type Proof = {
  /** All pairs of the version. Fewer are measured when there are few records, too many pairs, or no time left. */
  readonly total: number;
  readonly pairs: readonly PairReport[];
  readonly timedOut: readonly TimedOut[];
  /** Number of records of each resource. */
  readonly records: readonly { readonly resource: string; readonly rows: number }[];
};

export type ProofOptions = {
  readonly maxPairs: number;
  /** Resources with at most this many records get only the first pairs: reading all of them takes milliseconds anyway. */
  readonly smallTableRecords: number;
  readonly budgetMs: number;
  /** Slower reads are repeated, so that a cold cache is not reported as a slow read. */
  readonly warnMs: number;
  readonly onProgress: (done: number, total: number) => Promise<unknown>;
  readonly signal: AbortSignal;
};

const repeats = 2;
/** After this many timeouts the proof has failed; it stops. */
const maxTimedOut = 3;

type ProofRun = {
  readonly ctx: TenantCtx;
  readonly options: ProofOptions;
  readonly endpoints: ReadonlyMap<string, CompiledEndpoint>;
  /** By record type. */
  readonly tables: Map<string, Promise<{ table: string; rowCount: number }>>;
  /** By record type and column. */
  readonly samples: Map<string, Promise<ColumnSample | undefined>>;
  /** By resource, filter and value: counted once, whatever the sort. */
  readonly firstReads: Map<string, Promise<{ rows: number; firstMs: number }>>;
  readonly timedOut: TimedOut[];
};

/** Rejects when the database is unavailable or `signal` aborts; reads that are too slow are reported in the result. */
export async function proveVersion(ctx: TenantCtx, document: SchemaDocument, bindings: Bindings, options: ProofOptions): Promise<Proof> {
  const { endpoints } = compileSchema({ ...document, bindings, id: '', version: '' });
  const run: ProofRun = { ctx, options, endpoints, tables: new Map(), samples: new Map(), firstReads: new Map(), timedOut: [] };
  const chosen: Pair[] = [];
  for (const pair of pairsOf([...endpoints.values()], await smallEndpoints(run))) {
    if (chosen.length >= options.maxPairs) break;
    chosen.push(pair);
  }
  const endsMs = ctx.clock.monotonicMs() + options.budgetMs;
  const pairs: PairReport[] = [];
  for (const pair of chosen) {
    if (run.timedOut.length >= maxTimedOut || ctx.clock.monotonicMs() >= endsMs) break;
    options.signal.throwIfAborted();
    pairs.push({ ...pair, trials: await tryPair(run, pair) });
    await options.onProgress(pairs.length, chosen.length);
  }
  const records: Proof['records'][number][] = [];
  for (const { name, recordType } of endpoints.values())
    records.push({ resource: name, rows: (await readTable(run, recordType)).rowCount });
  return { total: countPairs([...endpoints.values()]), pairs, timedOut: run.timedOut, records };
}

async function smallEndpoints(run: ProofRun): Promise<ReadonlySet<string>> {
  const small = new Set<string>();
  for (const { name, recordType } of run.endpoints.values()) {
    if ((await readTable(run, recordType)).rowCount <= run.options.smallTableRecords) small.add(name);
  }
  return small;
}

function once<V>(cache: Map<string, Promise<V>>, key: string, make: () => Promise<V>): Promise<V> {
  const found = cache.get(key);
  if (found !== undefined) return found;
  const made = make();
  cache.set(key, made);
  return made;
}

async function readTable({ ctx, tables }: ProofRun, recordType: string) {
  return once(tables, recordType, async () => {
    const state = await readRecordState(ctx.db.data, tenantSchema(ctx.organizationId), recordType);
    if (state === undefined || state.activeTable === null) throw new Error(`${recordType} no longer has a table`);
    return { table: state.activeTable, rowCount: state.rowCount };
  });
}

/** A run may swap the table in between: everything learned about the old table is then discarded and learned again. */
async function tryPair(run: ProofRun, pair: Pair): Promise<Trial[]> {
  try {
    return await tryValues(run, pair);
  } catch (error) {
    if (!isNotSetUp(error)) throw error;
    for (const cache of [run.tables, run.samples, run.firstReads]) cache.clear();
    return tryValues(run, pair);
  }
}

async function tryValues(run: ProofRun, pair: Pair): Promise<Trial[]> {
  const endpoint = run.endpoints.get(pair.resource);
  if (endpoint === undefined) return [];
  const filter = pair.filter === null ? undefined : endpoint.filters.get(pair.filter);
  const values = filter === undefined ? [{ kind: 'all' as const, text: '' }] : await valuesOf(run, endpoint, filter);
  const trials: Trial[] = [];
  for (const { kind, text } of values) {
    const trial = await tryValue(run, endpoint, pair, kind, text);
    if (trial !== undefined) trials.push(trial);
  }
  return trials;
}

async function valuesOf(run: ProofRun, endpoint: CompiledEndpoint, filter: FilterParameter) {
  const { ctx, samples } = run;
  const { table, rowCount } = await readTable(run, endpoint.recordType);
  const tableRef = { schema: tenantSchema(ctx.organizationId), table };
  const sample = await once(samples, `${endpoint.recordType} ${filter.column.column}`, () =>
    inDataTransaction(ctx.db.data, (client) => sampleColumn(client, tableRef, filter.column, rowCount)),
  );
  return sample === undefined ? [] : trialValues(filter, sample);
}

/** The plan of the request as a client would send it; undefined for a value that the interface would reject. */
function planOf(endpoint: CompiledEndpoint, { filter, sort, order }: Omit<Pair, 'resource'>, text: string) {
  const query = new Map<string, string[]>([['order', [order]]]);
  if (sort !== null) query.set('sort', [sort]);
  if (filter !== null) query.set(filter, [text]);
  try {
    return planList(endpoint, query);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Undefined when it timed out, which is recorded, or when the value is invalid for clients. */
async function tryValue(
  run: ProofRun,
  endpoint: CompiledEndpoint,
  pair: Pair,
  value: Trial['value'],
  text: string,
): Promise<Trial | undefined> {
  const { table, rowCount } = await readTable(run, endpoint.recordType);
  const tableRef = { schema: tenantSchema(run.ctx.organizationId), table };
  const plan = planOf(endpoint, pair, text);
  const inDefaultOrder = planOf(endpoint, { ...pair, sort: null, order: endpoint.defaultSort.order }, text);
  if (plan === undefined || inDefaultOrder === undefined) return undefined;
  const hasFilter = pair.filter !== null;
  let counting = hasFilter;
  try {
    const first = hasFilter
      ? await once(run.firstReads, `${pair.resource} ${pair.filter} ${value}`, () =>
          runFirst(
            run,
            listStatement(
              tableRef,
              inDefaultOrder,
              boundedRanges(inDefaultOrder, undefined, rowCount, scanLimitWithoutTotal(run.ctx.settings)),
              true,
            ),
          ),
        )
      : undefined;
    counting = false;
    const rows = first?.rows ?? rowCount;
    const statement = listStatement(tableRef, plan, boundedRanges(plan, rows, rowCount, scanLimitWithoutTotal(run.ctx.settings)), false);
    const page = await measure(run, table, statement);
    // A page that comes back short is read again in another way, and from then on in that way at once.
    const isShort = (await countFound(run, statement)) < Math.min(plan.pageSize, rows);
    const secondRead = isShort ? await measure(run, table, await fallbackStatement(run, tableRef, plan, rows)) : undefined;
    const ms = rounded(page.ms + (secondRead?.ms ?? 0));
    return { value, rows, ms, byIndex: page.byIndex && secondRead?.byIndex !== false, firstMs: first?.firstMs ?? ms };
  } catch (error) {
    if (sqlState(error) !== queryCanceled) throw error;
    const isRecorded = run.timedOut.some(
      (other) => counting && other.counting && other.resource === pair.resource && other.filter === pair.filter,
    );
    if (!isRecorded) run.timedOut.push({ ...pair, value, counting });
    return undefined;
  }
}

async function countFound({ ctx }: ProofRun, statement: Statement): Promise<number> {
  const { rows } = await ctx.db.data.query<{ found: number }>(statement.write(), [...statement.values]);
  return rows[0]?.found ?? 0;
}

/** The second read of read.ts: long lists have anchors from then on, until their data changes. */
async function fallbackStatement({ ctx }: ProofRun, tableRef: TableRef, plan: ListPlan, rows: number): Promise<Statement> {
  const { anchorEvery, cacheBytes } = ctx.settings;
  if (rows <= anchorEvery || cacheBytes.anchors === 0) return listStatement(tableRef, plan, sortedRanges(plan), false);
  const every = spacingFor(rows, anchorEvery);
  const { write, values } = anchorsStatement(tableRef, plan, every);
  const { rows: built } = await ctx.db.data.query<{ valued: string; nulls: string | null }>(write(), [...values]);
  const anchors = { every, valued: parseAnchors(built[0]?.valued ?? null), nulls: parseAnchors(built[0]?.nulls ?? null) };
  return listStatement(tableRef, plan, anchoredRanges(plan, anchors), false);
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100;

/**
 * Page and total in one statement, including the network, as a client sees it. Repeated once after a timeout, in case only the cache was
 * cold.
 */
async function runFirst({ ctx }: ProofRun, statement: Statement): Promise<{ rows: number; firstMs: number }> {
  const run = async () => {
    const startedMs = ctx.clock.monotonicMs();
    const { rows } = await ctx.db.data.query<{ total: string }>(statement.write(), [...statement.values]);
    return { rows: Number(rows[0]?.total ?? 0), firstMs: rounded(ctx.clock.monotonicMs() - startedMs) };
  };
  return run().catch((error: unknown) => (sqlState(error) === queryCanceled ? run() : Promise.reject(error)));
}

type PlanNode = { 'Node Type': string; 'Relation Name'?: string; Plans?: PlanNode[] };
type Explained = { Plan: PlanNode; 'Planning Time': number; 'Execution Time': number };

const explain = 'explain (analyze, timing off, serialize text, format json)';

/** EXPLAIN ANALYZE runs the statement, serializes its result and reports planning and execution time, without the network. */
async function measure(run: ProofRun, table: string, statement: Statement): Promise<Pick<Trial, 'ms' | 'byIndex'>> {
  let best: Pick<Trial, 'ms' | 'byIndex'> | undefined;
  for (let repeatsLeft = repeats; repeatsLeft >= 0; repeatsLeft -= 1) {
    try {
      const { rows } = await run.ctx.db.data.query<{ 'QUERY PLAN': [Explained] }>(`${explain} ${statement.write()}`, [...statement.values]);
      const [explained] = rows[0]?.['QUERY PLAN'] ?? [];
      if (explained === undefined) throw new Error('EXPLAIN returned no plan');
      const ms = rounded(explained['Planning Time'] + explained['Execution Time']);
      if (best === undefined || ms < best.ms) best = { ms, byIndex: !readsWhole(explained.Plan, table) };
    } catch (error) {
      if (sqlState(error) !== queryCanceled || best !== undefined || repeatsLeft < repeats) throw error;
    }
    if (best !== undefined && best.ms <= run.options.warnMs) break;
  }
  if (best === undefined) throw new Error('no measurement succeeded');
  return best;
}

const readsWhole = (node: PlanNode, table: string): boolean =>
  (node['Node Type'] === 'Seq Scan' && node['Relation Name'] === table) || (node.Plans ?? []).some((below) => readsWhole(below, table));
