// Runs a plan: the only stage that touches a connection. Page, total and state come from one statement and so from one
// snapshot; a plan made for what is no longer there is made again from what the statement itself saw.
import type { Clock } from '../core/clock.ts';
import type { Db } from '../core/ctx.ts';
import { type AppError, unavailable } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { sqlState } from '../db/pg-errors.ts';
import { readState } from '../warehouse/generation.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { type AnchorCache, anchorKey, type Built, readAnchors, spacingFor } from './anchors.ts';
import { skipsRecords } from './order-index.ts';
import type { ListPlan, RecordPlan } from './plan.ts';
import { anchoredRanges, carefulRanges, firstRow, noRanges, type Range, rowsOnPage, sortedRanges } from './ranges.ts';
import { anchorsStatement, listStatement, type Place, recordStatement, type Statement } from './sql.ts';
import type { Statements } from './statements.ts';
import { type Totals, totalKey } from './totals.ts';
import type { Trusted } from './trusted.ts';
import type { Turns } from './turns.ts';

/** What readers of a record type see at one moment: only what was published counts. */
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
  readonly states: Trusted<Freshness | undefined>;
  readonly totals: Totals;
  readonly anchors: AnchorCache;
  /** How many records a page is looked for in while nobody knows how many there are. */
  readonly unknownLook: number;
  readonly statements: Statements;
  /** On the connections, by organization. */
  readonly turns: Turns;
};

export type ListRead = { readonly freshness: Freshness; readonly records: string; readonly total: number };
/** `record` is null when there is none. */
export type RecordRead = { readonly freshness: Freshness; readonly record: string | null };

export type StateRow = {
  active_table: string | null;
  epoch: string | null;
  generation: string;
  row_count: string;
  synced_at: string | null;
};

const mostAttempts = 4;
export const missing = /^(42P01|3F000|42703|42883)$/;
const connectionLost = /^(08\w{3}|57P0[123]|ECONNRESET|EPIPE|ECONNREFUSED)$/;
export const timedOut = '57014';

export const notSynced = (cause?: unknown): AppError =>
  unavailable('No sync of this resource has been published yet; try again later', 30, cause);

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

/** The state that may be trusted now, if it is known without asking. */
export const heldFreshness = (reader: Reader, recordType: string): Freshness | undefined =>
  reader.states.held(stateKey(reader, recordType));

const isSame = (a: Freshness, b: Freshness | undefined): boolean =>
  b !== undefined &&
  a.generation === b.generation &&
  a.epoch === b.epoch &&
  a.table === b.table &&
  a.syncedAt === b.syncedAt &&
  a.rowCount === b.rowCount;

/** The state that may be trusted now. Throws 503 when nothing has been published. */
export async function currentFreshness(reader: Reader, recordType: string): Promise<Freshness> {
  const found = await reader.states.get(stateKey(reader, recordType), () => readFreshness(reader, recordType));
  if (found === undefined) throw notSynced();
  return found;
}

