// Summaries of synced records outside the published versions: any fields of one record type, named by their
// sources, as in record-query.ts. A group or an aggregate that does not work holds the whole summary back:
// without it the rows would mean something else. Pure.
import { isDated } from '../../warehouse/columns.ts';
import type { Freshness } from '../read/connection/reader.ts';
import { completePlan } from '../read/plan/plan.ts';
import { completeSummary, findSort, type Measure, type SummaryPlan } from '../read/plan/summary-plan.ts';
import type { CompiledGroup, OutputField, ValueField } from '../version/compile.ts';
import { findCurrency, type Money, mixesCurrencies } from '../version/money.ts';
import type { AggregateFunction, Period } from '../version/schema-document.ts';
import { listFunctions, resultNames } from '../version/validate-summary.ts';
import {
  compileColumns,
  compileConditions,
  createReport,
  filterUses,
  freshnessOfUses,
  type QueryProblem,
  type QueryTarget,
  type RecordQuery,
  type Report,
} from './record-query.ts';

/** Sources are as in a RecordQuery. */
export type SummaryQuery = Pick<RecordQuery, 'recordType' | 'filters'> & {
  readonly aggregates: readonly {
    readonly source: string;
    readonly functions: readonly AggregateFunction[];
  }[];
  readonly groups: readonly { readonly source: string; readonly period: Period | null }[];
  /** A group or aggregate by the name that rows use, such as `-sum.total`; null: by groups, ascending. */
  readonly sort: string | null;
  /** Maximum number of rows. */
  readonly limit: number;
};

/** A column of the rows; `path` of keys to its value in each, such as `['sum', 'total']`. */
export type SummaryColumn = {
  readonly path: readonly string[];
  readonly source: string | null;
  readonly function: AggregateFunction | 'count' | null;
  readonly period: Period | null;
  /** Of the field; null for counts. */
  readonly type: string | null;
};

export type BoundSummary = {
  readonly columns: readonly SummaryColumn[];
  readonly problems: readonly QueryProblem[];
  /** Undefined when the summary is held back because of the problems. */
  readonly plan: SummaryPlan | undefined;
};

/** The groups, then the aggregates. */
const listUses = ({ groups, aggregates }: SummaryQuery) => [
  ...groups.map(({ source }, at) => ({ name: `groups[${at}].source`, source })),
  ...aggregates.map(({ source }, at) => ({ name: `aggregates[${at}].source`, source })),
];

export const freshnessOfSummary = (query: SummaryQuery, freshness: Freshness) =>
  freshnessOfUses([...listUses(query), ...filterUses(query)], freshness);

/** The field under its source's name; undefined, and reported, when it can't be aggregated or grouped by. */
function findField(
  found: OutputField | undefined,
  source: string,
  path: string,
  report: Report,
): ValueField | undefined {
  if (found === undefined || found.kind === 'absent') return undefined;
  if (found.kind === 'lines') report(path, 'lines', 'Lines cannot be aggregated or grouped by');
  else if (found.mask !== null)
    report(path, 'masked_field', `The values of "${source}" are masked for you: it cannot be summarized`);
  else return { ...found, name: source };
  return undefined;
}

function compileGroup(
  { source, period }: SummaryQuery['groups'][number],
  field: ValueField,
  path: string,
  report: Report,
): CompiledGroup {
  const { type } = field.column;
  if (period !== null && !isDated(type))
    report(`${path}.period`, 'invalid_value', `"${source}" is neither a date nor a time: it has no periods`);
  const name = period === null ? source : `${source}.${period}`;
  if (resultNames.has(name))
    report(`${path}.source`, 'reserved_name', `"${name}" is also the name of an aggregate`);
  return { name, field, period };
}

function compileMeasures(
  { functions }: SummaryQuery['aggregates'][number],
  field: ValueField,
  path: string,
  report: Report,
): Measure<AggregateFunction>[] {
  const { type } = field.column;
  const fitting = listFunctions(type);
  return functions.map((name, at) => {
    if (!fitting.includes(name))
      report(
        `${path}.functions[${at}]`,
        'function_misfits',
        `"${name}" cannot be used with a ${type} field. Available: ${fitting.join(', ')}`,
      );
    return { name, field };
  });
}

/** Reports aggregates of money when neither a group nor a filter keeps the currencies apart. */
function checkCurrencies({ aggregates, groups, filters }: SummaryQuery, money: Money, report: Report): void {
  const fixed = filters.filter(({ operator, values }) => operator === 'eq' && values.length === 1);
  const agreed = [...groups, ...fixed].map(({ source }) => source);
  for (const [at, { source, functions }] of aggregates.entries()) {
    const currency = findCurrency(money, source);
    if (!mixesCurrencies(functions, currency, agreed)) continue;
    const advice =
      currency === null
        ? 'No field tells its currency.'
        : `Add a group of "${currency}.name", or a filter with one value of it.`;
    const message = `"${source}" is an amount of money, and amounts of several currencies are not added up. ${advice}`;
    report(`aggregates[${at}].source`, 'several_currencies', message);
  }
}

const toSummaryColumns = (
  groups: readonly CompiledGroup[],
  measures: readonly Measure<AggregateFunction>[],
): SummaryColumn[] => [
  ...groups.map(({ name, field, period }) => ({
    path: [name],
    source: field.name,
    function: null,
    period,
    type: field.column.type,
  })),
  { path: ['count'], source: null, function: 'count', period: null, type: null },
  ...measures.map(({ name, field }) => ({
    path: [name, field.name],
    source: field.name,
    function: name,
    period: null,
    type: field.column.type,
  })),
];

/** Binds a summary to the columns that exist now; problems are returned, never thrown. */
export function bindSummary(query: SummaryQuery, target: QueryTarget): BoundSummary {
  const problems: QueryProblem[] = [];
  const report = createReport(problems);
  const uses = listUses(query);
  const chosen = { recordType: query.recordType, columns: uses };
  const { endpoint } = compileColumns(chosen, target, report, (at) => uses[at]?.name ?? '');
  const conditions = compileConditions(query, target, report);
  const { fields } = endpoint;
  const groups = query.groups.flatMap((group, at) => {
    const path = `groups[${at}]`;
    const field = findField(fields[at], group.source, `${path}.source`, report);
    return field === undefined ? [] : [compileGroup(group, field, path, report)];
  });
  const measures = query.aggregates.flatMap((aggregate, at) => {
    const path = `aggregates[${at}]`;
    const field = findField(fields[query.groups.length + at], aggregate.source, `${path}.source`, report);
    return field === undefined ? [] : compileMeasures(aggregate, field, path, report);
  });
  checkCurrencies(query, target.type, report);
  const columns = toSummaryColumns(groups, measures);
  if (problems.length > 0) return { columns, problems, plan: undefined };
  const { utcOffsetMinutes = 0 } = target.type;
  const list = completePlan({
    endpoint,
    conditions: conditions.filter((condition) => condition !== undefined),
  });
  const plan = completeSummary({ list, utcOffsetMinutes, groups, measures, limit: query.limit });
  if (query.sort === null) return { columns, problems, plan };
  const { found: sort, known } = findSort(query.sort, plan);
  if (sort !== undefined) return { columns, problems, plan: completeSummary({ ...plan, sort }) };
  report('sort', 'unknown_sort', `The sort must be one of: ${known.join(', ')}`);
  return { columns, problems, plan: undefined };
}
