// Random versions over the random records: resources, public names, filters, sorts, scopable and masked
// fields.
import { randomDeclarations, randomRelations, toDeclarations } from './declarations.ts';
import type {
  EndpointModel,
  FieldKind,
  FieldModel,
  FilterModel,
  LineModel,
  MaskKind,
  VersionModel,
} from './model.ts';
import type { Random } from './random.ts';
import { ownSources, type RecordKind, scopeSources } from './records.ts';

const operators: Readonly<Record<string, readonly string[]>> = {
  text: ['eq', 'not', 'null', 'contains', 'starts_with'],
  integer: ['eq', 'not', 'null', 'gt', 'lt', 'gte', 'lte'],
  number: ['eq', 'not', 'null', 'gt', 'lt', 'gte', 'lte'],
  boolean: ['eq', 'not', 'null'],
  date: ['eq', 'not', 'null', 'after', 'before', 'gte', 'lte'],
  time: ['eq', 'not', 'null', 'after', 'before', 'gte', 'lte'],
};

const listMasks = (kind: string): readonly MaskKind[] =>
  kind === 'date' || kind === 'time' ? ['hash', 'year'] : kind === 'boolean' ? ['hash'] : ['hash', 'last4'];
const pickMask = (random: Random, kind: string): MaskKind | null =>
  random.chance(0.35) ? random.pick(listMasks(kind)) : null;

/** The names of the version before are kept half of the time. */
const pickName = (random: Random, before: string | undefined): string =>
  before !== undefined && random.chance(0.5) ? before : random.word();

const lineKinds: Readonly<Record<string, FieldKind>> = { item: 'text', cost: 'number', count: 'integer' };

function randomLines(random: Random, before: FieldModel | undefined): LineModel[] {
  return Object.entries(lineKinds).map(([source, kind]) => ({
    source,
    name: pickName(random, before?.lines.find((line) => line.source === source)?.name),
    mask: pickMask(random, kind),
  }));
}

function randomFields(random: Random, before: EndpointModel | undefined): FieldModel[] {
  const known = (source: string) => before?.fields.find((field) => field.source === source);
  const scopes = [
    ...scopeSources.filter(({ source }) => source === 'owner'),
    ...random.some(
      scopeSources.filter(({ source }) => source !== 'owner'),
      2,
    ),
  ];
  const plain = scopes.map(({ source, kind }): FieldModel => {
    const scopable = source === 'owner' ? before === undefined || random.chance(0.8) : random.chance(0.75);
    return { name: pickName(random, known(source)?.name), source, kind, scopable, mask: null, lines: [] };
  });
  const label: FieldModel[] = random.chance(0.6)
    ? [
        {
          name: pickName(random, known('owner.name')?.name),
          source: 'owner.name',
          kind: 'text',
          scopable: false,
          mask: pickMask(random, 'text'),
          lines: [],
        },
      ]
    : [];
  const own = random.some(ownSources, 3).map(
    ({ source, kind }): FieldModel => ({
      name: pickName(random, known(source)?.name),
      source,
      kind,
      scopable: false,
      mask: pickMask(random, kind),
      lines: [],
    }),
  );
  const lines: FieldModel[] = random.chance(0.6)
    ? [
        {
          name: pickName(random, known('lines')?.name),
          source: 'lines',
          kind: 'lines',
          scopable: false,
          mask: null,
          lines: randomLines(random, known('lines')),
        },
      ]
    : [];
  const links: FieldModel[] = random.chance(0.75)
    ? [
        {
          name: pickName(random, known('link')?.name),
          source: 'link',
          kind: 'text',
          scopable: false,
          mask: random.chance(0.15) ? 'hash' : null,
          lines: [],
        },
      ]
    : [];
  return [...plain, ...label, ...own, ...links, ...lines];
}

const suffix = (operator: string): string => (operator === 'eq' ? '' : `_${operator}`);

const lineOperators = { text: ['eq'], number: ['eq', 'gt', 'lt', 'gte', 'lte'] };

/** By `<lines field>.<field of a line>`. */
const randomLineFilters = (random: Random, fields: readonly FieldModel[]): FilterModel[] =>
  fields.flatMap((lines) =>
    random.some(lines.lines, 1).flatMap(({ name, source }) => {
      const field = `${lines.name}.${name}`;
      const kind = lineKinds[source] === 'text' ? 'text' : 'number';
      return random
        .some(lineOperators[kind], 1)
        .map((operator) => ({ field, operator, parameter: `${field}${suffix(operator)}` }));
    }),
  );

function randomEndpoint(
  random: Random,
  kind: RecordKind,
  before: EndpointModel | undefined,
): Omit<EndpointModel, 'relations'> {
  const fields = randomFields(random, before);
  const scalars = fields.filter((one) => one.kind !== 'lines');
  const declared = random.some(scalars, 5).flatMap(({ name, kind: type }): FilterModel[] =>
    random
      .some(operators[type] ?? [], 1)
      .slice(0, 4)
      .map((operator) => ({ field: name, operator, parameter: `${name}${suffix(operator)}` })),
  );
  const filters: FilterModel[] = [
    { field: 'id', operator: 'eq', parameter: 'id' },
    ...declared,
    ...randomLineFilters(random, fields),
  ];
  const sorts = random
    .some(scalars, 2)
    .slice(0, 4)
    .map(({ name }) => name);
  const defaultSort = random.chance(0.5)
    ? { field: random.pick(sorts), order: random.pick(['asc', 'desc'] as const) }
    : null;
  return {
    name: pickName(random, before?.name),
    recordType: kind.name,
    idType: kind.idType,
    fields,
    filters,
    sorts,
    defaultSort,
    maxPageSize: random.pick([20, 100, 1_000]),
    ...randomDeclarations(random, scalars),
  };
}

/** One or two resources of each record type. */
export function randomVersion(
  random: Random,
  version: string,
  kinds: readonly RecordKind[],
  before: VersionModel | null,
): VersionModel {
  const endpoints = kinds.flatMap((kind) => {
    const former = (before?.endpoints ?? []).filter(({ recordType }) => recordType === kind.name);
    const first = randomEndpoint(random, kind, former[0]);
    return random.chance(0.4) ? [first, randomEndpoint(random, kind, former[1])] : [first];
  });
  return {
    version,
    endpoints: endpoints.map((endpoint) => ({
      ...endpoint,
      relations: randomRelations(random, endpoint, endpoints, kinds),
    })),
  };
}

const optional = (mask: MaskKind | null): object => (mask === null ? {} : { mask });

/** As the management interface takes it. */
export const toDocument = ({ endpoints }: VersionModel): object => ({
  endpoints: endpoints.map(
    ({ name, recordType, fields, filters, sorts, defaultSort, maxPageSize, ...declarations }) => ({
      ...toDeclarations(declarations),
      name,
      recordType,
      fields: fields.map((one) => ({
        name: one.name,
        source: one.source,
        ...(one.scopable && { scopable: true }),
        ...optional(one.mask),
        ...(one.kind === 'lines' && {
          fields: one.lines.map((line) => ({ name: line.name, source: line.source, ...optional(line.mask) })),
        }),
      })),
      filters: Object.entries(Object.groupBy(filters, ({ field }) => field))
        .filter(([field]) => field !== 'id')
        .map(([field, list]) => ({
          field,
          operators: (list ?? []).map(({ operator }) => operator),
        })),
      sorts,
      defaultSort,
      maxPageSize,
    }),
  ),
});
