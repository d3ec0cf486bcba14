// Decides which ranges of a list make up a page, so that each is walked in an index however deep the page
// lies. Pure.
//
// PostgreSQL returns nulls first when it walks an ascending index backwards, and the interface promises nulls
// last. So a list sorted by a column is two ranges of one index, first the records with a value, then those
// without; a page lies in one or both.

import type { Operator } from '../../version/schema-document.ts';
import { testsLines } from './filters.ts';
import { rangeOperators, skipsRecords } from './order-index.ts';
import type { ListPlan } from './plan.ts';

/** A record at which a range may start. `key` is null in the range without values, and when sorted by id. */
export type Anchor = { readonly key: string | null; readonly id: string };

/**
 * `nulls: 'any'` means both ranges in the order of the interface. `from` is the record that `offset` counts
 * from. `strategy` is how the page is found: 'any', as PostgreSQL prefers; 'sort', by sorting everything that
 * the filters select; or a number, among that many first records of the order, in which case the page may
 * come back short.
 */
export type Range = {
  readonly strategy: 'any' | 'sort' | number;
  readonly nulls: 'any' | 'no' | 'only';
  readonly from: Anchor | null;
  readonly limit: number;
  readonly offset: number;
};

/** Every `every`-th record of a list, starting with the first. */
export type Anchors = {
  readonly every: number;
  readonly valued: { readonly count: number; readonly anchors: readonly Anchor[] };
  readonly nulls: { readonly count: number; readonly anchors: readonly Anchor[] };
};

type Window = Pick<ListPlan, 'page' | 'pageSize'>;
export const firstRow = ({ page, pageSize }: Window): number => (page - 1) * pageSize;

/** Number of records on a page of a list of `total` records. */
export const rowsOnPage = (plan: Window, total: number): number =>
  Math.max(0, Math.min(plan.pageSize, total - firstRow(plan)));

const excludesNulls: ReadonlySet<Operator> = new Set([...rangeOperators, 'contains', 'starts_with'] as const);
/**
 * Whether a list walked in an index may contain records without a sort value, in a range of its own. The
 * indexes of several sort keys are walked in one direction, and have them in their places.
 */
export const mayLackKey = ({ sort, conditions }: Pick<ListPlan, 'sort' | 'conditions'>): boolean =>
  sort.further.length === 0 &&
  sort.column.column !== 'id' &&
  !conditions.some(
    ({ column, operator }) => column.column === sort.column.column && excludesNulls.has(operator),
  );

/** For plans in the plan cache; a plan never changes. */
const plainRangesByPlan = new WeakMap<ListPlan, readonly Range[]>();

/**
 * Counted from the start of the list. In descending order it finds no record without a value, so the page may
 * come back short.
 */
export function plainRanges(plan: ListPlan): readonly Range[] {
  const cached = plainRangesByPlan.get(plan);
  if (cached !== undefined) return cached;
  const { order, column, further } = plan.sort;
  const walkedBackwards = order === 'desc' && column.column !== 'id' && further.length === 0;
  const ranges: Range[] = [
    {
      strategy: 'any',
      nulls: walkedBackwards ? 'no' : 'any',
      from: null,
      limit: plan.pageSize,
      offset: firstRow(plan),
    },
  ];
  plainRangesByPlan.set(plan, ranges);
  return ranges;
}

/** Sorts the whole list, which never reads more of the table than the list has. */
export const sortedRanges = (plan: ListPlan): Range[] => [
  { strategy: 'sort', nulls: 'any', from: null, limit: plan.pageSize, offset: firstRow(plan) },
];

/** Records scanned for a page while the total is unknown: the distance of a few anchors. */
export const scanLimitWithoutTotal = ({ anchorEvery }: { readonly anchorEvery: number }): number =>
  8 * anchorEvery;

/**
 * A page of evenly spread matches lies within its expected range; the scan goes this many times further for
 * others, and once more.
 */
const scanFactor = 8;

/**
 * Where a page is looked for, one after the other while it comes back short: in the first records of the
 * order, or in all that match.
 */
export type Reach = 'near' | 'far' | 'all';
/** Finding everything that matches is dearest where lines are tested, and only there tried last. */
export const listReaches = (plan: ListPlan): readonly Reach[] =>
  testsLines(plan) ? ['near', 'far', 'all'] : ['near', 'all'];

/**
 * Ranges for a page whose filters are not served by the index of the order. PostgreSQL assumes that matches
 * are evenly spread, and scans far beyond when they are not: the invoices of the last days all have high
 * numbers. The exact total tells what sorting would cost instead. So whatever the data is like, at most a few
 * times the cost of the better way is spent. Ids select few records, which are always sorted. Lines are
 * tested for at most as many records as match, which is what sorting these would cost.
 */
export function boundedRanges(
  plan: ListPlan,
  total: number | undefined,
  rowCount: number,
  scanLimit: number,
  reach: Exclude<Reach, 'all'> = 'near',
): readonly Range[] {
  const plain = plainRanges(plan);
  const onLines = testsLines(plan);
  if (!skipsRecords(plan)) return onLines ? sortedRanges(plan) : plain;
  if (onLines && total === undefined) return sortedRanges(plan);
  if (plan.conditions.some(({ column, operator }) => column.column === 'id' && operator === 'eq'))
    return sortedRanges(plan);
  const needed = firstRow(plan) + plan.pageSize;
  const expected =
    total === undefined ? scanLimit / scanFactor : Math.ceil((needed * rowCount) / Math.max(1, total));
  if (total !== undefined && total <= expected) return sortedRanges(plan);
  // Rounded, because it is part of the statement text.
  const limit = 2 ** Math.ceil(Math.log2(scanFactor ** (reach === 'far' ? 2 : 1) * expected));
  if (onLines && total !== undefined && limit >= Math.min(total, rowCount)) return sortedRanges(plan);
  return limit >= rowCount ? plain : plain.map((range) => ({ ...range, strategy: limit }));
}

/** For pages beyond the end of the list. */
export const emptyRanges: readonly Range[] = [
  { strategy: 'any', nulls: 'any', from: null, limit: 0, offset: 0 },
];

/** The page counted from the nearest anchor before it. */
export function anchoredRanges(plan: ListPlan, { every, valued, nulls }: Anchors): Range[] {
  const start = firstRow(plan);
  const end = start + plan.pageSize;
  const rangeIn = (kind: Range['nulls'], { count, anchors }: Anchors['valued'], before: number): Range[] => {
    const [from, to] = [Math.max(0, start - before), Math.min(count, end - before)];
    if (from >= to) return [];
    const nearest = Math.floor(from / every);
    return [
      {
        strategy: 'any',
        nulls: kind,
        from: anchors[nearest] ?? null,
        limit: to - from,
        offset: from - nearest * every,
      },
    ];
  };
  const ranges = [
    ...rangeIn(plan.sort.column.column === 'id' ? 'any' : 'no', valued, 0),
    ...rangeIn('only', nulls, valued.count),
  ];
  return ranges.length === 0 ? [...emptyRanges] : ranges;
}
