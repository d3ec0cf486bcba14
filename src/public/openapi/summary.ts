// Describes the operation that summarizes the records of a resource: its parameters, and a row with the exact
// types of what it computes.
import type { oas31 } from 'openapi3-ts';
import { elementType, isNumeric } from '../../warehouse/columns.ts';
import { maxGroupKeys, maxGroups } from '../read/plan/summary-plan.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { findCurrency, mixesCurrencies } from '../version/money.ts';
import type { ValueType } from '../version/operators.ts';
import {
  type AggregateFunction,
  aggregateFunctions,
  type Bindings,
  type EndpointDefinition,
  type FieldDefinition,
  type Period,
} from '../version/schema-document.ts';
import { boundColumn, valueSchema } from './fields.ts';
import type { EndpointNames } from './names.ts';
import { errorRefs, jsonResponse, recordHeaders } from './parts.ts';

type Schema = oas31.SchemaObject;
type Parameter = oas31.ParameterObject;

export const hasSummary = ({ aggregates = [], groups = [] }: EndpointDefinition): boolean =>
  aggregates.length + groups.length > 0;

const meanings: Readonly<Record<AggregateFunction, string>> = {
  sum: 'Adds up these fields.',
  avg: 'Computes the averages of these fields, rounded to six decimals.',
  min: 'Finds the smallest values of these fields.',
  max: 'Finds the largest values of these fields.',
  count_distinct: 'Counts the different values of these fields.',
};

const periodShapes: Readonly<Record<Period, { example: string; pattern?: string; note: string }>> = {
  day: { example: '2026-01-31', note: 'A day.' },
  week: { example: '2026-01-26', note: 'A week, by its Monday.' },
  month: { example: '2026-01', pattern: '^\\d{4,}-\\d{2}$', note: 'A month.' },
  quarter: { example: '2026-Q1', pattern: '^\\d{4,}-Q[1-4]$', note: 'A quarter.' },
  year: { example: '2026', pattern: '^\\d{4,}$', note: 'A year.' },
};

function periodSchema(period: Period): Schema {
  const { example, pattern, note } = periodShapes[period];
  const form = pattern === undefined ? { format: 'date' } : { pattern };
  return { type: ['string', 'null'], ...form, description: note, examples: [example] };
}

/** What a function returns for a field of this type. Its JSON type never depends on the value. */
function resultSchema(name: AggregateFunction, type: ValueType | undefined): Schema {
  if (name === 'count_distinct') return { type: 'integer', minimum: 0, examples: [3] };
  if (type === 'date') return { type: ['string', 'null'], format: 'date', examples: ['2026-01-31'] };
  if (type === 'time')
    return { type: ['string', 'null'], format: 'date-time', examples: ['2026-01-31T10:00:00Z'] };
  const description =
    name === 'avg' ? 'A decimal number as text, rounded to six decimals.' : 'Exact decimal digits, as text.';
  const example = isNumeric(type) ? resultExamples[name] : 'Example';
  return { type: ['string', 'null'], ...(isNumeric(type) && { description }), examples: [example] };
}
const resultExamples: Readonly<Record<AggregateFunction, string>> = {
  sum: '14994.00',
  avg: '1249.5',
  min: '12',
  max: '9800.5',
  count_distinct: '3',
};

/** Without what the definition says about masks and scopes: a group is never masked. */
const plainField = ({ name, source, description, as }: FieldDefinition): FieldDefinition => ({
  name,
  source,
  description,
  ...(as !== undefined && { as }),
});

function groupSchemas(endpoint: EndpointDefinition, bindings: Bindings): [string, Schema][] {
  return (endpoint.groups ?? []).flatMap((group): [string, Schema][] => {
    if (typeof group !== 'string')
      return group.periods.map((period) => [`${group.field}.${period}`, periodSchema(period)]);
    const field = endpoint.fields.find(({ name }) => name === group);
    if (field === undefined) return [];
    const type = boundColumn(bindings, endpoint.recordType, field)?.type;
    if (type === undefined || type === 'lines') return [[group, {}]];
    return [[group, valueSchema(elementType(type), plainField(field))]];
  });
}

