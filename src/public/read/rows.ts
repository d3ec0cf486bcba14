// Runs the statement of a read. Its state comes from the same statement and so from the same snapshot; when the statement was written for a
// table that has since been replaced, it is written again for the one that is active now.
import { megabyte } from '../../core/settings/values.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { asUnavailable, isUndefinedObject, timedOut, withOneRetry } from './failures.ts';
import type { PieceRow } from './large-sql.ts';
import type { RecordPlan } from './plan.ts';
import { cachedFreshness, currentFreshness, type Freshness, freshnessOf, type Reader, type StateRow, stateKey } from './reader.ts';
import { repeatWhileReplaced } from './repeat-while-replaced.ts';
import { askReplica } from './replicas.ts';
import { largeRecordStatement, recordStatement, type Statement, type TableRef } from './sql.ts';
import { assertScopeFresh } from './stale-fields.ts';
import { withinTimeLimit } from './time-limit.ts';

/** JSON text that PostgreSQL wrote; as bytes in pieces when it is longer than `maxTextBytes`. */
export type RecordsText = string | readonly Buffer[];

/** For callers that need the text as one string. */
export const wholeText = (records: RecordsText): string => (typeof records === 'string' ? records : Buffer.concat(records).toString());

/** A page that is parsed or copied as a whole holds the event loop meanwhile. */
const maxWholeBytes = 4 * megabyte;

/** For callers of `wholeText`: their pages are bounded more tightly. */
export const textReader = (reader: Reader): Reader => ({ ...reader, maxAnswerBytes: Math.min(reader.maxAnswerBytes, maxWholeBytes) });

/** `record` is null when it does not exist. */
export type RecordRead = { readonly freshness: Freshness; readonly record: RecordsText | null };

export type Read<Row> = { readonly row: Row; readonly rows: readonly Row[]; readonly freshness: Freshness };

const isSame = (a: Freshness, b: Freshness | undefined): boolean =>
  b !== undefined &&
  a.generation === b.generation &&
  a.epoch === b.epoch &&
  a.table === b.table &&
  a.syncedAt === b.syncedAt &&
  a.stale?.text === b.stale?.text &&
  a.accepted === b.accepted &&
  a.rowCount === b.rowCount;

/** Undefined when the table is not the active one. */
function readOf<Row>(rows: readonly Row[], freshness: Freshness | undefined, table: string): Read<Row> | undefined {
  const [row] = rows;
  return row !== undefined && freshness?.table === table ? { row, rows, freshness } : undefined;
}

/** Throws 503 when the time of the read is over. */
function assertInTime({ progress }: Reader): void {
  if (progress?.isOver === true) throw timedOut();
}

type ReadOptions<Row> = {
  readonly way?: 'run' | 'runInSteps';
  /** Whether an answer of a replica is final; otherwise the primary is asked. By default it is. */
  readonly counts?: (row: Row, freshness: Freshness) => boolean;
};

/**
 * Runs the statement from `write` for the active table, again after a table swap, until the statement itself saw that table as the active
 * one. Returns the first row, all rows and their state, and refreshes the cached state. Rejects with 503 when nothing is synced, the table
 * is replaced again at every attempt, the read times out, or the database is unavailable. Answers of replicas: see replicas.ts.
 */
export function readRow<Row extends StateRow>(
  reader: Reader,
  recordType: string,
  write: (table: TableRef) => Statement,
  { way = 'run', counts }: ReadOptions<Row> = {},
): Promise<Read<Row>> {
  const key = stateKey(reader, recordType);
  const schema = tenantSchema(reader.organizationId);
  return repeatWhileReplaced(reader, recordType, async () => {
    const current = cachedFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
    const { table } = current;
    const statement = write({ schema, table });
    assertInTime(reader);
    if (reader.replicas !== undefined) {
      const found = await askReplica<Row[]>(reader, reader.replicas, {
        recordType,
        trusted: current,
        ask: async ({ statements }) => {
          const answer = await statements[way]<Row>(reader.organizationId, statement);
          return { answer, state: freshnessOf(answer[0]) };
        },
        counts: ([row], freshness) => row !== undefined && counts?.(row, freshness) !== false,
        isOver: () => reader.progress?.isOver === true,
      });
      if (found !== undefined) return readOf(found.answer, found.freshness, table);
      assertInTime(reader);
    }
    const startedMs = reader.clock.monotonicMs();
    try {
      const rows = await withOneRetry(() => reader.statements[way]<Row>(reader.organizationId, statement));
      const read = freshnessOf(rows[0]);
      const seen = isSame(current, read) ? current : read;
      reader.states.put(key, seen, startedMs);
      return readOf(rows, seen, table);
    } catch (error) {
      if (isUndefinedObject(error)) reader.states.evict(key);
      throw asUnavailable(error);
    }
  });
}

/** As `readRow`, for statements whose records come in pieces. Takes a permit of the large reads, once for each read, and few run at once. */
export async function readPieces<Row>(
  reader: Reader,
  recordType: string,
  write: (table: TableRef) => Statement,
  options: Omit<ReadOptions<Row>, 'way'> = {},
): Promise<{ row: Row & PieceRow; freshness: Freshness; pieces: readonly Buffer[] }> {
  await reader.progress?.acquireLarge();
  const { row, rows, freshness } = await reader.largeStatements.run(reader.organizationId, () =>
    readRow<StateRow & PieceRow & Row>(reader, recordType, write, { ...options, way: 'runInSteps' }),
  );
  const found = rows.flatMap(({ at, piece }) => (at === null || piece === null ? [] : [{ at, piece }]));
  return { row, freshness, pieces: found.sort((a, b) => a.at - b.at).map(({ piece }) => piece) };
}

type RecordRow = StateRow & { bytes: number | null; record: string | null };

/** A record of any size. Rejects with 503 as `readRow` and `assertScopeFresh` do, and when it takes too long. */
export const readSingleRecord = (reader: Reader, plan: RecordPlan): Promise<RecordRead> =>
  withinTimeLimit(reader, async (limited) => {
    const { endpoint } = plan;
    const { recordType } = endpoint;
    const { row, freshness } = await readRow<RecordRow>(limited, recordType, (table) => recordStatement(table, plan));
    assertScopeFresh(endpoint, freshness);
    if (row.record !== null || row.bytes === null) return { freshness, record: row.record };
    const large = await readPieces(limited, recordType, (table) => largeRecordStatement(table, plan));
    assertScopeFresh(endpoint, large.freshness);
    return { freshness: large.freshness, record: large.pieces.length === 0 ? null : large.pieces };
  });
