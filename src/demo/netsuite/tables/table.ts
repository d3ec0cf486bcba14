// How a SuiteQL table is described: one value per table, from which its view, the check of identifiers and `SELECT *` follow.
// A column that the data lack exists all the same and is null, so that a connector can select it.

export type ColumnKind = 'integer' | 'decimal' | 'text' | 'flag' | 'date' | 'datetime';

export type Column = {
  name: string;
  kind: ColumnKind;
  /** SQL over the view's base row `b`. */
  sql: string;
  /** SQL of the display text that BUILTIN.DF gives; without it BUILTIN.DF gives the value as text. */
  label?: string;
  /** SQL of what conditions compare with, if they may want another form than what is selected (see Switches.statusFilter). */
  filter?: string;
};

export type Table = { name: string; from: string; columns: readonly Column[] };

/** A label is a column of the view that no query can name by itself. */
export const labelColumn = (name: string): string => `${name}__df`;
/** Nor this. */
export const filterColumn = (name: string): string => `${name}__filter`;

const SQL_TYPE: Record<ColumnKind, string> = {
  integer: 'bigint',
  decimal: 'numeric',
  text: 'text',
  flag: 'text',
  date: 'date',
  datetime: 'timestamptz',
};

/** A column of the base row by its own name, or of whatever `sql` says. */
export function column(kind: ColumnKind, name: string, sql?: string, label?: string, filter?: string): Column {
  return {
    name,
    kind,
    sql: sql ?? `b.${quote(name)}`,
    ...(label === undefined ? {} : { label }),
    ...(filter === undefined ? {} : { filter }),
  };
}

/** Several plain columns of the base row, names separated by spaces. */
export const columns = (kind: ColumnKind, names: string): Column[] => names.split(/\s+/).map((name) => column(kind, name));

/** Columns that NetSuite has and the data don't. */
export const absent = (kind: ColumnKind, names: string): Column[] =>
  names.split(/\s+/).map((name) => column(kind, name, `NULL::${SQL_TYPE[kind]}`));

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export function viewSql(table: Table): string {
  const plain = table.columns.map((c) => `  (${c.sql})::${SQL_TYPE[c.kind]} AS ${quote(c.name)}`);
  const labels = table.columns.flatMap((c) => (c.label === undefined ? [] : [`  (${c.label})::text AS ${quote(labelColumn(c.name))}`]));
  const filters = table.columns.flatMap((c) => (c.filter === undefined ? [] : [`  (${c.filter})::text AS ${quote(filterColumn(c.name))}`]));
  return `CREATE VIEW suiteql.${quote(table.name)} AS SELECT\n${[...plain, ...labels, ...filters].join(',\n')}\nFROM ${table.from}`;
}