async function readFreshness(reader: Reader, recordType: string): Promise<Freshness | undefined> {
  const { turns, organizationId } = reader;
  const endTurn = turns.begin(organizationId) ?? (await turns.await(organizationId));
  try {
    const state = await withOneRetry(() => readState(reader.db.data, tenantSchema(organizationId), recordType));
    if (state === undefined) return undefined;
    return freshnessOf({
      active_table: state.activeTable,
      epoch: state.epoch,
      generation: state.generation,
      row_count: String(state.rowCount),
      synced_at: state.syncedAt,
    });
  } catch (error) {
    if (missing.test(sqlState(error) ?? '')) return undefined;
    throw asUnavailable(error);
  } finally {
    endTurn();
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

export function asUnavailable(error: unknown): unknown {
  if (sqlState(error) === timedOut)
    return unavailable('The read took too long and was stopped; narrow the filter or sort by another field', 5, error);
  return isConnectionLost(error) ? unavailable('The database is away for the moment; try again', 2, error) : error;
}

/**
 * Runs what `write` writes for the table of the current state until the statement itself saw that table as the active one.
 * Gives the row and the state it belongs to, and refreshes what is trusted.
 */
export async function readRow<Row extends StateRow>(
  reader: Reader,
  recordType: string,
  write: (place: Place) => Statement,
): Promise<{ row: Row; freshness: Freshness }> {
  const key = stateKey(reader, recordType);
  const schema = tenantSchema(reader.organizationId);
  let lastError: unknown;
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const trusted = heldFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
    const { table } = trusted;
    const statement = write({ schema, table });
    const startedMs = reader.clock.monotonicMs();
    try {
      const row = await withOneRetry(() => reader.statements.run<Row>(reader.organizationId, statement));
      const read = freshnessOf(row);
      const seen = isSame(trusted, read) ? trusted : read;
      reader.states.put(key, seen, startedMs);
      if (row !== undefined && seen !== undefined && seen.table === table) return { row, freshness: seen };
    } catch (error) {
      lastError = error;
      if (!missing.test(sqlState(error) ?? '')) throw asUnavailable(error);
      reader.states.forget(key);
    }
  }
  reader.log.error({ err: lastError, organizationId: reader.organizationId, recordType }, 'a published version could not be read');
  throw notSynced(lastError);
}

export async function readRecord(reader: Reader, plan: RecordPlan): Promise<RecordRead> {
  const { row, freshness } = await readRow<StateRow & { record: string | null }>(reader, plan.endpoint.recordType, (place) =>
    recordStatement(place, plan),
  );
  return { freshness, record: row.record };
}

type ListRow = StateRow & { records: string; found: number; total?: string };
type PageRead = { readonly row: ListRow; readonly freshness: Freshness };

const readPage = (reader: Reader, plan: ListPlan, ranges: readonly Range[], counted: boolean): Promise<PageRead> =>
  readRow<ListRow>(reader, plan.endpoint.recordType, (place) => listStatement(place, plan, ranges, counted));

export const keyFor = (reader: Reader, plan: ListPlan, { epoch, generation }: Freshness): string =>
  totalKey([reader.organizationId, plan.endpoint.recordType, epoch, generation], plan.filterKey);

const sameData = (a: Freshness, b: Freshness): boolean => a.epoch === b.epoch && a.generation === b.generation;

type Found = ListRead & { readonly found: number };

/** A page with its exact total, of the newest generation. Reads again when a publish comes in between. */
export async function readList(reader: Reader, plan: ListPlan): Promise<ListRead> {
  let wasShort = false;
  for (;;) {
    const { recordType } = plan.endpoint;
    const planned = heldFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
    const read =
      plan.conditions.length === 0
        ? await readCounted(reader, plan, planned, planned.rowCount, wasShort)
        : await readFiltered(reader, plan, planned, wasShort);
    if (read === undefined) continue;
    // Sorted downwards, the page reaches into the records without a value; or what fits stands late in the order: then it is found
    // another way.
    if (wasShort || read.found >= rowsOnPage(plan, read.total)) return read;
    wasShort = true;
  }
}

/** Undefined when there is other data by now. */
async function readFiltered(reader: Reader, plan: ListPlan, planned: Freshness, wasShort: boolean): Promise<Found | undefined> {
  const key = keyFor(reader, plan, planned);
  const claim = reader.totals.claim(key);
  if (claim.kind === 'known') return readCounted(reader, plan, planned, claim.total, wasShort);
  if (claim.kind === 'awaited') {
    const counted = await claim.counted;
    return counted.key === key ? readCounted(reader, plan, planned, counted.total, wasShort) : undefined;
  }
  try {
    const ranges = wasShort ? sortedRanges(plan) : carefulRanges(plan, undefined, planned.rowCount, reader.unknownLook);
    const { row, freshness } = await readPage(reader, plan, ranges, true);
    const total = Number(row.total);
    claim.found({ key: keyFor(reader, plan, freshness), total });
    return { freshness, records: row.records, found: row.found, total };
  } catch (error) {
    claim.fail(error);
    throw error;
  }
}

/** Undefined when the total turns out to be that of other data. */
async function readCounted(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  total: number,
  wasShort: boolean,
): Promise<Found | undefined> {
  const found = rangesFor(reader, plan, planned, total, wasShort);
  const ranges = found instanceof Promise ? await found : found;
  if (ranges === undefined) return undefined;
  const { row, freshness } = await readPage(reader, plan, ranges.of, false);
  const page = { freshness, records: row.records, found: row.found };
  if (sameData(planned, freshness)) return { ...page, total };
  return plan.conditions.length === 0 && ranges.ofAnyData ? { ...page, total: freshness.rowCount } : undefined;
}

/** Pages so many anchors deep are worth having them built; before that, walking there is cheaper. */
const worthBuilding = 10;

/** `ofAnyData`: they hold whatever was published meanwhile. */
type Ranges = { readonly of: readonly Range[]; readonly ofAnyData: boolean };

/** Undefined when the anchors turn out to be those of other data. A promise only where anchors are built. */
function rangesFor(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  total: number,
  wasShort: boolean,
): Ranges | Promise<Ranges | undefined> {
  const start = firstRow(plan);
  if (start >= total) return { of: noRanges, ofAnyData: false };
  const { every } = reader.anchors;
  if (every !== undefined && plan.sort.further.length === 0 && total > every && (wasShort || start >= every || skipsRecords(plan))) {
    const key = anchorKey(keyFor(reader, plan, planned), plan);
    const held = reader.anchors.held(key);
    if (held !== undefined) return { of: anchoredRanges(plan, held), ofAnyData: false };
    if (wasShort || start >= every * worthBuilding) {
      const building = reader.anchors.get(key, () => buildAnchors(reader, plan, spacingFor(total, every)));
      return building.then((built) => built && { of: anchoredRanges(plan, built), ofAnyData: false });
    }
  }
  const of = wasShort ? sortedRanges(plan) : carefulRanges(plan, total, planned.rowCount, reader.unknownLook);
  return { of, ofAnyData: true };
}

async function buildAnchors(reader: Reader, plan: ListPlan, every: number): Promise<Built> {
  const { row, freshness } = await readRow<StateRow & { valued: string; nulls: string | null }>(reader, plan.endpoint.recordType, (place) =>
    anchorsStatement(place, plan, every),
  );
  const anchors = { every, valued: readAnchors(row.valued), nulls: readAnchors(row.nulls) };
  return { key: anchorKey(keyFor(reader, plan, freshness), plan), anchors };
}
