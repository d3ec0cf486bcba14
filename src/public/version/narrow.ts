// Narrows a compiled endpoint to what one caller may read: rows, fields and masks. Every read is planned
// against the result, so that no request can reach beyond it. Pure apart from a cache.
import { createHash } from 'node:crypto';
import {
  allowsField,
  allowsResource,
  type RecordAccess,
  type RowCondition,
  unlimitedLayer,
} from '../../core/record-access.ts';
import { isNumeric } from '../../warehouse/columns.ts';
import type {
  CompiledColumn,
  CompiledEndpoint,
  CompiledSchema,
  CompiledSummary,
  OutputField,
  ReadableEndpoint,
  ReadableSource,
  RecordSource,
  ScopeCondition,
} from './compile.ts';
import type { FieldMask } from './masks.ts';
import { accessError } from './scopes.ts';
import { parseFilterValue, type Value } from './values.ts';

/** What a reader without limits reads. */
export function readWhole(endpoint: CompiledEndpoint): ReadableEndpoint {
  const known = whole.get(endpoint);
  if (known !== undefined) return known;
  const made: ReadableEndpoint = {
    ...endpoint,
    scope: [],
    masked: new Set(),
    maskedFilters: new Set(),
    lacksDefaultSort: false,
    contentKey: endpoint.key,
    reach: '',
    maskedRelations: new Set(),
    findRelated: ({ target }) => readWhole(target()),
  };
  whole.set(endpoint, made);
  return made;
}
const whole = new WeakMap<CompiledEndpoint, ReadableEndpoint>();

const hasMasks = ({ fields }: Pick<CompiledEndpoint, 'fields'>): boolean =>
  fields.some(
    (field) =>
      (field.kind === 'value' && field.declared !== null) ||
      (field.kind === 'lines' && field.lines.some(({ declared }) => declared !== null)),
  );

/**
 * The endpoint as this caller may read it. Throws 403 when a row scope of the caller doesn't apply to it: it
 * has another record type, or a field of the scope isn't scopable in this version.
 */
export function narrowEndpoint(endpoint: CompiledEndpoint, access: RecordAccess): ReadableEndpoint {
  const readable = findReadable(endpoint, access);
  if (readable === undefined) throw scopeMisfits();
  return readable;
}

const scopeMisfits = () =>
  accessError(
    'FORBIDDEN',
    'resource',
    'resource_out_of_scope',
    'The row scope of this credential does not apply to this version of the resource',
  );

/** The source with these records alone. Throws as `narrowEndpoint` does. */
export function narrowRows(source: RecordSource, conditions: readonly RowCondition[]): ReadableSource {
  const { name, recordType } = source;
  const rows = { resources: { [name]: { recordType, conditions } }, others: false };
  const scope = intersectScopes(source, [{ ...unlimitedLayer, rows }]);
  if (scope === undefined) throw scopeMisfits();
  return { ...source, scope };
}

/**
 * The endpoints of a version that this caller may read, as it may read them. The version itself must be
 * within its scopes.
 */
export const readableEndpoints = (
  { endpoints }: CompiledSchema,
  access: RecordAccess,
): readonly ReadableEndpoint[] =>
  [...endpoints.values()].flatMap((endpoint) => findReadable(endpoint, access) ?? []);

function findReadable(endpoint: CompiledEndpoint, access: RecordAccess): ReadableEndpoint | undefined {
  const known = narrowed.get(endpoint) ?? new WeakMap<RecordAccess, ReadableEndpoint | undefined>();
  narrowed.set(endpoint, known);
  if (!known.has(access)) known.set(access, narrow(endpoint, access));
  return known.get(access);
}
/** The access of a credential is one object for as long as the credential is cached. */
const narrowed = new WeakMap<CompiledEndpoint, WeakMap<RecordAccess, ReadableEndpoint | undefined>>();

function narrow(endpoint: CompiledEndpoint, access: RecordAccess): ReadableEndpoint | undefined {
  if (!allowsResource(access, endpoint.name)) return undefined;
  const findRelated = endpoint.relations.size === 0 ? noneRelated : relatedTo(access);
  if (
    access.layers.every(({ rows, fields }) => rows === null && fields === null) &&
    (access.unmasked || !hasMasks(endpoint))
  ) {
    const all = readWhole(endpoint);
    return endpoint.relations.size === 0 ? all : { ...all, findRelated };
  }
  const scope = intersectScopes(endpoint, access.layers);
  if (scope === undefined) return undefined;
  const shape = narrowShape(endpoint, access);
  const reach = shape.key === endpoint.key && scope.length === 0 ? '' : digest([shape.key, scope]);
  return { ...shape, scope, reach, findRelated };
}

