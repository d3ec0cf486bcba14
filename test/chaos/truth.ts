// What the account holds at a moment, read from its database directly and formatted by this file's own rules: every column of every
// record of a type as text, and every line. It shares no code with the connector that it checks.
import type { Pool } from 'pg';
import { ALL_TABLES } from '../../packages/netsuite-simulator/src/tables/all-tables.ts';
import { type AccountColumn, type AccountTable, labelColumn, quoteSqlName } from '../../packages/netsuite-simulator/src/tables/table.ts';
import { tableOf, transactionTypes } from './books.ts';
import type { RecordTypeName } from './plan.ts';

export type Cell = string | null;
export type TrueLine = ReadonlyMap<string, Cell>;
/** By field, labels by `<field>.name`. */
export type TrueRecord = { readonly cells: ReadonlyMap<string, Cell>; readonly lines: readonly TrueLine[] | null };
export type Truth = ReadonlyMap<string, TrueRecord>;

type Shown = { readonly name: string; readonly sql: string };

function textOf({ name, kind }: AccountColumn): string {
  const column = `v.${quoteSqlName(name)}`;
  switch (kind) {
    case 'integer':
    case 'decimal':
      return `trim_scale(${column}::numeric)::text`;
    case 'flag':
      return `case ${column} when 'T' then 'true' when 'F' then 'false' end`;
    case 'date':
      return `pg_catalog.to_char(${column}, 'YYYY-MM-DD')`;
    case 'datetime':
      return `pg_catalog.to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
    case 'text':
      return `nullif(${column}, '')`;
  }
}

/** Each column and its display text, which is the value itself where the account has none. */
const shownOf = (table: AccountTable): Shown[] =>
  table.columns.flatMap((column) => [
    { name: column.name, sql: textOf(column) },
    {
      name: `${column.name}.name`,
      sql: column.label === undefined ? textOf(column) : `nullif(v.${quoteSqlName(labelColumn(column.name))}, '')`,
    },
  ]);

function tableNamed(name: string): AccountTable {
  const table = ALL_TABLES.find((known) => known.name === name);
  if (table === undefined) throw new Error(`the account has no table ${name}`);
  return table;
}

type Lines = { readonly table: AccountTable; readonly parent: string; readonly where: string; readonly order: string };
const linesOf: Readonly<Partial<Record<RecordTypeName, Lines>>> = {
  invoice: itemLines(),
  creditMemo: itemLines(),
  customerPayment: { table: tableNamed('nexttransactionlinelink'), parent: 'nextdoc', where: 'true', order: 'v.previousdoc' },
};
function itemLines(): Lines {
  const where = `v.mainline = 'F' and v.taxline = 'F' and v.iscogs = 'F'`;
  return { table: tableNamed('transactionline'), parent: 'transaction', where, order: 'v.linesequencenumber, v.id' };
}

const selection = (shown: readonly Shown[]): string => `array[${shown.map(({ sql }) => sql).join(', ')}]::text[] as cells`;
const cellsOf = (shown: readonly Shown[], cells: readonly Cell[]): Map<string, Cell> =>
  new Map(shown.map(({ name }, index) => [name, cells[index] ?? null]));

async function readIn<T>(pool: Pool, now: Date, work: (query: <R extends object>(sql: string) => Promise<R[]>) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(
      `select set_config('search_path', 'suiteql,pg_catalog', true), set_config('TimeZone', 'Europe/London', true),
        set_config('netsuite.now', $1, true), set_config('netsuite.date_mask', 'FMMM/FMDD/YYYY', true), set_config('netsuite.deleted_time', 'on', true)`,
      [now.toISOString()],
    );
    const result = await work(async <R extends object>(sql: string) => (await client.query<R>(sql)).rows);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

export function readTruth(pool: Pool, recordType: RecordTypeName, now: Date): Promise<Truth> {
  const header = tableNamed(tableOf(recordType));
  const type = transactionTypes[recordType];
  const isType = type === undefined ? 'true' : `v.type = '${type}'`;
  const shown = shownOf(header);
  const lines = linesOf[recordType];
  return readIn(pool, now, async (query) => {
    const rows = await query<{ id: string; cells: Cell[] }>(
      `select v.id::text as id, ${selection(shown)} from suiteql.${header.name} v where ${isType} order by v.id`,
    );
    const found = new Map<string, TrueLine[]>();
    if (lines !== undefined) {
      const lineShown = shownOf(lines.table);
      const all = await query<{ parent: string; cells: Cell[] }>(
        `select v.${lines.parent}::text as parent, ${selection(lineShown)} from suiteql.${lines.table.name} v where ${lines.where} order by 1, ${lines.order}`,
      );
      for (const { parent, cells } of all) found.set(parent, [...(found.get(parent) ?? []), cellsOf(lineShown, cells)]);
    }
    return new Map(
      rows.map(({ id, cells }) => [id, { cells: cellsOf(shown, cells), lines: lines === undefined ? null : (found.get(id) ?? []) }]),
    );
  });
}
