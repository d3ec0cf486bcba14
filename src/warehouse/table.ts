// The DDL of typed tables: created for a first load, altered for new fields, dropped when no reader can still
// use their name. Never called from the steady path of a sync; each function may be repeated after a crash.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { PoolClient } from 'pg';
import { sqlState } from '../db/pg-errors.ts';
import { type ColumnChanges, type RecordColumn, toSqlType } from './columns.ts';
import { changeTables, orPending } from './tables-pending.ts';

/** Quotes any text as a safe SQL identifier. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * Whether a message or plan of PostgreSQL that names `reported` means this table or index: on Citus its shard
 * is called `<name>_<number>`.
 */
export const isNameOrShard = (name: string, reported: string): boolean =>
  reported === name || (reported.startsWith(`${name}_`) && /^\d+$/.test(reported.slice(name.length + 1)));

const columnList = (columns: readonly RecordColumn[]): string =>
  columns.map(({ column, type }) => `, ${quoteIdentifier(column)} ${toSqlType(type)}`).join('');

/**
 * Leaves space in each page for the next version of a row: an update that changes no indexed column then
 * writes to no index (HOT).
 */
const fillPercent = 90;

const recordTableSql = (
  schema: string,
  table: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): string =>
  `create table if not exists ${schema}.${quoteIdentifier(table)} (id ${toSqlType(idType)} primary key, generation bigint not null,
   content_hash bytea not null, changed_at timestamptz not null default now()${columnList(columns)}) with (fillfactor = ${fillPercent})`;

/** Creates a table that may become the active one: `<recordType>_<n>`. */
export async function createRecordTable(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  table: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): Promise<void> {
  await client.query(recordTableSql(schema, table, idType, columns));
}

/** PostgreSQL silently truncates names at 63 bytes; this stem leaves space for prefixes and suffixes. */
export const tableStem = (recordType: string): string =>
  recordType.length <= 40
    ? recordType
    : `${recordType.slice(0, 27)}_${createHash('sha256').update(recordType).digest('hex').slice(0, 12)}`;

export const stagingTable = (recordType: string): string => `staging_${tableStem(recordType)}`;

/** The staging table of a record type; `applyColumnChanges` adds columns. Rejects with `TablesPending`. */
export async function createStagingTable(
  control: Knex,
  schema: string,
  recordType: string,
  idType: 'integer' | 'text',
): Promise<void> {
  const columns = `run_id uuid not null, id ${toSqlType(idType)} not null, content_hash bytea not null, primary key (run_id, id)`;
  const table = `${schema}.${quoteIdentifier(stagingTable(recordType))}`;
  await orPending(async () => control.raw(`create table if not exists ${table} (${columns})`));
}

/**
 * The key of the advisory lock that long reads of a table take shared, and DDL on it takes exclusively. A
 * long read can thus be ended before the DDL waits for the table's own lock, behind which every other reader
 * would queue. Hash it with seed 2.
 */
export const longReadKey = (schema: string, table: string): string => `${schema}.${table}`;

/**
 * Adds new columns to the tables and stores every change of columns, in one transaction. Rejects when a table
 * stays locked for 5 s, and with `TablesPending`.
 */
export async function applyColumnChanges(
  control: Knex,
  schema: string,
  recordType: string,
  tables: readonly string[],
  changes: ColumnChanges,
  known: number,
): Promise<void> {
  if (changes.added.length === 0 && changes.changed.length === 0) return;
  await changeTables(control, async (tx) => {
    await tx.raw("set local lock_timeout = '5s'");
    for (const table of tables) {
      const additions = changes.added.map(
        ({ column, type }) => `add column if not exists ${quoteIdentifier(column)} ${toSqlType(type)}`,
      );
      if (additions.length === 0) continue;
      await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 2))', [longReadKey(schema, table)]);
      await tx.raw(`alter table if exists ${schema}.${quoteIdentifier(table)} ${additions.join(', ')}`);
    }
    for (const [index, column] of [...changes.added, ...changes.changed].entries()) {
      await tx.raw(
        `insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, line_fields, position)
         values (?, ?, ?, ?, ?, ?, ?::jsonb, ?)
         on conflict (record_type, column_name) do update set state = excluded.state, line_fields = excluded.line_fields`,
        [
          recordType,
          column.column,
          column.field,
          column.part,
          column.type,
          column.state,
          JSON.stringify(column.lineFields),
          known + index,
        ],
      );
    }
  });
}

/**
 * Drops the retired tables that are old enough and returns their number. A table that is locked is left to
 * the next call, and an active table is never dropped, even if listed. Rejects when the connection is lost.
 */
export async function dropRetiredTables(control: Knex, schema: string, olderThanMs: number): Promise<number> {
  const { rows } = await control.raw<{ rows: { table_name: string }[] }>(
    `select table_name from ${schema}.retired_tables r where retired_at <= clock_timestamp() - make_interval(secs => ?)
     and not exists (select from ${schema}.record_state s where s.active_table = r.table_name)`,
    [olderThanMs / 1000],
  );
  let dropped = 0;
  for (const { table_name: table } of rows) {
    const isDropped = await control
      .transaction(async (tx) => {
        // Lets readers of the table finish: a longer lock wait would end exports that read it.
        await tx.raw("set local lock_timeout = '100ms'");
        await tx.raw(`drop table if exists ${schema}.${quoteIdentifier(table)}`);
        await tx.raw(`delete from ${schema}.retired_tables where table_name = ?`, [table]);
      })
      .then(
        () => true,
        (error: unknown) => {
          if (sqlState(error) === undefined) throw error;
          return false;
        },
      );
    if (isDropped) dropped += 1;
  }
  return dropped;
}

/**
 * Creates a table for the rows of one run, under a name never used before, and retires orphans: tables that a
 * worker created and did not store before it died. Only one run at a time works on a record type, so any
 * other table with such a name is an orphan. Rejects with `TablesPending`.
 */
export async function createFreshTable(
  control: Knex,
  schema: string,
  recordType: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): Promise<string> {
  return changeTables(control, async (tx) => {
    const { rows } = await tx.raw<{ rows: { n: number; active: string | null }[] }>(
      `update ${schema}.record_state set next_table = next_table + 1 where record_type = ? returning next_table - 1 as n, active_table as active`,
      [recordType],
    );
    const stem = tableStem(recordType);
    const table = `${stem}_${rows[0]?.n ?? 1}`;
    await tx.raw(
      `insert into ${schema}.retired_tables (table_name)
       select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = ? and c.relkind = 'r' and starts_with(c.relname, ?) and substr(c.relname, length(?) + 1) ~ '^[0-9]+$'
         and c.relname is distinct from ? on conflict do nothing`,
      [schema, `${stem}_`, `${stem}_`, rows[0]?.active ?? null],
    );
    await tx.raw(recordTableSql(schema, table, idType, columns));
    return table;
  });
}
