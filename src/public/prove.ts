// Shows on the real data what a version will cost before it goes live: each filter with each sort is read as a caller would, with a
// common, a rare and an absent value. Goes through plan.ts and sql.ts like any request, so what is measured is what will run.
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { sqlState } from '../db/pg-errors.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { isNotSetUp, readState } from '../warehouse/generation.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { readAnchors, spacingFor } from './anchors.ts';
import { type CompiledEndpoint, compileSchema, type FilterParameter } from './compile.ts';
import { type ListPlan, planList } from './plan.ts';
import { countPairs, type Pair, pairsOf } from './proof-pairs.ts';
import { type ColumnSample, sampleColumn, trialValues, type ValueKind } from './proof-values.ts';
import { anchoredRanges, carefulRanges, sortedRanges, unknownLookOf } from './ranges.ts';
import { timedOut } from './read.ts';
import type { Bindings, SchemaDocument } from './schema-document.ts';
import { anchorsStatement, listStatement, type Place, type Statement } from './sql.ts';

export type Trial = {
  /** `all` where there is no filter. */
  readonly value: ValueKind | 'all';
  /** Records that the filter selects. */
  readonly rows: number;
  /** The first page when its total is known, planning included, in milliseconds. */
  readonly ms: number;
  /** The same with the total to be counted, by the default sort: what the first caller after a sync waits. */
  readonly firstMs: number;
  /** Whether PostgreSQL read the table by indexes alone; in a small table it may choose not to. */
  readonly byIndex: boolean;
};
export type PairReport = Pair & { readonly trials: readonly Trial[] };

/** A pair that ran into the statement timeout, with the kind of value. */
export type TimedOut = Pair & { readonly value: Trial['value']; readonly counting: boolean };

export type Proof = {
  /** Pairs there are. Fewer are run where there are few records, too many pairs, or no time left. */
  readonly total: number;
  readonly pairs: readonly PairReport[];
  readonly timedOut: readonly TimedOut[];
  /** How many each resource had. */
  readonly records: readonly { readonly resource: string; readonly rows: number }[];
};

export type ProofOptions = {
  readonly mostPairs: number;
  /** Over so few records only the first pairs are run: there even a read of all of them takes milliseconds. */
  readonly fewRecords: number;
  readonly budgetMs: number;
  /** Slower reads are repeated, so that a cold cache is not taken for a slow one. */
  readonly warnMs: number;
  readonly onProgress: (done: number, total: number) => Promise<unknown>;
  readonly signal: AbortSignal;
};

const repeats = 2;
/** After so many the proof has failed beyond doubt. */
const mostTimedOut = 3;

type Scene = {
  readonly ctx: TenantCtx;
  readonly options: ProofOptions;
  readonly endpoints: ReadonlyMap<string, CompiledEndpoint>;
  /** By record type. */
  readonly tables: Map<string, Promise<{ table: string; rowCount: number }>>;
  /** By record type and column. */
  readonly samples: Map<string, Promise<ColumnSample | undefined>>;
  /** By resource, filter and value: counted once, whatever the sort. */
  readonly firsts: Map<string, Promise<{ rows: number; firstMs: number }>>;
  readonly timedOut: TimedOut[];
};

/** Throws when the database is away or `signal` ends it; what is too slow stands in the answer. */
export async function proveVersion(ctx: TenantCtx, document: SchemaDocument, bindings: Bindings, options: ProofOptions): Promise<Proof> {
  const { endpoints } = compileSchema({ ...document, bindings, id: '', version: '' });
  const scene: Scene = { ctx, options, endpoints, tables: new Map(), samples: new Map(), firsts: new Map(), timedOut: [] };
  const chosen: Pair[] = [];
  for (const pair of pairsOf([...endpoints.values()], await smallEndpoints(scene))) {
    if (chosen.length >= options.mostPairs) break;
    chosen.push(pair);
  }
  const endsMs = ctx.clock.monotonicMs() + options.budgetMs;
  const pairs: PairReport[] = [];
  for (const pair of chosen) {
    if (scene.timedOut.length >= mostTimedOut || ctx.clock.monotonicMs() >= endsMs) break;
    options.signal.throwIfAborted();
    pairs.push({ ...pair, trials: await tryPair(scene, pair) });
    await options.onProgress(pairs.length, chosen.length);
  }
  const records: Proof['records'][number][] = [];
  for (const { name, recordType } of endpoints.values())
    records.push({ resource: name, rows: (await readTable(scene, recordType)).rowCount });
  return { total: countPairs([...endpoints.values()]), pairs, timedOut: scene.timedOut, records };
}

