// Publishes a run whose reading is complete: one transaction over one organization's schema, without DDL.
// Rows, deletions, counts, generation and the run's outcome change together, so a reader sees all of a run or
// none of it.
import type { PoolClient } from 'pg';
import { systemColumns } from './columns.ts';
import { settleDeletions } from './deletion-proposals.ts';
import type { DeletionRules } from './deletions.ts';
import { insertNew, noContentHash, publishedColumns, updateChanged } from './merge-rows.ts';
import {
  type FormerEpoch,
  type Lineage,
  lineageOn,
  newLineage,
  type ShownColumns,
  timelineSql,
} from './record-state.ts';
import { writeRollingRead } from './rolling-reads.ts';
import {
  LostLease,
  type PublishOutcome,
  type RunState,
  tablesOfRuns,
  usesFreshTable,
} from './run-state-row.ts';
import {
  forgetScopeChanges,
  keepChangedValues,
  keepDeletedValues,
  releaseRead,
  type ScopeColumns,
  type ScopeWork,
  scopeColumnsOf,
  updateWithheld,
} from './scope-changes.ts';
import { writeStaleFields } from './stale-fields.ts';
import { quoteIdentifier, stagingTable } from './table.ts';
import { unchangedCountSql } from './unchanged.ts';

export type PublishRules = DeletionRules & {
  /**
   * How far the high-water mark stays behind: changes made in the ERP shortly before the run started may not
   * have been visible yet.
   */
  readonly settleMs: number;
};

type Current = {
  generation: string;
  row_count: string;
  active_table: string | null;
  shown_columns: ShownColumns | null;
  scope_columns: ScopeColumns;
  epoch: string | null;
  timeline: string | null;
  former_epochs: readonly FormerEpoch[];
  /** The timeline of the server that has the records, and the time there at which this transaction began. */
  here: string;
  now: string;
};
type Deleted = { deleted: number; held: number; proposalId: string | null };
type Changed = Deleted & {
  inserted: number;
  updated: number;
  unchanged: number;
  /** Of the withheld records, those that the run read and could store. */
  released: readonly string[];
};
type PublishContext = {
  readonly client: PoolClient;
  readonly schema: string;
  readonly state: RunState;
  readonly rules: PublishRules;
  readonly generation: string;
  /**
   * The time of this publish by the database's clock. A parameter, because Citus can't write now() into every
   * statement.
   */
  readonly now: string;
  /** The columns by which versions allow row scopes. */
  readonly scopeColumns: readonly string[];
};

const scoped = ({ scopeColumns, ...work }: PublishContext, table: string): ScopeWork => ({
  ...work,
  recordType: work.state.recordType,
  idType: work.state.plan.idType,
  table: `${work.schema}.${quoteIdentifier(table)}`,
  columns: scopeColumns,
});

/**
 * Whether the active table has the rows that the run was compared with: a generation in which scope columns
 * began changed none.
 */
