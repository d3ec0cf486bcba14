// JSON whose numbers keep their digits. PostgreSQL writes the records as JSON; where they are parsed on the
// way to the caller, a binary float would turn 15.30 into 15.3 and lose digits of long amounts.

/** ES2026, not yet in TypeScript's library: wraps text that JSON.stringify copies unchanged. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** A value that JSON.stringify writes as exactly this decimal number. */
export const exactNumber = (decimal: string): unknown => rawJSON(decimal);

/**
 * Parses JSON. A number whose digits a float wouldn't preserve becomes an object that is good for one thing:
 * JSON.stringify writes the original digits. Throws SyntaxError for invalid JSON.
 */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value,
  );

/** JSON whose numbers are the texts of their digits. */
export type DigitsJson =
  | string
  | boolean
  | null
  | readonly DigitsJson[]
  | { readonly [name: string]: DigitsJson };

/** Parses JSON for a reader of texts: a number becomes its digits as they are written. Throws SyntaxError for invalid JSON. */
export const parseDigits = (text: string): DigitsJson =>
  JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value,
  );
