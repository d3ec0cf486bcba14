// Sets of names that a person chooses from.

/** The set with these names, or without them. */
export function withNames(
  before: Iterable<string>,
  names: Iterable<string>,
  isIn: boolean,
): ReadonlySet<string> {
  const next = new Set(before);
  for (const name of names) isIn ? next.add(name) : next.delete(name);
  return next;
}

/** The id is read whether it is chosen or not. */
export const withId = (fields: Iterable<string>): ReadonlySet<string> => new Set(['id', ...fields]);
