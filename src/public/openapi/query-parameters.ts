// Describes the parameters that exist only where an endpoint declares them: search, or, expand and sorts by
// several fields. Examples of `or` are made from the filters that the reader has, so that restricted
// descriptions make their own.
import type { oas31 } from 'openapi3-ts';
import { maxExpansions } from '../read/plan/expand.ts';
import { maxOrConditions, minOrConditions } from '../read/plan/filters.ts';
import { toSuffix } from '../version/operators.ts';
import { type EndpointDefinition, operators } from '../version/schema-document.ts';

type Parameter = oas31.ParameterObject;

/** The parameter of the text search. Undefined where the endpoint declares none. */
export function searchParameter({ search = [] }: Pick<EndpointDefinition, 'search'>): Parameter | undefined {
  return search.length === 0 ? undefined : describedSearch(search);
}

const describedSearch = (search: readonly string[]): Parameter => ({
  name: 'q',
  in: 'query',
  description: searchText(search),
  schema: { type: 'string', minLength: 3 },
});

/** What `q` searches; at least one field. */
export const searchText = (search: readonly string[]): string =>
  `Contains this text in ${namesText(search)}, ignoring case. At least 3 characters; \`%\` and \`_\` have no special meaning.`;

const namesText = (names: readonly string[]): string => {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
};

/** Two to ten conditions. It does not check that the filter exists; `all` is only for lists. */
export function orPattern(names: readonly string[]): string {
  const known = operators.filter(
    (operator) => operator !== 'all' || names.some((name) => name.endsWith(toSuffix(operator))),
  );
  const condition = String.raw`[A-Za-z][\w.-]*:(?:${known.join('|')}):(?:"(?:[^"]|"")*"|[^",()]*)`;
  return String.raw`^\(${condition}(?:,${condition}){${minOrConditions - 1},${maxOrConditions - 1}}\)$`;
}

/** A filter as an example of a condition. */
export type OrExample = { readonly field: string; readonly operator: string; readonly value: string };

/** A value as `or` takes it: in double quotes where a comma, quote or parenthesis would end it. */
const quoted = (value: string): string => (/[",()]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const conditionText = ({ field, operator, value }: OrExample) => `${field}:${operator}:${quoted(value)}`;

/** Two conditions, of different fields where there are two. Undefined without a condition. */
export function orExample(given: readonly OrExample[]): string | undefined {
  const own = given.filter(({ field }) => field !== 'id');
  const [first] = own.length > 0 ? own : given;
  if (first === undefined) return undefined;
  const others = own.filter(({ field }) => field !== first.field);
  const second =
    others.find(({ operator }) => operator !== 'eq' && operator !== 'not') ??
    others[0] ??
    own.find((other) => other !== first) ??
    first;
  return `(${conditionText(first)},${conditionText(second)})`;
}

/** The filters of the list as conditions, with the examples of their parameters. */
export function listOrExamples(
  filters: readonly { readonly name?: string | undefined; readonly schema?: unknown }[],
): OrExample[] {
  return filters.flatMap(({ name = '', schema }) => {
    const operator = operators.find((each) => each !== 'eq' && name.endsWith(`_${each}`)) ?? 'eq';
    const field = operator === 'eq' ? name : name.slice(0, -operator.length - 1);
    const value = findExample(schema);
    return value === undefined ? [] : [{ field, operator, value }];
  });
}

/** The example of a parameter's value, or of its items. */
function findExample(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  if ('items' in schema) return findExample(schema.items);
  const [first] = 'examples' in schema && Array.isArray(schema.examples) ? schema.examples : [];
  return first === undefined ? undefined : String(first);
}

/** The parameter that combines filters; `filters` are the parameters of the same operation. */
export function orParameter(filters: readonly Parameter[]): Parameter {
  const example = orExample(listOrExamples(filters));
  return {
    name: 'or',
    in: 'query',
    description:
      'Two to ten conditions `filter:operator:value`, of which at least one must match, in addition to all other filters. The operators are those of the filters: `date_after` is `date:after:…`, and equality is `eq`. Values with commas, quotes or parentheses are written in double quotes, in which `""` is one quote. At most once per request.',
    schema: {
      type: 'string',
      pattern: orPattern(filters.map(({ name }) => name)),
      ...(example !== undefined && { examples: [example] }),
    },
  };
}

/** The parameter that embeds related records; `names` are those of relations, at least one. */
export const expandParameter = (names: readonly string[]): Parameter => ({
  name: 'expand',
  in: 'query',
  style: 'form',
  explode: false,
  description: `Embeds related records under these names, separated by commas: each as its own resource returns it, or \`null\`. At most ${maxExpansions}; not for exports.`,
  schema: {
    type: 'array',
    minItems: 1,
    maxItems: maxExpansions,
    items: { type: 'string', enum: [...names] },
  },
});

/** The parameters that choose the form of a list. */
export const formatParameters: readonly Parameter[] = [
  {
    name: 'format',
    in: 'query',
    description:
      'The form of the response, for clients that cannot set `Accept`; it wins over that header. `json` is a page. `ndjson`, `csv` and `xlsx` are the whole list, without `page` and `pageSize`. `xlsx` has the lines of the records on further sheets; numbers with more than 15 digits are texts, and lists of more than 1,048,575 records are refused.',
    schema: { type: 'string', enum: ['json', 'ndjson', 'csv', 'xlsx'] },
  },
  {
    name: 'bom',
    in: 'query',
    description: 'With `format=csv`: begins with a byte order mark, from which Excel knows the encoding.',
    schema: { type: 'boolean' },
  },
];

/** What `sort` takes where combinations are declared: fields, either way, and the combinations. */
export const sortChoices = ({ sorts, sortSets = [] }: Pick<EndpointDefinition, 'sorts' | 'sortSets'>) =>
  sortSets.length === 0
    ? [...sorts]
    : [...sorts, ...sorts.map((name) => `-${name}`), ...sortSets.map((names) => names.join())];

export const sortSetsSentence =
  'Several fields are separated by commas, in the combinations listed; a leading `-` means descending, and `order` is then not allowed. ' +
  'Records that are equal in all of them are in the order of their ids, in the direction of the first field.';
