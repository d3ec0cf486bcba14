// Measures on the real data what a version will cost before it goes live: each filter with each sort, each
// row scope and each group of a summary is read as a client would, with a common, a rare and an absent value,
// or many of them. Uses plan.ts and list-sql.ts like any request, so what is measured is what will run.
import type { TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { readRecordState } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { isUndefinedObject, queryCanceled } from '../read/connection/failures.ts';
import { repeatWhileReplaced } from '../read/connection/repeat-while-replaced.ts';
import { type ListPlan, planList } from '../read/plan/plan.ts';
import { boundedRanges, listReaches, plainRanges, scanLimitWithoutTotal } from '../read/plan/ranges.ts';
import type { TableRef } from '../read/sql/list-sql.ts';
import { type CompiledEndpoint, compileSchema, type ReadableEndpoint } from '../version/compile.ts';
import { readWhole } from '../version/narrow.ts';
import type { Bindings, SchemaDocument } from '../version/schema-document.ts';
import { parseFilterValue } from '../version/values.ts';
import { findCost, maxListsToCount, maxPlainLists } from './cost.ts';
import {
  fallbackStatement,
  type Measured,
  measure,
  type ProvedPage,
  provedPage,
  provedSummaries,
  rounded,
  runFirst,
} from './measure.ts';
import { countPairs, listPairs, type Pair } from './pairs.ts';
import { findTrialFilter, sampleTrialValues } from './trial-filters.ts';
import {
  type ColumnSample,
  sampleColumn,
  type TrialColumn,
  type TrialFilter,
  type ValueKind,
} from './trial-values.ts';

export type Trial = {
  /** `all` when there is no filter. */
  readonly value: ValueKind | 'all';
  /** Records that match the filter. */
  readonly rows: number;
  /** Milliseconds for the first page when its total is known, planning included. */
  readonly ms: number;
  /** The same with the total to be counted, in the default sort: the first client's wait after a sync. */
  readonly firstMs: number;
  /** Whether the table was read through indexes only; PostgreSQL may scan a small one sequentially. */
  readonly byIndex: boolean;
};
export type PairReport = Pair & { readonly trials: readonly Trial[] };

/** A pair that hit the statement timeout, with the kind of value. */
export type TimedOut = Pair & {
  readonly value: Trial['value'];
  readonly counting: boolean;
  /** Of a summary: it counts different values. */
  readonly distinct?: true;
};

/** It took longer than `maxLists` lists without filter of `plainMs` each. */
export type CostlyRead = Pair & {
  readonly value: Trial['value'];
  readonly counting: boolean;
  readonly ms: number;
  readonly plainMs: number;
  readonly maxLists: number;
};

export type Proof = {
  /** All pairs of the version. Fewer are measured with few records, too many pairs, or no time left. */
  readonly total: number;
  readonly pairs: readonly PairReport[];
  readonly timedOut: readonly TimedOut[];
  /** Reads of records that cost more than they may: see cost.ts. */
  readonly costly: readonly CostlyRead[];
  /** Number of records of each resource. */
  readonly records: readonly { readonly resource: string; readonly rows: number }[];
};

export type ProofOptions = {
  readonly maxPairs: number;
  /** Resources with at most this many records get only the first pairs: reading all takes milliseconds. */
  readonly smallTableRecords: number;
  readonly budgetMs: number;
  /** Slower reads are repeated, so that a cold cache is not reported as a slow read. */
  readonly warnMs: number;
  readonly onProgress: (done: number) => Promise<unknown>;
  readonly signal: AbortSignal;
};

/** After this many reads that time out or cost too much the proof has failed; it stops. */
const maxRefused = 3;

type ProofRun = {
  readonly ctx: TenantCtx;
  readonly options: ProofOptions;
  readonly endpoints: ReadonlyMap<string, CompiledEndpoint>;
  /** By record type. */
  readonly tables: Map<string, Promise<{ table: string; rowCount: number }>>;
  /** By record type and column. */
  readonly samples: Map<string, Promise<ColumnSample | undefined>>;
  /** By resource, filter or row scope, and value: counted once, whatever the sort. */
  readonly firstReads: Map<string, Promise<{ rows: number; firstMs: number }>>;
  /** The lists without filter, by resource. */
  readonly plainMs: Map<string, Promise<number>>;
  readonly timedOut: TimedOut[];
  readonly costly: CostlyRead[];
};

/** Rejects when the database is unavailable or `signal` aborts; the result reports reads that were slow. */
export async function proveVersion(
  ctx: TenantCtx,
  document: SchemaDocument,
  bindings: Bindings,
  options: ProofOptions,
): Promise<Proof> {
  const { endpoints } = compileSchema({ ...document, bindings, id: '', version: '' });
  const run: ProofRun = {
    ctx,
    options,
    endpoints,
    tables: new Map(),
    samples: new Map(),
    firstReads: new Map(),
    plainMs: new Map(),
    timedOut: [],
    costly: [],
  };
  const chosen = await choosePairs(run);
  const endsMs = ctx.clock.monotonicMs() + options.budgetMs;
  const pairs: PairReport[] = [];
  for (const pair of chosen) {
    if (run.timedOut.length + run.costly.length >= maxRefused || ctx.clock.monotonicMs() >= endsMs) break;
    options.signal.throwIfAborted();
    pairs.push({ ...pair, trials: await tryPair(run, pair) });
    await options.onProgress(pairs.length);
  }
  const records: Proof['records'][number][] = [];
  for (const { name, recordType } of endpoints.values())
    records.push({ resource: name, rows: (await readTable(run, recordType)).rowCount });
  return {
    total: countPairs([...endpoints.values()]),
    pairs,
    timedOut: run.timedOut,
    costly: run.costly,
    records,
  };
}

type Choosing = Pick<ProofRun, 'ctx' | 'endpoints' | 'tables'> & {
  readonly options: Pick<ProofOptions, 'maxPairs' | 'smallTableRecords'>;
};

/** How many reads `proveVersion` will try at most. Rejects with database errors. */
export async function countReadsToTry(
  ctx: TenantCtx,
  document: SchemaDocument,
  bindings: Bindings,
  options: Choosing['options'],
): Promise<number> {
  const { endpoints } = compileSchema({ ...document, bindings, id: '', version: '' });
  return (await choosePairs({ ctx, options, endpoints, tables: new Map() })).length;
}

async function choosePairs(run: Choosing): Promise<readonly Pair[]> {
  const chosen: Pair[] = [];
  for (const pair of listPairs([...run.endpoints.values()], await smallEndpoints(run))) {
    if (chosen.length >= run.options.maxPairs) break;
    chosen.push(pair);
  }
  return chosen;
}

async function smallEndpoints(run: Choosing): Promise<ReadonlySet<string>> {
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

async function readTable({ ctx, tables }: Pick<ProofRun, 'ctx' | 'tables'>, recordType: string) {
  return once(tables, recordType, async () => {
    const state = await readRecordState(ctx.db.data, tenantSchema(ctx.organizationId), recordType);
    if (state === undefined || state.activeTable === null)
      throw new Error(`${recordType} no longer has a table`);
    return { table: state.activeTable, rowCount: state.rowCount };
  });
}

/** When a run swaps the table in between, what was learned about the old one is discarded. */
async function tryPair(run: ProofRun, pair: Pair): Promise<Trial[]> {
  const endpoint = run.endpoints.get(pair.resource);
  if (endpoint === undefined) return [];
  return repeatWhileReplaced(run.ctx, endpoint.recordType, async () => {
    try {
      return await tryValues(run, endpoint, pair);
    } catch (error) {
      if (isUndefinedObject(error))
        for (const cache of [run.tables, run.samples, run.firstReads]) cache.clear();
      throw error;
    }
  });
}

async function tryValues(run: ProofRun, endpoint: CompiledEndpoint, pair: Pair): Promise<Trial[]> {
  const values = (await sampleTrialValues(endpoint, pair, createSampler(run, endpoint))) ?? [
    { kind: 'all' as const, texts: [''] },
  ];
  const trials: Trial[] = [];
  for (const { kind, texts } of values) {
    const trial = await tryValue(run, endpoint, pair, kind, texts);
    if (trial !== undefined) trials.push(trial);
  }
  return trials;
}

const createSampler =
  (run: ProofRun, { recordType }: CompiledEndpoint) =>
  async (column: TrialColumn) => {
    const { ctx, samples } = run;
    const { table, rowCount } = await readTable(run, recordType);
    const tableRef = { schema: tenantSchema(ctx.organizationId), table };
    return once(samples, JSON.stringify([recordType, column.column, column.line]), () =>
      inDataTransaction(ctx.db.data, (client) => sampleColumn(client, tableRef, column, rowCount)),
    );
  };

/** The plan of the request as a client would send it; undefined for a value that would be rejected. */
function planTrial(endpoint: CompiledEndpoint, pair: Pair, texts: readonly string[]) {
  const { filter, scope, sort, order } = pair;
  const query = new Map<string, readonly string[]>();
  // A sort set has its directions in its name.
  if (sort === null || !endpoint.sortSets.has(sort)) query.set('order', [order]);
  if (sort !== null) query.set('sort', [sort]);
  if (filter !== null) query.set(filter, texts);
  try {
    const readable =
      scope === undefined
        ? readWhole(endpoint)
        : underScope(endpoint, findTrialFilter(endpoint, pair), texts[0] ?? '');
    return readable && planList(readable, query);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function underScope(
  endpoint: CompiledEndpoint,
  filter: TrialFilter | undefined,
  text: string,
): ReadableEndpoint | undefined {
  if (filter === undefined) return undefined;
  const parsed = parseFilterValue(filter.column.type, text);
  if (!('value' in parsed)) return undefined;
  return {
    ...readWhole(endpoint),
    scope: [{ column: filter.column, operator: 'eq', values: [parsed.value] }],
  };
}

/** What the first client after a sync reads, whatever the sort. */
function countFirst(
  run: ProofRun,
  endpoint: CompiledEndpoint,
  read: Pair & Pick<Trial, 'value'>,
  page: ProvedPage,
) {
  const count = () => runFirst(run.ctx, page);
  return once(run.firstReads, `${read.resource} ${read.filter} ${read.scope} ${read.value}`, async () => {
    const counted = await count();
    const cost = { ms: counted.firstMs, maxLists: maxListsToCount(counted.rows) };
    const again = async () => (await count()).firstMs;
    await noteCost(run, endpoint, { ...read, counting: true, ...cost }, again);
    return counted;
  });
}

/** Counting times out alike in every sort. */
function recordTimeout(timedOut: TimedOut[], read: TimedOut): void {
  const { counting, resource, filter, scope } = read;
  const isSame = (other: TimedOut): boolean =>
    other.counting && other.resource === resource && other.filter === filter && other.scope === scope;
  if (!counting || !timedOut.some(isSame)) timedOut.push(read);
}

/** Undefined when it timed out, which is recorded, or when the value is invalid for clients. */
async function tryValue(
  run: ProofRun,
  endpoint: CompiledEndpoint,
  pair: Pair,
  value: Trial['value'],
  texts: readonly string[],
): Promise<Trial | undefined> {
  const { table, rowCount } = await readTable(run, endpoint.recordType);
  if (pair.group !== undefined) return trySummary(run, endpoint, pair, pair.group);
  const tableRef = { schema: tenantSchema(run.ctx.organizationId), table };
  const plan = planTrial(endpoint, pair, texts);
  const inDefaultOrder = planTrial(
    endpoint,
    { ...pair, sort: null, order: endpoint.defaultSort.order },
    texts,
  );
  if (plan === undefined || inDefaultOrder === undefined) return undefined;
  const hasFilter = pair.filter !== null || pair.scope !== undefined;
  let counting = hasFilter;
  try {
    const counted = provedPage(
      tableRef,
      inDefaultOrder,
      boundedRanges(inDefaultOrder, undefined, rowCount, scanLimitWithoutTotal(run.ctx.settings)),
      true,
    );
    const first = hasFilter ? await countFirst(run, endpoint, { ...pair, value }, counted) : undefined;
    counting = false;
    const rows = first?.rows ?? rowCount;
    const read = () => readPage(run, tableRef, plan, rows, rowCount);
    const { ms, byIndex } = await read();
    await noteCost(
      run,
      endpoint,
      { ...pair, value, counting, ms, maxLists: maxPlainLists },
      async () => (await read()).ms,
    );
    return { value, rows, ms, byIndex, firstMs: first?.firstMs ?? ms };
  } catch (error) {
    if (sqlState(error) !== queryCanceled) throw error;
    recordTimeout(run.timedOut, { ...pair, value, counting });
    return undefined;
  }
}

/** A page that comes back short is read again, further and further. */
async function readPage(
  { ctx, options }: ProofRun,
  tableRef: TableRef,
  plan: ListPlan,
  rows: number,
  rowCount: number,
) {
  const wanted = Math.min(plan.pageSize, rows);
  const scanLimit = scanLimitWithoutTotal(ctx.settings);
  let [ms, byIndex, found] = [0, true, -1];
  for (const reach of listReaches(plan)) {
    if (found >= wanted) break;
    const statement =
      reach === 'all'
        ? await fallbackStatement(ctx, tableRef, plan, rows)
        : provedPage(tableRef, plan, boundedRanges(plan, rows, rowCount, scanLimit, reach), false);
    const page = await measure(ctx, options.warnMs, tableRef.table, statement);
    [ms, byIndex, found] = [rounded(ms + page.ms), byIndex && page.byIndex, page.found];
  }
  return { ms, byIndex };
}

/** The list without filter in the default order. Rejects as `measure` does. */
async function readPlain(run: ProofRun, endpoint: CompiledEndpoint): Promise<number> {
  const { ctx, options } = run;
  const { table } = await readTable(run, endpoint.recordType);
  const plan = planList(readWhole(endpoint), new Map());
  const page = provedPage(
    { schema: tenantSchema(ctx.organizationId), table },
    plan,
    plainRanges(plan),
    false,
  );
  return (await measure(ctx, options.warnMs, table, page)).ms;
}

/** Records a read that costs more than `maxLists` lists without filter. */
async function noteCost(
  run: ProofRun,
  endpoint: CompiledEndpoint,
  read: Omit<CostlyRead, 'plainMs'>,
  again: () => Promise<number>,
): Promise<void> {
  const plain = () => readPlain(run, endpoint);
  const plainMs = await once(run.plainMs, endpoint.name, plain);
  const cost = await findCost({ ms: read.ms, plainMs }, read.maxLists, again, plain);
  if (cost !== undefined) run.costly.push({ ...read, ...cost });
}

/**
 * The summaries of all records by one group, as the first client after a sync reads them: the slowest of
 * them. Undefined when one timed out, which is recorded.
 */
async function trySummary(
  run: ProofRun,
  endpoint: CompiledEndpoint,
  pair: Pair,
  group: string,
): Promise<Trial | undefined> {
  const { ctx, options, timedOut } = run;
  const { table, rowCount } = await readTable(run, endpoint.recordType);
  const pages = provedSummaries({ schema: tenantSchema(ctx.organizationId), table }, endpoint, group);
  if (pages.length === 0) return undefined;
  const measured: Measured[] = [];
  try {
    for (const page of pages) measured.push(await measure(ctx, options.warnMs, table, page));
    const ms = Math.max(...measured.map((each) => each.ms));
    return {
      value: 'all',
      rows: rowCount,
      ms,
      byIndex: measured.every(({ byIndex }) => byIndex),
      firstMs: ms,
    };
  } catch (error) {
    if (sqlState(error) !== queryCanceled) throw error;
    const distinct = pages[measured.length]?.distinct === true;
    timedOut.push({ ...pair, value: 'all', counting: false, ...(distinct && { distinct }) });
    return undefined;
  }
}