async function smallEndpoints(scene: Scene): Promise<ReadonlySet<string>> {
  const small = new Set<string>();
  for (const { name, recordType } of scene.endpoints.values()) {
    if ((await readTable(scene, recordType)).rowCount <= scene.options.fewRecords) small.add(name);
  }
  return small;
}

function once<V>(held: Map<string, Promise<V>>, key: string, make: () => Promise<V>): Promise<V> {
  const found = held.get(key);
  if (found !== undefined) return found;
  const made = make();
  held.set(key, made);
  return made;
}

async function readTable({ ctx, tables }: Scene, recordType: string) {
  return once(tables, recordType, async () => {
    const state = await readState(ctx.db.data, tenantSchema(ctx.organizationId), recordType);
    if (state === undefined || state.activeTable === null) throw new Error(`${recordType} has no table any more`);
    return { table: state.activeTable, rowCount: state.rowCount };
  });
}

/** A run may swap the table in the middle: what was found out about the old one is then found out again. */
async function tryPair(scene: Scene, pair: Pair): Promise<Trial[]> {
  try {
    return await tryValues(scene, pair);
  } catch (error) {
    if (!isNotSetUp(error)) throw error;
    for (const held of [scene.tables, scene.samples, scene.firsts]) held.clear();
    return tryValues(scene, pair);
  }
}

async function tryValues(scene: Scene, pair: Pair): Promise<Trial[]> {
  const endpoint = scene.endpoints.get(pair.resource);
  if (endpoint === undefined) return [];
  const filter = pair.filter === null ? undefined : endpoint.filters.get(pair.filter);
  const values = filter === undefined ? [{ kind: 'all' as const, text: '' }] : await valuesOf(scene, endpoint, filter);
  const trials: Trial[] = [];
  for (const { kind, text } of values) {
    const trial = await tryValue(scene, endpoint, pair, kind, text);
    if (trial !== undefined) trials.push(trial);
  }
  return trials;
}

async function valuesOf(scene: Scene, endpoint: CompiledEndpoint, filter: FilterParameter) {
  const { ctx, samples } = scene;
  const { table, rowCount } = await readTable(scene, endpoint.recordType);
  const place = { schema: tenantSchema(ctx.organizationId), table };
  const sample = await once(samples, `${endpoint.recordType} ${filter.column.column}`, () =>
    inDataTransaction(ctx.db.data, (client) => sampleColumn(client, place, filter.column, rowCount)),
  );
  return sample === undefined ? [] : trialValues(filter, sample);
}

/** The plan of a request as a caller would write it; undefined for a value that the interface would not take. */
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

/** Undefined when it timed out, which is noted, or is no value for a caller. */
async function tryValue(
  scene: Scene,
  endpoint: CompiledEndpoint,
  pair: Pair,
  value: Trial['value'],
  text: string,
): Promise<Trial | undefined> {
  const { table, rowCount } = await readTable(scene, endpoint.recordType);
  const place = { schema: tenantSchema(scene.ctx.organizationId), table };
  const plan = planOf(endpoint, pair, text);
  const own = planOf(endpoint, { ...pair, sort: null, order: endpoint.defaultSort.order }, text);
  if (plan === undefined || own === undefined) return undefined;
  const counted = pair.filter !== null;
  let counting = counted;
  try {
    const first = counted
      ? await once(scene.firsts, `${pair.resource} ${pair.filter} ${value}`, () =>
          runFirst(scene, listStatement(place, own, carefulRanges(own, undefined, rowCount, unknownLookOf(scene.ctx.settings)), true)),
        )
      : undefined;
    counting = false;
    const rows = first?.rows ?? rowCount;
    const statement = listStatement(place, plan, carefulRanges(plan, rows, rowCount, unknownLookOf(scene.ctx.settings)), false);
    const page = await measure(scene, table, statement);
    // A page that turns out too short is looked for once more, and from then on at once.
    const isShort = (await countFound(scene, statement)) < Math.min(plan.pageSize, rows);
    const again = isShort ? await measure(scene, table, await secondLook(scene, place, plan, rows)) : undefined;
    const ms = rounded(page.ms + (again?.ms ?? 0));
    return { value, rows, ms, byIndex: page.byIndex && again?.byIndex !== false, firstMs: first?.firstMs ?? ms };
  } catch (error) {
    if (sqlState(error) !== timedOut) throw error;
    const noted = scene.timedOut.some(
      (other) => counting && other.counting && other.resource === pair.resource && other.filter === pair.filter,
    );
    if (!noted) scene.timedOut.push({ ...pair, value, counting });
    return undefined;
  }
}

