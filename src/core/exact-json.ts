// JSON whose numbers keep their digits. Records are written by PostgreSQL; between there and the caller they are objects for a
// moment, and a binary float would turn 15.30 into 15.3 and lose the digits of long amounts.

/** Of ES2026, which the compiler's library doesn't know yet: text that JSON.stringify writes as it is. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** A number that JSON.stringify writes with these decimal digits, as many as there are. */
export const exactNumber = (decimal: string): unknown => rawJSON(decimal);

/** Parsed; a number that a float would write otherwise is an object that JSON.stringify writes with its own digits, and no more. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source ? rawJSON(context.source) : value,
  );
