// Compares two versions: what changes for clients, and which changes break them. Pure.
import { type ColumnType, isNumeric } from '../../warehouse/columns.ts';
import { boundSource } from './bind.ts';
import { findCurrency, mixesCurrencies } from './money.ts';
import type { Bindings, EndpointDefinition, FieldDefinition } from './schema-document.ts';

export type VersionChange = {
  /** The resource, then its part: `invoices`, `invoices.fields.total`, `invoices.filters.status_not`. */
  readonly path: string;
  readonly code: 'added' | 'removed' | 'changed';
  readonly breaking: boolean;
  readonly message: string;
};

export type Comparable = { readonly endpoints: readonly EndpointDefinition[]; readonly bindings: Bindings };

/** Pure. Every change between two versions, with a message for the changelog of the description. */
export function compareVersions(before: Comparable, after: Comparable): VersionChange[] {
  const earlier = new Map(before.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  const later = new Map(after.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  return [
    ...compareNames('', (resource) => `The resource ${resource}`, [...earlier.keys()], [...later.keys()]),
    ...[...later.values()].flatMap((endpoint) => {
      const old = earlier.get(endpoint.name);
      return old === undefined ? [] : compareEndpoints(old, before.bindings, endpoint, after.bindings);
    }),
  ];
}

const createChange = (
  path: string,
  breaking: boolean,
  message: string,
  code: VersionChange['code'] = 'changed',
): VersionChange => ({ path, code, breaking, message });

/** `describe` names the compared thing as the subject of a sentence. */
function compareNames(
  path: string,
  describe: (name: string) => string,
  before: readonly string[],
  after: readonly string[],
): VersionChange[] {
  const removed = before.filter((name) => !after.includes(name));
  const added = after.filter((name) => !before.includes(name));
  return [
    ...removed.map((name) => createChange(path + name, true, `${describe(name)} was removed`, 'removed')),
    ...added.map((name) => createChange(path + name, false, `${describe(name)} was added`, 'added')),
  ];
}

type Shapes = ReturnType<typeof fieldShapes>;

function compareFields(name: string, before: Shapes, after: Shapes): VersionChange[] {
  const describeField = (field: string): string => `The field ${field} of ${name}`;
  const changes = compareNames(`${name}.fields.`, describeField, [...before.keys()], [...after.keys()]);
  for (const [field, shape] of after) {
    const old = before.get(field);
    if (old === undefined) continue;
    const path = `${name}.fields.${field}`;
    const differing = shapeParts
      .filter((part) => old[part] !== shape[part])
      .map((part) => `${part} (${old[part]} → ${shape[part]})`);
    if (differing.length > 0)
      changes.push(createChange(path, true, `${describeField(field)} changed: ${differing.join(', ')}`));
    if (old.scopable !== shape.scopable) {
      const now = shape.scopable ? 'can be named by row scopes' : 'can no longer be named by row scopes';
      changes.push(createChange(`${path}.scopable`, !shape.scopable, `${describeField(field)} ${now}`));
    }
  }
  return changes;
}

const compareEndpoints: Compare<Bindings> = (before, beforeBindings, after, afterBindings) => {
  const { name } = after;
  const changes: VersionChange[] = [];
  const change = (path: string, breaking: boolean, message: string) =>
    changes.push(createChange(path, breaking, message));
  if (before.recordType !== after.recordType)
    change(`${name}.recordType`, true, `The resource ${name} returns records of another type`);
  else if (findIdType(before, beforeBindings) !== findIdType(after, afterBindings))
    change(`${name}.id`, true, `The id of ${name} has another type`);
  if (after.maxPageSize !== before.maxPageSize) {
    change(
      `${name}.maxPageSize`,
      after.maxPageSize < before.maxPageSize,
      `The maximum page size of ${name} changed from ${before.maxPageSize} to ${after.maxPageSize}`,
    );
  }
  if (JSON.stringify(before.defaultSort) !== JSON.stringify(after.defaultSort))
    change(`${name}.defaultSort`, true, `The default sort of ${name} changed`);
  const describeFilter = (filter: string): string => `The filter ${filter} of ${name}`;
  return [
    ...changes,
    ...compareFields(name, fieldShapes(before, beforeBindings), fieldShapes(after, afterBindings)),
    ...compareNames(`${name}.filters.`, describeFilter, filterNames(before), filterNames(after)),
    ...compareNames(`${name}.sorts.`, (sort) => `The sort ${sort} of ${name}`, before.sorts, after.sorts),
    ...compareDeclared(before, beforeBindings, after, afterBindings),
  ];
};

/** The parts of an endpoint that exist only where they are declared. */
const compareDeclared: Compare<Bindings> = (before, beforeBindings, after, afterBindings) => {
  const { name } = after;
  const [oldBinding, newBinding] = [findBinding(before, beforeBindings), findBinding(after, afterBindings)];
  const compared = (
    kind: string,
    thing: string,
    listNames: (endpoint: EndpointDefinition) => readonly string[],
  ): VersionChange[] =>
    compareNames(
      `${name}.${kind}.`,
      (each) => `The ${thing} ${each} of ${name}`,
      listNames(before),
      listNames(after),
    );
  return [
    ...compared('search', 'searched field', ({ search = [] }) => search),
    ...compareNames(
      `${name}.`,
      (each) => `The parameter ${each} of ${name}`,
      before.or ? ['or'] : [],
      after.or ? ['or'] : [],
    ),
    ...compareNames(
      `${name}.`,
      () => `The PDF of a record of ${name}`,
      before.document ? ['document'] : [],
      after.document ? ['document'] : [],
    ),
    ...compared('sortSets', 'sort', ({ sortSets = [] }) => sortSets.map((keys) => keys.join())),
    ...compared('aggregates', 'aggregate', ({ aggregates = [] }) =>
      aggregates.flatMap(({ field, functions }) => functions.map((each) => `${each}.${field}`)),
    ),
    ...compared('groups', 'group', groupNames),
    ...compareMoney(before, oldBinding, after, newBinding),
    ...comparePeriods(before, oldBinding, after, newBinding),
    ...compareLimits(before, oldBinding, after, newBinding),
    ...compareSearches(before, oldBinding, after, newBinding),
    ...compared('relations', 'relation', ({ relations = [] }) => relations.map((relation) => relation.name)),
    ...compareRelations(before, after),
  ];
};

const groupNames = ({ groups = [] }: EndpointDefinition): string[] =>
  groups.flatMap((group) =>
    typeof group === 'string' ? [group] : group.periods.map((period) => `${group.field}.${period}`),
  );

type Binding = Bindings[string] | undefined;
/** Of an endpoint before and after, each with `Bound`: all bindings of its version, or its own. */
type Compare<Bound> = (
  before: EndpointDefinition,
  oldBound: Bound,
  after: EndpointDefinition,
  newBound: Bound,
) => VersionChange[];

/** The source of a field and the type of its column, each undefined when it isn't known. */
function resolveBoundSource(
  { fields }: EndpointDefinition,
  binding: Binding,
  name: string,
): { source?: string; type?: ColumnType | undefined } {
  const found = fields.find((field) => field.name === name);
  const key = found && boundSource(found);
  if (
    found === undefined ||
    key === undefined ||
    binding === undefined ||
    !Object.hasOwn(binding.columns, key)
  )
    return {};
  return { source: found.source, type: binding.columns[key]?.type };
}

/** What `findCurrency` says of an aggregated field; undefined also for one that is no number. */
function currencyOfField(endpoint: EndpointDefinition, binding: Binding, name: string) {
  const { source, type } = resolveBoundSource(endpoint, binding, name);
  return source === undefined || !isNumeric(type) ? undefined : findCurrency(binding ?? {}, source);
}

/**
 * Amounts need their currency in requests, other numbers don't. Messages don't name its source: clients may
 * not see that field.
 */
const compareMoney: Compare<Binding> = (before, oldBinding, after, newBinding) => {
  return (after.aggregates ?? []).flatMap(({ field, functions, currency }): VersionChange[] => {
    const old = before.aggregates?.find((aggregate) => aggregate.field === field);
    if (old === undefined) return [];
    const changed = (breaking: boolean, now: string): VersionChange[] => {
      const message = `The aggregated field ${field} of ${after.name} ${now}`;
      return [{ path: `${after.name}.aggregates.${field}.currency`, code: 'changed', breaking, message }];
    };
    if (old.currency !== currency)
      return changed(
        currency === undefined,
        currency === 'none' ? 'is no longer an amount of money' : 'is an amount of money',
      );
    const [was, is] = [currencyOfField(before, oldBinding, field), currencyOfField(after, newBinding, field)];
    const kept = functions.filter((name) => old.functions.includes(name));
    if (currency === 'none' || was === is || ![was, is].some((each) => mixesCurrencies(kept, each, [])))
      return [];
    if (is === undefined) return changed(false, 'is no longer an amount of money');
    return changed(
      true,
      was === undefined
        ? 'is an amount of money'
        : 'is an amount of money whose currency is in another field, or in none',
    );
  });
};

/** As `date.month`. Only those of times begin and end in a time zone. */
const listTimePeriods = (endpoint: EndpointDefinition, binding: Binding): string[] =>
  (endpoint.groups ?? []).flatMap((group) =>
    typeof group === 'string' || resolveBoundSource(endpoint, binding, group.field).type !== 'time'
      ? []
      : group.periods.map((period) => `${group.field}.${period}`),
  );

const comparePeriods: Compare<Binding> = (before, oldBinding, after, newBinding) => {
  const offsets = [oldBinding, newBinding].map((binding) => binding?.utcOffsetMinutes ?? 0);
  const earlier = new Set(listTimePeriods(before, oldBinding));
  if (offsets[0] === offsets[1] || !listTimePeriods(after, newBinding).some((period) => earlier.has(period)))
    return [];
  const message = `The periods of ${after.name} are of another time zone (${offsets.join(' → ')} minutes ahead of UTC)`;
  return [{ path: `${after.name}.groups`, code: 'changed', breaking: true, message }];
};

const hasSummary = ({ aggregates, groups }: EndpointDefinition) => (aggregates ?? groups) !== undefined;

const compareLimits: Compare<Binding> = (before, oldBinding, after, newBinding) => {
  const { name } = after;
  const isRefused = oldBinding?.limitNeedsGroups !== true && newBinding?.limitNeedsGroups === true;
  if (!hasSummary(before) || !hasSummary(after) || !isRefused) return [];
  const message = `The summary of ${name} refuses "limit" without "by", which was ignored`;
  return [{ path: `${name}.groups`, code: 'changed', breaking: true, message }];
};

const searchesTexts = ({ filters, search = [] }: EndpointDefinition): boolean =>
  search.length > 0 ||
  filters.some(({ operators }) =>
    operators.some((operator) => operator === 'contains' || operator === 'starts_with'),
  );

const compareSearches: Compare<Binding> = (before, oldBinding, after, newBinding) => {
  const isFolded = oldBinding?.foldsText !== true && newBinding?.foldsText === true;
  if (!isFolded || !searchesTexts(before) || !searchesTexts(after)) return [];
  const message = `Searches in texts of ${after.name} also find other spellings of the same letters, such as a final sigma`;
  return [{ path: `${after.name}.filters`, code: 'changed', breaking: false, message }];
};

function compareRelations(before: EndpointDefinition, after: EndpointDefinition): VersionChange[] {
  return (after.relations ?? []).flatMap(({ name, field, resource }): VersionChange[] => {
    const old = before.relations?.find((relation) => relation.name === name);
    if (old === undefined || (old.field === field && old.resource === resource)) return [];
    const message = `The relation ${name} of ${after.name} changed: ${old.field} (${old.resource}) → ${field} (${resource})`;
    return [{ path: `${after.name}.relations.${name}`, code: 'changed', breaking: true, message }];
  });
}

const shapeParts = ['source', 'type', 'form', 'mask'] as const;
/** What a client can observe about the values of a field; every field is nullable from the start. */
type Shape = Readonly<Record<(typeof shapeParts)[number], string>> & { readonly scopable: boolean };

const toShape = (
  { source, as, mask, scopable = false }: Pick<FieldDefinition, 'source' | 'as' | 'mask' | 'scopable'>,
  type: ColumnType | undefined,
): Shape => ({
  source,
  type: type ?? 'unknown',
  form: as === 'string' ? 'string' : 'number',
  mask: mask ?? 'none',
  scopable,
});

const findBinding = ({ recordType }: EndpointDefinition, bindings: Bindings) =>
  Object.hasOwn(bindings, recordType) ? bindings[recordType] : undefined;

const findIdType = (endpoint: EndpointDefinition, bindings: Bindings) =>
  findBinding(endpoint, bindings)?.idType;

/** By field name; sub-fields of lines as `lines.quantity`. */
function fieldShapes(endpoint: EndpointDefinition, bindings: Bindings): Map<string, Shape> {
  const binding = findBinding(endpoint, bindings);
  return new Map(
    endpoint.fields.flatMap((field): [string, Shape][] => {
      const key = boundSource(field);
      const bound =
        binding !== undefined && Object.hasOwn(binding.columns, key) ? binding.columns[key] : undefined;
      const lines = (field.fields ?? []).map((line): [string, Shape] => {
        const type = bound?.lineFields?.find(({ name }) => name === boundSource(line))?.type;
        return [`${field.name}.${line.name}`, toShape(line, type)];
      });
      return [[field.name, toShape(field, bound?.type)], ...lines];
    }),
  );
}

const filterNames = (endpoint: EndpointDefinition): string[] =>
  endpoint.filters.flatMap(({ field, operators }) =>
    operators.map((operator) => (operator === 'eq' ? field : `${field}_${operator}`)),
  );
