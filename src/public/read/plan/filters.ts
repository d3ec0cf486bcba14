// Reads the conditions of a query: filters, `q` and `or`. Names become column objects of the compiled
// version, texts become typed values. Pure; problems go to `report`.
import { didYouMean } from '../../../core/text/nearest-name.ts';
import type { CompiledColumn, FilterParameter, ReadableEndpoint } from '../../version/compile.ts';
import { takesSeveral, toSuffix } from '../../version/operators.ts';
import { type Operator, operators } from '../../version/schema-document.ts';
import { parseFilterValue, type Value } from '../../version/values.ts';
import { maxSuggestions, type ReportProblem, single } from './parameters.ts';
import type { QueryParameters } from './request.ts';

export type FilterCondition = {
  readonly column: CompiledColumn;
  readonly operator: Operator;
  readonly values: readonly Value[];
};

/** A record is selected when every condition matches, and of each group at least one. */
export type Selection = {
  readonly conditions: readonly FilterCondition[];
  readonly anyOf: readonly (readonly FilterCondition[])[];
};

/**
 * Whether a line of a record decides about it. PostgreSQL doesn't know what unpacking the lines costs, and so
 * would test them for each record of an index until a page is full: such a selection is found first and then
 * sorted, unless a bounded number of records is tested.
 */
export const testsLines = ({ conditions, anyOf }: Selection): boolean =>
  [...conditions, ...anyOf.flat()].some(isOnLines);
const isOnLines = ({ column: { line } }: FilterCondition): boolean => line !== undefined;

/** Of one filter. */
export const maxValues = 100;
export const minContainsLength = 3;
export const minOrConditions = 2;
export const maxOrConditions = 10;

/** One condition of `or` as it was written: the parameter that it is equal to, and the value. */
type Alternative = {
  readonly field: string;
  readonly operator: string;
  readonly name: string;
  readonly value: string;
};

/** `status:eq:Open`; the value may hold colons, or be quoted. */
const alternativeForm = /([^:,()"]*):([^:,()"]*):(?:"((?:[^"]|"")*)"|([^,()"]*))(,(?!$)|$)/y;

/** Undefined when the text has another form than `(filter:operator:value,…)`. */
export function readOr(text: string): Alternative[] | undefined {
  if (!text.startsWith('(') || !text.endsWith(')')) return undefined;
  const inside = text.slice(1, -1);
  const found: Alternative[] = [];
  for (let at = 0; at < inside.length; ) {
    alternativeForm.lastIndex = at;
    const match = alternativeForm.exec(inside);
    if (match === null) return undefined;
    const [whole, field = '', operator = '', quoted, plain = ''] = match;
    found.push({
      field,
      operator,
      name: field + toSuffix(operator as Operator),
      value: quoted?.replaceAll('""', '"') ?? plain,
    });
    at += whole.length;
  }
  return found;
}

const isOperator = (text: string): text is Operator => (operators as readonly string[]).includes(text);

function parseAlternative(
  { filters }: ReadableEndpoint,
  { field, operator, name, value }: Alternative,
  suggests: boolean,
  report: ReportProblem,
): FilterCondition[] {
  const filter = isOperator(operator) ? filters.get(name) : undefined;
  if (filter !== undefined && filter.operator === operator)
    return [
      parseCondition(filter, [value], (_name, code, message) => report('or', code, `In "or": ${message}`)),
    ];
  const own = [...filters.values()].filter((other) => other.field === field).map((other) => other.operator);
  const names = [...new Set([...filters.values()].map((other) => other.field))];
  const hint =
    own.length > 0
      ? ` Operators of "${field}": ${own.join(', ')}.`
      : suggests
        ? didYouMean(field, names)
        : '';
  report(
    'or',
    'unknown_filter',
    `In "or": "${field.slice(0, 80)}:${operator.slice(0, 80)}" is not a filter of this resource.${hint}`,
  );
  return [];
}

