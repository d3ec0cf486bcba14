// Writes one page of a run: its rows, its rejected records, its checkpoint and its counters, in one
// transaction that only the holder of the lease can commit, and only once per page.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { RecordRejection } from '../connectors/source-records.ts';
import { sqlState } from '../db/pg-errors.ts';
import { sqlTypes } from './columns.ts';
import { columnValues, copyCell, type EncodedRecord, emptyCell, plainValues, rowColumns } from './encode.ts';
import {
  isHeldSql,
  LostLease,
  noRunId,
  type RunPlan,
  type RunState,
  usesFreshTable,
} from './run-state-row.ts';
import { sql, tableOf } from './sql.ts';
import { quoteIdentifier } from './table.ts';
import { filterChanged, removeUnchanged } from './unchanged.ts';

export type StagedPage = {
  readonly records: readonly EncodedRecord[];
  readonly rejected: readonly RecordRejection[];
  readonly lastId: string | null;
  readonly hasMore: boolean;
  /** Some of these records may have been read in this run before. */
  readonly rereads?: boolean;
  /** Records of it may have been on an earlier page. */
  readonly isUnordered?: boolean;
  /** Records that are absent in the ERP. */
  readonly absent?: readonly AbsentRecord[];
  /** Changes to the plan; a new step starts without a checkpoint. */
  readonly plan?: Partial<RunPlan>;
};
/**
 * `feed`: the ERP lists it as deleted · `approved`: its deletion was approved · `absent`: the ERP does not
 * return it, unconfirmed.
 */
export type AbsentRecord = {
  readonly id: string;
  readonly proof: 'feed' | 'approved' | 'absent';
  /** The stored records that name it, where that was looked up and there are some. */
  readonly referencedBy?: readonly Reference[];
};
/** How many stored records of a type name a record in a field; in lines `<field>.<field of the line>`. */
export type Reference = { readonly recordType: string; readonly field: string; readonly count: number };

type Removed = { readonly staged: number; readonly rejected: number };
const advance = ({ counters }: RunState, page: StagedPage, removed: Removed): RunState['counters'] => ({
  ...counters,
  fetched: counters.fetched + page.records.length + page.rejected.length - removed.staged - removed.rejected,
  rejected: counters.rejected + page.rejected.length - removed.rejected,
  // Steps and records that are read by id are staged likewise, and are no pages of the list of records.
  pages: counters.pages + (page.rereads === true ? 0 : 1),
});

const chunkLength = 131_072;

/**
 * COPY text in chunks of many rows, so that a page is never in memory twice and rows don't pass through the
 * stream one by one.
 */
function* copyText(
  state: RunState,
  records: readonly EncodedRecord[],
  generation: string,
): Generator<Buffer> {
  const fresh = usesFreshTable(state);
  let chunk = '';
  for (const { id, hash, row } of records) {
    const key = copyCell(id);
    chunk += `${fresh ? `${key}\t${generation}` : `${state.runId}\t${key}`}\t\\\\x${hash}\t${row}\n`;
    if (chunk.length < chunkLength) continue;
    yield Buffer.from(chunk);
    chunk = '';
  }
  if (chunk !== '') yield Buffer.from(chunk);
}

async function copyRows(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
  generation: string,
): Promise<void> {
  if (records.length === 0) return;
  const leading = usesFreshTable(state)
    ? ['id', 'generation', 'content_hash']
    : ['run_id', 'id', 'content_hash'];
  const names = [...leading, ...rowColumns(state.columns)].map(quoteIdentifier).join(', ');
  const target = client.query(
    copyFrom(
      `copy ${schema}.${quoteIdentifier(state.targetTable)} (${names}) from stdin (null ${emptyCell})`,
    ),
  );
  await pipeline(Readable.from(copyText(state, records, generation)), target);
}

/** PostgreSQL rejects a value (SQLSTATE class 22: out of range, malformed) or a row as too large (54). */
export const isUnstorableError = (error: unknown): boolean => /^(22|54)...$/.test(sqlState(error) ?? '');

