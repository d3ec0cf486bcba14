// The DDL of typed tables: made for a first load, widened for new fields, dropped when no reader can hold their name.
// Never called from the steady path of a sync; each function may be repeated after a crash.
import type { Knex } from 'knex';
import type { PoolClient } from 'pg';
import { type ColumnChanges, type RecordColumn, sqlIdType, sqlTypeOf } from './columns.ts';

type Client = Pick<PoolClient, 'query'>;

/** Turns any text into a safe, quoted SQL identifier. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const columnList = (columns: readonly RecordColumn[]): string =>
  columns.map(({ column, type }) => `, ${quoted(column)} ${sqlTypeOf(type)}`).join('');

/** A table that readers may be pointed at: `<recordType>_<n>`. */
export async function createRecordTable(
  client: Client,
  schema: string,
  table: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): Promise<void> {
  await client.query(
    `create table if not exists ${schema}.${quoted(table)} (id ${sqlIdType(idType)} primary key, generation bigint not null,
     content_hash bytea not null, changed_at timestamptz not null default now()${columnList(columns)})`,
  );
}

export const stagingTable = (recordType: string): string => `staging_${recordType}`;

/** The permanent staging table of a record type. */
export async function createStagingTable(
  client: Client,
  schema: string,
  recordType: string,
  idType: 'integer' | 'text',
  columns: readonly RecordColumn[],
): Promise<void> {
  await client.query(
    `create table if not exists ${schema}.${quoted(stagingTable(recordType))} (run_id uuid not null, id ${sqlIdType(idType)} not null,
     content_hash bytea not null${columnList(columns)}, primary key (run_id, id))`,
  );
}

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
      if (additions.length > 0) await tx.raw(`alter table if exists ${schema}.${quoted(table)} ${additions.join(', ')}`);
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

/** Drops the swapped-out tables that are old enough; one that is still busy is left for the next time. */
export async function dropRetiredTables(control: Knex, schema: string, olderThanMs: number): Promise<number> {
  const { rows } = await control.raw<{ rows: { table_name: string }[] }>(
    `select table_name from ${schema}.retired_tables where retired_at < clock_timestamp() - make_interval(secs => ?)`,
    [olderThanMs / 1000],
  );
  let dropped = 0;
  for (const { table_name: table } of rows) {
    await control.transaction(async (tx) => {
      await tx.raw("set local lock_timeout = '1s'");
      await tx.raw(`drop table if exists ${schema}.${quoted(table)}`);
      await tx.raw(`delete from ${schema}.retired_tables where table_name = ?`, [table]);
    });
    dropped += 1;
  }
  return dropped;
}
