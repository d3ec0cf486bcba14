// The text of every SuiteQL query, from typed parts. Names come from our definitions or match a strict
// pattern; the only values in a query are validated integers and times that were formatted here.
import { type FieldMetadata, hasLabel, type IdRange } from '../../connector.ts';
import { erpError } from '../requests/errors.ts';
import { isQuerySource, type LinesDefinition, type ReadDefinition, type RowSource } from './definition.ts';
import { keyFactor, keyPart, splitId } from './record-keys.ts';
import { parentModifiedField } from './stored-definition.ts';
import { isIdText } from './values.ts';

export type SuiteqlColumn = Pick<FieldMetadata, 'name' | 'type' | 'entries'>;

const identifier = /^[a-z][a-z0-9_]{0,99}$/;
export const isColumnName = (name: string): boolean => identifier.test(name);

/**
 * The keys of a column's value, and of a reference or list column's display text, in a row. No NetSuite
 * column has this prefix.
 */
export const valueKey = (name: string): string => name.toLowerCase();
export const labelKey = (name: string): string => `df_${valueKey(name)}`;
/** The key of the names of a multiple select's entries, which are added to a row after the query. */
export const entryNamesKey = (name: string): string => `entry names of ${valueKey(name)}`;
/** The keys of a line's record id, and of that record's modification time as of the same query. */
export const parentKey = 'parent_id';
export const parentModifiedKey = 'parent_modified';

