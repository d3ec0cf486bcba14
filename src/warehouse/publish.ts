// Publishes a run whose reading is complete: one transaction over one organization's schema, without DDL.
// Rows, deletions, counts, generation and the run's outcome change together, so a reader sees all of a run or
// none of it.
import type { PoolClient } from 'pg';
import { publishedColumns } from './merge-rows.ts';
import { type PublishContext, type PublishRules, writeRows } from './publish-rows.ts';
import {
  type Lineage,
  type LockedState,
  lineageOn,
  lockState,
  newLineage,
  type ScopeColumns,
} from './record-state.ts';
import { writeRollingRead } from './rolling-reads.ts';
import {
  isHeldSql,
  LostLease,
  type PublishOutcome,
  type RunState,
  tablesOfRuns,
  usesFreshTable,
} from './run-state-row.ts';
import { listScopeColumns } from './scope-changes.ts';
import { Parameter, sql, tableOf } from './sql.ts';
import { writeStaleFields } from './stale-fields.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

/**
 * Whether the active table has the rows that the run was compared with: a generation in which scope columns
 * began changed none.
 */
function isAsCompared({ comparedWith = null }: RunState['plan'], current: LockedState): boolean {
  if (comparedWith === null) return true;
  const compared = BigInt(comparedWith.generation);
  const began = new Set(
    Object.values(current.scope_columns).filter((generation) => BigInt(generation) > compared),
  );
  return (
    comparedWith.table === current.active_table &&
    BigInt(began.size) === BigInt(current.generation) - compared
  );
}

async function lockRun(client: PoolClient, schema: string, state: RunState): Promise<LockedState> {
  const current = await lockState(client, schema, state.recordType);
  const owned = await client.query(
    sql`select from ${tableOf(schema, 'run_state')} where ${isHeldSql(state)} for update`,
  );
  if (current === undefined || owned.rowCount !== 1)
    throw new LostLease('the run has a newer lease, has moved on, or was already published');
  if (!isAsCompared(state.plan, current))
    throw new Error('the active table changed since the run was compared with it');
  return current;
}

/**
 * Deletes rejections of records that this run could store, found absent, or did not get in a complete read.
 * Returns how many remain.
 */
async function closeRejections({ client, schema, state }: PublishContext, table: string): Promise<number> {
  const resolved =
    state.plan.mode === 'full'
      ? 'run_id <> $2'
      : `run_id <> $2 and (exists (select from ${schema}.${quoteIdentifier(table)} t where t.run_id = $2 and t.id::text = rejections.id)
           or exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = rejections.id))`;
  await client.query(`delete from ${schema}.rejections where record_type = $1 and ${resolved}`, [
    state.recordType,
    state.runId,
  ]);
  const { rows } = await client.query<{ count: string }>(
    `select count(*) from ${schema}.rejections where record_type = $1`,
    [state.recordType],
  );
  return Number(rows[0]?.count ?? 0);
}

type Published = {
  readonly generation: string;
  readonly rowCount: number;
  readonly lineage: Lineage;
  readonly scopeColumns: ScopeColumns;
};

/** Those of a table that was swapped in are recorded from its first generation on. */
const scopeColumnsAfter = (
  { scope_columns: recorded }: LockedState,
  columns: readonly string[],
  isFresh: boolean,
  generation: string,
): ScopeColumns =>
  Object.fromEntries(
    ['id', ...columns].map((column) => [column, (isFresh ? undefined : recorded[column]) ?? generation]),
  );

/** Unchanged while nothing is published, so that tags stay valid after a switchover. */
function lineageAfter(current: LockedState, isFresh: boolean, hasChanges: boolean): Lineage {
  const { epoch, timeline, former_epochs: formerEpochs, generation, here } = current;
  if (isFresh) return newLineage(here);
  const lineage = { epoch, timeline, formerEpochs };
  return hasChanges || timeline === null ? lineageOn(here, lineage, generation) : lineage;
}

/**
 * After a complete read the high-water mark follows the ERP's clock; after an incremental one, the
 * modification times that were read. An incremental run never moves it back. It always stays `settleMs`
 * behind the ERP's clock, for changes that were not visible yet. A run that reads only requested records says
 * nothing about the age of the others.
 */
