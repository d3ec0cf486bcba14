// The parameters of an operation for a reader who has only a part of the endpoint: names and examples of what
// it doesn't have are removed.
import { z } from 'zod';
import type { ReadableEndpoint } from '../version/compile.ts';
import { aggregateFunctions } from '../version/schema-document.ts';
import { formatParameters, listOrExamples, orExample, searchText } from './query-parameters.ts';

type Schema = Record<string, unknown>;
export type Parameter = Schema & {
  name?: string | undefined;
  description?: string | undefined;
  schema?: Schema | undefined;
};

const schema = z.looseObject({});
const namesIn = (values: unknown, isKept: (name: string) => boolean): string[] =>
  z.array(z.string()).parse(values).filter(isKept);
const pagingParameters = new Set(['page', 'pageSize', 'order']);
const formatNames = new Set(formatParameters.map(({ name }) => name));
const defaultPattern = / Default: by (.+), (?:asc|desc)\.$/;

/** With only the kept values; undefined when none is left. */
function withValues(given: Parameter, isKept: (name: string) => boolean): Parameter | undefined {
  const items = given.schema?.['items'] === undefined ? undefined : schema.parse(given.schema['items']);
  const names = namesIn((items ?? given.schema)?.['enum'], isKept);
  if (names.length === 0) return undefined;
  return {
    ...given,
    schema: {
      ...given.schema,
      ...(items === undefined ? { enum: names } : { items: { ...items, enum: names } }),
    },
  };
}

const ascending = (name: string): string => name.replace(/^-/, '');

/** A default sort that the reader doesn't have is by the id. */
function restrictSort(given: Parameter, { sorts, sortSets }: ReadableEndpoint): Parameter | undefined {
  const kept = withValues(given, (name) => sorts.has(ascending(name)) || sortSets.has(name));
  const description = (given.description ?? '').replace(defaultPattern, (found, field) =>
    sorts.has(field) ? found : ' Default: by id.',
  );
  return kept && { ...kept, description };
}

/** The parameters of a summary alone; null for the others, and undefined for what the reader doesn't have. */
function restrictSummaryParameter(given: Parameter, { summary }: ReadableEndpoint) {
  if (summary === null) return null;
  const { aggregates, groups } = summary;
  const computes = (name: string, field: string): boolean =>
    aggregates.get(field)?.functions.some((known) => known === name) === true;
  const { name = '' } = given;
  if (aggregateFunctions.some((known) => known === name))
    return withValues(given, (field) => computes(name, field));
  if (name === 'by') return withValues(given, (group) => groups.has(group));
  if (name === 'count' || name === 'limit') return given;
  if (name !== 'sort') return null;
  return withValues(given, (text) => {
    const key = ascending(text);
    const [function_ = '', ...field] = key.split('.');
    return key === 'count' || groups.has(key) || computes(function_, field.join('.'));
  });
}

/** `q` and `or`, which exist where the version declares them; null for other parameters. */
function restrictSelection(
  given: Parameter,
  filters: readonly Parameter[],
  endpoint: ReadableEndpoint,
): Parameter | undefined | null {
  const { search, takesOr } = endpoint;
  if (given.name === 'q' && !endpoint.filters.has('q'))
    return search.length === 0
      ? undefined
      : { ...given, description: searchText(search.map(({ name }) => name)) };
  if (given.name !== 'or' || !takesOr) return null;
  const { examples: _, ...rest } = given.schema ?? {};
  const example = orExample(listOrExamples(filters));
  return { ...given, schema: { ...rest, ...(example !== undefined && { examples: [example] }) } };
}

type Part = {
  readonly isSummary: boolean;
  /** The names of the relations whose records the reader may read. */
  readonly related: readonly string[];
};

/** Without the fields, filters, sorts, aggregates, groups and relations that the reader doesn't have. */
export function restrictParameters(
  parameters: readonly Parameter[],
  endpoint: ReadableEndpoint,
  part: Part,
): Parameter[] {
  const shown = new Set(['id', ...endpoint.fields.map(({ name }) => name)]);
  const isFilter = ({ name = '' }: Parameter): boolean => endpoint.filters.has(name);
  const filters = parameters.filter((given) => given['in'] === 'query' && isFilter(given));
  const restricted = (given: Parameter): Parameter | undefined => {
    const { name } = given;
    if (given['in'] !== 'query' || name === undefined) return given;
    const own = part.isSummary ? restrictSummaryParameter(given, endpoint) : null;
    if (own !== null) return own;
    const selection = restrictSelection(given, filters, endpoint);
    if (selection !== null) return selection;
    if (name === 'fields') return withValues(given, (field) => shown.has(field));
    if (name === 'sort') return restrictSort(given, endpoint);
    if (name === 'expand' && endpoint.relations.size > 0)
      return withValues(given, (relation) => part.related.includes(relation));
    const isOwn = pagingParameters.has(name) || (endpoint.takesFormat && formatNames.has(name));
    return isOwn || isFilter(given) ? given : undefined;
  };
  return parameters.map(restricted).filter((given) => given !== undefined);
}