const inUtc = (column: string): string => `TO_CHAR(SYS_EXTRACT_UTC(${column}), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Unformatted dates would come in the integration user's format, and without the time of day. */
function columnSql(column: string, { name, type }: SuiteqlColumn): string {
  const key = valueKey(name);
  if (type === 'date') return `TO_CHAR(${column}, 'YYYY-MM-DD') AS ${key}`;
  if (type === 'time') return `${inUtc(column)} AS ${key}`;
  if (hasLabel({ type })) return `${column} AS ${key}, BUILTIN.DF(${column}) AS ${labelKey(name)}`;
  return reservedWords.has(key) ? column : `${column} AS ${key}`;
}

/** No alias, but columns may be called so. */
const reservedWords: ReadonlySet<string> = new Set(
  'all and any as asc between by case cross desc distinct else end exists from full group having in inner is join left like not null on or order outer right select then union when where'.split(
    ' ',
  ),
);

function qualified(alias: string, name: string): string {
  if (!isColumnName(name))
    throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A field name is not a valid column name');
  return `${alias}.${name}`;
}

/** The modification time of a record. Only for a source that has one. */
const modifiedSql = ({ modified }: RowSource): string =>
  qualified(modified?.from === 'parent' ? 'p' : 't', modified?.column ?? '');

const keyColumns = ({ key }: Pick<RowSource, 'key'>): readonly string[] =>
  key.map(({ column }) => qualified('t', column));
const inKeyOrder = (source: RowSource): string =>
  keyColumns(source)
    .map((column) => `${column} ASC`)
    .join(', ');

/** The field `id` is the key, whatever its columns are called. */
function fieldSql(source: RowSource, field: SuiteqlColumn): string {
  const [key, ...others] = keyColumns(source);
  if (field.name === 'id' && others.length > 0)
    return [key, ...others].map((column, index) => `${column} AS ${keyPart(index)}`).join(', ');
  if (field.name === 'id') return `${key} AS id`;
  if (field.name === parentModifiedField && source.parent !== null)
    return columnSql(modifiedSql(source), field);
  const renamed = Object.hasOwn(source.renamed, field.name) ? source.renamed[field.name] : undefined;
  return columnSql(qualified('t', renamed ?? field.name), field);
}

const selectFields = (source: RowSource, fields: readonly SuiteqlColumn[]): string =>
  fields.map((field) => fieldSql(source, field)).join(', ');
const selectOfLines = (columns: readonly SuiteqlColumn[]): string =>
  columns.map((column) => columnSql(qualified('l', column.name), column)).join(', ');

/** Rows whose parent this role can't see stay: without them, pages and counts would differ. */
function rowsFrom({ table, parent }: RowSource, { withParent }: { readonly withParent: boolean }): string {
  if (!withParent || parent === null) return `${table} t`;
  return `${table} t LEFT JOIN ${parent.table} p ON p.${parent.key} = t.${parent.column}`;
}
const needsParent = ({ modified }: RowSource, selectsByTime: boolean): boolean =>
  modified?.from === 'parent' && selectsByTime;
const namesParent = (fields: readonly SuiteqlColumn[]): boolean =>
  fields.some(({ name }) => name === parentModifiedField);
const where = (conditions: readonly (string | null)[]): string => {
  const present = conditions.filter((condition) => condition !== null);
  return present.length === 0 ? '' : ` WHERE ${present.join(' AND ')}`;
};

function assertId(id: string): string {
  if (!isIdText(id)) throw erpError('query', 'QUERY_REFUSED', 'An id is not an integer');
  return id;
}
const idList = (ids: readonly string[]): string => ids.map(assertId).join(', ');

/** The rows on one side of this id in the order of the key, written so that an index on it finds them. */
function keyCondition(source: RowSource, id: string, operator: '>' | '<', ofLastColumn: '>' | '<='): string {
  const columns = keyColumns(source);
  const parts = splitId(source.key, assertId(id));
  const condition = columns.reduceRight((later, column, index) => {
    const part = parts[index] ?? '';
    return later === ''
      ? `${column} ${ofLastColumn} ${part}`
      : `(${column} ${operator} ${part} OR (${column} = ${part} AND ${later}))`;
  }, '');
  return columns.length === 1 ? condition : `${columns[0]} ${operator}= ${parts[0]} AND ${condition}`;
}
const behindId = (source: RowSource, id: string) => keyCondition(source, id, '>', '>');
const upToId = (source: RowSource, id: string) => keyCondition(source, id, '<', '<=');

const wholeRange: IdRange = { afterId: null, upTo: null };
const inRange = (source: RowSource, { afterId, upTo }: IdRange): readonly (string | null)[] => [
  afterId === null ? null : behindId(source, afterId),
  upTo === null ? null : upToId(source, upTo),
];

/** The rows with these ids. An index finds them by the key's first column. */
function hasIds(source: RowSource, ids: readonly string[]): string {
  const columns = keyColumns(source);
  if (columns.length === 1) return `${columns[0]} IN (${idList(ids)})`;
  const first = new Set(ids.map((id) => splitId(source.key, assertId(id))[0] ?? ''));
  const id = columns.map((column, index) => `${column} * ${keyFactor(source.key, index)}`).join(' + ');
  return `${columns[0]} IN (${idList([...first])}) AND ${id} IN (${idList(ids)})`;
}

/** Which records of a type: all, behind an id, changed at or after an instant, or with the given ids. */
export type RecordSelection = {
  readonly afterId?: string | null;
  readonly changedSince?: Date | null;
  readonly ids?: readonly string[];
};

/**
 * Records in the order of their ids. Throws `ErpError` of kind `query` for a column name or an id that isn't
 * well-formed, as the other queries with columns or ids do.
 */
export function recordsQuery(
  source: RowSource,
  fields: readonly SuiteqlColumn[],
  selection: RecordSelection,
): string {
  const { afterId = null, changedSince = null, ids } = selection;
  const conditions = [
    source.filter,
    ids === undefined ? null : hasIds(source, ids),
    changedSince === null ? null : changedCondition(modifiedSql(source), changedSince),
    afterId === null ? null : behindId(source, afterId),
  ];
  const from = rowsFrom(source, {
    withParent: needsParent(source, changedSince !== null || namesParent(fields)),
  });
  return `SELECT ${selectFields(source, fields)} FROM ${from}${where(conditions)} ORDER BY ${inKeyOrder(source)}`;
}

const hourMs = 3_600_000;
const sqlTime = (instant: Date): string => instant.toISOString().slice(0, 19).replace('T', ' ');

/** The last noon, in UTC, that is at least `hours` before the instant. */
function noonBefore(instant: Date, hours: number): string {
  const halfDayMs = 12 * hourMs;
  const halfDays = Math.floor((instant.getTime() - hours * hourMs) / halfDayMs);
  return sqlTime(new Date((halfDays % 2 === 0 ? halfDays - 1 : halfDays) * halfDayMs));
}

/**
 * A bound that an index can use. NetSuite reads it in the session's time zone, so it is early enough for
 * every zone, and at noon: a time of day that no daylight saving change skips or repeats.
 */
const sinceCondition = (column: string, instant: Date, hours: number): string =>
  `${column} >= TO_DATE('${noonBefore(instant, hours)}', 'YYYY-MM-DD HH24:MI:SS')`;

/** The bound only narrows the search; the comparison in UTC decides, to the second and inclusive. */
function changedCondition(column: string, instant: Date): string {
  return `${sinceCondition(column, instant, 24)} AND SYS_EXTRACT_UTC(${column}) >= TO_TIMESTAMP('${sqlTime(instant)}', 'YYYY-MM-DD HH24:MI:SS')`;
}

/**
 * The number of rows, and for a customer's query also those of rows with a key (`keyed`) and with a
 * modification time (`timed`).
 */
export function countQuery(source: RowSource, range: IdRange = wholeRange): string {
  const keyed = isQuerySource(source) ? `, COUNT(${keyColumns(source).join()}) AS keyed` : '';
  const timed =
    isQuerySource(source) && source.modified !== null ? `, COUNT(${modifiedSql(source)}) AS timed` : '';
  return `SELECT COUNT(*) AS n${keyed}${timed} FROM ${source.table} t${where([source.filter, ...inRange(source, range)])}`;
}

/** The keys of the counts of `sizeQuery`. */
export const sizeKeys = { records: 'n', lines: 'linecount', withLines: 'withlines' } as const;

/** One row: how many records there are, how many lines, and how many records have lines. */
export function sizeQuery(definition: ReadDefinition, lines: LinesDefinition): string {
  const ofLines = `FROM ${linesSource(definition, lines)}${where([lines.filter, definition.filter])}`;
  return `SELECT COUNT(*) AS ${sizeKeys.records}, (SELECT COUNT(*) ${ofLines}) AS ${sizeKeys.lines}, (SELECT COUNT(DISTINCT l.${lines.parent}) ${ofLines}) AS ${sizeKeys.withLines} FROM ${definition.table} t${where([definition.filter])}`;
}

/** The keys of the two counts of `changeCountQuery`. */
export const changedRecordsKey = 'records';
export const changedLinesKey = 'linechanges';

/** Lines whose own modification time can be read. */
export type TimedLines = LinesDefinition & { readonly modified: string };

/** One row: how many records of the range changed since the instant; with `lines`, also by a line. */
export function changeCountQuery(
  definition: ReadDefinition,
  lines: TimedLines | null,
  since: Date,
  range: IdRange = wholeRange,
): string {
  const ids = inRange(definition, range);
  const changed = where([definition.filter, changedCondition(modifiedSql(definition), since), ...ids]);
  const from = rowsFrom(definition, { withParent: needsParent(definition, true) });
  if (lines === null) return `SELECT COUNT(*) AS ${changedRecordsKey} FROM ${from}${changed}`;
  const ofLines = where([
    lines.filter,
    definition.filter,
    changedCondition(`l.${lines.modified}`, since),
    ...ids,
  ]);
  const lineCount = `(SELECT COUNT(DISTINCT l.${lines.parent}) FROM ${linesSource(definition, lines)}${ofLines})`;
  return `SELECT COUNT(*) AS ${changedRecordsKey}, ${lineCount} AS ${changedLinesKey} FROM ${from}${changed}`;
}

/** Reads one row to see whether the columns can be read, so it has no ORDER BY, which would cost a sort. */
export const probeQuery = (source: RowSource, fields: readonly SuiteqlColumn[]): string =>
  `SELECT ${selectFields(source, fields)} FROM ${rowsFrom(source, { withParent: namesParent(fields) })}${where([source.filter])}`;

/** `key` is the value of the definition's key column. */
export type LineCursor = { readonly parent: string; readonly key: string };

/** Lines of these records behind a cursor, by record and key. `withModified`: with the records' times. */
export function linesQuery(
  definition: ReadDefinition,
  lines: LinesDefinition,
  columns: readonly SuiteqlColumn[],
  selection: {
    readonly parents: readonly string[];
    readonly after: LineCursor | null;
    readonly withModified: boolean;
  },
): string {
  const { parents, after, withModified } = selection;
  const [parent, key] = [`l.${lines.parent}`, `l.${lines.key}`];
  const next =
    after === null
      ? null
      : `(${parent} > ${assertId(after.parent)} OR (${parent} = ${assertId(after.parent)} AND ${key} > ${assertId(after.key)}))`;
  const conditions = [`${parent} IN (${idList(parents)})`, lines.filter, next];
  return `${linesFrom(definition, lines, columns, withModified)}${where(conditions)} ORDER BY ${parent} ASC, ${key} ASC`;
}

/**
 * The keys of the number of lines and of their latest modification time in a row of totals; sums have the
 * names of their columns.
 */
export const countKey = 'n';
export const latestKey = 'latest';
export const changedCountKey = 'changed';

/**
 * One row per record: how many lines `linesQuery` finds, what they sum to, and the latest of their own
 * modification times in UTC.
 */
export function lineTotalsQuery(
  definition: ReadDefinition,
  lines: LinesDefinition,
  {
    parents,
    changedSince = null,
  }: {
    readonly parents: readonly string[];
    readonly changedSince?: Date | null;
  },
): string {
  const parent = `l.${lines.parent}`;
  const totals = [
    `COUNT(*) AS ${countKey}`,
    ...lines.sums.map((name) => `SUM(l.${name}) AS ${name}`),
    ...(lines.modified === null ? [] : [`MAX(${inUtc(`l.${lines.modified}`)}) AS ${latestKey}`]),
    ...(lines.modified !== null && changedSince !== null
      ? [
          `SUM(CASE WHEN ${changedCondition(`l.${lines.modified}`, changedSince)} THEN 1 ELSE 0 END) AS ${changedCountKey}`,
        ]
      : []),
  ];
  const conditions = where([`${parent} IN (${idList(parents)})`, lines.filter]);
  return `SELECT ${parent} AS ${parentKey}, ${totals.join(', ')} FROM ${linesSource(definition, lines)}${conditions} GROUP BY ${parent} ORDER BY ${parent} ASC`;
}

/** Ids of records with a line that changed at or after the instant by its own time, each once, by id. */
export function changedLinesQuery(
  definition: ReadDefinition,
  lines: TimedLines,
  since: Date,
  afterId: string | null,
): string {
  const parent = `l.${lines.parent}`;
  const conditions = [
    lines.filter,
    definition.filter,
    changedCondition(`l.${lines.modified}`, since),
    afterId === null ? null : `${parent} > ${assertId(afterId)}`,
  ];
  return `SELECT DISTINCT ${parent} AS ${parentKey} FROM ${linesSource(definition, lines)}${where(conditions)} ORDER BY ${parent} ASC`;
}

const linesSource = (definition: ReadDefinition, lines: LinesDefinition): string =>
  `${lines.table} l INNER JOIN ${definition.table} t ON ${keyColumns(definition).join()} = l.${lines.parent}`;

/**
 * The calendar day now. To Oracle CURRENT_DATE is in the session's time zone, that of the integration's user,
 * as are dates and times in responses; SYSDATE is in the zone of the database's machine.
 */
export const todayQuery = (now: 'CURRENT_DATE' | 'SYSDATE'): string =>
  `SELECT TO_CHAR(${now}, 'YYYY-MM-DD') AS today FROM dual`;

export const linesProbeQuery = (
  definition: ReadDefinition,
  lines: LinesDefinition,
  columns: readonly SuiteqlColumn[],
): string => `${linesFrom(definition, lines, columns, false)}${where([lines.filter, definition.filter])}`;

function linesFrom(
  definition: ReadDefinition,
  lines: LinesDefinition,
  columns: readonly SuiteqlColumn[],
  withModified: boolean,
): string {
  const parent = `l.${lines.parent}`;
  const modified = withModified ? `, ${inUtc(modifiedSql(definition))} AS ${parentModifiedKey}` : '';
  const withKey = columns.some(({ name }) => name === lines.key)
    ? columns
    : [{ name: lines.key, type: 'integer' as const }, ...columns];
  return `SELECT ${parent} AS ${parentKey}${modified}, ${selectOfLines(withKey)} FROM ${linesSource(definition, lines)}`;
}

/** Columns of `deletedrecord` that identify the record type; an account may lack any of them. */
export const deletionTypeColumns = [
  'type',
  'scriptid',
  'recordtypeid',
  'iscustomrecord',
  'iscustomlist',
  'iscustomtransaction',
] as const;
/** `time` is `date` where NetSuite refuses to show the time of day. */
export type DeletionsQueryForm = {
  readonly columns: readonly (typeof deletionTypeColumns)[number][];
  readonly time: 'utc' | 'date';
};

/** The bound is 38 hours earlier: the time may have been truncated to its day, in an unknown time zone. */
export function deletionsQuery({ columns, time }: DeletionsQueryForm, instant: Date, afterId: string | null) {
  const when = time === 'utc' ? inUtc('d.deleteddate') : "TO_CHAR(d.deleteddate, 'YYYY-MM-DD')";
  const type = columns.map((column) => `, d.${column} AS ${column}`).join('');
  const conditions = [
    'd.recordid IS NOT NULL',
    sinceCondition('d.deleteddate', instant, 38),
    afterId === null ? null : `d.recordid > ${assertId(afterId)}`,
  ];
  return `SELECT d.recordid AS id, ${when} AS deleteddate${type} FROM deletedrecord d${where(conditions)} ORDER BY d.recordid ASC`;
}

/** Which list or custom record type each multiple select chooses from, as table `definitions` defines it. */
export function entryListsQuery(definitions: 'customlist' | 'customrecordtype', afterId: string | null) {
  const conditions = [
    "c.fieldvaluetype = 'Multiple Select'",
    afterId === null ? null : `c.internalid > ${assertId(afterId)}`,
  ];
  return `SELECT c.internalid AS id, c.scriptid AS scriptid, l.scriptid AS list FROM customfield c INNER JOIN ${definitions} l ON l.internalid = c.fieldvaluetyperecord${where(conditions)} ORDER BY c.internalid ASC`;
}

/** The names of entries, at most 1,000. Throws as `recordsQuery` for a malformed id or table. */
export function entryNamesQuery(table: string, ids: readonly string[]): string {
  if (!isColumnName(table))
    throw erpError('query', 'FIELD_NOT_SYNCABLE', 'The name of a list is not a valid table name');
  return `SELECT t.id AS id, t.name AS name FROM ${table} t WHERE t.id IN (${idList(ids)}) ORDER BY t.id ASC`;
}

export const customFieldsQuery = (prefixes: readonly string[], afterId: string | null): string => {
  const names = prefixes.map((prefix) => `LOWER(c.scriptid) LIKE '${prefix}%'`).join(' OR ');
  const conditions = [`(${names})`, afterId === null ? null : `c.internalid > ${assertId(afterId)}`];
  return `SELECT c.internalid AS id, c.scriptid AS scriptid, c.name AS name, c.fieldtype AS fieldtype, c.fieldvaluetype AS fieldvaluetype FROM customfield c${where(conditions)} ORDER BY c.internalid ASC`;
};