async function writeState(
  { client, schema, state, rules }: PublishContext,
  { generation, rowCount, lineage, scopeColumns }: Published,
): Promise<void> {
  const { mode, maxModified, scanned, today, filter = null, changeToken = null } = state.plan;
  const runId = new Parameter(state.runId);
  const isFull = new Parameter(mode === 'full');
  const isReread = new Parameter(mode === 'reread');
  const isCompared = new Parameter(mode === 'full' || scanned);
  const erpNow = new Parameter(state.counters.erpStartedAt);
  const settled = sql`${erpNow}::timestamptz - make_interval(secs => ${rules.settleMs / 1000})`;
  // When nothing was read, the mark stays. least() would ignore a null.
  const read = maxModified ?? '-infinity';
  const startedAt = sql`(select started_at from ${tableOf(schema, 'run_state')} where run_id = ${runId})`;
  await client.query(
    sql`update ${tableOf(schema, 'record_state')} set generation = ${generation}, row_count = ${rowCount}, published_run = ${runId},
       epoch = ${lineage.epoch}, timeline = ${lineage.timeline}, former_epochs = ${JSON.stringify(lineage.formerEpochs)},
       scope_columns = ${JSON.stringify(scopeColumns)}, filter = ${filter === null ? null : JSON.stringify(filter)}, synced_at = case when ${isReread} then synced_at else ${startedAt} end,
       high_water = case when ${isFull} then ${settled} else greatest(high_water, least(${read}::timestamptz, ${settled})) end,
       change_token = case when ${isReread} then change_token else ${changeToken} end,
       reconciled_at = case when ${isCompared} then ${erpNow}::timestamptz else reconciled_at end,
       scanned_on = case when ${isCompared} then ${today}::date else scanned_on end,
       compared_at = case when ${isCompared} then ${startedAt} else compared_at end
     where record_type = ${state.recordType}`,
  );
  await writeRollingRead(client, schema, state);
}

/** From now on readers find what a complete read wrote into new columns. */
async function showNewColumns({ client, schema, state }: PublishContext): Promise<void> {
  if (state.plan.mode !== 'full') return;
  await client.query(
    `update ${schema}.record_columns set state = 'live' where record_type = $1 and state in ('loading', 'returned') and column_name = any($2)`,
    [state.recordType, publishedColumns(state).map(({ column }) => column)],
  );
}

/** Writes the outcome, and deletes what the run staged. */
async function closeRun({ client, schema, state }: PublishContext, outcome: PublishOutcome) {
  await client.query(`update ${schema}.run_state set outcome = $2, updated_at = now() where run_id = $1`, [
    state.runId,
    JSON.stringify(outcome),
  ]);
  for (const table of [quoteIdentifier(stagingTable(state.recordType)), ...tablesOfRuns])
    await client.query(`delete from ${schema}.${table} where run_id = $1`, [state.runId]);
  return outcome;
}

type Written = Awaited<ReturnType<typeof writeRows>>;
const changesRows = ({ inserted, updated, deleted, withheld }: Written): boolean =>
  inserted + updated + deleted + withheld > 0;

const decideStatus = (left: { rejected: number; held: number; stale: object }): PublishOutcome['status'] =>
  left.rejected + left.held + Object.keys(left.stale).length > 0 ? 'partial' : 'succeeded';

/**
 * Publishes the run in the caller's transaction and returns its outcome. `verify` gets the exact counts
 * before anything becomes visible; when it throws, everything is rolled back. Throws `LostLease` when the run
 * has a newer lease, has moved on or was already published, and an `Error` when the active table is not the
 * one that the run was prepared for.
 */
export async function publishRun(
  client: PoolClient,
  schema: string,
  state: RunState,
  rules: PublishRules,
  verify: (counts: PublishOutcome['counts'], rows: number, heldDeletions: number) => void,
): Promise<PublishOutcome> {
  const current = await lockRun(client, schema, state);
  const next = (BigInt(current.generation) + 1n).toString();
  const scopeColumns = listScopeColumns(current.scope_columns, current.shown_columns, state.columns);
  const work = { client, schema, state, rules, generation: next, now: current.now, scopeColumns };
  const fresh = usesFreshTable(state);
  if (!fresh && current.active_table === null)
    throw new Error('a first load must be staged in a fresh table');
  const open = await closeRejections(work, fresh ? state.targetTable : stagingTable(state.recordType));
  const written = await writeRows(work, current);
  const { inserted, updated, unchanged, deleted, held, proposalId, rowCount } = written;
  const hasChanges = fresh || changesRows(written);
  const generation = hasChanges ? next : current.generation;
  const readable = fresh ? state.targetTable : (current.active_table ?? '');
  const stale = await writeStaleFields(client, schema, state, readable);
  await writeState(work, {
    generation,
    rowCount,
    lineage: lineageAfter(current, fresh, hasChanges),
    scopeColumns: scopeColumnsAfter(current, scopeColumns, fresh, generation),
  });
  await showNewColumns(work);
  const counts = { fetched: state.counters.fetched, inserted, updated, unchanged, deleted, rejected: open };
  verify(counts, rowCount, held);
  return closeRun(work, {
    status: decideStatus({ rejected: open, held, stale }),
    generation,
    counts,
    heldDeletions: held,
    proposalId,
    stale,
  });
}
