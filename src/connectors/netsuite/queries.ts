// The text of every SuiteQL query, from typed parts. Names come from our definitions or pass a strict pattern; the only
// values ever put into a text are integers that were parsed and times that were formatted here.
import type { FieldMetadata } from '../connector.ts';
import { erpError } from './errors.ts';
import type { LinesDefinition, RecordTypeDefinition } from './record-types.ts';
import { isIdText } from './values.ts';

export type Column = Pick<FieldMetadata, 'name' | 'type'>;

const identifier = /^[a-z][a-z0-9_]{0,99}$/;
export const isColumnName = (name: string): boolean => identifier.test(name);

/** Where the display text of a reference or list column is found in a row. No column of NetSuite's begins like this. */
export const labelKey = (name: string): string => `df_${name}`;
/** Where a line's row says which record it belongs to, and when that was last changed as of the same query. */
export const parentKey = 'parent_id';
export const parentModifiedKey = 'parent_modified';

export const modifiedColumn = 'lastmodifieddate';

const inUtc = (column: string): string => `TO_CHAR(SYS_EXTRACT_UTC(${column}), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Bare dates would come in the format that the integration's user prefers, and without their time. */
function columnSql(alias: string, { name, type }: Column): string {
  if (!isColumnName(name)) throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A field name is not a column name');
  const column = `${alias}.${name}`;
  if (type === 'date') return `TO_CHAR(${column}, 'YYYY-MM-DD') AS ${name}`;
  if (type === 'time') return `${inUtc(column)} AS ${name}`;
  if (type === 'reference' || type === 'list') return `${column} AS ${name}, BUILTIN.DF(${column}) AS ${labelKey(name)}`;
  return `${column} AS ${name}`;
}

const select = (alias: string, columns: readonly Column[]): string => columns.map((column) => columnSql(alias, column)).join(', ');
const where = (conditions: readonly (string | null)[]): string => {
  const present = conditions.filter((condition) => condition !== null);
  return present.length === 0 ? '' : ` WHERE ${present.join(' AND ')}`;
};

function checkedId(id: string): string {
  if (!isIdText(id)) throw erpError('query', 'QUERY_REFUSED', 'An id is not an integer');
  return id;
}
const idList = (ids: readonly string[]): string => ids.map(checkedId).join(', ');

/** Which records of a type: all, those after an id, those changed since, or those with given ids. */
export type Selection = { readonly afterId?: string | null; readonly changedSince?: Date | null; readonly ids?: readonly string[] };

export function recordsQuery(definition: RecordTypeDefinition, columns: readonly Column[], selection: Selection): string {
  const { afterId = null, changedSince = null, ids } = selection;
  const conditions = [
    definition.filter,
    ids === undefined ? null : `t.id IN (${idList(ids)})`,
    changedSince === null ? null : changedCondition(changedSince),
    afterId === null ? null : `t.id > ${checkedId(afterId)}`,
  ];
  return `SELECT ${select('t', columns)} FROM ${definition.table} t${where(conditions)} ORDER BY t.id ASC`;
}

const dayMs = 86_400_000;
const sqlTime = (instant: Date): string => instant.toISOString().slice(0, 19).replace('T', ' ');

/** The first half can use an index but is read in the session's time zone, so it looks a day further back; the second half decides. */
function changedCondition(since: Date): string {
  const dayBefore = sqlTime(new Date(since.getTime() - dayMs));
  return (
    `t.${modifiedColumn} >= TO_DATE('${dayBefore}', 'YYYY-MM-DD HH24:MI:SS') AND ` +
    `SYS_EXTRACT_UTC(t.${modifiedColumn}) >= TO_TIMESTAMP('${sqlTime(since)}', 'YYYY-MM-DD HH24:MI:SS')`
  );
}

export const countQuery = (definition: RecordTypeDefinition): string =>
  `SELECT COUNT(*) AS n FROM ${definition.table} t${where([definition.filter])}`;

/** One row is enough to see whether the columns can be read, so there is no order to pay for. */
export const probeQuery = (definition: RecordTypeDefinition, columns: readonly Column[]): string =>
  `SELECT ${select('t', columns)} FROM ${definition.table} t${where([definition.filter])}`;

export type LineCursor = { readonly parent: string; readonly id: string };

/** Lines of the given records after a cursor, by record and line id. `withModified`: the record's own column can be read. */
export function linesQuery(
  definition: RecordTypeDefinition,
  lines: LinesDefinition,
  columns: readonly Column[],
  selection: { readonly parents: readonly string[]; readonly after: LineCursor | null; readonly withModified: boolean },
): string {
  const { parents, after, withModified } = selection;
  const parent = `l.${lines.parent}`;
  const next =
    after === null
      ? null
      : `(${parent} > ${checkedId(after.parent)} OR (${parent} = ${checkedId(after.parent)} AND l.id > ${checkedId(after.id)}))`;
  const conditions = [`${parent} IN (${idList(parents)})`, lines.filter, next];
  return `${linesFrom(definition, lines, columns, withModified)}${where(conditions)} ORDER BY ${parent} ASC, l.id ASC`;
}

export const linesProbeQuery = (definition: RecordTypeDefinition, lines: LinesDefinition, columns: readonly Column[]): string =>
  `${linesFrom(definition, lines, columns, false)}${where([lines.filter, definition.filter])}`;

function linesFrom(definition: RecordTypeDefinition, lines: LinesDefinition, columns: readonly Column[], withModified: boolean): string {
  const parent = `l.${lines.parent}`;
  const modified = withModified ? `, ${inUtc(`t.${modifiedColumn}`)} AS ${parentModifiedKey}` : '';
  const source = `${lines.table} l INNER JOIN ${definition.table} t ON t.id = ${parent}`;
  return `SELECT ${parent} AS ${parentKey}${modified}, ${select('l', columns)} FROM ${source}`;
}

export const customFieldsQuery = (prefixes: readonly string[], afterId: string | null): string => {
  const names = prefixes.map((prefix) => `LOWER(c.scriptid) LIKE '${prefix}%'`).join(' OR ');
  const conditions = [`(${names})`, afterId === null ? null : `c.internalid > ${checkedId(afterId)}`];
  return `SELECT c.internalid AS id, c.scriptid AS scriptid, c.name AS name, c.fieldvaluetype AS fieldvaluetype FROM customfield c${where(conditions)} ORDER BY c.internalid ASC`;
};
