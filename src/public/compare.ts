// What changes for callers from one version to another, and which of it breaks them. Pure.
import type { ColumnType } from '../warehouse/columns.ts';
import type { Bindings, EndpointDefinition, FieldDefinition } from './schema-document.ts';

export type Change = {
  /** Resource, then the part of it: `invoices`, `invoices.fields.total`, `invoices.filters.status_not`. */
  readonly path: string;
  readonly code: 'added' | 'removed' | 'changed';
  readonly breaking: boolean;
  readonly message: string;
};

export type Comparable = { readonly endpoints: readonly EndpointDefinition[]; readonly bindings: Bindings };

export function compareVersions(before: Comparable, after: Comparable): Change[] {
  const earlier = new Map(before.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  const later = new Map(after.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  return [
    ...compareNames('', 'The resource', [...earlier.keys()], [...later.keys()]),
    ...[...later.values()].flatMap((endpoint) => {
      const old = earlier.get(endpoint.name);
      return old === undefined ? [] : compareEndpoints(old, before.bindings, endpoint, after.bindings);
    }),
  ];
}

function compareNames(path: string, thing: string, before: readonly string[], after: readonly string[]): Change[] {
  const removed = before.filter((name) => !after.includes(name));
  const added = after.filter((name) => !before.includes(name));
  return [
    ...removed.map((name): Change => ({ path: path + name, code: 'removed', breaking: true, message: `${thing} ${name} is gone` })),
    ...added.map((name): Change => ({ path: path + name, code: 'added', breaking: false, message: `${thing} ${name} is new` })),
  ];
}

function compareEndpoints(
  before: EndpointDefinition,
  beforeBindings: Bindings,
  after: EndpointDefinition,
  afterBindings: Bindings,
): Change[] {
  const { name } = after;
  const changes: Change[] = [];
  const change = (path: string, breaking: boolean, message: string) => changes.push({ path, code: 'changed', breaking, message });
  if (before.recordType !== after.recordType) change(`${name}.recordType`, true, `${name} shows other records than before`);
  else if (idTypeOf(before, beforeBindings) !== idTypeOf(after, afterBindings))
    change(`${name}.id`, true, `${name} has ids of another kind`);
  if (after.maxPageSize !== before.maxPageSize) {
    change(
      `${name}.maxPageSize`,
      after.maxPageSize < before.maxPageSize,
      `The largest page of ${name} is now ${after.maxPageSize} records instead of ${before.maxPageSize}`,
    );
  }
  if (JSON.stringify(before.defaultSort) !== JSON.stringify(after.defaultSort))
    change(`${name}.defaultSort`, true, `${name} has another default order`);
  const beforeFields = fieldShapes(before, beforeBindings);
  const afterFields = fieldShapes(after, afterBindings);
  changes.push(...compareNames(`${name}.fields.`, `In ${name} the field`, [...beforeFields.keys()], [...afterFields.keys()]));
  for (const [field, shape] of afterFields) {
    const old = beforeFields.get(field);
    if (old === undefined) continue;
    const differing = shapeParts.filter((part) => old[part] !== shape[part]).map((part) => `${part} (${old[part]} → ${shape[part]})`);
    if (differing.length > 0) change(`${name}.fields.${field}`, true, `In ${name} the field ${field} has another ${differing.join(', ')}`);
  }
  changes.push(...compareNames(`${name}.filters.`, `In ${name} the filter`, filterNames(before), filterNames(after)));
  changes.push(...compareNames(`${name}.sorts.`, `In ${name} the sort`, before.sorts, after.sorts));
  return changes;
}

const shapeParts = ['source', 'type', 'form'] as const;
/** All that a caller can tell of a field's values; every field may be null from the start. */
type Shape = Readonly<Record<(typeof shapeParts)[number], string>>;

const shapeOf = ({ source, as }: Pick<FieldDefinition, 'source' | 'as'>, type: ColumnType | undefined): Shape => ({
  source,
  type: type ?? 'unknown',
  form: as === 'string' ? 'string' : 'number',
});

const bindingOf = ({ recordType }: EndpointDefinition, bindings: Bindings) =>
  Object.hasOwn(bindings, recordType) ? bindings[recordType] : undefined;

const idTypeOf = (endpoint: EndpointDefinition, bindings: Bindings) => bindingOf(endpoint, bindings)?.idType;

/** By field name, sub-fields of lines as `lines.quantity`. */
function fieldShapes(endpoint: EndpointDefinition, bindings: Bindings): Map<string, Shape> {
  const binding = bindingOf(endpoint, bindings);
  return new Map(
    endpoint.fields.flatMap((field): [string, Shape][] => {
      const bound = binding !== undefined && Object.hasOwn(binding.columns, field.source) ? binding.columns[field.source] : undefined;
      const lines = (field.fields ?? []).map((line): [string, Shape] => {
        const type = bound?.lineFields?.find(({ name }) => name === line.source)?.type;
        return [`${field.name}.${line.name}`, shapeOf(line, type)];
      });
      return [[field.name, shapeOf(field, bound?.type)], ...lines];
    }),
  );
}

const filterNames = (endpoint: EndpointDefinition): string[] =>
  endpoint.filters.flatMap(({ field, operators }) => operators.map((operator) => (operator === 'eq' ? field : `${field}_${operator}`)));