/**
 * Finds the records that PostgreSQL rejects, by bisection, and writes nothing. Rejects with any database
 * error other than an unstorable value or row.
 */
export async function findUnstorable(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
  generation: string,
): Promise<RecordRejection[]> {
  await client.query('savepoint trial');
  const failure: unknown = await copyRows(client, schema, state, records, generation).then(
    () => undefined,
    (error: unknown) => error,
  );
  await client.query('rollback to savepoint trial');
  if (failure === undefined) return [];
  if (!isUnstorableError(failure) || !(failure instanceof Error)) throw failure;
  const [first] = records;
  if (first !== undefined && records.length === 1)
    return [
      {
        id: first.id,
        code: 'VALUE_UNSTORABLE',
        message: `The database rejected a value: ${failure.message}`.slice(0, 500),
        values: plainValues(first, state.columns),
      },
    ];
  const middle = Math.ceil(records.length / 2);
  return [
    ...(await findUnstorable(client, schema, state, records.slice(0, middle), generation)),
    ...(await findUnstorable(client, schema, state, records.slice(middle), generation)),
  ];
}

/** Ids that PostgreSQL can cast to the id type; no other id is in the table. */
export const castableIds = (ids: readonly string[], { plan: { idType } }: RunState): readonly string[] =>
  idType === 'text' ? ids : ids.filter((id) => /^-?\d{1,18}$/.test(id));
export const idSqlType = ({ plan: { idType } }: Pick<RunState, 'plan'>): string => sqlTypes[idType];

/**
 * Removes what this run staged of these records, because it read them again; returns how many rows and
 * rejections it removed from the run.
 */
async function removeEarlierReads(
  client: PoolClient,
  schema: string,
  state: RunState,
  ids: readonly string[],
) {
  // `is not null` keeps the parameter used: PostgreSQL can't infer the type of an unused one.
  const ofRun = usesFreshTable(state) ? '$2::uuid is not null' : 'run_id = $2';
  const staged = await client.query(
    `delete from ${schema}.${quoteIdentifier(state.targetTable)} where id = any($1::${idSqlType(state)}[]) and ${ofRun}`,
    [castableIds(ids, state), state.runId],
  );
  const rejected = await client.query(
    `update ${schema}.rejections set run_id = $4 where record_type = $1 and run_id = $2 and id = any($3::text[])`,
    [state.recordType, state.runId, ids, noRunId],
  );
  await forgetAbsent(client, schema, state, ids);
  const unchanged = await removeUnchanged(client, schema, state, ids);
  return { staged: (staged.rowCount ?? 0) + unchanged, rejected: rejected.rowCount ?? 0 };
}

const forgetAbsent = (client: PoolClient, schema: string, { runId }: RunState, ids: readonly string[]) =>
  client.query(`delete from ${schema}.staged_deletions where run_id = $1 and id = any($2::text[])`, [
    runId,
    ids,
  ]);

async function writeAbsent(
  client: PoolClient,
  schema: string,
  state: RunState,
  absent: readonly AbsentRecord[],
): Promise<void> {
  await client.query(
    `insert into ${schema}.staged_deletions as held (run_id, record_type, id, proof, referenced_by)
     select $1, $2, d.id, d.proof, d."referencedBy" from jsonb_to_recordset($3::jsonb) as d(id text, proof text, "referencedBy" jsonb)
     on conflict (run_id, id) do update set referenced_by = excluded.referenced_by, proof = case when held.proof = 'absent' then excluded.proof else held.proof end`,
    [state.runId, state.recordType, JSON.stringify(absent)],
  );
}

