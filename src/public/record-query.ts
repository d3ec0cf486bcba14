// What may be asked of the synced records beside the published versions: any fields of one record type, named by their sources.
// A query is kept for years while the ERP's fields come and go. So what has no column at the moment is told of and never fails
// the read: a column reads null, a key to sort by is left out, and a filter lets nothing through, as one left out would let too
// much through. Pure.
import { createHash } from 'node:crypto';
import type { ColumnType, RecordColumn } from '../warehouse/columns.ts';
import { type AvailableRecordType, columnOf, sourceOf } from './bind.ts';
import { type Column, type CompiledEndpoint, idColumn, type OutputField } from './compile.ts';
import { didYouMean } from './nearest.ts';
import { operatorFits, operatorsOf, takesSeveral, type ValueType } from './operators.ts';
import { type Condition, finishPlan, type ListPlan, readCondition, type SortKey } from './plan.ts';
import type { Operator } from './schema-document.ts';

/** Sources are fields of the record type, `<field>.name` for a label, `lines`, and in filters and sorts also `id`. */
export type RecordQuery = {
  readonly recordType: string;
  /** `name` is what the value is called in each record; different ones, none of them `id`, which every record has. */
  readonly columns: readonly { readonly name: string; readonly source: string }[];
  readonly filters: readonly { readonly source: string; readonly operator: Operator; readonly values: readonly Scalar[] }[];
  readonly sort: readonly { readonly source: string; readonly direction: 'asc' | 'desc' }[];
};
export type Scalar = string | number | boolean;

/** `path` is of the query, such as `filters[0].values`. `passing`: it may be over without anyone changing the query. */
export type QueryProblem = { readonly path: string; readonly code: string; readonly message: string; readonly passing: boolean };

/** `type` is null where there is no such column at the moment. */
export type QueryColumn = { readonly name: string; readonly source: string; readonly type: ColumnType | null };

export type BoundQuery = {
  readonly plan: ListPlan;
  readonly columns: readonly QueryColumn[];
  readonly problems: readonly QueryProblem[];
  /** A filter could not be understood: no record may be shown. */
  readonly letsNothingThrough: boolean;
};

type Report = (path: string, code: string, message: string, passing?: boolean) => void;
type Page = { readonly page: number; readonly pageSize: number };

export const unknownRecordType: QueryProblem = {
  path: 'recordType',
  code: 'unknown_record_type',
  message: 'Nothing of this record type is synced',
  passing: false,
};

/** The column that holds the source now; reports why there is none. */
function findColumn({ columns, label }: AvailableRecordType, source: string, path: string, report: Report): RecordColumn | undefined {
  const found = columnOf(columns, source);
  if (found === undefined) {
    const known = columns.filter(({ state }) => state !== 'replaced').map(sourceOf);
    report(path, 'unknown_source', `${label} has no synced field "${source.slice(0, 80)}".${didYouMean(source, known)}`);
  } else if (found.state === 'vanished') report(path, 'vanished', `The field "${source}" no longer exists in the ERP`, true);
  else if (found.state === 'loading') report(path, 'still_loading', `The field "${source}" is filled by the next complete run`, true);
  else return found;
  return undefined;
}

/** The same for filters and sorts, which take no lines. */
function findValue(type: AvailableRecordType, source: string, path: string, report: Report): Column | undefined {
  if (source === 'id') return idColumn(type.idType);
  const found = findColumn(type, source, path, report);
  if (found === undefined) return undefined;
  if (found.type !== 'lines') return { column: found.column, type: found.type };
  report(path, 'lines', 'There are no filters and sorts inside lines');
  return undefined;
}

function outputOf(name: string, found: RecordColumn | undefined): OutputField {
  if (found === undefined) return { kind: 'absent', name };
  const { column, type, lineFields } = found;
  if (type !== 'lines') return { kind: 'value', name, column: { column, type }, asString: false };
  const lines = (lineFields ?? []).map((line) => ({ name: line.name, key: line.name, type: line.type, asString: false }));
  return { kind: 'lines', name, column, lines };
}

