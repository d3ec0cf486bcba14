// Runs the plans of single requests. Page and state come from one statement and so from one snapshot; a known total is used only if that
// statement saw the same generation. When the plan was made for data that has since been replaced, it is made again from the state that the
// statement itself saw.
import type { Clock } from '../core/clock.ts';
import type { Db } from '../core/ctx.ts';
import { type AppError, unavailable } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { sqlState } from '../db/pg-errors.ts';
import { readRecordState } from '../warehouse/record-state.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { type AnchorCache, anchorKey, type BuiltAnchors, parseAnchors, spacingFor } from './anchors.ts';
import type { FairQueue } from './fair-queue.ts';
import { skipsRecords } from './order-index.ts';
import type { ListPlan, RecordPlan } from './plan.ts';
import { anchoredRanges, boundedRanges, emptyRanges, firstRow, type Range, rowsOnPage, sortedRanges } from './ranges.ts';
import { anchorsStatement, listStatement, recordStatement, type Statement, type TableRef } from './sql.ts';
import type { StatementRunner } from './statements.ts';
import { type TotalCache, totalKey } from './totals.ts';
import type { TtlCache } from './ttl-cache.ts';

/** The published state of a record type at one moment. */
export type Freshness = {
  readonly table: string;
  readonly epoch: string;
  readonly generation: string;
  readonly rowCount: number;
  /** RFC 3339; null when the run's time is unknown. */
  readonly syncedAt: string | null;
};

export type Reader = {
  readonly db: Pick<Db, 'data'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly organizationId: string;
  readonly states: TtlCache<Freshness | undefined>;
  readonly totals: TotalCache;
  readonly anchors: AnchorCache;
  /** Records to scan for a page while the total is unknown. */
  readonly scanLimit: number;
  readonly statements: StatementRunner;
  /** Queue for the data connections, by organization. */
  readonly queue: FairQueue;
};

export type ListRead = { readonly freshness: Freshness; readonly records: string; readonly total: number };
/** `record` is null when it does not exist. */
export type RecordRead = { readonly freshness: Freshness; readonly record: string | null };

export type StateRow = {
  active_table: string | null;
  epoch: string | null;
  generation: string;
  row_count: string;
  synced_at: string | null;
};

const maxAttempts = 4;
/** SQLSTATE of an undefined table, schema, column or function. */
export const undefinedObject = /^(42P01|3F000|42703|42883)$/;
const connectionLost = /^(08\w{3}|57P0[123]|ECONNRESET|EPIPE|ECONNREFUSED)$/;
/** SQLSTATE of a statement that exceeded its timeout. */
export const queryCanceled = '57014';

/** 503 with Retry-After: no sync of the resource has been published. */
export const notSynced = (cause?: unknown): AppError =>
  unavailable('No sync of this resource has been published yet; try again later', 30, cause);

/** 503 with Retry-After: every attempt found that the table had been replaced meanwhile. */
const beingReplaced = (cause?: unknown): AppError => unavailable('The data is being replaced; try again', 30, cause);

/** The state of a row; undefined before the first publish. */
export function freshnessOf(row: StateRow | undefined): Freshness | undefined {
  if (row === undefined || row.active_table === null || row.epoch === null || row.generation === '0') return undefined;
  return {
    table: row.active_table,
    epoch: row.epoch,
    generation: row.generation,
    rowCount: Number(row.row_count),
    syncedAt: row.synced_at,
  };
}

const stateKey = (reader: Reader, recordType: string): string => `${reader.organizationId}/${recordType}`;

/** The cached state, when it is within its TTL. */
export const cachedFreshness = (reader: Reader, recordType: string): Freshness | undefined =>
  reader.states.findFresh(stateKey(reader, recordType));

const isSame = (a: Freshness, b: Freshness | undefined): boolean =>
  b !== undefined &&
  a.generation === b.generation &&
  a.epoch === b.epoch &&
  a.table === b.table &&
  a.syncedAt === b.syncedAt &&
  a.rowCount === b.rowCount;

/** The current state, from the cache or the database. Rejects with 503 when nothing has been published or the database is unavailable. */
export async function currentFreshness(reader: Reader, recordType: string): Promise<Freshness> {
  const found = await reader.states.load(stateKey(reader, recordType), () => readFreshness(reader, recordType));
  if (found === undefined) throw notSynced();
  return found;
}