/** The fields of each function that the endpoint declares. */
const listFields = ({ aggregates = [] }: EndpointDefinition, name: AggregateFunction): string[] =>
  aggregates.filter(({ functions }) => functions.includes(name)).map(({ field }) => field);

function functionSchemas(endpoint: EndpointDefinition, bindings: Bindings): [string, Schema][] {
  const findType = (name: string): ValueType | undefined => {
    const field = endpoint.fields.find((one) => one.name === name);
    const type = field && boundColumn(bindings, endpoint.recordType, field)?.type;
    return type === 'lines' ? undefined : type;
  };
  return aggregateFunctions.flatMap((name): [string, Schema][] => {
    const results = listFields(endpoint, name).map((field): [string, Schema] => [
      field,
      resultSchema(name, findType(field)),
    ]);
    return results.length === 0 ? [] : [[name, { type: 'object', properties: Object.fromEntries(results) }]];
  });
}

/** The row has the keys of the requested groups and functions alone, so that none is required. */
function rowSchema(endpoint: EndpointDefinition, bindings: Bindings): Schema {
  const count: Schema = { type: 'integer', minimum: 0, description: 'Number of records.', examples: [12] };
  const properties = [
    ...groupSchemas(endpoint, bindings),
    ['count', count] as const,
    ...functionSchemas(endpoint, bindings),
  ];
  return {
    type: 'object',
    description: 'A group, or all records without `by`. It has what the request names.',
    properties: Object.fromEntries(properties),
  };
}

const isFunction = (name: string): boolean => aggregateFunctions.some((known) => known === name);

/** An example of a row: its first group, the count, and the first result of its first function. */
export function exampleRow(row: Schema): Record<string, unknown> {
  const all = Object.entries(row.properties ?? {}) as [string, Schema][];
  const group = all.find(([name]) => name !== 'count' && !isFunction(name));
  const computed = all.find(([name, { properties }]) => isFunction(name) && properties !== undefined);
  const [field, result] = (Object.entries(computed?.[1].properties ?? {}) as [string, Schema][])[0] ?? [];
  return {
    ...(group !== undefined && { [group[0]]: group[1].examples?.[0] ?? null }),
    count: 12,
    ...(computed !== undefined &&
      field !== undefined && { [computed[0]]: { [field]: result?.examples?.[0] ?? null } }),
  };
}

/** The row with the groups and results that the reader has. */
export function restrictRow(
  row: Readonly<Record<string, unknown>>,
  { summary }: ReadableEndpoint,
): Record<string, unknown> {
  const properties = Object.entries((row['properties'] ?? {}) as Record<string, Schema>);
  const kept = properties.flatMap(([name, shape]): [string, Schema][] => {
    if (name === 'count' || summary?.groups.has(name) === true) return [[name, shape]];
    const results = Object.entries(shape.properties ?? {}).filter(
      ([field]) => summary?.aggregates.has(field) === true,
    );
    return results.length === 0 ? [] : [[name, { ...shape, properties: Object.fromEntries(results) }]];
  });
  return { ...row, properties: Object.fromEntries(kept) };
}

const buildListParameter = (
  name: string,
  description: string,
  values: readonly string[],
  maxItems?: number,
): Parameter => ({
  name,
  in: 'query',
  style: 'form',
  explode: true,
  description,
  schema: {
    type: 'array',
    minItems: 1,
    ...(maxItems !== undefined && { maxItems }),
    items: { type: 'string', enum: [...values] },
  },
});

/** The names of what a summary can be sorted by, each also with a leading `-`. */
function sortNames(groups: readonly string[], endpoint: EndpointDefinition): string[] {
  const computed = aggregateFunctions.flatMap((name) =>
    listFields(endpoint, name).map((field) => `${name}.${field}`),
  );
  return [...groups, 'count', ...computed].flatMap((name) => [name, `-${name}`]);
}

