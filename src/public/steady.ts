// Which lists PostgreSQL reads best by one plan whatever the values are, and how to let it see that. Pure.
//
// LIMIT and OFFSET are parameters. Without their values PostgreSQL takes a tenth of the list for granted, finds that dear, and so
// plans each page anew, which takes as long as reading it. A literal bound around them makes the plan without values a cheap one,
// and PostgreSQL goes over to it by itself. Where the best plan depends on the values, it must not: there is no bound there.
import type { ListPlan } from './plan.ts';

const stretches = new Set(['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt']);

/**
 * Whether an index holds the very list as one stretch in its order: that of the sort alone, or that of an equality filter which goes
 * on with the usual sort (indexes.ts). Any values then mean a walk of it from another place.
 */
export function isSteady({ conditions, sort, endpoint }: Pick<ListPlan, 'conditions' | 'sort' | 'endpoint'>): boolean {
  if (!isWalkable({ sort, endpoint })) return false;
  const sorted = sort.column.column;
  const [equal, ...others] = conditions.filter(({ column }) => column.column !== sorted);
  const own = conditions.filter(({ column }) => column.column === sorted);
  if (others.length > 0 || !own.every(({ operator, values }) => stretches.has(operator) && values.length === 1)) return false;
  if (equal === undefined) return true;
  // A time that equals a day is a range.
  const isOneValue = equal.operator === 'eq' && equal.values.length === 1 && equal.column.type !== 'time' && equal.column.column !== 'id';
  const isDeclared = [...endpoint.filters.values()].some(
    ({ column, operator }) => operator === 'eq' && column.column === equal.column.column,
  );
  return isOneValue && isDeclared && sorted === endpoint.defaultSort.column.column;
}

/** Whether an index gives the order. Of what no version declared, as a view's sort, nothing is known; several keys are always sorted. */
export function isWalkable({ sort, endpoint }: Pick<ListPlan, 'sort' | 'endpoint'>): boolean {
  const sorted = sort.column.column;
  if (sort.further.length > 0) return false;
  if (sorted === 'id' || sorted === endpoint.defaultSort.column.column) return true;
  return [...endpoint.sorts.values()].some(({ column }) => column === sorted);
}

/** At least `rows`, and one of so few numbers that the statements stay few. */
export function boundFor(rows: number): number {
  let bound = 100;
  while (bound < rows) bound *= 10;
  return bound;
}
