// Name resolution in a SELECT: its tables by alias, those of the enclosing SELECTs, and the check that a
// column belongs to one of them. Only names that pass this check are written to SQL.
import { ALL_ROWS, type QueryDistortion } from '../answer-faults/distortion.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import {
  type AccountTable,
  filterColumn,
  hiddenColumn,
  labelColumn,
  quoteSqlName,
  SQL_TYPE,
} from '../tables/table.ts';
import { refusedColumn, unavailableTable, unknownIdentifier, unknownTable } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

/** A table of the account, or a derived table with its output columns. */
export type Source = { alias: string; table?: AccountTable; columns: () => ReadonlySet<string> };
/** A column as a query names it. */
export type ColumnName = { column: Token; alias: Token | undefined };
/** `isFilter`: a condition is being parsed; `isSelectList`: the select list is. */
export type Scope = {
  parent: Scope | undefined;
  sources: Source[];
  outputs: Set<string>;
  hasAggregate: boolean;
  isFilter: boolean;
  isSelectList: boolean;
};

export const createScope = (parent: Scope | undefined): Scope => ({
  parent,
  sources: [],
  outputs: new Set(),
  hasAggregate: false,
  isFilter: false,
  isSelectList: false,
});

/**
 * The SQL that conditions on this column compare with, if it differs from the column itself (see
 * AccountColumn.filter).
 */
export function filterSql(scope: Scope, column: Token, alias: Token | undefined): string | undefined {
  const source = findSource(scope, column.name, alias?.name);
  if (!source?.table?.columns.some((known) => known.name === column.name && known.filter !== undefined))
    return undefined;
  return `${quoteSqlName(source.alias)}.${quoteSqlName(filterColumn(column.name))}`;
}

/** Throws SuiteqlError for a table that is unknown or that the role can't see. */
export function tableSource(
  role: RoleVisibility,
  name: string,
  alias: string,
): Source & { table: AccountTable } {
  const found = role.find(name);
  if (found.kind === 'unknown') throw unknownTable(name);
  if (found.kind === 'unseen') throw unavailableTable(name);
  return { alias, table: found.table, columns: () => role.columns(found.table) };
}

/** Finds the table that a column belongs to, in this SELECT or an enclosing one. */
function findSource(scope: Scope, column: string, alias: string | undefined): Source | undefined {
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    const found = at.sources.find((source) =>
      alias === undefined ? source.columns().has(column) : source.alias === alias,
    );
    if (found) return found;
  }
  return undefined;
}

const availableIdentifiers = (scope: Scope): [string, string][] =>
  scope.sources.map((source) => [source.alias, source.table?.name ?? source.alias]);

/** Finds the table that a column belongs to. Throws SuiteqlError for an unknown column or alias. */
export function getSource(scope: Scope, column: Token, alias: Token | undefined): Source {
  const source = findSource(scope, column.name, alias?.name);
  if (source?.columns().has(column.name)) return source;
  const named = source ? [source] : alias === undefined ? scope.sources : [];
  for (const { table } of named) assertNotRefused(table, column.name);
  throw unknownIdentifier(source ? column.name : (alias?.name ?? column.name), availableIdentifiers(scope));
}

function assertNotRefused(table: AccountTable | undefined, column: string): void {
  const refusal = table?.columns.find((known) => known.name === column)?.refusal;
  if (table && refusal) throw refusedColumn(column, table.name, refusal);
}

/**
 * A column as SQL. In ORDER BY (`mayNameOutputs`) it may also name an output column. Throws SuiteqlError for
 * an unknown column or alias.
 */
export function columnReferenceSql(
  scope: Scope,
  column: Token,
  alias: Token | undefined,
  mayNameOutputs: boolean,
): string {
  if (mayNameOutputs && alias === undefined && scope.outputs.has(column.name))
    return quoteSqlName(column.name);
  if (alias === undefined) {
    getSource(scope, column, undefined);
    return quoteSqlName(column.name); // PostgreSQL reports whether it is ambiguous
  }
  return `${quoteSqlName(getSource(scope, column, alias).alias)}.${quoteSqlName(column.name)}`;
}

/**
 * What the view holds under `name` in AccountTable.hidden for the row of this column; undefined if its table
 * has nothing of that name.
 */
export function hiddenSql(scope: Scope, { column, alias }: ColumnName, name: string): string | undefined {
  const source = getSource(scope, column, alias);
  return source.table?.hidden?.[name] === undefined
    ? undefined
    : `${quoteSqlName(source.alias)}.${quoteSqlName(hiddenColumn(name))}`;
}

/**
 * BUILTIN.DF of a column: its label if it has one, the value as text otherwise. Throws SuiteqlError for an
 * unknown column or alias.
 */
export function displaySql(scope: Scope, column: Token, alias: Token | undefined): string {
  const source = getSource(scope, column, alias);
  const label = source.table?.columns.find((known) => known.name === column.name)?.label;
  const name = label === undefined ? column.name : labelColumn(column.name);
  return `${quoteSqlName(source.alias)}.${quoteSqlName(name)}${label === undefined ? '::text' : ''}`;
}

/**
 * A selected column's SQL with the NULL that a fault puts in its place, in all rows or in some. `type`:
 * unless it is the column's own.
 */
export function distortedSql(
  distortion: QueryDistortion | undefined,
  scope: Scope,
  { column, alias, sql, type }: { column: string; alias: string | undefined; sql: string; type?: string },
): string {
  const condition = distortion?.nullColumns.get(column);
  const source = condition && findSource(scope, column, alias);
  if (!condition || source?.table?.name !== distortion?.table) return sql;
  const known = source?.table?.columns.find(({ name }) => name === column);
  if (!source || !known) return sql;
  const [rows, empty] = [condition(source.alias), `NULL::${type ?? SQL_TYPE[known.kind]}`];
  return rows === ALL_ROWS ? empty : `CASE WHEN ${rows} THEN ${empty} ELSE ${sql} END`;
}

/** The columns of `*` or `alias.*`. Throws SuiteqlError for an unknown alias. */
export function starColumns(scope: Scope, alias: Token | undefined): { alias: string; name: string }[] {
  const sources =
    alias === undefined ? scope.sources : scope.sources.filter((source) => source.alias === alias.name);
  if (alias !== undefined && sources.length === 0)
    throw unknownIdentifier(alias.name, availableIdentifiers(scope));
  return sources.flatMap((source) => [...source.columns()].map((name) => ({ alias: source.alias, name })));
}
