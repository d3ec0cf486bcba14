// Runs the statement of a read. Its state comes from the same statement and so from the same snapshot; when
// the statement was written for a table that has since been replaced, it is written again for the one that is
// active now.
import { megabyte } from '../../../core/settings/values.ts';
import { tenantSchema } from '../../../warehouse/tenant-schema.ts';
import { asUnavailable, isUndefinedObject, timedOut, withOneRetry } from '../connection/failures.ts';
import {
  cachedFreshness,
  currentFreshness,
  type Freshness,
  type Reader,
  type ReadStates,
  type StateRow,
  stateKey,
  toFreshness,
} from '../connection/reader.ts';
import { repeatWhileReplaced } from '../connection/repeat-while-replaced.ts';
import type { ReplicaReads } from '../connection/replica-servers.ts';
import { askReplica } from '../connection/replicas.ts';
import { withinTimeLimit } from '../connection/time-limit.ts';
import { relatedTypes } from '../plan/expand.ts';
import type { RecordPlan } from '../plan/plan.ts';
import type { PieceRow } from '../sql/large-sql.ts';
import { largeRecordStatement, recordStatement, type Statement, type TableRef } from '../sql/list-sql.ts';
import { assertScopesFresh } from './stale-fields.ts';

/** JSON text that PostgreSQL wrote; as bytes in pieces when it is longer than `maxTextBytes`. */
export type RecordsText = string | readonly Buffer[];

/** For callers that need the text as one string. */
export const wholeText = (records: RecordsText): string =>
  typeof records === 'string' ? records : Buffer.concat(records).toString();

/** A page that is parsed or copied as a whole holds the event loop meanwhile. */
const maxWholeBytes = 4 * megabyte;

/** For callers of `wholeText`: their pages are bounded more tightly. */
export const textReader = (reader: Reader): Reader => ({
  ...reader,
  maxAnswerBytes: Math.min(reader.maxAnswerBytes, maxWholeBytes),
});

/** `record` is null when it does not exist. */
export type RecordRead = ReadStates & { readonly record: RecordsText | null };

/** `related`: the states of the other record types, in their order. */
export type Read<Row> = ReadStates & { readonly row: Row; readonly rows: readonly Row[] };

const isSame = (a: Freshness, b: Freshness | undefined): boolean =>
  b !== undefined &&
  a.generation === b.generation &&
  a.epoch === b.epoch &&
  a.table === b.table &&
  a.syncedAt === b.syncedAt &&
  a.stale?.text === b.stale?.text &&
  a.accepted === b.accepted &&
  a.rowCount === b.rowCount;

/** A record type that a statement reads, and its state when the statement was written. */
type Named = { readonly recordType: string; readonly current: Freshness };

/**
 * The state that a statement saw; the same object as before when nothing has changed. Refreshes the cached
 * state.
 */
function remember(
  reader: Reader,
  { recordType, current }: Named,
  read: Freshness | undefined,
  startedMs: number,
): Freshness | undefined {
  const seen = isSame(current, read) ? current : read;
  reader.states.put(stateKey(reader, recordType), seen, startedMs);
  return seen;
}

const stateOfType = async (reader: Reader, recordType: string): Promise<Named> => ({
  recordType,
  current: cachedFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType)),
});

/** Undefined when one of the tables is not the active one. */
function toRead<Row>(
  rows: readonly Row[],
  freshness: Freshness | undefined,
  { current: { table } }: Named,
  states: readonly (Freshness | undefined)[],
  others: readonly Named[],
): Read<Row> | undefined {
  const [row] = rows;
  const related = states.flatMap((state, position) =>
    state?.table === others[position]?.current.table ? (state ?? []) : [],
  );
  return row !== undefined && freshness?.table === table && related.length === others.length
    ? { row, rows, freshness, related }
    : undefined;
}

/** Throws 503 when the time of the read is over. */
function assertInTime({ progress }: Reader): void {
  if (progress?.isOver === true) throw timedOut();
}

type ReadOptions<Row> = {
  readonly way?: 'run' | 'runInSteps';
  /** Whether an answer of a replica is final; otherwise the primary is asked. By default it is. */
  readonly counts?: (row: Row, freshness: Freshness) => boolean;
  /**
   * Other record types whose tables the statement reads. Its first row then has their states in `related`.
   */
  readonly related?: readonly string[];
};

const noTypes: readonly string[] = [];
const noneNamed: readonly Named[] = [];

/** The states that the row of a statement reports. Throws ForeignRole as `toFreshness` does. */
const toStates = (row: StateRow | undefined) => ({
  state: toFreshness(row),
  related: (row?.related ?? []).map((state) => toFreshness(state ?? undefined)),
});