function parseOr(endpoint: ReadableEndpoint, query: QueryParameters, report: ReportProblem) {
  const text = endpoint.takesOr ? single(query, 'or', report) : undefined;
  if (text === undefined) return [];
  const alternatives = readOr(text);
  if (alternatives === undefined) {
    const message =
      '"or" must look like (status:eq:Open,amount:gt:1000): filter, operator and value. Values with , ( ) or " must be in double quotes';
    report('or', 'invalid_value', message);
    return [];
  }
  if (alternatives.length < minOrConditions || alternatives.length > maxOrConditions) {
    report('or', 'out_of_range', `"or" must have ${minOrConditions} to ${maxOrConditions} conditions`);
    return [];
  }
  return [
    inOneOrder(
      alternatives.flatMap((each, index) => parseAlternative(endpoint, each, index < maxSuggestions, report)),
    ),
  ];
}

/** Without duplicates, so that equal groups have one statement and one total. */
const inOneOrder = (group: readonly FilterCondition[]): FilterCondition[] =>
  [...new Map(group.map((condition) => [JSON.stringify(condition), condition]))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, one]) => one);

function parseSearch(
  { search }: ReadableEndpoint,
  query: QueryParameters,
  report: ReportProblem,
): FilterCondition[][] {
  const text = search.length === 0 ? undefined : single(query, 'q', report);
  if (text === undefined) return [];
  if ([...text].length < minContainsLength) {
    report('q', 'out_of_range', `"q" must have at least ${minContainsLength} characters`);
    return [];
  }
  return [search.map(({ column }) => ({ column, operator: 'contains', values: [text] }))];
}

/** The parameters, next to the filters themselves, that select records of this endpoint. */
export const selectionParameters = ({ search, takesOr }: ReadableEndpoint): string[] => [
  ...(search.length > 0 ? ['q'] : []),
  ...(takesOr ? ['or'] : []),
];

/** The conditions of a query without those of the row scope. */
export function parseSelection(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  report: ReportProblem,
): Selection {
  const conditions = [...query.keys()].sort().flatMap((name) => {
    const filter = endpoint.filters.get(name);
    return filter === undefined ? [] : [parseCondition(filter, query.get(name) ?? [], report)];
  });
  return {
    conditions,
    anyOf: [...parseSearch(endpoint, query, report), ...parseOr(endpoint, query, report)],
  };
}

/** Names of the parameters that filter by a field that the reader sees masked. */
export function maskedParameters(
  { maskedFilters, takesOr }: ReadableEndpoint,
  query: QueryParameters,
): string[] {
  const usesMasked = (texts: readonly string[]): boolean =>
    texts.some((text) => readOr(text)?.some(({ name }) => maskedFilters.has(name)) === true);
  return [...query]
    .filter(([name, texts]) => maskedFilters.has(name) || (takesOr && name === 'or' && usesMasked(texts)))
    .map(([name]) => name);
}

/** Parses the values of one filter; problems go to `report`, and the condition then has no values. */
export function parseCondition(
  filter: FilterParameter,
  texts: readonly string[],
  report: ReportProblem,
): FilterCondition {
  const { name, column, operator } = filter;
  const condition = (values: readonly Value[]): FilterCondition => ({ column, operator, values });
  if (!takesSeveral(operator) && texts.length > 1)
    report(name, 'repeated_parameter', `"${name}" may be given only once`);
  else if (texts.length > maxValues)
    report(name, 'too_many_values', `"${name}" may be given at most ${maxValues} times`);
  else if (texts.includes('') && !(operator === 'eq' && column.type === 'text'))
    report(name, 'empty_value', `"${name}" must not be empty`);
  else if (operator === 'contains' && [...(texts[0] ?? '')].length < minContainsLength) {
    report(name, 'out_of_range', `"${name}" must have at least ${minContainsLength} characters`);
  } else {
    return condition(
      [...new Set(texts)].sort().flatMap((text) => {
        const read = parseFilterValue(operator === 'null' ? 'boolean' : column.type, text);
        if ('value' in read) return [read.value];
        report(name, read.code, `"${name}" ${read.message}`);
        return [];
      }),
    );
  }
  return condition([]);
}