/** The value as text, which is read by the column's type afterwards; undefined when it is of another kind. */
function textOf(type: ValueType, value: Scalar): string | undefined {
  if (type === 'boolean') return typeof value === 'boolean' ? String(value) : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || (type !== 'number' && type !== 'integer')) return undefined;
  // A larger whole number has lost digits on its way here; written as text it keeps them.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

const expected: Readonly<Record<ValueType, string>> = {
  text: 'text',
  number: 'a number, as text beyond 2^53',
  integer: 'a whole number, as text beyond 2^53',
  boolean: 'true or false',
  date: 'text such as 2026-01-31',
  time: 'text such as 2026-01-31T10:00:00Z',
};

function conditionOf(
  { source, operator, values }: RecordQuery['filters'][number],
  column: Column,
  path: string,
  report: Report,
): Condition | undefined {
  if (!operatorFits(operator, column.type)) {
    const fitting = operatorsOf(column.type).join(', ');
    report(`${path}.operator`, 'operator_misfits', `"${operator}" does not fit a ${column.type} field; these do: ${fitting}`);
    return undefined;
  }
  if (values.length === 0 || (values.length > 1 && !takesSeveral(operator))) {
    const wanted = takesSeveral(operator) ? 'at least one value' : 'one value';
    report(`${path}.values`, 'invalid_value', `"${operator}" takes ${wanted}`);
    return undefined;
  }
  const type = operator === 'null' ? 'boolean' : column.type;
  const texts = values.map((value) => textOf(type, value));
  const readable = texts.filter((text) => text !== undefined);
  let isRefused = readable.length < texts.length;
  if (isRefused) report(`${path}.values`, 'invalid_value', `"${source}" is compared with ${expected[type]}`);
  const condition = readCondition({ name: source, field: source, column, operator }, readable, (_name, code, message) => {
    if (!isRefused) report(`${path}.values`, code, message);
    isRefused = true;
  });
  return isRefused ? undefined : condition;
}

/** The same for queries that write their records alike; it takes the place of a version's endpoint in the names of statements. */
const keyOf = (fields: readonly OutputField[]): string =>
  `query/${createHash('sha256').update(JSON.stringify(fields)).digest('base64url')}`;

/** Fields as an endpoint that no version has. */
export function endpointOf(query: Pick<RecordQuery, 'recordType' | 'columns'>, type: AvailableRecordType, report: Report) {
  const found = query.columns.map(({ source }, index) => findColumn(type, source, `columns[${index}]`, report));
  const fields = query.columns.map(({ name }, index) => outputOf(name, found[index]));
  const endpoint: CompiledEndpoint = {
    name: query.recordType,
    key: keyOf(fields),
    recordType: query.recordType,
    idType: type.idType,
    fields,
    filters: new Map(),
    sorts: new Map(),
    defaultSort: { column: idColumn(type.idType), order: 'asc' },
    maxPageSize: Number.POSITIVE_INFINITY,
  };
  return { endpoint, found };
}

/** Binds a query to what is synced now. Without a sort, records come by id. */
export function bindQuery(query: RecordQuery, type: AvailableRecordType, { page, pageSize }: Page): BoundQuery {
  const problems: QueryProblem[] = [];
  const report: Report = (path, code, message, passing = false) => problems.push({ path, code, message, passing });
  const { endpoint, found } = endpointOf(query, type, report);
  const conditions = query.filters.map((filter, index) => {
    const column = findValue(type, filter.source, `filters[${index}].source`, report);
    return column === undefined ? undefined : conditionOf(filter, column, `filters[${index}]`, report);
  });
  const keys = query.sort.flatMap(({ source, direction }, index): SortKey[] => {
    const column = findValue(type, source, `sort[${index}].source`, report);
    return column === undefined ? [] : [{ column, order: direction }];
  });
  const [first = { column: idColumn(type.idType), order: 'asc' as const }, ...further] = keys;
  const plan = finishPlan({
    endpoint,
    conditions: conditions.filter((condition) => condition !== undefined),
    sort: { ...first, further: first.column.column === 'id' ? [] : further },
    fields: endpoint.fields,
    page,
    pageSize,
    linkQuery: '',
  });
  return {
    plan,
    columns: query.columns.map((column, index) => ({ ...column, type: found[index]?.type ?? null })),
    problems,
    letsNothingThrough: conditions.includes(undefined),
  };
}
