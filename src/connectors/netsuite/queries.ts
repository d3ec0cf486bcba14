// The text of every SuiteQL query, from typed parts. Names come from our definitions or pass a strict pattern; the only
// values ever put into a text are integers that were parsed and times that were formatted here.
import type { FieldMetadata } from '../connector.ts';
import type { LinesDefinition, RecordTypeDefinition } from './definition.ts';
import { erpError } from './errors.ts';
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

const hourMs = 3_600_000;
const sqlTime = (instant: Date): string => instant.toISOString().slice(0, 19).replace('T', ' ');

/** The last noon, as if it were in UTC, that is at least so long before. */
function noonBefore(instant: Date, hours: number): string {
  const halfDayMs = 12 * hourMs;
  const halfDays = Math.floor((instant.getTime() - hours * hourMs) / halfDayMs);
  return sqlTime(new Date((halfDays % 2 === 0 ? halfDays - 1 : halfDays) * halfDayMs));
}

/**
 * A bound that an index can use. It is read in the session's time zone, so it lies far enough back for every zone, and at noon: a
 * time of day that no change of clocks leaves out or has twice.
 */
const since = (column: string, instant: Date, hours: number): string =>
  `${column} >= TO_DATE('${noonBefore(instant, hours)}', 'YYYY-MM-DD HH24:MI:SS')`;

/** The bound only narrows; the comparison in UTC decides, to the second and with the boundary. */
function changedCondition(instant: Date): string {
  const column = `t.${modifiedColumn}`;
  return `${since(column, instant, 24)} AND SYS_EXTRACT_UTC(${column}) >= TO_TIMESTAMP('${sqlTime(instant)}', 'YYYY-MM-DD HH24:MI:SS')`;
}

export const countQuery = (definition: RecordTypeDefinition): string =>
  `SELECT COUNT(*) AS n FROM ${definition.table} t${where([definition.filter])}`;

/** One row is enough to see whether the columns can be read, so there is no order to pay for. */
export const probeQuery = (definition: RecordTypeDefinition, columns: readonly Column[]): string =>
  `SELECT ${select('t', columns)} FROM ${definition.table} t${where([definition.filter])}`;

/** `key` is the value of the definition's key column. */
export type LineCursor = { readonly parent: string; readonly key: string };

/** Lines of the given records after a cursor, by record and key. `withModified`: the record's own column can be read. */
export function linesQuery(
  definition: RecordTypeDefinition,
  lines: LinesDefinition,
  columns: readonly Column[],
  selection: { readonly parents: readonly string[]; readonly after: LineCursor | null; readonly withModified: boolean },
): string {
  const { parents, after, withModified } = selection;
  const [parent, key] = [`l.${lines.parent}`, `l.${lines.key}`];
  const next =
    after === null
      ? null
      : `(${parent} > ${checkedId(after.parent)} OR (${parent} = ${checkedId(after.parent)} AND ${key} > ${checkedId(after.key)}))`;
  const conditions = [`${parent} IN (${idList(parents)})`, lines.filter, next];
  return `${linesFrom(definition, lines, columns, withModified)}${where(conditions)} ORDER BY ${parent} ASC, ${key} ASC`;
}

export const linesProbeQuery = (definition: RecordTypeDefinition, lines: LinesDefinition, columns: readonly Column[]): string =>
  `${linesFrom(definition, lines, columns, false)}${where([lines.filter, definition.filter])}`;

function linesFrom(definition: RecordTypeDefinition, lines: LinesDefinition, columns: readonly Column[], withModified: boolean): string {
  const parent = `l.${lines.parent}`;
  const modified = withModified ? `, ${inUtc(`t.${modifiedColumn}`)} AS ${parentModifiedKey}` : '';
  const source = `${lines.table} l INNER JOIN ${definition.table} t ON t.id = ${parent}`;
  const withKey = columns.some(({ name }) => name === lines.key) ? columns : [{ name: lines.key, type: 'integer' as const }, ...columns];
  return `SELECT ${parent} AS ${parentKey}${modified}, ${select('l', withKey)} FROM ${source}`;
}

/** Columns of `deletedrecord` that help to tell of which record type something was; an account may lack any of them. */
export const deletedTypeColumns = ['type', 'scriptid', 'recordtypeid', 'iscustomrecord', 'iscustomlist', 'iscustomtransaction'] as const;
export type DeletedForm = { readonly columns: readonly (typeof deletedTypeColumns)[number][]; readonly time: 'utc' | 'date' };

/** The bound lies a day and a half further back: the time may have been cut to its day, in a zone that isn't known. */
export function deletedQuery({ columns, time }: DeletedForm, instant: Date, afterId: string | null): string {
  const when = time === 'utc' ? inUtc('d.deleteddate') : "TO_CHAR(d.deleteddate, 'YYYY-MM-DD')";
  const type = columns.map((column) => `, d.${column} AS ${column}`).join('');
  const conditions = [
    'd.recordid IS NOT NULL',
    since('d.deleteddate', instant, 38),
    afterId === null ? null : `d.recordid > ${checkedId(afterId)}`,
  ];
  return `SELECT d.recordid AS id, ${when} AS deleteddate${type} FROM deletedrecord d${where(conditions)} ORDER BY d.recordid ASC`;
}

export const customFieldsQuery = (prefixes: readonly string[], afterId: string | null): string => {
  const names = prefixes.map((prefix) => `LOWER(c.scriptid) LIKE '${prefix}%'`).join(' OR ');
  const conditions = [`(${names})`, afterId === null ? null : `c.internalid > ${checkedId(afterId)}`];
  return `SELECT c.internalid AS id, c.scriptid AS scriptid, c.name AS name, c.fieldvaluetype AS fieldvaluetype FROM customfield c${where(conditions)} ORDER BY c.internalid ASC`;
};