async function readFreshness(reader: Reader, recordType: string): Promise<Freshness | undefined> {
  const { queue, organizationId } = reader;
  const releasePermit = queue.tryAcquire(organizationId) ?? (await queue.acquire(organizationId));
  try {
    const state = await withOneRetry(() => readRecordState(reader.db.data, tenantSchema(organizationId), recordType));
    if (state === undefined) return undefined;
    return freshnessOf({
      active_table: state.activeTable,
      epoch: state.epoch,
      generation: state.generation,
      row_count: String(state.rowCount),
      synced_at: state.syncedAt,
    });
  } catch (error) {
    if (undefinedObject.test(sqlState(error) ?? '')) return undefined;
    throw asUnavailable(error);
  } finally {
    releasePermit();
  }
}

async function withOneRetry<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    return run();
  }
}

const isConnectionLost = (error: unknown): boolean =>
  connectionLost.test(sqlState(error) ?? '') ||
  (error instanceof Error && /^(Connection terminated|Client has encountered a connection error)/.test(error.message));

/** Converts timeouts and lost connections into a 503; returns other errors unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (sqlState(error) === queryCanceled)
    return unavailable('The read exceeded its time limit. Narrow the filter or sort by another field.', 5, error);
  return isConnectionLost(error) ? unavailable('The database is temporarily unavailable; try again', 2, error) : error;
}

/**
 * Runs the statement from `write` for the active table, again after a table swap, until the statement itself saw that table as the active
 * one. Returns the row and its state, and refreshes the cached state. Rejects with 503 when nothing is synced, the table is replaced again
 * at every attempt, the read times out, or the database is unavailable.
 */
export async function readRow<Row extends StateRow>(
  reader: Reader,
  recordType: string,
  write: (table: TableRef) => Statement,
): Promise<{ row: Row; freshness: Freshness }> {
  const key = stateKey(reader, recordType);
  const schema = tenantSchema(reader.organizationId);
  let lastError: unknown;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const current = cachedFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
    const { table } = current;
    const statement = write({ schema, table });
    const startedMs = reader.clock.monotonicMs();
    try {
      const row = await withOneRetry(() => reader.statements.run<Row>(reader.organizationId, statement));
      const read = freshnessOf(row);
      const seen = isSame(current, read) ? current : read;
      reader.states.put(key, seen, startedMs);
      if (row !== undefined && seen !== undefined && seen.table === table) return { row, freshness: seen };
    } catch (error) {
      lastError = error;
      if (!undefinedObject.test(sqlState(error) ?? '')) throw asUnavailable(error);
      reader.states.evict(key);
    }
  }
  reader.log.error({ err: lastError, organizationId: reader.organizationId, recordType }, 'could not read the active table');
  throw beingReplaced(lastError);
}

/** Rejects with 503 as `readRow` does. */
export async function readSingleRecord(reader: Reader, plan: RecordPlan): Promise<RecordRead> {
  const { row, freshness } = await readRow<StateRow & { record: string | null }>(reader, plan.endpoint.recordType, (table) =>
    recordStatement(table, plan),
  );
  return { freshness, record: row.record };
}

type ListRow = StateRow & { records: string; found: number; total?: string };
type PageRead = { readonly row: ListRow; readonly freshness: Freshness };

const readPage = (reader: Reader, plan: ListPlan, ranges: readonly Range[], withTotal: boolean): Promise<PageRead> =>
  readRow<ListRow>(reader, plan.endpoint.recordType, (table) => listStatement(table, plan, ranges, withTotal));

export const totalKeyFor = (reader: Reader, plan: ListPlan, { epoch, generation }: Freshness): string =>
  totalKey([reader.organizationId, plan.endpoint.recordType, epoch, generation], plan.filterKey);

const sameData = (a: Freshness, b: Freshness): boolean => a.epoch === b.epoch && a.generation === b.generation;

type Found = ListRead & { readonly found: number };

/**
 * A page with its exact total, of the newest generation. Reads again when a new generation is published meanwhile. Rejects with 503 as
 * `readRow` does.
 */
