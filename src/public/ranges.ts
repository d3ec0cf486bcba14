// Which stretches of a list a page is made of, so that each is walked in an index however deep the page lies. Pure.
//
// PostgreSQL orders nulls first when it walks an ascending index backwards, and the interface promises nulls last. So a list sorted
// by a column is two stretches of one index, first the records with a value, then those without; a page lies in one or both.
import type { ListPlan } from './plan.ts';

/** Where a stretch may begin: the record at that place. `key` is null in the stretch without values, and when sorted by id. */
export type Anchor = { readonly key: string | null; readonly id: string };

/** `any`: both stretches in the interface's order. `from` is the record that `offset` counts from. */
export type Range = {
  readonly nulls: 'any' | 'no' | 'only';
  readonly from: Anchor | null;
  readonly limit: number;
  readonly offset: number;
};

/** Every `every`th record of a list, from the first on. */
export type Anchors = {
  readonly every: number;
  readonly valued: { readonly count: number; readonly anchors: readonly Anchor[] };
  readonly nulls: { readonly count: number; readonly anchors: readonly Anchor[] };
};

type Window = Pick<ListPlan, 'page' | 'pageSize'>;
export const firstRow = ({ page, pageSize }: Window): number => (page - 1) * pageSize;

/** How many records a page of a list of so many has. */
export const rowsOnPage = (plan: Window, total: number): number => Math.max(0, Math.min(plan.pageSize, total - firstRow(plan)));

const never = new Set(['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt', 'contains', 'starts_with']);
/** Whether a list that is walked in an index may hold records without a value to sort by; by several keys it is always sorted whole. */
export const mayLackKey = ({ sort, conditions }: Pick<ListPlan, 'sort' | 'conditions'>): boolean =>
  sort.further.length === 0 &&
  sort.column.column !== 'id' &&
  !conditions.some(({ column, operator }) => column.column === sort.column.column && never.has(operator));

/** Counted from the list's beginning. Sorted downwards it finds no record without a value: the page may turn out too short. */
export function plainRanges(plan: ListPlan): Range[] {
  const { order, column, further } = plan.sort;
  const walkedBackwards = order === 'desc' && column.column !== 'id' && further.length === 0;
  return [{ nulls: walkedBackwards ? 'no' : 'any', from: null, limit: plan.pageSize, offset: firstRow(plan) }];
}

/** For short lists: found by sorting all of it. */
export const sortedRanges = (plan: ListPlan): Range[] => [{ nulls: 'any', from: null, limit: plan.pageSize, offset: firstRow(plan) }];

/** For pages beyond the end. */
export const noRanges: readonly Range[] = [{ nulls: 'any', from: null, limit: 0, offset: 0 }];

export function anchoredRanges(plan: ListPlan, { every, valued, nulls }: Anchors): Range[] {
  const start = firstRow(plan);
  const end = start + plan.pageSize;
  const stretch = (kind: Range['nulls'], { count, anchors }: Anchors['valued'], before: number): Range[] => {
    const [from, to] = [Math.max(0, start - before), Math.min(count, end - before)];
    if (from >= to) return [];
    const nearest = Math.floor(from / every);
    return [{ nulls: kind, from: anchors[nearest] ?? null, limit: to - from, offset: from - nearest * every }];
  };
  const ranges = [...stretch(plan.sort.column.column === 'id' ? 'any' : 'no', valued, 0), ...stretch('only', nulls, valued.count)];
  return ranges.length === 0 ? [...noRanges] : ranges;
}
