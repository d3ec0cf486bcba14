// Queries of synced records outside the published versions: any fields of one record type, named by their
// sources. Queries are stored for years while the fields of the ERP change. A source without a column is
// therefore reported and never fails the read: a column reads as null, a sort key is skipped, and a filter
// matches nothing, because skipping it would return too much. Pure.
import { createHash } from 'node:crypto';
import type { RowCondition } from '../../core/record-access.ts';
import { createSuggestions } from '../../core/text/nearest-name.ts';
import { isListType, isNumeric, type PlainType, type RecordColumn } from '../../warehouse/columns.ts';
import type { Freshness } from '../read/connection/reader.ts';
import { type FilterCondition, parseCondition } from '../read/plan/filters.ts';
import { completePlan, type ListPlan, type SortKey } from '../read/plan/plan.ts';
import { freshnessOfSources } from '../read/result/stale-fields.ts';
import { type AvailableRecordType, choosePlainColumn, toSource } from '../version/bind.ts';
import { type CompiledColumn, idColumn, type LineOutput, type OutputField } from '../version/compile.ts';
import type { FieldMask } from '../version/masks.ts';
import { narrowRows } from '../version/narrow.ts';
import { listOperators, operatorFits, takesSeveral, type ValueType } from '../version/operators.ts';
import type { Operator } from '../version/schema-document.ts';

/** Sources: fields of the record type, `<field>.name` for a label, `lines`; to filter and sort also `id`. */
export type RecordQuery = {
  readonly recordType: string;
  /** `name` is the key of the value in each record; unique, and never `id`, which every record has. */
  readonly columns: readonly { readonly name: string; readonly source: string }[];
  readonly filters: readonly {
    readonly source: string;
    readonly operator: Operator;
    readonly values: readonly Scalar[];
  }[];
  readonly sort: readonly { readonly source: string; readonly direction: 'asc' | 'desc' }[];
};
export type Scalar = string | number | boolean;

/**
 * `path` points into the query, such as `filters[0].values`. `passing`: the problem may resolve itself
 * without a change to the query.
 */
export type QueryProblem = {
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly passing: boolean;
};

/** `type` is null while the source has no column, and `text` of a masked one. */
export type QueryColumn = { readonly name: string; readonly source: string; readonly type: PlainType | null };

export type BoundQuery = {
  readonly plan: ListPlan;
  readonly columns: readonly QueryColumn[];
  readonly problems: readonly QueryProblem[];
  /** A filter is invalid, so no record may be returned. */
  readonly matchesNothing: boolean;
};

/** A use of a source. `name`: where it is in the query. */
type SourceUse = { readonly name: string; readonly source: string };

export const filterUses = ({ filters }: Pick<RecordQuery, 'filters'>): readonly SourceUse[] =>
  filters.map(({ source }, index) => ({ name: `filters[${index}].source`, source }));

const listUses = (query: RecordQuery): readonly SourceUse[] => [
  ...query.columns.map(({ source }, index) => ({ name: `columns[${index}]`, source })),
  ...filterUses(query),
  ...query.sort.map(({ source }, index) => ({ name: `sort[${index}].source`, source })),
];

/**
 * The time of the last sync that could read every field that is used, and a problem for each use of a field
 * that the ERP can't read at the moment.
 */
export function freshnessOfUses(
  uses: readonly SourceUse[],
  freshness: Freshness,
): { readonly syncedAt: string | null; readonly problems: readonly QueryProblem[] } {
  const { syncedAt, stale } = freshnessOfSources(freshness, uses);
  const problems = stale.map(({ name: path, since }): QueryProblem => {
    const source = uses.find(({ name }) => name === path)?.source ?? '';
    const message = `The ERP has sent no values of "${source}" since ${since}; those shown may be out of date`;
    return { path, code: 'stale', message, passing: true };
  });
  return { syncedAt, problems };
}

export const freshnessOfQuery = (query: RecordQuery, freshness: Freshness) =>
  freshnessOfUses(listUses(query), freshness);

export type Report = {
  (path: string, code: string, message: string, passing?: boolean): void;
  /** For names that don't exist. */
  readonly suggest: ReturnType<typeof createSuggestions>;
};