async function countFound({ ctx }: Scene, statement: Statement): Promise<number> {
  const { rows } = await ctx.db.data.query<{ found: number }>(statement.write(), [...statement.values]);
  return rows[0]?.found ?? 0;
}

/** As read.ts goes on: long lists have anchors from then on, as long as their data stay. */
async function secondLook({ ctx }: Scene, place: Place, plan: ListPlan, rows: number): Promise<Statement> {
  const { anchorEvery, cacheBytes } = ctx.settings;
  if (rows <= anchorEvery || cacheBytes.anchors === 0) return listStatement(place, plan, sortedRanges(plan), false);
  const every = spacingFor(rows, anchorEvery);
  const { write, values } = anchorsStatement(place, plan, every);
  const { rows: built } = await ctx.db.data.query<{ valued: string; nulls: string | null }>(write(), [...values]);
  const anchors = { every, valued: readAnchors(built[0]?.valued ?? null), nulls: readAnchors(built[0]?.nulls ?? null) };
  return listStatement(place, plan, anchoredRanges(plan, anchors), false);
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100;

/** As a caller meets it: page and total in one statement, and its way to here. A second try shows whether only the cache was cold. */
async function runFirst({ ctx }: Scene, statement: Statement): Promise<{ rows: number; firstMs: number }> {
  const run = async () => {
    const startedMs = ctx.clock.monotonicMs();
    const { rows } = await ctx.db.data.query<{ total: string }>(statement.write(), [...statement.values]);
    return { rows: Number(rows[0]?.total ?? 0), firstMs: rounded(ctx.clock.monotonicMs() - startedMs) };
  };
  return run().catch((error: unknown) => (sqlState(error) === timedOut ? run() : Promise.reject(error)));
}

type PlanNode = { 'Node Type': string; 'Relation Name'?: string; Plans?: PlanNode[] };
type Explained = { Plan: PlanNode; 'Planning Time': number; 'Execution Time': number };

const explain = 'explain (analyze, timing off, serialize text, format json)';

/** PostgreSQL runs the statement, turns its answer into text and says how long both took: no way over a network is in it. */
async function measure(scene: Scene, table: string, statement: Statement): Promise<Pick<Trial, 'ms' | 'byIndex'>> {
  let best: Pick<Trial, 'ms' | 'byIndex'> | undefined;
  for (let left = repeats; left >= 0; left -= 1) {
    try {
      const { rows } = await scene.ctx.db.data.query<{ 'QUERY PLAN': [Explained] }>(`${explain} ${statement.write()}`, [
        ...statement.values,
      ]);
      const [explained] = rows[0]?.['QUERY PLAN'] ?? [];
      if (explained === undefined) throw new Error('PostgreSQL explained nothing');
      const ms = rounded(explained['Planning Time'] + explained['Execution Time']);
      if (best === undefined || ms < best.ms) best = { ms, byIndex: !readsWhole(explained.Plan, table) };
    } catch (error) {
      if (sqlState(error) !== timedOut || best !== undefined || left < repeats) throw error;
    }
    if (best !== undefined && best.ms <= scene.options.warnMs) break;
  }
  if (best === undefined) throw new Error('nothing was measured');
  return best;
}

const readsWhole = (node: PlanNode, table: string): boolean =>
  (node['Node Type'] === 'Seq Scan' && node['Relation Name'] === table) || (node.Plans ?? []).some((below) => readsWhole(below, table));