type RelatedOf = ReadableEndpoint['findRelated'];
const noneRelated: RelatedOf = () => null;
/** What else the caller may read is looked up only when a request asks for it. */
const relatedTo =
  (access: RecordAccess): RelatedOf =>
  ({ target }) =>
    findReadable(target(), access) ?? null;

/** The names of the relations whose records the reader may read: only these are shown to it. */
export const readableRelations = ({
  relations,
  findRelated,
}: Pick<ReadableEndpoint, 'relations' | 'findRelated'>): string[] =>
  [...relations.values()].filter((relation) => findRelated(relation) !== null).map(({ name }) => name);

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22);

/** Undefined when a row scope doesn't apply. Of a field in two layers, the values that both allow. */
function intersectScopes(
  endpoint: RecordSource,
  layers: RecordAccess['layers'],
): readonly ScopeCondition[] | undefined {
  const byColumn = new Map<string, { column: CompiledColumn; texts: readonly string[] }>();
  for (const { rows } of layers) {
    if (rows === null || !Object.hasOwn(rows.resources, endpoint.name)) continue;
    const named = rows.resources[endpoint.name];
    if (named === undefined || named.recordType !== endpoint.recordType) return undefined;
    for (const condition of named.conditions) {
      const column = endpoint.scopable.get(condition.source);
      if (column === undefined) return undefined;
      const known = byColumn.get(column.column);
      const texts = canonical(condition, column);
      const allowed =
        known === undefined
          ? texts
          : known.texts.flatMap((one) => texts.flatMap((other) => intersectValues(column, one, other)));
      byColumn.set(column.column, { column, texts: [...new Set(allowed)].sort() });
    }
  }
  return [...byColumn.values()]
    .sort((a, b) => (a.column.column < b.column.column ? -1 : 1))
    .map(({ column, texts }) => ({
      column,
      operator: 'eq',
      values: texts.flatMap((text) => parseValues(column, text)),
    }));
}

const isWithin = (instant: string, day: string) => instant.startsWith(`${day}T`) && instant.endsWith('Z');

/** The value that two values allow, if any: a time that is a whole day contains the instants of the day. */
const intersectValues = ({ type }: CompiledColumn, one: string, other: string): string[] => {
  if (one === other || (type === 'time' && isWithin(one, other))) return [one];
  return type === 'time' && isWithin(other, one) ? [other] : [];
};

/** Numbers and instants that are equal are written alike, so that two layers can be compared. */
const canonical = ({ in: texts }: RowCondition, { type }: CompiledColumn): string[] =>
  texts.map((text) => {
    if (type === 'time') return canonicalTime(text);
    if (!isNumeric(type)) return text;
    const [whole = '', decimals = ''] = text.split('.');
    const digits = whole.replace(/^(-?)0+(?=\d)/, '$1');
    const rest = decimals.replace(/0+$/, '');
    const short = rest === '' ? digits : `${digits}.${rest}`;
    return short === '-0' ? '0' : short;
  });

/**
 * An instant in UTC with all its microseconds. A day stays as it is, and so does an instant that has no year
 * of four digits in UTC.
 */
function canonicalTime(text: string): string {
  const [, seconds = '', fraction = '', zone = ''] = /^(.+T[^.Z+-]+)(?:\.(\d+))?(.+)$/.exec(text) ?? [];
  const at = new Date(seconds + zone);
  const utc = Number.isNaN(at.getTime()) ? '' : at.toISOString().slice(0, 19);
  return /^(?!0000)\d{4}-/.test(utc) ? `${utc}.${fraction.padEnd(6, '0')}Z` : text;
}

/** A value that doesn't fit the column, which its type prevented when it was stored, matches nothing. */
function parseValues({ type }: CompiledColumn, text: string): Value[] {
  const read = parseFilterValue(type, text);
  return 'value' in read ? [read.value] : [];
}