/**
 * Runs the statement from `write` for the active table, again after a table swap, until the statement itself
 * saw that table as the active one. Returns the first row, all rows and their state, and refreshes the cached
 * state. Rejects with 503 when nothing is synced, the table is replaced again at every attempt, the read
 * times out, or the database is unavailable. Answers of replicas: see replicas.ts.
 */
export function readRow<Row extends StateRow>(
  reader: Reader,
  recordType: string,
  write: (table: TableRef) => Statement,
  options: ReadOptions<Row> = {},
): Promise<Read<Row>> {
  const { way = 'run', related = noTypes } = options;
  const schema = tenantSchema(reader.organizationId);
  return repeatWhileReplaced(reader, recordType, async () => {
    const base = await stateOfType(reader, recordType);
    const others =
      related.length === 0 ? noneNamed : await Promise.all(related.map((type) => stateOfType(reader, type)));
    const { table } = base.current;
    const statement = write(
      others.length === 0
        ? { schema, table }
        : { schema, table, related: others.map(({ current }) => current.table) },
    );
    assertInTime(reader);
    if (reader.replicas !== undefined) {
      const found = await askReplicaFor<Row>(reader, reader.replicas, statement, base, others, options);
      if (found !== undefined) return toRead(found.answer, found.freshness, base, found.related, others);
      assertInTime(reader);
    }
    const startedMs = reader.clock.monotonicMs();
    try {
      const rows = await withOneRetry(() => reader.statements[way]<Row>(reader.organizationId, statement));
      const read = toStates(rows[0]);
      const seen = others.map((named, position) =>
        remember(reader, named, read.related[position], startedMs),
      );
      return toRead(rows, remember(reader, base, read.state, startedMs), base, seen, others);
    } catch (error) {
      if (isUndefinedObject(error))
        for (const named of [base, ...others]) reader.states.evict(stateKey(reader, named.recordType));
      throw asUnavailable(error);
    }
  });
}

const askReplicaFor = <Row extends StateRow>(
  reader: Reader,
  replicas: ReplicaReads,
  statement: Statement,
  { recordType, current }: Named,
  others: readonly Named[],
  { way = 'run', counts }: ReadOptions<Row>,
) =>
  askReplica<Row[]>(reader, replicas, {
    recordType,
    trusted: current,
    related: others.map((other) => ({ recordType: other.recordType, trusted: other.current })),
    ask: async ({ statements }) => {
      const answer = await statements[way]<Row>(reader.organizationId, statement);
      return { answer, ...toStates(answer[0]) };
    },
    counts: ([row], freshness) => row !== undefined && counts?.(row, freshness) !== false,
    isOver: () => reader.progress?.isOver === true,
  });

/**
 * As `readRow`, for statements whose records come in pieces. Takes a permit of the large reads, once for each
 * read, and few run at once.
 */
export async function readPieces<Row>(
  reader: Reader,
  recordType: string,
  write: (table: TableRef) => Statement,
  options: Omit<ReadOptions<Row>, 'way'> = {},
): Promise<ReadStates & { row: Row & PieceRow; pieces: readonly Buffer[] }> {
  await reader.progress?.acquireLarge();
  const { row, rows, freshness, related } = await reader.largeStatements.run(reader.organizationId, () =>
    readRow<StateRow & PieceRow & Row>(reader, recordType, write, { ...options, way: 'runInSteps' }),
  );
  const found = rows.flatMap(({ at, piece }) => (at === null || piece === null ? [] : [{ at, piece }]));
  return { row, freshness, related, pieces: found.sort((a, b) => a.at - b.at).map(({ piece }) => piece) };
}

type RecordRow = StateRow & { bytes: number | null; record: string | null };

/**
 * A record of any size. Rejects with 503 as `readRow` and `assertScopeFresh` do, and when it takes too long.
 */
export const readSingleRecord = (reader: Reader, plan: RecordPlan): Promise<RecordRead> =>
  withinTimeLimit(reader, async (limited) => {
    const { endpoint } = plan;
    const { recordType } = endpoint;
    const options = { related: relatedTypes(plan.expansions) };
    const read = await readRow<RecordRow>(
      limited,
      recordType,
      (table) => recordStatement(table, plan),
      options,
    );
    assertScopesFresh(plan, read);
    const { row, freshness, related } = read;
    if (row.record !== null || row.bytes === null) return { freshness, related, record: row.record };
    const large = await readPieces(
      limited,
      recordType,
      (table) => largeRecordStatement(table, plan),
      options,
    );
    assertScopesFresh(plan, large);
    return {
      freshness: large.freshness,
      related: large.related,
      record: large.pieces.length === 0 ? null : large.pieces,
    };
  });