/** Collects the problems of one query. */
export const createReport = (problems: QueryProblem[]): Report =>
  Object.assign(
    (path: string, code: string, message: string, passing = false) =>
      void problems.push({ path, code, message, passing }),
    { suggest: createSuggestions() },
  );
/** By source, `lines.<field>` for a field of lines: how the caller sees its values. */
export type QueryMasks = ReadonlyMap<string, FieldMask>;
/** What a query is bound to: the record type, and what of its records and fields this caller reads. */
export type QueryTarget = {
  readonly type: AvailableRecordType;
  readonly masks: QueryMasks;
  readonly rows: 'all' | readonly RowCondition[];
};
type Page = { readonly page: number; readonly pageSize: number };

export const unknownRecordTypeProblem: QueryProblem = {
  path: 'recordType',
  code: 'unknown_record_type',
  message: 'This record type is not synced',
  passing: false,
};

/** The column that holds the source; reports why there is none. */
function findColumn({ columns, label }: AvailableRecordType, source: string, path: string, report: Report) {
  const found = choosePlainColumn(columns, source);
  if (found === undefined) {
    const known = () =>
      columns.filter(({ state, type }) => state !== 'replaced' && !isListType(type)).map(toSource);
    report(
      path,
      'unknown_source',
      `${label} has no synced field "${source.slice(0, 80)}".${report.suggest(source, known)}`,
    );
  } else if (found.state === 'vanished')
    report(path, 'vanished', `The field "${source}" no longer exists in the ERP`, true);
  else if (found.state === 'loading')
    report(
      path,
      'still_loading',
      `The field "${source}" is still loading; it is available after the next complete run`,
      true,
    );
  else return found;
  return undefined;
}

/**
 * Like findColumn, for filters and sorts, which cannot use lines, nor what the caller sees masked: both would
 * reveal the values.
 */
function findValue({ type, masks }: QueryTarget, source: string, path: string, report: Report) {
  if (source === 'id') return idColumn(type.idType);
  if (masks.has(source)) {
    report(
      path,
      'masked_field',
      `The values of "${source}" are masked for you: it cannot be filtered or sorted by`,
    );
    return undefined;
  }
  const found = findColumn(type, source, path, report);
  if (found === undefined) return undefined;
  if (found.type !== 'lines') return { column: found.column, type: found.type };
  report(path, 'lines', 'Lines cannot be filtered or sorted by');
  return undefined;
}

function toOutputField(
  { name, source }: RecordQuery['columns'][number],
  found: RecordColumn | undefined,
  masks: QueryMasks,
): OutputField {
  if (found === undefined) return { kind: 'absent', name };
  const { column, type, lineFields } = found;
  const shownAs = (of: string) => {
    const mask = masks.get(of) ?? null;
    return { asString: false, declared: mask, mask };
  };
  if (type !== 'lines') return { kind: 'value', name, source, column: { column, type }, ...shownAs(source) };
  const lines = (lineFields ?? []).flatMap((line): LineOutput[] =>
    isListType(line.type)
      ? []
      : [{ name: line.name, key: line.name, type: line.type, ...shownAs(`${source}.${line.name}`) }],
  );
  return { kind: 'lines', name, source, column, lines };
}

/** The value as text, to be parsed by the type of the column; undefined when it has another JSON type. */
function toText(type: ValueType, value: Scalar): string | undefined {
  if (type === 'boolean') return typeof value === 'boolean' ? String(value) : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || !isNumeric(type)) return undefined;
  // A larger whole number has already lost digits; as text it keeps them.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

const expected: Readonly<Record<ValueType, string>> = {
  text: 'text',
  number: 'a number, as text beyond 2^53',
  integer: 'a whole number, as text beyond 2^53',
  integers: 'a whole number',
  texts: 'text',
  boolean: 'true or false',
  date: 'text such as 2026-01-31',
  time: 'text such as 2026-01-31T10:00:00Z',
};

