// The summary of a view: which records it groups, what it computes, and what is wrong with it.
import type { RequestCtx } from '../../core/ctx.ts';
import type { ErrorDetail } from '../../core/errors.ts';
import { allRows, getRecordReader, type QueryProblem, type SummaryQuery } from '../../public/index.ts';
import type { ViewRow } from './views.store.ts';

type Summarized = Pick<ViewRow, 'record_type' | 'filters' | 'summary'>;

/** The query of a view's summary; undefined for a view without one. */
export function toSummaryQuery({
  record_type: recordType,
  filters,
  summary,
}: Summarized): SummaryQuery | undefined {
  if (summary === null) return undefined;
  const { aggregates, groups, sort, limit } = summary;
  return {
    recordType,
    filters: filters.map(({ field, operator, value }) => ({
      source: field,
      operator,
      values: [value].flat(),
    })),
    aggregates: aggregates.map(({ field, functions }) => ({ source: field, functions })),
    groups: groups.map(({ field, period }) => ({ source: field, period })),
    sort,
    limit,
  };
}

/** Translates the path of a problem to the field names of a view. */
export const toSummaryProblem = ({ path, code, message }: QueryProblem): ErrorDetail => ({
  path: `${path.startsWith('filters') || path === 'recordType' ? '' : 'summary.'}${path.replace(/\.source$/, '.field').replace(/\.values$/, '.value')}`,
  code,
  message,
});

export const duplicateName = (path: string, name: string): ErrorDetail => ({
  path,
  code: 'duplicate',
  message: `"${name}" appears more than once`,
});

function findDuplicates({ summary }: Summarized): ErrorDetail[] {
  const { aggregates = [], groups = [] } = summary ?? {};
  const names = groups.map(({ field, period }) => `${field} ${period ?? ''}`);
  const fields = aggregates.map(({ field }) => field);
  return [
    ...groups.flatMap(({ field }, at) =>
      names.indexOf(names[at] ?? '') === at ? [] : [duplicateName(`summary.groups[${at}].field`, field)],
    ),
    ...aggregates.flatMap(({ field, functions }, at) => [
      ...(fields.indexOf(field) === at ? [] : [duplicateName(`summary.aggregates[${at}].field`, field)]),
      ...(new Set(functions).size === functions.length
        ? []
        : [duplicateName(`summary.aggregates[${at}].functions`, field)]),
    ]),
  ];
}

/** Problems of a view's summary that no later sync can resolve; none without a summary. */
export async function findSummaryProblems(ctx: RequestCtx, view: Summarized): Promise<ErrorDetail[]> {
  const query = toSummaryQuery(view);
  if (query === undefined) return [];
  const problems = await getRecordReader(ctx).checkSummary(ctx, query, allRows(ctx.principal.reads));
  return [...findDuplicates(view), ...problems.filter(({ passing }) => !passing).map(toSummaryProblem)];
}
