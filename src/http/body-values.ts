// How much a body may hold beside its bytes. A megabyte can be three hundred thousand empty objects, and whoever looks at each of them
// takes some microseconds for it, in which nobody else is answered.

/** Entries of lists and members of objects, at every depth together. */
const mostValues = 50_000;
export const holdsTooMuchText = `holds more than ${mostValues} values`;

/** A loop, because nesting may be deeper than the stack. */
export function holdsTooMuch(raw: unknown): boolean {
  const waiting: unknown[] = [raw];
  let seen = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    seen += inner.length;
    if (seen > mostValues) return true;
    for (const item of inner) if (typeof item === 'object') waiting.push(item);
  }
  return false;
}
