// What random versions declare beyond filters and sorts by one field: search, `or`, sorts by several fields,
// summaries and relations.
import type {
  AggregateFunction,
  DeclarationsModel,
  EndpointModel,
  FieldKind,
  FieldModel,
  GroupModel,
  Period,
  RelationModel,
} from './model.ts';
import type { Random } from './random.ts';
import type { RecordKind } from './records.ts';

const functions: Readonly<Partial<Record<FieldKind, readonly AggregateFunction[]>>> = {
  integer: ['sum', 'avg', 'min', 'max', 'count_distinct'],
  number: ['sum', 'avg', 'min', 'max', 'count_distinct'],
  date: ['min', 'max', 'count_distinct'],
  time: ['min', 'max', 'count_distinct'],
  text: ['count_distinct'],
};
const periods: readonly Period[] = ['day', 'week', 'month', 'quarter', 'year'];
const isDated = ({ kind }: FieldModel): boolean => kind === 'date' || kind === 'time';

function randomSortSet(random: Random, scalars: readonly FieldModel[]): string[] {
  const names = random.some(scalars, 2).slice(0, 3);
  return names.map(({ name }) => (random.chance(0.5) ? `-${name}` : name));
}

const randomGroup = (random: Random, one: FieldModel): GroupModel => ({
  field: one.name,
  periods: isDated(one) ? random.some(periods, 1) : null,
});

/** Without relations, which need all endpoints of the version. `scalars`: all fields but lines. */
export function randomDeclarations(
  random: Random,
  scalars: readonly FieldModel[],
): Omit<DeclarationsModel, 'relations'> {
  const texts = scalars.filter(({ kind }) => kind === 'text').map(({ name }) => name);
  const hasSummary = random.chance(0.8);
  const declared = (one: FieldModel) => {
    const chosen = random.some(functions[one.kind] ?? []);
    return chosen.length === 0 ? [] : [{ field: one.name, functions: chosen }];
  };
  return {
    search: texts.length > 0 && random.chance(0.7) ? random.some(texts, 1).slice(0, 3) : [],
    takesOr: random.chance(0.7),
    sortSets: random.chance(0.6) ? [randomSortSet(random, scalars)] : [],
    aggregates: hasSummary ? random.some(scalars, 2).flatMap(declared) : [],
    groups: hasSummary ? random.some(scalars, 2).map((one) => randomGroup(random, one)) : [],
  };
}

/** Relations to endpoints of the record type that the field `link` refers to. */
export function randomRelations(
  random: Random,
  { fields, recordType }: Pick<EndpointModel, 'fields' | 'recordType'>,
  endpoints: readonly Pick<EndpointModel, 'name' | 'recordType'>[],
  kinds: readonly RecordKind[],
): RelationModel[] {
  const link = fields.find(({ source }) => source === 'link');
  const target = kinds.find(({ name }) => name === recordType)?.target;
  if (link === undefined) return [];
  const related = endpoints.filter((other) => other.recordType === target);
  return random
    .some(related, 1)
    .map(({ name: resource }) => ({ name: random.word(), field: link.name, resource }));
}

const unlessEmpty = <T>(name: string, list: readonly T[]): object =>
  list.length === 0 ? {} : { [name]: list };

/** As documents write them. */
export const toDeclarations = ({
  search,
  takesOr,
  sortSets,
  aggregates,
  groups,
  relations,
}: DeclarationsModel): object => ({
  ...unlessEmpty('search', search),
  ...(takesOr && { or: true }),
  ...unlessEmpty('sortSets', sortSets),
  ...unlessEmpty('aggregates', aggregates),
  ...unlessEmpty(
    'groups',
    groups.map(({ field, periods: of }) => (of === null ? field : { field, periods: of })),
  ),
  ...unlessEmpty('relations', relations),
});