function ownParameters(endpoint: EndpointDefinition, groups: readonly string[]): Parameter[] {
  const functions = aggregateFunctions.flatMap((name) => {
    const fields = listFields(endpoint, name);
    return fields.length === 0
      ? []
      : [buildListParameter(name, `${meanings[name]} Repeat the parameter for several.`, fields)];
  });
  const sorting =
    'Sorts the groups by a group key or a result of the request; a leading `-` means descending. Default: by the keys.';
  return [
    ...functions,
    {
      name: 'count',
      in: 'query',
      description: 'Whether to count the records. The default is `true` when no function is requested.',
      schema: { type: 'boolean' },
    },
    ...(groups.length === 0
      ? []
      : [
          buildListParameter(
            'by',
            'Groups by these keys; records without a value are a group of their own. At most two.',
            groups,
            maxGroupKeys,
          ),
        ]),
    {
      name: 'sort',
      in: 'query',
      description: sorting,
      schema: { type: 'string', enum: sortNames(groups, endpoint) },
    },
    ...(groups.length === 0
      ? []
      : [
          {
            name: 'limit',
            in: 'query' as const,
            description: 'Maximum number of groups: the first ones in the order of `sort`. Requires `by`.',
            schema: { type: 'integer' as const, minimum: 1, maximum: maxGroups },
          },
        ]),
  ];
}

/** Empty without a currency or computed amounts. It names no field, which a reader may not have. */
function currencyNote(endpoint: EndpointDefinition, bindings: Bindings): string {
  const money =
    (Object.hasOwn(bindings, endpoint.recordType) ? bindings[endpoint.recordType] : undefined) ?? {};
  const needsCurrency = (endpoint.aggregates ?? []).some(({ field, functions, currency }) => {
    const defined = endpoint.fields.find(({ name }) => name === field);
    if (currency === 'none' || defined === undefined) return false;
    if (!isNumeric(boundColumn(bindings, endpoint.recordType, defined)?.type)) return false;
    return mixesCurrencies(functions, findCurrency(money, defined.source), []);
  });
  if (!needsCurrency) return '';
  return 'Amounts of money in several currencies are never added up: group by the currency, or filter by one; otherwise the response is 400 `several_currencies`, which names the parameters.';
}

export type SummaryDescribed = {
  readonly version: string;
  readonly endpoint: EndpointDefinition;
  readonly bindings: Bindings;
  readonly names: EndpointNames;
  /** Search, or, and the filters: those of the list. */
  readonly filters: readonly Parameter[];
  readonly ifNoneMatch: oas31.ReferenceObject;
};

/** Adds `/summary` of a resource and its components to the document; nothing without a summary. */
export function addSummary(builder: oas31.OpenApiBuilder, described: SummaryDescribed): void {
  const { version, endpoint, bindings, names, filters, ifNoneMatch } = described;
  const { summary, summaryRow } = names.components;
  if (summary === undefined || summaryRow === undefined || names.operations.summary === undefined) return;
  const row = rowSchema(endpoint, bindings);
  const groups = groupSchemas(endpoint, bindings).map(([name]) => name);
  const reference = { $ref: `#/components/schemas/${summaryRow}` };
  builder.addSchema(summaryRow, row);
  builder.addSchema(summary, {
    type: 'object',
    required: ['data', 'total'],
    properties: {
      data: { type: 'array', maxItems: maxGroups, items: reference },
      total: { type: 'integer', minimum: 0, description: 'Number of groups, before `limit`.' },
    },
  });
  const answer = jsonResponse(
    'The groups.',
    recordHeaders,
    { $ref: `#/components/schemas/${summary}` },
    { data: [exampleRow(row)], total: 1 },
  );
  const note = currencyNote(endpoint, bindings);
  builder.addPath(`/${version}/${endpoint.name}/summary`, {
    get: {
      operationId: names.operations.summary,
      tags: [endpoint.name],
      ...(names.summaries.summary !== undefined && { summary: names.summaries.summary }),
      description: `Computes exact results over the records that match the filters, as a whole or in groups.${note === '' ? '' : ` ${note}`}`,
      parameters: [...ownParameters(endpoint, groups), ...filters, ifNoneMatch],
      responses: {
        200: { ...answer, content: { ...answer.content, 'application/x-ndjson': { schema: reference } } },
        ...errorRefs,
      },
    },
  });
}
