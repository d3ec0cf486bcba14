// Decides what else the index that orders a list can do: which filters it serves, whether walking it passes
// records that the filters exclude, and whether one plan is right for all values. indexes.ts defines these
// indexes. Pure.
//
// LIMIT and OFFSET are parameters. Without their values PostgreSQL assumes a tenth of the list, estimates a
// high cost, and so plans every page again, which takes as long as reading it. Literal limits within and
// around them make the generic plan as cheap as it is, and PostgreSQL switches to it by itself. Where the best
// plan depends on the values it must not switch, so no literal limit is used there.

import { isListType } from '../../../warehouse/columns.ts';
import type { CompiledSort } from '../../version/compile.ts';
import type { Operator } from '../../version/schema-document.ts';
import type { FilterCondition } from './filters.ts';
import type { ListPlan } from './plan.ts';

/** Operators that select one range of an index, or a few. */
export const rangeOperators: ReadonlySet<Operator> = new Set([
  'eq',
  'after',
  'before',
  'gte',
  'lte',
  'gt',
  'lt',
]);

/** Whether an index gives the order. Undeclared sorts, such as those of saved queries, may have none. */
function isWalkable({ sort, endpoint: { sorts, sortSets, defaultSort } }: ListPlan): boolean {
  const sorted = sort.column.column;
  if (sort.further.length > 0) return [...(sortSets?.values() ?? [])].some((set) => isSortBy(set, sort));
  if (sorted === 'id' || sorted === defaultSort?.column.column) return true;
  return [...(sorts?.values() ?? [])].some(({ column }) => column === sorted);
}

const isSortBy = (set: CompiledSort, { column, order, further }: ListPlan['sort']): boolean => {
  const keys = [{ column, order }, ...further];
  return (
    set.length === keys.length &&
    set.every((key, at) => key.column.column === keys[at]?.column.column && key.order === keys[at]?.order)
  );
};

/**
 * An equality after which an index continues in the default order: declared or of a row scope, and with one
 * value. A timestamp that equals a day is a range, and a list may have several values.
 */
function isEquality(condition: FilterCondition, { filters, scope }: ListPlan['endpoint']): boolean {
  const { column, operator, values } = condition;
  const isRange = column.type === 'time' || isListType(column.type);
  if (
    operator !== 'eq' ||
    values.length !== 1 ||
    isRange ||
    column.column === 'id' ||
    column.line !== undefined
  )
    return false;
  const declared = [...scope, ...(filters?.values() ?? [])];
  return declared.some(
    (other) =>
      other.operator === 'eq' && other.column.line === undefined && other.column.column === column.column,
  );
}

/**
 * Positions of the conditions that this index also serves: those on the sort column, and in the default order
 * one equality.
 */
export function servedConditions(plan: ListPlan): ReadonlySet<number> {
  if (plan.conditions.length === 0) return none;
  const served = known.get(plan) ?? findServed(plan);
  known.set(plan, served);
  return served;
}
const none: ReadonlySet<number> = new Set();
/** For plans in the plan cache. */
const known = new WeakMap<ListPlan, ReadonlySet<number>>();

function findServed({ sort, conditions, endpoint }: ListPlan): ReadonlySet<number> {
  const served = new Set<number>();
  const inDefaultOrder =
    sort.further.length === 0 && sort.column.column === (endpoint.defaultSort?.column.column ?? 'id');
  let equalled = endpoint.lacksDefaultSort === true || !inDefaultOrder;
  for (const [index, condition] of conditions.entries()) {
    if (condition.column.column === sort.column.column) {
      if (rangeOperators.has(condition.operator)) served.add(index);
    } else if (!equalled && isEquality(condition, endpoint)) {
      equalled = true;
      served.add(index);
    }
  }
  return served;
}

/** No index serves a group of alternatives. */
const servesAll = (plan: ListPlan): boolean =>
  plan.anyOf.length === 0 && servedConditions(plan).size === plan.conditions.length;

/** Whether walking the index passes records that the filters exclude. */
export const skipsRecords = (plan: ListPlan): boolean => isWalkable(plan) && !servesAll(plan);

/** Whether the index holds the list as one range, so that the plan is the same for any values. */
export const hasOnePlan = (plan: ListPlan): boolean =>
  isWalkable(plan) && servesAll(plan) && plan.conditions.every(({ values }) => values.length === 1);

/** The common sizes of pages, and others. */
const pageSizes = [10, 25, 50, 100, 250, 500];

/**
 * What a page reads at most, rounded up so that few distinct statements exist: index entries walked, and records
 * selected.
 */
export function capsFor(
  limit: number,
  offset: number,
): { readonly walked: number; readonly selected: number } {
  let [walked, selected] = [100, pageSizes.find((size) => size >= limit) ?? 1_000];
  while (walked < offset + limit) walked *= 10;
  while (selected < limit) selected *= 10;
  return { walked, selected };
}
