// What the ERP's record type offers to a resource: its synced sources, what fits their types, and a few
// records to show values of.
import type { Answer } from '../../api.ts';
import type { AggregateFunction, Endpoint, Field, LineField, Mask, Operator, Spot } from './document.ts';
import { nameFor } from './names.ts';

export type Sources = Answer<'/api-schema/{id}/sources/{recordType}'>;
export type Source = Sources['sources'][number];
type LineSource = NonNullable<Source['lines']>[number];

export const findSource = (sources: Sources | undefined, source: string | undefined): Source | undefined =>
  sources?.sources.find((one) => one.source === source);

/** The source of a field, or of a field of lines. */
export function sourceAt(sources: Sources | undefined, { fields }: Endpoint, { field: at, line }: Spot) {
  const field = fields[at];
  const source = findSource(sources, field?.source);
  if (line === null) return source;
  return source?.lines?.find((one) => one.source === field?.fields?.[line]?.source);
}

type Fitting = {
  readonly operators: readonly Operator[];
  readonly functions: readonly AggregateFunction[];
  readonly masks: readonly Mask[];
};
const anything: Fitting = {
  operators: [
    'eq',
    'after',
    'before',
    'gte',
    'lte',
    'gt',
    'lt',
    'contains',
    'starts_with',
    'not',
    'all',
    'null',
  ],
  functions: ['sum', 'avg', 'min', 'max', 'count_distinct'],
  masks: ['hash', 'year', 'last4'],
};

/** The type of the values that callers read. */
export const findType = (source: LineSource | undefined, { as }: LineField): string | undefined =>
  as === 'list' ? (source?.list ?? undefined) : source?.type;

/** What fits a type; everything while the type isn't known. */
export function chooseFitting(
  sources: Sources | undefined,
  type: string | undefined,
  inLines: boolean,
): Fitting {
  const found = sources?.types.find((one) => one.type === type);
  if (found === undefined) return anything;
  return inLines ? { ...found, operators: found.lineOperators } : found;
}

const maxLength = 48;

/** A value of a record as one short line of text. */
function formatValue(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'line' : 'lines'}`;
  const text =
    typeof value === 'object' ? JSON.stringify(value) : String(value).replaceAll(/\s+/g, ' ').trim();
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

const toLines = (value: unknown): readonly Record<string, unknown>[] => (Array.isArray(value) ? value : []);

/** Up to three different values of a source. */
export function listSamples(
  sources: Sources | undefined,
  source: string,
  inLines: boolean,
): readonly string[] {
  const records = sources?.records ?? [];
  const values = (inLines ? records.flatMap(({ lines }) => toLines(lines)) : records).map(
    (record) => record[source],
  );
  return [...new Set(values.filter((value) => (value ?? '') !== '').map(formatValue))].slice(0, 3);
}

export const lineFor = ({ source, label }: LineSource, taken: readonly LineField[]): LineField => ({
  name: nameFor(label, source, taken),
  source,
  description: '',
});

/** A new field for a source, with a name that is free; lines with all that they have. */
export function fieldFor({ source, label, lines }: Source, taken: readonly Field[]): Field {
  const fields: LineField[] = [];
  for (const line of lines ?? []) fields.push(lineFor(line, fields));
  return {
    name: nameFor(source === 'lines' ? source : label, source, taken),
    source,
    description: '',
    ...(lines && { fields }),
  };
}

const splitParts = (value: unknown): string[] => String(value).split(/, */);

/** Samples have several choices as one text. Where a name has a comma itself, the names stay together. */
function toList(record: Readonly<Record<string, unknown>>, source: string): unknown {
  const value = record[source] ?? null;
  if (value === null) return null;
  if (!source.endsWith('.name')) return splitParts(value).map(Number);
  const names = splitParts(value);
  return names.length === splitParts(record[source.slice(0, -'.name'.length)]).length ? names : [value];
}

/** A record under the names of its fields, as callers read it. */
export const recordAs = (
  fields: readonly Field[],
  record: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(
    fields.map(({ name, source, as, fields: lineFields }) => {
      const value = record[source] ?? null;
      if (as === 'list') return [name, toList(record, source)];
      if (lineFields !== undefined) return [name, toLines(value).map((line) => recordAs(lineFields, line))];
      return [name, as === 'string' && typeof value === 'number' ? String(value) : value];
    }),
  );