function compileCondition(
  { source, operator, values }: RecordQuery['filters'][number],
  column: CompiledColumn,
  path: string,
  report: Report,
): FilterCondition | undefined {
  if (!operatorFits(operator, column.type)) {
    const fitting = listOperators(column.type).join(', ');
    report(
      `${path}.operator`,
      'operator_misfits',
      `"${operator}" cannot be used with a ${column.type} field. Available operators: ${fitting}`,
    );
    return undefined;
  }
  if (values.length === 0 || (values.length > 1 && !takesSeveral(operator))) {
    const wanted = takesSeveral(operator) ? 'at least one value' : 'exactly one value';
    report(`${path}.values`, 'invalid_value', `"${operator}" requires ${wanted}`);
    return undefined;
  }
  const type = operator === 'null' ? 'boolean' : column.type;
  const texts = values.map((value) => toText(type, value));
  const readable = texts.filter((text) => text !== undefined);
  let isRefused = readable.length < texts.length;
  if (isRefused)
    report(`${path}.values`, 'invalid_value', `"${source}" must be compared with ${expected[type]}`);
  const condition = parseCondition(
    { name: source, field: source, column, operator },
    readable,
    (_name, code, message) => {
      if (!isRefused) report(`${path}.values`, code, message);
      isRefused = true;
    },
  );
  return isRefused ? undefined : condition;
}

/** Equal for queries whose records have the same form. */
const hashFields = (fields: readonly OutputField[]): string =>
  `query/${createHash('sha256').update(JSON.stringify(fields)).digest('base64url')}`;

/** These fields of the records that the caller reads. Throws 403 when a field of its row scope is gone. */
function compileSource(recordType: string, fields: readonly OutputField[], { type, rows }: QueryTarget) {
  const { idType } = type;
  const conditions = rows === 'all' ? [] : rows;
  const scopable = conditions.flatMap(({ source }): [string, CompiledColumn][] => {
    const found = choosePlainColumn(type.columns, source);
    if (source === 'id') return [['id', idColumn(idType)]];
    return found?.state !== 'live' || found.type === 'lines' ? [] : [[source, found as CompiledColumn]];
  });
  const key = hashFields(fields);
  const source = { name: recordType, key, recordType, idType, fields, scopable: new Map(scopable) };
  return narrowRows(source, conditions);
}

/**
 * The columns as fields of the records that the caller reads. `found`: the columns of the warehouse, in the
 * same order. Throws as `compileSource` does.
 */
export function compileColumns(
  { recordType, columns }: Pick<RecordQuery, 'recordType' | 'columns'>,
  target: QueryTarget,
  report: Report,
  toPath = (index: number): string => `columns[${index}]`,
) {
  const found = columns.map(({ source }, index) => findColumn(target.type, source, toPath(index), report));
  const fields = columns.map((column, index) => toOutputField(column, found[index], target.masks));
  return { endpoint: compileSource(recordType, fields, target), found };
}

/** Undefined for each filter that is invalid. */
export const compileConditions = (
  { filters }: Pick<RecordQuery, 'filters'>,
  target: QueryTarget,
  report: Report,
): readonly (FilterCondition | undefined)[] =>
  filters.map((filter, index) => {
    const column = findValue(target, filter.source, `filters[${index}].source`, report);
    return column && compileCondition(filter, column, `filters[${index}]`, report);
  });

/**
 * Binds a query to the columns that exist now; problems are returned, never thrown. Without a sort, records
 * are ordered by id.
 */
export function bindQuery(query: RecordQuery, target: QueryTarget, { page, pageSize }: Page): BoundQuery {
  const problems: QueryProblem[] = [];
  const report = createReport(problems);
  const { endpoint, found } = compileColumns(query, target, report);
  const conditions = compileConditions(query, target, report);
  const [first, ...further] = query.sort.flatMap(({ source, direction }, index): SortKey[] => {
    const column = findValue(target, source, `sort[${index}].source`, report);
    return column === undefined ? [] : [{ column, order: direction }];
  });
  const plan = completePlan({
    endpoint,
    conditions: conditions.filter((condition) => condition !== undefined),
    ...(first !== undefined && {
      sort: { ...first, further: first.column.column === 'id' ? [] : further },
    }),
    page,
    pageSize,
  });
  return {
    plan,
    columns: query.columns.map((column, index) => {
      const type = found[index]?.type ?? null;
      return { ...column, type: type !== null && target.masks.has(column.source) ? 'text' : type };
    }),
    problems,
    matchesNothing: conditions.includes(undefined),
  };
}
