// What the index that gives a list its order is good for beside: which filters it serves, whether a walk of it passes records that
// belong to others, and whether one plan is right for all values. indexes.ts makes these indexes. Pure.
//
// LIMIT and OFFSET are parameters. Without their values PostgreSQL takes a tenth of the list for granted, finds that dear, and so
// plans each page anew, which takes as long as reading it. A literal bound around them makes the plan without values a cheap one,
// and PostgreSQL goes over to it by itself. Where the best plan depends on the values, it must not: there is no bound there.
import type { Condition, ListPlan } from './plan.ts';
import type { Operator } from './schema-document.ts';

/** What selects one stretch of an index, or a few. */
export const stretches: ReadonlySet<Operator> = new Set(['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt']);

/** Whether an index gives the order. Of what no version declared, as a view's sort, nothing is known; several keys are always sorted. */
function isWalkable({ sort, endpoint }: ListPlan): boolean {
  const sorted = sort.column.column;
  if (sort.further.length > 0) return false;
  if (sorted === 'id' || sorted === endpoint.defaultSort.column.column) return true;
  return [...endpoint.sorts.values()].some(({ column }) => column === sorted);
}

/** An equality that an index goes on from in the usual order: declared, and with one value. A time that equals a day is a range. */
function isEquality({ column, operator, values }: Condition, { filters }: ListPlan['endpoint']): boolean {
  if (operator !== 'eq' || values.length !== 1 || column.type === 'time' || column.column === 'id') return false;
  return [...filters.values()].some((declared) => declared.operator === 'eq' && declared.column.column === column.column);
}

/** The conditions that this index also serves, by their places: those on the column that sorts, and in the usual order one equality. */
export function servedConditions(plan: ListPlan): ReadonlySet<number> {
  if (plan.conditions.length === 0) return none;
  const held = known.get(plan) ?? findServed(plan);
  known.set(plan, held);
  return held;
}
const none: ReadonlySet<number> = new Set();
/** Of plans that are remembered. */
const known = new WeakMap<ListPlan, ReadonlySet<number>>();

function findServed({ sort, conditions, endpoint }: ListPlan): ReadonlySet<number> {
  const served = new Set<number>();
  let equalled = sort.column.column !== endpoint.defaultSort.column.column;
  for (const [place, condition] of conditions.entries()) {
    if (condition.column.column === sort.column.column) {
      if (stretches.has(condition.operator)) served.add(place);
    } else if (!equalled && isEquality(condition, endpoint)) {
      equalled = true;
      served.add(place);
    }
  }
  return served;
}

const servesAll = (plan: ListPlan): boolean => servedConditions(plan).size === plan.conditions.length;

/** Whether the index is walked past records which the filters don't select. */
export const skipsRecords = (plan: ListPlan): boolean => isWalkable(plan) && !servesAll(plan);

/** Whether the index holds the very list as one stretch: any values then mean a walk of it from another place. */
export const isSteady = (plan: ListPlan): boolean =>
  isWalkable(plan) && servesAll(plan) && plan.conditions.every(({ values }) => values.length === 1);

/** At least `rows`, and one of so few numbers that the statements stay few. */
export function boundFor(rows: number): number {
  let bound = 100;
  while (bound < rows) bound *= 10;
  return bound;
}
