// What changes for callers from one version to another, and which of it breaks them. Pure.
import type { Bindings, EndpointDefinition } from './schema-document.ts';

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
    if (old !== undefined && old !== shape)
      change(`${name}.fields.${field}`, true, `In ${name} the field ${field} has another source or type`);
  }
  changes.push(...compareNames(`${name}.filters.`, `In ${name} the filter`, filterNames(before), filterNames(after)));
  changes.push(...compareNames(`${name}.sorts.`, `In ${name} the sort`, before.sorts, after.sorts));
  return changes;
}

/** By field name, sub-fields of lines as `lines.quantity`: all that a caller can tell of its values. */
function fieldShapes(endpoint: EndpointDefinition, bindings: Bindings): Map<string, string> {
  const binding = Object.hasOwn(bindings, endpoint.recordType) ? bindings[endpoint.recordType] : undefined;
  return new Map(
    endpoint.fields.flatMap(({ name, source, as, fields }): [string, string][] => {
      const bound = binding !== undefined && Object.hasOwn(binding.columns, source) ? binding.columns[source] : undefined;
      const lines = (fields ?? []).map((line): [string, string] => {
        const type = bound?.lineFields?.find((field) => field.name === line.source)?.type;
        return [`${name}.${line.name}`, JSON.stringify([line.source, type, line.as === 'string'])];
      });
      return [[name, JSON.stringify([source, bound?.type, as === 'string'])], ...lines];
    }),
  );
}

const filterNames = (endpoint: EndpointDefinition): string[] =>
  endpoint.filters.flatMap(({ field, operators }) => operators.map((operator) => (operator === 'eq' ? field : `${field}_${operator}`)));
