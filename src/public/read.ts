// Runs a plan: the only stage that touches a connection. Page, total and state come from one statement and so from one
// snapshot; a plan made for what is no longer there is made again from what the statement itself saw.
import type { Clock } from '../core/clock.ts';
import type { Db } from '../core/ctx.ts';
import { type AppError, unavailable } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { sqlState } from '../db/pg-errors.ts';
import { readState } from '../warehouse/generation.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import type { ListPlan, RecordPlan } from './plan.ts';
import { listStatement, recordStatement, type Statement } from './sql.ts';
import type { MayName } from './statement-names.ts';
import { type Totals, totalKey } from './totals.ts';
import type { Trusted } from './trusted.ts';

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
  readonly mayName: MayName;
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
const planOutdated = '0A000';

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

/** The state that may be trusted now. Throws 503 when nothing has been published. */
export async function currentFreshness(reader: Reader, recordType: string): Promise<Freshness> {
  const found = await reader.states.get(stateKey(reader, recordType), () => readFreshness(reader, recordType));
  if (found === undefined) throw notSynced();
  return found;
}

async function readFreshness(reader: Reader, recordType: string): Promise<Freshness | undefined> {
  try {
    const state = await withOneRetry(() => readState(reader.db.data, tenantSchema(reader.organizationId), recordType));
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
  write: (freshness: Freshness) => Statement,
): Promise<{ row: Row; freshness: Freshness }> {
  const key = stateKey(reader, recordType);
  let unnamed = false;
  let lastError: unknown;
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const planned = await currentFreshness(reader, recordType);
    const { name, text, values } = write(planned);
    const named = !unnamed && reader.mayName(name);
    const startedMs = reader.clock.monotonicMs();
    try {
      const { rows } = await withOneRetry(() => reader.db.data.query<Row>({ text, values: [...values], ...(named && { name }) }));
      const seen = freshnessOf(rows[0]);
      reader.states.put(key, seen, startedMs);
      if (rows[0] !== undefined && seen !== undefined && seen.table === planned.table) return { row: rows[0], freshness: seen };
    } catch (error) {
      const state = sqlState(error) ?? '';
      lastError = error;
      if (missing.test(state)) reader.states.forget(key);
      else if (state === planOutdated) unnamed = true;
      else throw asUnavailable(error);
    }
  }
  reader.log.error({ err: lastError, organizationId: reader.organizationId, recordType }, 'a published version could not be read');
  throw notSynced(lastError);
}

export async function readRecord(reader: Reader, plan: RecordPlan): Promise<RecordRead> {
  const schema = tenantSchema(reader.organizationId);
  const { row, freshness } = await readRow<StateRow & { record: string | null }>(reader, plan.endpoint.recordType, ({ table }) =>
    recordStatement({ schema, table }, plan),
  );
  return { freshness, record: row.record };
}

type ListRow = StateRow & { records: string; total?: string };

export async function readList(reader: Reader, plan: ListPlan): Promise<ListRead> {
  for (;;) {
    const planned = await currentFreshness(reader, plan.endpoint.recordType);
    if (plan.conditions.length === 0) {
      const { row, freshness } = await readPage(reader, plan, { counted: false, skipRows: false });
      return { freshness, records: row.records, total: freshness.rowCount };
    }
    const claim = reader.totals.claim(keyFor(reader, plan, planned));
    if (claim.kind === 'awaited') await claim.done;
    if (claim.kind === 'known') {
      const skipRows = (plan.page - 1) * plan.pageSize >= claim.total;
      const { row, freshness } = await readPage(reader, plan, { counted: false, skipRows });
      // A newer generation came in between: its total is another one.
      if (sameData(planned, freshness)) return { freshness, records: row.records, total: claim.total };
    }
    if (claim.kind === 'mine') {
      try {
        return await readAndCount(reader, plan);
      } catch (error) {
        claim.fail(error);
        throw error;
      } finally {
        claim.finish();
      }
    }
  }
}

async function readAndCount(reader: Reader, plan: ListPlan): Promise<ListRead> {
  const { row, freshness } = await readPage(reader, plan, { counted: true, skipRows: false });
  const total = Number(row.total);
  reader.totals.put(keyFor(reader, plan, freshness), total);
  return { freshness, records: row.records, total };
}

const readPage = (reader: Reader, plan: ListPlan, options: { counted: boolean; skipRows: boolean }) => {
  const schema = tenantSchema(reader.organizationId);
  return readRow<ListRow>(reader, plan.endpoint.recordType, ({ table }) => listStatement({ schema, table }, plan, options));
};

export const keyFor = (reader: Reader, plan: ListPlan, { epoch, generation }: Freshness): string =>
  totalKey([reader.organizationId, plan.endpoint.recordType, epoch, generation], plan.filterKey);

const sameData = (a: Freshness, b: Freshness): boolean => a.epoch === b.epoch && a.generation === b.generation;
