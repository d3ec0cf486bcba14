// The limits of a request's body: its size in bytes, and how many values it may hold. A megabyte can be three
// hundred thousand empty objects, and validating each takes some microseconds during which the process serves
// no other request.

export const maxBodyBytes = 1024 * 1024;

/** Array entries and object members, summed over all depths. */
const maxValues = 50_000;
export const tooManyValuesText = `must not contain more than ${maxValues} values`;

/** A loop, because the nesting may be deeper than the stack. */
export function hasTooManyValues(raw: unknown): boolean {
  const waiting: unknown[] = [raw];
  let seen = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    seen += inner.length;
    if (seen > maxValues) return true;
    for (const item of inner) if (typeof item === 'object') waiting.push(item);
  }
  return false;
}
