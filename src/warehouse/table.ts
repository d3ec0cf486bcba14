// The DDL of typed tables: made for a first load, widened for new fields, dropped when no reader can hold their name.
// Never called from the steady path of a sync; each function may be repeated after a crash.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { PoolClient } from 'pg';
import { sqlState } from '../db/pg-errors.ts';
import { type ColumnChanges, type RecordColumn, sqlIdType, sqlTypeOf } from './columns.ts';

type Client = Pick<PoolClient, 'query'>;

/** Turns any text into a safe, quoted SQL identifier. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const columnList = (columns: readonly RecordColumn[]): string =>
  columns.map(({ column, type }) => `, ${quoted(column)} ${sqlTypeOf(type)}`).join('');

/** Room in each page for the next version of a row: while no indexed column changes, an update then touches no index. */
const fillPercent = 90;

const recordTableSql = (schema: string, table: string, idType: 'integer' | 'text', columns: readonly RecordColumn[]): string =>
  `create table if not exists ${schema}.${quoted(table)} (id ${sqlIdType(idType)} primary key, generation bigint not null,
   content_hash bytea not null, changed_at timestamptz not null default now()${columnList(columns)}) with (fillfactor = ${fillPercent})`;

/** A table that readers may be pointed at: `<recordType>_<n>`. */
export async function createRecordTable(
  client: Client,
  schema: string,
  table: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): Promise<void> {
  await client.query(recordTableSql(schema, table, idType, columns));
}

/** PostgreSQL cuts names at 63 bytes in silence; ours leave room for what is put before and behind them. */
const tableStem = (recordType: string): string =>
  recordType.length <= 40 ? recordType : `${recordType.slice(0, 27)}_${createHash('sha256').update(recordType).digest('hex').slice(0, 12)}`;

export const stagingTable = (recordType: string): string => `staging_${tableStem(recordType)}`;

/** The permanent staging table of a record type; its columns come by `applyColumnChanges`. */
export async function createStagingTable(control: Knex, schema: string, recordType: string, idType: 'integer' | 'text'): Promise<void> {
  await control.raw(
    `create table if not exists ${schema}.${quoted(stagingTable(recordType))} (run_id uuid not null, id ${sqlIdType(idType)} not null,
     content_hash bytea not null, primary key (run_id, id))`,
  );
}

/**
 * What is locked, shared, by whoever reads a table for long, and alone by whoever is about to change it: so the long reader can be
 * told to go before anyone waits for the table itself, behind whom every other reader would wait. To be hashed with the seed 2.
 */
export const longReadKey = (schema: string, table: string): string => `${schema}.${table}`;

/** Adds new columns to the tables and notes every change of columns, in one transaction. */
export async function applyColumnChanges(
  control: Knex,
  schema: string,
  recordType: string,
  tables: readonly string[],
  changes: ColumnChanges,
  known: number,
): Promise<void> {
  if (changes.added.length === 0 && changes.changed.length === 0) return;
  await control.transaction(async (tx) => {
    await tx.raw("set local lock_timeout = '5s'");
    for (const table of tables) {
      const additions = changes.added.map(({ column, type }) => `add column if not exists ${quoted(column)} ${sqlTypeOf(type)}`);
      if (additions.length === 0) continue;
      await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 2))', [longReadKey(schema, table)]);
      await tx.raw(`alter table if exists ${schema}.${quoted(table)} ${additions.join(', ')}`);
    }
    for (const [index, column] of [...changes.added, ...changes.changed].entries()) {
      await tx.raw(
        `insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, line_fields, position)
         values (?, ?, ?, ?, ?, ?, ?::jsonb, ?)
         on conflict (record_type, column_name) do update set state = excluded.state, line_fields = excluded.line_fields`,
        [recordType, column.column, column.field, column.part, column.type, column.state, JSON.stringify(column.lineFields), known + index],
      );
    }
  });
}

/**
 * Drops the swapped-out tables that are old enough; one that is still busy is left for the next time, and one that readers are
 * pointed at is never dropped, whatever the list says.
 */
export async function dropRetiredTables(control: Knex, schema: string, olderThanMs: number): Promise<number> {
  const { rows } = await control.raw<{ rows: { table_name: string }[] }>(
    `select table_name from ${schema}.retired_tables r where retired_at <= clock_timestamp() - make_interval(secs => ?)
     and not exists (select from ${schema}.record_state s where s.active_table = r.table_name)`,
    [olderThanMs / 1000],
  );
  let dropped = 0;
  for (const { table_name: table } of rows) {
    const done = await control
      .transaction(async (tx) => {
        // Readers of it are given time rather than cut off: whoever waits for longer would have exports end for him.
        await tx.raw("set local lock_timeout = '100ms'");
        await tx.raw(`drop table if exists ${schema}.${quoted(table)}`);
        await tx.raw(`delete from ${schema}.retired_tables where table_name = ?`, [table]);
      })
      .then(
        () => true,
        (error: unknown) => {
          if (sqlState(error) === undefined) throw error;
          return false;
        },
      );
    if (done) dropped += 1;
  }
  return dropped;
}

/**
 * A table for the rows of one run, under a name never used before. A worker that died before it could say that it had made one
 * left it behind: as one run at a time works on a record type, whatever else bears such a name is nobody's.
 */
export async function createFreshTable(
  control: Knex,
  schema: string,
  recordType: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): Promise<string> {
  return control.transaction(async (tx) => {
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
