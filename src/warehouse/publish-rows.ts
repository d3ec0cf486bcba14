// Brings the rows that readers see up to date in the transaction of a publication: merges what the run staged
// into the active table, or swaps in the fresh table that it filled.
import type { PoolClient } from 'pg';
import { sqlTypes, systemColumns } from './columns.ts';
import { settleDeletions } from './deletion-proposals.ts';
import type { DeletionRules } from './deletions.ts';
import { insertNew, noContentHash, publishedColumns, updateChanged } from './merge-rows.ts';
import type { LockedState } from './record-state.ts';
import { type RunState, usesFreshTable } from './run-state-row.ts';
import {
  forgetScopeChanges,
  keepChangedValues,
  keepDeletedValues,
  releaseRead,
  type ScopeWork,
  updateWithheld,
} from './scope-changes.ts';
import { quoteIdentifier, stagingTable } from './table.ts';
import { unchangedCountSql } from './unchanged.ts';

export type PublishRules = DeletionRules & {
  /**
   * How far the high-water mark stays behind: changes made in the ERP shortly before the run started may not
   * have been visible yet.
   */
  readonly settleMs: number;
};

type Deleted = { deleted: number; held: number; proposalId: string | null };
type Changed = Deleted & {
  inserted: number;
  updated: number;
  unchanged: number;
  /** Of the withheld records, those that the run read and could store. */
  released: readonly string[];
};
export type PublishContext = {
  readonly client: PoolClient;
  readonly schema: string;
  readonly state: RunState;
  readonly rules: PublishRules;
  readonly generation: string;
  /** When this was published, by the database's clock: Citus can't write now() into every statement. */
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

/** Counts, by content hash, rows that are new, differ from, or equal those of the table that readers see. */
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

async function mergeStaged(work: PublishContext, current: LockedState, active: string): Promise<Changed> {
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

async function removeAbsent(work: PublishContext, current: LockedState, active: string): Promise<Deleted> {
  const { client, schema, state, rules } = work;
  const { remove, ...proposals } = await settleDeletions(work, active, rules, current.row_count);
  if (remove.length > 0) {
    await keepDeletedValues(scoped(work, active), remove);
    const gone = await client.query(
      `delete from ${schema}.${quoteIdentifier(active)} where id = any($1::${sqlTypes[state.plan.idType]}[])`,
      [remove],
    );
    if (gone.rowCount !== remove.length)
      throw new Error(`${remove.length} rows were to be deleted, but ${gone.rowCount} were`);
    await writeTombstones(work, remove);
  }
  return { deleted: remove.length, ...proposals };
}

/** Quoted, of the columns that the fresh table has in common with the old one. */
async function listSharedColumns(
  { client, schema, state }: PublishContext,
  old: string,
  without: readonly string[],
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select a.attname as name from pg_attribute a join pg_attribute b on b.attname = a.attname
     where a.attrelid = $1::regclass and b.attrelid = $2::regclass and a.attnum > 0 and b.attnum > 0 and not a.attisdropped and not b.attisdropped
       and a.attname <> all($3)`,
    [`${schema}.${quoteIdentifier(old)}`, `${schema}.${quoteIdentifier(state.targetTable)}`, without],
  );
  return rows.map(({ name }) => quoteIdentifier(name));
}

/** Copies the rows that a fresh table must keep from the old one; writes tombstones for deleted ones. */
async function carryOver(work: PublishContext, current: LockedState, old: string): Promise<Deleted> {
  const { client, schema, state, rules } = work;
  const fresh = `${schema}.${quoteIdentifier(state.targetTable)}`;
  const missing = await client.query<{ id: string }>(
    `select t.id::text as id from ${schema}.${quoteIdentifier(old)} t where not exists (select from ${fresh} s where s.id = t.id)`,
  );
  const { remove, ...proposals } = await settleDeletions(work, old, rules, current.row_count);
  const removed = new Set(remove);
  const kept = missing.rows.map(({ id }) => id).filter((id) => !removed.has(id));
  if (kept.length > 0) {
    const names = (await listSharedColumns(work, old, [])).join(', ');
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
async function carryOldColumns(work: PublishContext, old: string): Promise<void> {
  const { client, schema, state } = work;
  const fresh = `${schema}.${quoteIdentifier(state.targetTable)}`;
  const written = [...systemColumns, ...publishedColumns(state).map(({ column }) => column)];
  const names = await listSharedColumns(work, old, written);
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

async function swapIn(work: PublishContext, current: LockedState): Promise<Changed & { rowCount: number }> {
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
export async function writeRows(
  work: PublishContext,
  current: LockedState,
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
