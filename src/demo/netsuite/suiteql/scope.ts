// Who is who in one SELECT: its tables by alias, those of the SELECTs around it, and the check that a column is one of them.
// Only names that pass this check are ever written into SQL.
import type { RoleView } from '../tables/role-view.ts';
import { filterColumn, labelColumn, quote, type Table } from '../tables/table.ts';
import { unknownIdentifier, unknownTable, unseenTable } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

/** A table of the account, or a query in parentheses with the columns that it gives. */
export type Source = { alias: string; table?: Table; columns: () => ReadonlySet<string> };
/** `isFilter` while a condition is read. */
export type Scope = { parent: Scope | undefined; sources: Source[]; outputs: Set<string>; hasAggregate: boolean; isFilter: boolean };

export const makeScope = (parent: Scope | undefined): Scope => ({
  parent,
  sources: [],
  outputs: new Set(),
  hasAggregate: false,
  isFilter: false,
});

/** What conditions on a column with a form of its own compare with. */
export function filterSql(scope: Scope, column: Token, alias: Token | undefined): string | undefined {
  const source = findSource(scope, column.name, alias?.name);
  if (!source?.table?.columns.some((known) => known.name === column.name && known.filter !== undefined)) return undefined;
  return `${quote(source.alias)}.${quote(filterColumn(column.name))}`;
}

export function tableSource(role: RoleView, name: string, alias: string): Source & { table: Table } {
  const answer = role.find(name);
  if (answer.kind === 'unknown') throw unknownTable(name);
  if (answer.kind === 'unseen') throw unseenTable(name);
  return { alias, table: answer.table, columns: () => role.columns(answer.table) };
}

/** Finds the table that a column belongs to, in this SELECT or one around it. */
function findSource(scope: Scope, column: string, alias: string | undefined): Source | undefined {
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    const found = at.sources.find((source) => (alias === undefined ? source.columns().has(column) : source.alias === alias));
    if (found) return found;
  }
  return undefined;
}

const available = (scope: Scope): [string, string][] => scope.sources.map((source) => [source.alias, source.table?.name ?? source.alias]);

function requireSource(scope: Scope, column: Token, alias: Token | undefined): Source {
  const source = findSource(scope, column.name, alias?.name);
  if (!source) throw unknownIdentifier(alias?.name ?? column.name, available(scope));
  if (!source.columns().has(column.name)) throw unknownIdentifier(column.name, available(scope));
  return source;
}

/** A column as SQL. In ORDER BY (`outputsToo`) it may also be a name that the select list gives. */
export function columnSql(scope: Scope, column: Token, alias: Token | undefined, outputsToo: boolean): string {
  if (outputsToo && alias === undefined && scope.outputs.has(column.name)) return quote(column.name);
  if (alias === undefined) {
    requireSource(scope, column, undefined);
    return quote(column.name); // PostgreSQL says whether it is ambiguous
  }
  return `${quote(requireSource(scope, column, alias).alias)}.${quote(column.name)}`;
}

/** BUILTIN.DF of a column: its label where it has one, else the value as text. */
export function displaySql(scope: Scope, column: Token, alias: Token | undefined): string {
  const source = requireSource(scope, column, alias);
  const label = source.table?.columns.find((known) => known.name === column.name)?.label;
  const name = label === undefined ? column.name : labelColumn(column.name);
  return `${quote(source.alias)}.${quote(name)}${label === undefined ? '::text' : ''}`;
}

/** The columns behind `*` or `alias.*`. */
export function starColumns(scope: Scope, alias: Token | undefined): { alias: string; name: string }[] {
  const sources = alias === undefined ? scope.sources : scope.sources.filter((source) => source.alias === alias.name);
  if (alias !== undefined && sources.length === 0) throw unknownIdentifier(alias.name, available(scope));
  return sources.flatMap((source) => [...source.columns()].map((name) => ({ alias: source.alias, name })));
}