export async function readListPage(reader: Reader, plan: ListPlan): Promise<ListRead> {
  let isRetry = false;
  for (;;) {
    const { recordType } = plan.endpoint;
    const planned = cachedFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
    const read =
      plan.conditions.length === 0
        ? await readWithKnownTotal(reader, plan, planned, planned.rowCount, isRetry)
        : await readFiltered(reader, plan, planned, isRetry);
    if (read === undefined) continue;
    if (isRetry || read.found >= rowsOnPage(plan, read.total)) return read;
    // The page is short: in descending order it reaches records without a value, or the matches cluster at the end. Retry by sorting all of
    // them, or by anchors.
    isRetry = true;
  }
}

/** Undefined when the data has changed meanwhile. */
async function readFiltered(reader: Reader, plan: ListPlan, planned: Freshness, isRetry: boolean): Promise<Found | undefined> {
  const key = totalKeyFor(reader, plan, planned);
  const claim = reader.totals.claim(key);
  if (claim.kind === 'known') return readWithKnownTotal(reader, plan, planned, claim.total, isRetry);
  if (claim.kind === 'awaited') {
    const counted = await claim.counted;
    return counted.key === key ? readWithKnownTotal(reader, plan, planned, counted.total, isRetry) : undefined;
  }
  try {
    const ranges = isRetry ? sortedRanges(plan) : boundedRanges(plan, undefined, planned.rowCount, reader.scanLimit);
    const { row, freshness } = await readPage(reader, plan, ranges, true);
    const total = Number(row.total);
    claim.found({ key: totalKeyFor(reader, plan, freshness), total });
    return { freshness, records: row.records, found: row.found, total };
  } catch (error) {
    claim.fail(error);
    throw error;
  }
}

/** Undefined when the total turns out to belong to other data. */
async function readWithKnownTotal(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  total: number,
  isRetry: boolean,
): Promise<Found | undefined> {
  const found = rangesFor(reader, plan, planned, total, isRetry);
  const chosen = found instanceof Promise ? await found : found;
  if (chosen === undefined) return undefined;
  const { row, freshness } = await readPage(reader, plan, chosen.ranges, false);
  const page = { freshness, records: row.records, found: row.found };
  if (sameData(planned, freshness)) return { ...page, total };
  return plan.conditions.length === 0 && chosen.validForAnyData ? { ...page, total: freshness.rowCount } : undefined;
}

/** Pages at least this many anchors deep justify building anchors; before that, walking there is cheaper. */
const minAnchorsToBuild = 10;

/** `validForAnyData`: the ranges are valid whatever was published meanwhile. */
type Ranges = { readonly ranges: readonly Range[]; readonly validForAnyData: boolean };

/** Undefined when the anchors turn out to belong to other data. Returns a promise only when anchors must be built. */
function rangesFor(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  total: number,
  isRetry: boolean,
): Ranges | Promise<Ranges | undefined> {
  const start = firstRow(plan);
  if (start >= total) return { ranges: emptyRanges, validForAnyData: false };
  const { every } = reader.anchors;
  if (every !== undefined && plan.sort.further.length === 0 && total > every && (isRetry || start >= every || skipsRecords(plan))) {
    const key = anchorKey(totalKeyFor(reader, plan, planned), plan);
    const cached = reader.anchors.find(key);
    if (cached !== undefined) return { ranges: anchoredRanges(plan, cached), validForAnyData: false };
    if (isRetry || start >= every * minAnchorsToBuild) {
      const building = reader.anchors.load(key, () => buildAnchors(reader, plan, spacingFor(total, every)));
      return building.then((built) => built && { ranges: anchoredRanges(plan, built), validForAnyData: false });
    }
  }
  const ranges = isRetry ? sortedRanges(plan) : boundedRanges(plan, total, planned.rowCount, reader.scanLimit);
  return { ranges, validForAnyData: true };
}

async function buildAnchors(reader: Reader, plan: ListPlan, every: number): Promise<BuiltAnchors> {
  const { row, freshness } = await readRow<StateRow & { valued: string; nulls: string | null }>(reader, plan.endpoint.recordType, (table) =>
    anchorsStatement(table, plan, every),
  );
  const anchors = { every, valued: parseAnchors(row.valued), nulls: parseAnchors(row.nulls) };
  return { key: anchorKey(totalKeyFor(reader, plan, freshness), plan), anchors };
}