/** Throws `LostLease` unless the run is still in `state`. */
async function moveTo(client: PoolClient, schema: string, state: RunState, next: RunState): Promise<void> {
  const { rowCount } = await client.query(
    sql`update ${tableOf(schema, 'run_state')} set page = ${next.page}, checkpoint = ${next.checkpoint}, complete = ${next.complete},
       plan = ${JSON.stringify(next.plan)}, counters = ${JSON.stringify(next.counters)}, updated_at = now()
     where ${isHeldSql(state)}`,
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds the run or the page was already written');
}

/**
 * Writes the page and returns the state after it. `generation` is stored only in rows of a fresh table.
 * Throws `LostLease` when a newer lease holds the run or the page was already written, and any database error
 * (see `isUnstorableError`).
 */
export async function stagePage(
  client: PoolClient,
  schema: string,
  state: RunState,
  page: StagedPage,
  generation: string,
): Promise<RunState> {
  const { absent = [], plan: found, rereads = false, isUnordered = false } = page;
  const plan = { ...state.plan, ...found, ...(state.plan.flush === 'done' && { flush: 'pending' as const }) };
  const next: RunState = {
    ...state,
    plan,
    page: state.page + 1,
    checkpoint: plan.step === state.plan.step ? (page.lastId ?? state.checkpoint) : null,
    complete: !page.hasMore,
  };
  // Correct unless some of the records were read before; corrected below.
  const expected = advance(state, page, { staged: 0, rejected: 0 });
  await moveTo(client, schema, state, { ...next, counters: expected });
  const ids =
    rereads || isUnordered ? [...page.records, ...page.rejected, ...absent].map(({ id }) => id) : [];
  const removed =
    ids.length === 0 ? { staged: 0, rejected: 0 } : await removeEarlierReads(client, schema, state, ids);
  await copyRows(client, schema, state, await filterChanged(client, schema, state, page.records), generation);
  if (page.rejected.length > 0) await writeRejected(client, schema, state, page.rejected);
  if (absent.length > 0) await writeAbsent(client, schema, state, absent);
  if (removed.staged + removed.rejected === 0) return { ...next, counters: expected };
  const counters = advance(state, page, removed);
  await client.query(`update ${schema}.run_state set counters = $2 where run_id = $1`, [
    state.runId,
    JSON.stringify(counters),
  ]);
  return { ...next, counters };
}

/**
 * Once this transaction is committed, everything that the run staged is on disk. Throws `LostLease` when the
 * database server lost some of it in a crash, or a newer lease holds the run.
 */
export async function flushStaged(client: PoolClient, schema: string, state: RunState): Promise<void> {
  const { rowCount } = await client.query(
    sql`update ${tableOf(schema, 'run_state')} set plan = plan || '{"flush": "done"}', updated_at = now() where ${isHeldSql(state)}`,
  );
  if (rowCount !== 1)
    throw new LostLease('a newer lease holds the run, or some of its staged pages were lost');
}

async function writeRejected(
  client: PoolClient,
  schema: string,
  state: RunState,
  rejected: readonly RecordRejection[],
): Promise<void> {
  const { rows } = await client.query<{ column: string }>(
    `select jsonb_object_keys(scope_columns) as column from ${schema}.record_state where record_type = $1`,
    [state.recordType],
  );
  const names = new Set(rows.map(({ column }) => column));
  const rejections = rejected.map(({ values, ...rejection }) => ({
    ...rejection,
    ...(values !== undefined && { scopeValues: columnValues(values, state.columns, names) }),
  }));
  await client.query(
    `insert into ${schema}.rejections as held (record_type, id, code, message, run_id, last_run_id, scope_values)
     select $1, r.id, r.code, r.message, $2, $2, r."scopeValues"
     from jsonb_to_recordset($3::jsonb) as r(id text, code text, message text, "scopeValues" jsonb)
     on conflict (record_type, id) do update set code = excluded.code, message = excluded.message, run_id = excluded.run_id,
       last_run_id = excluded.last_run_id, last_seen_at = excluded.last_seen_at, attempts = held.attempts + 1,
       scope_values = excluded.scope_values`,
    [state.recordType, state.runId, JSON.stringify(rejections)],
  );
}
