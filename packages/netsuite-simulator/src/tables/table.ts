// Describes a SuiteQL table. Its view, the check of identifiers and `SELECT *` are derived from the
// description. Columns that NetSuite has and the data don't are defined as null, so that a connector can
// select them.

export type ColumnKind = 'integer' | 'decimal' | 'text' | 'flag' | 'date' | 'datetime';

/**
 * Why queries refuse a column that records have: it isn't for queries, it was removed, or the query fails
 * with an unexpected error.
 */
export const QUERY_REFUSALS = ['not exposed', 'removed', 'fails'] as const;
export type QueryRefusal = (typeof QUERY_REFUSALS)[number];

export type AccountColumn = {
  name: string;
  kind: ColumnKind;
  /** SQL over the view's base row `b`. */
  sql: string;
  /** SQL of the display text that BUILTIN.DF returns; without it BUILTIN.DF returns the value as text. */
  label?: string;
  /**
   * SQL of what conditions compare with, where that can differ from the selected value (see
   * Switches.statusFilter).
   */
  filter?: string;
  /** Absent: queries can select it. */
  refusal?: QueryRefusal;
};

/**
 * `hidden`: what role restrictions and built-in functions need to know of a row beyond its columns, by name,
 * as SQL over the base row. `of`: the table without which the role can't see this one.
 */
export type AccountTable = {
  name: string;
  from: string;
  columns: readonly AccountColumn[];
  hidden?: Readonly<Record<string, string>>;
  of?: string;
};

/** Name of the view's column with the label of a column. Queries can't name it. */
export const labelColumn = (name: string): string => `${name}__df`;
/** Name of the view's column with the `filter` form of a column. Queries can't name it. */
export const filterColumn = (name: string): string => `${name}__filter`;
/** Name of the view's column with an entry of `AccountTable.hidden`. Queries can't name it. */
export const hiddenColumn = (name: string): string => `${name}__hidden`;

export const SQL_TYPE: Record<ColumnKind, string> = {
  integer: 'bigint',
  decimal: 'numeric',
  text: 'text',
  flag: 'text',
  date: 'date',
  datetime: 'timestamptz',
};

/** A column of the base row by its own name, or the expression `sql`. */
export function tableColumn(
  kind: ColumnKind,
  name: string,
  sql?: string,
  label?: string,
  filter?: string,
): AccountColumn {
  return {
    name,
    kind,
    sql: sql ?? `b.${quoteSqlName(name)}`,
    ...(label === undefined ? {} : { label }),
    ...(filter === undefined ? {} : { filter }),
  };
}

/** Several plain columns of the base row, names separated by spaces. */
export const tableColumns = (kind: ColumnKind, names: string): AccountColumn[] =>
  names.split(/\s+/).map((name) => tableColumn(kind, name));

/**
 * A column with the key of a row of another base table, and as its label that row's `fullname` or another of
 * its columns.
 */
export const referenceColumn = (
  name: string,
  table: string,
  label = 'fullname',
  kind: ColumnKind = 'integer',
): AccountColumn =>
  tableColumn(
    kind,
    name,
    undefined,
    `SELECT r.${label} FROM ledger.${table} r WHERE r.id = b.${quoteSqlName(name)}`,
  );

/** Columns that NetSuite has and the data don't. */
export const nullColumns = (kind: ColumnKind, names: string): AccountColumn[] =>
  names.split(/\s+/).map((name) => tableColumn(kind, name, `NULL::${SQL_TYPE[kind]}`));

/**
 * Columns that NetSuite has and the data don't, of a base row with a column `extra`: null until a record is
 * edited through the control interface, which keeps their values there.
 */
export const extraColumns = (kind: ColumnKind, names: string): AccountColumn[] =>
  names.split(/\s+/).map((name) => tableColumn(kind, name, extraSql(name)));

/** The value that the control interface keeps for a column in `extra`, as text. */
export const extraSql = (name: string): string => `b.extra->>'${name}'`;

export type StoredValue = { place: 'column' | 'extra'; name: string };

/** Where the base row holds a column's value; undefined for a computed column. */
export function storedValue({ sql }: AccountColumn): StoredValue | undefined {
  const column = /^b\."?(\w+)"?$/.exec(sql)?.[1];
  if (column !== undefined) return { place: 'column', name: column };
  const extra = /b\.extra->>'(\w+)'/.exec(sql)?.[1];
  return extra === undefined ? undefined : { place: 'extra', name: extra };
}

/** A PostgreSQL identifier in double quotes. */
export const quoteSqlName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** An SQL string literal. */
export const quoteSqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The column that holds a table's internal ids. */
export const getIdColumn = (table: string): string => ID_COLUMNS[table] ?? 'id';
const ID_COLUMNS: Readonly<Record<string, string>> = {
  transactionline: 'uniquekey',
  deletedrecord: 'recordid',
  customeraddressbookentityaddress: 'nkey',
};

/** The column of the base table with a record's name. */
export const getNameColumn = (table: string): string => NAME_COLUMNS[table] ?? 'name';
const NAME_COLUMNS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['customer', 'vendor', 'employee', 'contact', 'partner'].map((table) => [table, 'entityid']),
  ),
  item: 'itemid',
  transaction: 'tranid',
  account: 'accountsearchdisplayname',
  accountingperiod: 'periodname',
  salestaxitem: 'itemid',
  currencyrate: 'externalid',
};

/** CREATE VIEW for the table, with its label and filter columns. */
export function viewSql(table: AccountTable): string {
  const plain = table.columns.map((c) => `  (${c.sql})::${SQL_TYPE[c.kind]} AS ${quoteSqlName(c.name)}`);
  const labels = table.columns.flatMap((c) =>
    c.label === undefined ? [] : [`  (${c.label})::text AS ${quoteSqlName(labelColumn(c.name))}`],
  );
  const filters = table.columns.flatMap((c) =>
    c.filter === undefined ? [] : [`  (${c.filter})::text AS ${quoteSqlName(filterColumn(c.name))}`],
  );
  const hidden = Object.entries(table.hidden ?? {}).map(
    ([name, sql]) => `  (${sql}) AS ${quoteSqlName(hiddenColumn(name))}`,
  );
  const columns = [...plain, ...labels, ...filters, ...hidden];
  return `CREATE VIEW suiteql.${quoteSqlName(table.name)} AS SELECT\n${columns.join(',\n')}\nFROM ${table.from}`;
}
