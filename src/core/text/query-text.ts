// The text of a query string. Parsers repair malformed parts or keep them as they are, and a filter with
// another value selects other records: they are refused instead.
import { AppError } from '../errors.ts';

/** The part of a URL after the first `?`; empty without one. */
export const toQueryText = (url: string): string => {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
};

/** Whether a parameter of the query may have this name; one in percent escapes may. */
export const queryMayName = (queryText: string, name: string): boolean =>
  queryText.includes('%') || queryText.includes(name);

const malformed = (message: string): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: '', code: 'malformed_escape', message }] });

/** Decodes a name, value or query string. Throws 400 `malformed_escape` unless percent-encoded UTF-8. */
export function decodeQueryPart(part: string): string {
  // Unencoded bytes arrive as Latin-1 and would be decoded as other letters than the client meant.
  if (/[^\x21-\x7e]/.test(part)) throw malformed('The query string must be percent-encoded UTF-8');
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    throw malformed('The query string contains a malformed percent escape');
  }
}
