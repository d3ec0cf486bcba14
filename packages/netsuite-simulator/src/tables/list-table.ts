// Lists such as departments or terms: simple tables of which the base table and the SuiteQL table have the
// same columns. One description gives both.
import {
  type AccountTable,
  type ColumnKind,
  nullColumns,
  quoteSqlName,
  referenceColumn,
  SQL_TYPE,
  tableColumns,
} from './table.ts';

export type List = {
  name: string;
  /** Names of columns by kind, separated by spaces. The key is `id`, or the first of all without one. */
  columns: Partial<Record<ColumnKind, string>>;
  /** Columns that NetSuite has and that are null here, by kind. */
  nulls?: Partial<Record<ColumnKind, string>>;
  /** Columns with the id of a row of another base table, and its column that is the label. */
  references?: Readonly<Record<string, { table: string; label: string }>>;
};

const splitColumns = (columns: Partial<Record<ColumnKind, string>>) =>
  (Object.entries(columns) as [ColumnKind, string][]).map(([kind, names]) => ({
    kind,
    names: names.trim().split(/\s+/),
  }));

export function listTable({ name, columns, nulls = {}, references = {} }: List): AccountTable {
  const plain = splitColumns(columns).flatMap(({ kind, names }) =>
    names.flatMap((column) => {
      const to = references[column];
      return to ? [referenceColumn(column, to.table, to.label, kind)] : tableColumns(kind, column);
    }),
  );
  const empty = splitColumns(nulls).flatMap(({ kind, names }) => nullColumns(kind, names.join(' ')));
  return { name, from: `ledger.${quoteSqlName(name)} b`, columns: [...plain, ...empty] };
}

/** CREATE TABLE of a list that only profiles fill. */
export function listDdl({ name, columns }: List): string {
  const entries = splitColumns(columns);
  const all = entries.flatMap(({ kind, names }) =>
    names.map(
      (column) =>
        `${quoteSqlName(column)} ${SQL_TYPE[kind]}${kind === 'flag' ? " NOT NULL DEFAULT 'F'" : ''}`,
    ),
  );
  const key = entries.some(({ names }) => names.includes('id')) ? 'id' : (entries[0]?.names[0] ?? '');
  return `CREATE TABLE ledger.${quoteSqlName(name)} (${all.join(', ')}, PRIMARY KEY (${quoteSqlName(key)}))`;
}
