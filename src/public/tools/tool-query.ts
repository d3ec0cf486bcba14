// Turns the input of a tool into the parameters that a URL of the public interface would have, so that both
// are planned alike. Pure.
import type { AppError } from '../../core/errors.ts';
import { fieldMasked, listParameters } from '../read/plan/plan.ts';
import { parameterError, parameterProblem, type QueryParameters } from '../read/plan/request.ts';
import { summaryParameters } from '../read/plan/summary-plan.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { takesSeveral } from '../version/operators.ts';
import type { QueryInput, SummarizeInput } from './tool-inputs.ts';

type Filters = NonNullable<QueryInput['filters']>;
type Selection = Pick<QueryInput, 'filters' | 'or' | 'q'>;

const problem = (path: string, code: string, message: string): AppError =>
  parameterError([parameterProblem(path, code, message)]);

/** Whether the endpoint has the parameter: where it hasn't, the name may be that of a filter. */
const declares: Readonly<Record<'q' | 'or' | 'expand', (endpoint: ReadableEndpoint) => boolean>> = {
  q: ({ search }) => search.length > 0,
  or: ({ takesOr }) => takesOr,
  expand: ({ relations }) => relations.size > 0,
};
const isDeclared = (name: string): name is keyof typeof declares => Object.hasOwn(declares, name);

/**
 * `(status:eq:"open",total:gt:"5")`. Throws 400 for a list that would not mean what it means in a filter, and
 * 403 for masked fields.
 */
function orText({ filters, maskedFilters }: ReadableEndpoint, or: Filters): string {
  const conditions = Object.entries(or).flatMap(([name, value]) => {
    if (maskedFilters.has(name)) throw fieldMasked([name]);
    const { field, operator } = filters.get(name) ?? { field: name, operator: 'eq' as const };
    if (Array.isArray(value) && value.length > 1 && (operator === 'not' || !takesSeveral(operator)))
      throw problem(name, 'repeated_parameter', `"${name}" takes one value in "or"`);
    return [value].flat().map((one) => `${field}:${operator}:"${String(one).replaceAll('"', '""')}"`);
  });
  return `(${conditions.join()})`;
}

function addFilters(
  query: Map<string, string[]>,
  endpoint: ReadableEndpoint,
  filters: Filters,
  reserved: ReadonlySet<string>,
): void {
  for (const [name, value] of Object.entries(filters)) {
    if (reserved.has(name) || (isDeclared(name) && declares[name](endpoint)))
      throw problem(name, 'unknown_parameter', `"${name}" is not a filter. Pass it next to "filters".`);
    query.set(name, [value].flat().map(String));
  }
}

function addDeclared(
  query: Map<string, string[]>,
  endpoint: ReadableEndpoint,
  given: Readonly<Record<string, string | undefined>>,
): void {
  for (const [name, text] of Object.entries(given)) {
    if (text === undefined) continue;
    // Otherwise planning reports it.
    if (isDeclared(name) && !declares[name](endpoint) && endpoint.filters.has(name))
      throw problem(name, 'unknown_parameter', `Here "${name}" is a filter. Pass it in "filters".`);
    query.set(name, [text]);
  }
}

function checked(query: QueryParameters): QueryParameters {
  for (const [name, values] of query) {
    if (values.some((text) => text.includes('\0') || !text.isWellFormed()))
      throw problem(name, 'illegal_character', 'NUL and malformed characters are not allowed');
  }
  return query;
}

const toSelection = (endpoint: ReadableEndpoint, { or, q }: Selection) => ({
  q,
  or: or && orText(endpoint, or),
});

/**
 * The parameters of a list, or of a record when there are only `fields` and `expand`. Throws 400 for filters
 * that are parameters, for parameters that the endpoint does not declare, and for NUL or malformed
 * characters; 403 for masked fields in `or`.
 */
export function listQuery(endpoint: ReadableEndpoint, input: Partial<QueryInput>): QueryParameters {
  const { filters = {}, sort, order, page, pageSize, fields, expand } = input;
  const query = new Map<string, string[]>();
  const entries = Object.entries({ sort, order, page, pageSize, fields: fields?.join() });
  for (const [name, value] of entries) if (value !== undefined) query.set(name, [String(value)]);
  addDeclared(query, endpoint, { ...toSelection(endpoint, input), expand: expand?.join() });
  addFilters(query, endpoint, filters, listParameters);
  return checked(query);
}

const reservedInSummaries: ReadonlySet<string> = new Set(summaryParameters);

/** The parameters of `/summary`. Throws as `listQuery` does. */
export function summaryQuery(
  endpoint: ReadableEndpoint,
  input: Omit<SummarizeInput, 'version' | 'resource'>,
): QueryParameters {
  const { filters = {}, or, q, ...computed } = input;
  const query = new Map<string, string[]>();
  for (const [name, value] of Object.entries(computed))
    if (value !== undefined) query.set(name, [value].flat().map(String));
  addDeclared(query, endpoint, toSelection(endpoint, { or, q }));
  addFilters(query, endpoint, filters, reservedInSummaries);
  return checked(query);
}