function isAsCompared({ comparedWith = null }: RunState['plan'], current: Current): boolean {
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

async function lockRun(client: PoolClient, schema: string, state: RunState): Promise<Current> {
  const { rows } = await client.query<Current>(
    `select generation, row_count, active_table, shown_columns, scope_columns, epoch, timeline, former_epochs, ${timelineSql} as here, now()::text as now
     from ${schema}.record_state where record_type = $1 for update`,
    [state.recordType],
  );
  const owned = await client.query(
    `select from ${schema}.run_state where run_id = $1 and lease_epoch = $2 and page = $3 and outcome is null for update`,
    [state.runId, state.leaseEpoch, state.page],
  );
  const current = rows[0];
  if (current === undefined || owned.rowCount !== 1)
    throw new LostLease('the run has a newer lease, has moved on, or was already published');
  if (!isAsCompared(state.plan, current))
    throw new Error('the active table changed since the run was compared with it');
  return current;
}

async function writeTombstones(
  { client, schema, state, generation, now }: PublishContext,
  ids: readonly string[],
): Promise<void> {
  await client.query(
    `insert into ${schema}.tombstones (record_type, id, generation, deleted_at) select $1, unnest($2::text[]), $3, $4
     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = excluded.deleted_at`,
    [state.recordType, ids, generation, now],
  );
}

/**
 * Counts, by content hash, the rows that are new, differ from, or equal those of the table that readers see.
 */
async function countDifferences(client: PoolClient, read: string, table: string) {
  const { rows } = await client.query<{ inserted: string; updated: string; unchanged: string }>(
    `select count(*) filter (where t.id is null) as inserted, count(*) filter (where t.content_hash <> s.content_hash) as updated,
            count(*) filter (where t.content_hash = s.content_hash) as unchanged
     from ${read} s left join ${table} t on t.id = s.id`,
  );
  const row = rows[0];
  return {
    inserted: Number(row?.inserted ?? 0),
    updated: Number(row?.updated ?? 0),
    unchanged: Number(row?.unchanged ?? 0),
  };
}

async function mergeStaged(work: PublishContext, current: Current, active: string): Promise<Changed> {
  const { client, schema, state } = work;
  const staging = `${schema}.${quoteIdentifier(stagingTable(state.recordType))}`;
  const table = `${schema}.${quoteIdentifier(active)}`;
  const { rows } = await client.query<{ staged: string; same: string }>(
    `select (select count(*) from ${staging} where run_id = $1) as staged, ${unchangedCountSql(schema, '$1')} as same`,
    [state.runId],
  );
  const staged = Number(rows[0]?.staged ?? 0);
  const merging = { ...work, staging, table, shown: current.shown_columns };
  const scopes = scoped(work, active);
  if (staged > 0) await keepChangedValues(scopes);
  const released = await releaseRead(scopes);
  const inserted = staged === 0 ? 0 : await insertNew(merging);
  const updated = await updateChanged(merging, staged - inserted);
  const unchanged = staged - inserted - updated + Number(rows[0]?.same ?? 0);
  return { inserted, updated, unchanged, released, ...(await removeAbsent(work, current, active)) };
}

async function removeAbsent(work: PublishContext, current: Current, active: string): Promise<Deleted> {
  const { client, schema, state, rules } = work;
  const { remove, ...proposals } = await settleDeletions(work, active, rules, current.row_count);
  if (remove.length > 0) {
    const type = state.plan.idType === 'integer' ? 'bigint' : 'text';
    await keepDeletedValues(scoped(work, active), remove);
    const gone = await client.query(
      `delete from ${schema}.${quoteIdentifier(active)} where id = any($1::${type}[])`,
      [remove],
    );
    if (gone.rowCount !== remove.length)
      throw new Error(`${remove.length} rows were to be deleted, but ${gone.rowCount} were`);
    await writeTombstones(work, remove);
  }
  return { deleted: remove.length, ...proposals };
}

/**
 * Copies the rows that a fresh table must keep from the old one, and writes tombstones for those that are
 * deleted.
 */
async function carryOver(work: PublishContext, current: Current, old: string): Promise<Deleted> {
  const { client, schema, state, rules } = work;
  const fresh = `${schema}.${quoteIdentifier(state.targetTable)}`;
  const missing = await client.query<{ id: string }>(
    `select t.id::text as id from ${schema}.${quoteIdentifier(old)} t where not exists (select from ${fresh} s where s.id = t.id)`,
  );
  const { remove, ...proposals } = await settleDeletions(work, old, rules, current.row_count);
  const removed = new Set(remove);
  const kept = missing.rows.map(({ id }) => id).filter((id) => !removed.has(id));
  if (kept.length > 0) {
    const shared = await client.query<{ name: string }>(
      `select quote_ident(a.attname) as name from pg_attribute a join pg_attribute b on b.attname = a.attname
       where a.attrelid = $1::regclass and b.attrelid = $2::regclass and a.attnum > 0 and b.attnum > 0 and not a.attisdropped and not b.attisdropped`,
      [`${schema}.${quoteIdentifier(old)}`, fresh],
    );
    const names = shared.rows.map(({ name }) => name).join(', ');
    await client.query(
      `insert into ${fresh} (${names}) select ${names} from ${schema}.${quoteIdentifier(old)} where id::text = any($1)`,
      [kept],
    );
  }
  if (remove.length > 0) await writeTombstones(work, remove);
  return { deleted: remove.length, ...proposals };
}

/**
 * Copies the values of columns that this run doesn't read or doesn't publish: published versions may read
 * them. A row that takes over a value instead of what was read loses its content hash, so that the next read
 * compares it.
 */
async function carryOldColumns({ client, schema, state }: PublishContext, old: string): Promise<void> {
  const fresh = `${schema}.${quoteIdentifier(state.targetTable)}`;
  const shared = await client.query<{ name: string }>(
    `select a.attname as name from pg_attribute a join pg_attribute b on b.attname = a.attname
     where a.attrelid = $1::regclass and b.attrelid = $2::regclass and a.attnum > 0 and b.attnum > 0 and not a.attisdropped and not b.attisdropped
       and a.attname <> all($3)`,
    [
      `${schema}.${quoteIdentifier(old)}`,
      fresh,
      [...systemColumns, ...publishedColumns(state).map(({ column }) => column)],
    ],
  );
  const names = shared.rows.map(({ name }) => quoteIdentifier(name));
  if (names.length === 0) return;
  const withheld = state.columns.filter((column) => !publishedColumns(state).includes(column));
  const keepsHash =
    withheld.map(({ column }) => `o.${quoteIdentifier(column)} is null`).join(' and ') || 'true';
  const hash = `content_hash = case when ${keepsHash} then f.content_hash else ${noContentHash} end`;
  await client.query(
    `update ${fresh} f set ${hash}, ${names.map((name) => `${name} = o.${name}`).join(', ')} from ${schema}.${quoteIdentifier(old)} o
     where o.id = f.id and (${names.map((name) => `o.${name} is not null`).join(' or ')})`,
  );
}

async function swapIn(work: PublishContext, current: Current): Promise<Changed & { rowCount: number }> {
  const { client, schema, state } = work;
  const old = current.active_table;
  const fresh = `${schema}.${quoteIdentifier(state.targetTable)}`;
  const read =
    old === null
      ? { inserted: state.counters.fetched - state.counters.rejected, updated: 0, unchanged: 0 }
      : await countDifferences(client, fresh, `${schema}.${quoteIdentifier(old)}`);
  if (old !== null) await carryOldColumns(work, old);
  const released = await releaseRead(scoped(work, state.targetTable));
  const carried =
    old === null ? { deleted: 0, held: 0, proposalId: null } : await carryOver(work, current, old);
  const counted = await client.query<{ count: string }>(`select count(*) from ${fresh}`);
  await client.query(
    `delete from ${schema}.tombstones d using ${fresh} f where d.record_type = $1 and d.id = f.id::text`,
    [state.recordType],
  );
  if (old !== null)
    await client.query(
      `insert into ${schema}.retired_tables (table_name) values ($1) on conflict do nothing`,
      [old],
    );
  await client.query(`update ${schema}.record_state set active_table = $2 where record_type = $1`, [
    state.recordType,
    state.targetTable,
  ]);
  return { ...read, ...carried, released, rowCount: Number(counted.rows[0]?.count ?? 0) };
}

/**
 * Brings rows, deletions and withheld records up to date. `withheld`: how many records are withheld or served
 * again from now on.
 */
async function writeRows(
  work: PublishContext,
  current: Current,
): Promise<Changed & { rowCount: number; withheld: number }> {
  const { state } = work;
  if (usesFreshTable(state)) {
    const swapped = await swapIn(work, current);
    const scopes = scoped(work, state.targetTable);
    const withheld = await updateWithheld(scopes, swapped.released);
    await forgetScopeChanges(scopes);
    return { ...swapped, withheld };
  }
  const active = current.active_table ?? '';
  const merged = await mergeStaged(work, current, active);
  const withheld = await updateWithheld(scoped(work, active), merged.released);
  return { ...merged, rowCount: Number(current.row_count) + merged.inserted - merged.deleted, withheld };
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
  { scope_columns: recorded }: Current,
  columns: readonly string[],
  isFresh: boolean,
  generation: string,
): ScopeColumns =>
  Object.fromEntries(
    ['id', ...columns].map((column) => [column, (isFresh ? undefined : recorded[column]) ?? generation]),
  );

/** Unchanged while nothing is published, so that tags stay valid after a switchover. */
function lineageAfter(current: Current, isFresh: boolean, hasChanges: boolean): Lineage {
  const { epoch, timeline, former_epochs: formerEpochs, generation, here } = current;
  if (isFresh) return newLineage(here);
  const lineage = { epoch, timeline, formerEpochs };
  return hasChanges || timeline === null ? lineageOn(here, lineage, generation) : lineage;
}

/**
 * After a complete read the high-water mark follows the ERP's clock; after an incremental one, the
 * modification times that were read. An incremental run never moves it back. It always stays `settleMs`
 * behind the ERP's clock, for changes that were not visible yet.
 */
async function writeState(
  { client, schema, state, rules }: PublishContext,
  { generation, rowCount, lineage, scopeColumns }: Published,
): Promise<void> {
  const { mode, maxModified, scanned, today, filter = null } = state.plan;
  await client.query(
    `update ${schema}.record_state set generation = $2, row_count = $3, published_run = $4, epoch = $11, timeline = $12, former_epochs = $13, scope_columns = $15,
       high_water = case when $6 then $5::timestamptz - make_interval(secs => $8)
         else greatest(high_water, least($7::timestamptz, $5::timestamptz - make_interval(secs => $8))) end,
       reconciled_at = case when $6 or $9 then $5::timestamptz else reconciled_at end,
       scanned_on = case when $6 or $9 then $10::date else scanned_on end,
       compared_at = case when $6 or $9 then (select started_at from ${schema}.run_state where run_id = $4) else compared_at end, filter = $14,
       synced_at = (select started_at from ${schema}.run_state where run_id = $4) where record_type = $1`,
    [
      state.recordType,
      generation,
      rowCount,
      state.runId,
      state.counters.erpStartedAt,
      mode === 'full',
      // When nothing was read, the mark stays. least() would ignore a null.
      maxModified ?? '-infinity',
      rules.settleMs / 1000,
      scanned,
      today,
      lineage.epoch,
      lineage.timeline,
      JSON.stringify(lineage.formerEpochs),
      filter === null ? null : JSON.stringify(filter),
      JSON.stringify(scopeColumns),
    ],
  );
  await writeRollingRead(client, schema, state);
}

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
  const scopeColumns = scopeColumnsOf(current.scope_columns, current.shown_columns, state.columns);
  const work: PublishContext = {
    client,
    schema,
    state,
    rules,
    generation: next,
    now: current.now,
    scopeColumns,
  };
  const fresh = usesFreshTable(state);
  if (!fresh && current.active_table === null)
    throw new Error('a first load must be staged in a fresh table');
  const open = await closeRejections(work, fresh ? state.targetTable : stagingTable(state.recordType));
  const { inserted, updated, unchanged, deleted, held, proposalId, rowCount, withheld } = await writeRows(
    work,
    current,
  );
  const hasChanges = fresh || inserted + updated + deleted + withheld > 0;
  const generation = hasChanges ? next : current.generation;
  const stale = await writeStaleFields(
    client,
    schema,
    state,
    fresh ? state.targetTable : (current.active_table ?? ''),
  );
  const recorded = scopeColumnsAfter(current, scopeColumns, fresh, generation);
  await writeState(work, {
    generation,
    rowCount,
    lineage: lineageAfter(current, fresh, hasChanges),
    scopeColumns: recorded,
  });
  if (state.plan.mode === 'full') {
    await client.query(
      `update ${schema}.record_columns set state = 'live' where record_type = $1 and state in ('loading', 'returned') and column_name = any($2)`,
      [state.recordType, publishedColumns(state).map(({ column }) => column)],
    );
  }
  const counts = { fetched: state.counters.fetched, inserted, updated, unchanged, deleted, rejected: open };
  verify(counts, rowCount, held);
  const outcome: PublishOutcome = {
    status: open > 0 || held > 0 || Object.keys(stale).length > 0 ? 'partial' : 'succeeded',
    generation,
    counts,
    heldDeletions: held,
    proposalId,
    stale,
  };
  await client.query(`update ${schema}.run_state set outcome = $2, updated_at = now() where run_id = $1`, [
    state.runId,
    JSON.stringify(outcome),
  ]);
  for (const table of [quoteIdentifier(stagingTable(state.recordType)), ...tablesOfRuns])
    await client.query(`delete from ${schema}.${table} where run_id = $1`, [state.runId]);
  return outcome;
}
