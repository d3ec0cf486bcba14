// SuiteQL's error messages in NetSuite's wording. Callers parse them to find the table or column, so they
// must not change.
import type { QueryRefusal } from '../tables/table.ts';

const PREFIX = 'Invalid search query. Detailed unprocessed description follows. ';

export class SuiteqlError extends Error {
  constructor(description: string, options?: ErrorOptions) {
    super(PREFIX + description, options);
  }
}

/**
 * An error that the query didn't cause, or that NetSuite doesn't explain: callers see an unexpected error.
 */
export class QueryFailure extends Error {}

export const unknownTable = (name: string): SuiteqlError => new SuiteqlError(`Invalid search type: ${name}.`);

export const unavailableTable = (name: string): SuiteqlError =>
  new SuiteqlError(`Search error occurred: Record '${name}' was not found.`);

/** `available`: pairs of alias and table name of the query's tables. */
export const unknownIdentifier = (
  name: string,
  available: readonly (readonly [string, string])[],
  cause?: unknown,
): SuiteqlError =>
  new SuiteqlError(
    `Search error occurred: Unknown identifier '${name}'. Available identifiers are: {${available
      .map(([alias, table]) => `${alias}=${table}`)
      .join(', ')}}.`,
    { cause },
  );

const REASONS: Readonly<Record<Exclude<QueryRefusal, 'fails'>, string>> = {
  'not exposed': 'NOT_EXPOSED - Field is marked as internal for channel SEARCH',
  removed: 'REMOVED - Field is removed',
};

/** The error of a query that names a column which records have but queries don't. */
export const refusedColumn = (name: string, table: string, refusal: QueryRefusal): Error =>
  refusal === 'fails'
    ? new QueryFailure(`queries with ${table}.${name} fail in this account`)
    : new SuiteqlError(
        `Search error occurred: Field '${name}' for record '${table}' was not found. Reason: ${REASONS[refusal]}.`,
      );

export const unsupported = (cause?: unknown): SuiteqlError =>
  new SuiteqlError('Search error occurred: Invalid or unsupported search.', { cause });

export const syntaxError = (
  query: string,
  near: { text: string; line: number; column: number },
): SuiteqlError =>
  new SuiteqlError(
    `Failed to parse SQL [${query}]: syntax error, near: ${near.text}(${near.line},${near.column}, token code:0)`,
  );

export const invalidDateTime = (text: string, format: string, timeZone: string): SuiteqlError =>
  new SuiteqlError(
    `Search error occurred: Parse of date/time "${text}" failed with date format "${format}" in time zone ${timeZone}`,
  );