/** Fields and masks, without rows. Kept for each endpoint's last callers: a service sees few kinds. */
function narrowShape(
  endpoint: CompiledEndpoint,
  access: RecordAccess,
): Omit<ReadableEndpoint, 'scope' | 'reach' | 'findRelated'> {
  const shown = endpoint.fields.filter(({ name }) => allowsField(access, endpoint.name, name));
  const shapes = shapesByEndpoint.get(endpoint) ?? new Map<string, ReturnType<typeof narrowShape>>();
  shapesByEndpoint.set(endpoint, shapes);
  const unmasked = access.unmasked || !hasMasks({ fields: shown });
  const key =
    shown.length === endpoint.fields.length && unmasked
      ? endpoint.key
      : `${endpoint.key} ${digest([unmasked, shown.map(({ name }) => name)])}`;
  const known = shapes.get(key);
  if (known !== undefined) return known;
  if (shapes.size >= maxShapes) shapes.clear();
  const made = makeShape(endpoint, shown, access, key);
  shapes.set(key, made);
  return made;
}
const maxShapes = 32;
const shapesByEndpoint = new WeakMap<CompiledEndpoint, Map<string, ReturnType<typeof narrowShape>>>();

function maskFields(shown: readonly OutputField[], unmasked: boolean): readonly OutputField[] {
  const applied = <F extends { readonly declared: FieldMask | null }>(field: F): F =>
    unmasked ? field : { ...field, mask: field.declared };
  return shown.map((field): OutputField => {
    if (field.kind === 'value') return applied(field);
    return field.kind === 'lines' ? { ...field, lines: field.lines.map(applied) } : field;
  });
}

const lineNames = (fields: readonly OutputField[], isMasked: boolean): string[] =>
  fields.flatMap((field) =>
    field.kind === 'lines'
      ? field.lines
          .filter(({ mask }) => (mask !== null) === isMasked)
          .map(({ name }) => `${field.name}.${name}`)
      : [],
  );

function listMaskedFilters(
  { filters, search }: CompiledEndpoint,
  masked: ReadonlySet<string>,
  fields: readonly OutputField[],
  maySearch: boolean,
): Set<string> {
  const names = new Set([...masked, ...lineNames(fields, true)]);
  const named = [...filters.values()].filter(({ field }) => names.has(field)).map(({ name }) => name);
  return new Set([...named, ...(!maySearch && search.some(({ name }) => masked.has(name)) ? ['q'] : [])]);
}

function makeShape(
  endpoint: CompiledEndpoint,
  shown: readonly OutputField[],
  { unmasked }: RecordAccess,
  key: string,
) {
  const fields = maskFields(shown, unmasked);
  const masked = new Set(
    fields.flatMap((field) => (field.kind === 'value' && field.mask !== null ? [field.name] : [])),
  );
  const readable = fields.filter(({ name }) => !masked.has(name));
  const names = new Set(['id', ...readable.map(({ name }) => name), ...lineNames(readable, false)]);
  const sorts = new Map([...endpoint.sorts].filter(([name]) => names.has(name)));
  const search = endpoint.search.filter(({ name }) => names.has(name));
  const { defaultSort } = endpoint;
  const hasDefault =
    defaultSort.column.column === 'id' ||
    [...sorts.values()].some(({ column }) => column === defaultSort.column.column);
  const idOrder = { column: endpoint.scopable.get('id') ?? defaultSort.column, order: 'asc' } as const;
  return {
    ...endpoint,
    key,
    contentKey: endpoint.key,
    fields: fields.length === endpoint.fields.length && unmasked ? endpoint.fields : Object.freeze(fields),
    filters: new Map([...endpoint.filters].filter(([, { field }]) => names.has(field))),
    sorts,
    defaultSort: hasDefault ? defaultSort : idOrder,
    masked,
    maskedFilters: listMaskedFilters(endpoint, masked, fields, search.length > 0),
    lacksDefaultSort: !hasDefault,
    summary: endpoint.summary === null ? null : narrowSummary(endpoint.summary, names),
    relations: new Map([...endpoint.relations].filter(([, { field }]) => names.has(field.name))),
    maskedRelations: new Set(
      [...endpoint.relations.values()].filter(({ field }) => masked.has(field.name)).map(({ name }) => name),
    ),
    search,
    sortSets: new Map(
      [...endpoint.sortSets].filter(([, keys]) => keys.every(({ field }) => names.has(field))),
    ),
  };
}

/** It stays a summary without aggregates and groups: the version, not the reader, defines `/summary`. */
const narrowSummary = (summary: CompiledSummary, names: ReadonlySet<string>): CompiledSummary => ({
  ...summary,
  aggregates: new Map([...summary.aggregates].filter(([field]) => names.has(field))),
  groups: new Map([...summary.groups].filter(([, { field }]) => names.has(field.name))),
});
