// Which stretches of a list a page is made of, so that each is walked in an index however deep the page lies. Pure.
//
// PostgreSQL orders nulls first when it walks an ascending index backwards, and the interface promises nulls last. So a list sorted
// by a column is two stretches of one index, first the records with a value, then those without; a page lies in one or both.
import { skipsRecords, stretches } from './order-index.ts';
import type { ListPlan } from './plan.ts';
import type { Operator } from './schema-document.ts';

/** Where a stretch may begin: the record at that place. `key` is null in the stretch without values, and when sorted by id. */
export type Anchor = { readonly key: string | null; readonly id: string };

/**
 * `any`: both stretches in the interface's order. `from` is the record that `offset` counts from. `by` is how it is found: as PostgreSQL
 * likes, by sorting all that the filters select, or among the first so many records of the order, where the page may turn out too short.
 */
export type Range = {
  readonly by: 'any' | 'sort' | number;
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

const never: ReadonlySet<Operator> = new Set([...stretches, 'contains', 'starts_with'] as const);
/** Whether a list that is walked in an index may hold records without a value to sort by; by several keys it is always sorted whole. */
export const mayLackKey = ({ sort, conditions }: Pick<ListPlan, 'sort' | 'conditions'>): boolean =>
  sort.further.length === 0 &&
  sort.column.column !== 'id' &&
  !conditions.some(({ column, operator }) => column.column === sort.column.column && never.has(operator));

/** Of plans that are remembered; a plan never changes. */
const plainOnes = new WeakMap<ListPlan, readonly Range[]>();

/** Counted from the list's beginning. Sorted downwards it finds no record without a value: the page may turn out too short. */
export function plainRanges(plan: ListPlan): readonly Range[] {
  const held = plainOnes.get(plan);
  if (held !== undefined) return held;
  const { order, column, further } = plan.sort;
  const walkedBackwards = order === 'desc' && column.column !== 'id' && further.length === 0;
  const ranges: Range[] = [{ by: 'any', nulls: walkedBackwards ? 'no' : 'any', from: null, limit: plan.pageSize, offset: firstRow(plan) }];
  plainOnes.set(plan, ranges);
  return ranges;
}

/** Found by sorting all of the list, which never reads more of the table than the list has. */
export const sortedRanges = (plan: ListPlan): Range[] => [
  { by: 'sort', nulls: 'any', from: null, limit: plan.pageSize, offset: firstRow(plan) },
];

/** A few anchors' worth: so far a page is looked for before the total is known. */
export const unknownLookOf = ({ anchorEvery }: { readonly anchorEvery: number }): number => 8 * anchorEvery;

/** Of records that fit as often here as there, the page lies within its expected stretch; of others anywhere. */
const patience = 8;

/**
 * How a page is looked for whose filters the order's index doesn't serve. PostgreSQL takes what fits for evenly spread, and walks past the
 * whole table where it is not: invoices of the last days stand at the end of their numbers. The exact total says what sorting would cost
 * instead: whatever the records are like, no more than a few times the better of the two ways is read.
 */
export function carefulRanges(plan: ListPlan, total: number | undefined, rowCount: number, unknownLook: number): readonly Range[] {
  const plain = plainRanges(plan);
  if (!skipsRecords(plan)) return plain;
  const wanted = firstRow(plan) + plan.pageSize;
  const expected = total === undefined ? unknownLook / patience : Math.ceil((wanted * rowCount) / Math.max(1, total));
  if (total !== undefined && total <= expected) return sortedRanges(plan);
  // Rounded, because it is part of the statement's text.
  const look = 2 ** Math.ceil(Math.log2(patience * expected));
  return look >= rowCount ? plain : plain.map((range) => ({ ...range, by: look }));
}

/** For pages beyond the end. */
export const noRanges: readonly Range[] = [{ by: 'any', nulls: 'any', from: null, limit: 0, offset: 0 }];

export function anchoredRanges(plan: ListPlan, { every, valued, nulls }: Anchors): Range[] {
  const start = firstRow(plan);
  const end = start + plan.pageSize;
  const stretch = (kind: Range['nulls'], { count, anchors }: Anchors['valued'], before: number): Range[] => {
    const [from, to] = [Math.max(0, start - before), Math.min(count, end - before)];
    if (from >= to) return [];
    const nearest = Math.floor(from / every);
    return [{ by: 'any', nulls: kind, from: anchors[nearest] ?? null, limit: to - from, offset: from - nearest * every }];
  };
  const ranges = [...stretch(plan.sort.column.column === 'id' ? 'any' : 'no', valued, 0), ...stretch('only', nulls, valued.count)];
  return ranges.length === 0 ? [...noRanges] : ranges;
}
