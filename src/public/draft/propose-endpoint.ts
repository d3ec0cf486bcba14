// Proposes what clients can ask of an endpoint: filters, sorts, aggregates, groups, relations and search
// fields. Each costs an index or time at publish, so only the best of each are proposed. Pure.
import { findCurrency } from '../version/money.ts';
import type {
  AggregateDefinition,
  EndpointDefinition,
  FilterDefinition,
  GroupDefinition,
  Operator,
} from '../version/schema-document.ts';
import { type DraftSource, isCategory, isSelective, type Proposed } from './described.ts';
import { splitWords } from './names.ts';

const max = { filters: 16, sorts: 8, aggregates: 12, groups: 12, relations: 10, search: 4, lineFilters: 4 };

/** Longer texts are prose: searched, not compared. */
const maxIdentifierLength = 40;

type Kind = 'text' | 'amount' | 'date' | 'boolean' | 'reference' | 'choices' | 'choiceNames' | 'lines';

const classifyKind = ({ field: { type }, part }: Proposed): Kind => {
  if (part === 'lines' || type === 'lines') return 'lines';
  if (part === 'ids') return 'choices';
  if (part === 'names') return 'choiceNames';
  if (part === 'label') return 'text';
  if (type === 'reference') return 'reference';
  if (type === 'date' || type === 'time') return 'date';
  if (type === 'number' || type === 'integer') return 'amount';
  return type === 'boolean' ? 'boolean' : 'text';
};

/** How a person uses the field; everything else follows from it. */
type Role =
  | 'number'
  | 'shownDate'
  | 'modified'
  | 'currency'
  | 'status'
  | 'name'
  | 'related'
  | 'money'
  | 'identifier'
  | 'prose'
  | Kind;

const isIdentifier = ({ fact }: Proposed): boolean =>
  fact.distinct * 2 > fact.filled && fact.length <= maxIdentifierLength;

function classifyRole(
  proposed: Proposed,
  { described: { shownAs, modifiedField }, available }: DraftSource,
): Role {
  const { field, part } = proposed;
  const kind = classifyKind(proposed);
  if (field.name === available.currency) return 'currency';
  if (field.name === shownAs.number && kind === 'text') return 'number';
  if (field.name === modifiedField && kind === 'date') return 'modified';
  if (field.name === shownAs.date && kind === 'date') return 'shownDate';
  if (kind === 'reference') return field.target === undefined ? 'reference' : 'related';
  if (field.name === shownAs.name && kind === 'text') return 'name';
  if (kind === 'amount' && typeof field.currency === 'string') return 'money';
  if (kind !== 'text') return kind;
  if (part === 'label' && field.target !== undefined) return 'name';
  if (isCategory(proposed)) return 'status';
  return isIdentifier(proposed) ? 'identifier' : 'prose';
}

type Usable = Proposed & { readonly role: Role };

const operatorsByRole: Readonly<Partial<Record<Role, readonly Operator[]>>> = {
  number: ['eq', 'contains', 'starts_with'],
  name: ['eq', 'contains', 'starts_with'],
  shownDate: ['eq', 'after', 'before', 'gte', 'lte'],
  date: ['eq', 'after', 'before', 'gte', 'lte'],
  modified: ['after', 'before', 'gte', 'lte'],
  currency: ['eq'],
  status: ['eq', 'not'],
  related: ['eq'],
  reference: ['eq'],
  choices: ['eq', 'all'],
  // Equality would take an index of its own, and two bounds say the same.
  money: ['gte', 'lte', 'gt', 'lt'],
  amount: ['gte', 'lte', 'gt', 'lt'],
  boolean: ['eq'],
  identifier: ['eq'],
};
/** A field that not every record has can also be filtered by whether it is there. */
const mayBeMissing: ReadonlySet<Role> = new Set(['shownDate', 'date', 'related', 'reference']);

/** The best first: which roles are kept where there are too many. */
const filterRoles: readonly Role[] = [
  ...([
    'number',
    'currency',
    'shownDate',
    'modified',
    'money',
    'related',
    'date',
    'status',
    'name',
    'boolean',
  ] as const),
  ...(['choices', 'identifier', 'reference', 'amount'] as const),
];
const sortRoles: readonly Role[] = ['number', 'shownDate', 'modified', 'money', 'date', 'name', 'amount'];
const groupRoles: readonly Role[] = [
  'currency',
  'shownDate',
  'related',
  'status',
  'name',
  'choiceNames',
  'date',
  'boolean',
  'reference',
];
const aggregateRoles: readonly Role[] = ['money', 'shownDate', 'amount', 'related'];

/**
 * The first of a role: references to proposed resources, fields of the ERP before custom ones, days that
 * people set before times that the ERP notes, and days that stay before those that move.
 */
function byInterest(a: Usable, b: Usable): number {
  const computePenalty = ({ refersTo, role, field: { custom, type, volatile } }: Usable): number =>
    (role === 'related' && refersTo === null ? 8 : 0) +
    (custom ? 4 : 0) +
    (type === 'time' ? 2 : 0) +
    (volatile && type === 'date' ? 1 : 0);
  return computePenalty(a) - computePenalty(b);
}

/** How many fields of a role are chosen before all other fields, so that no role crowds out the others. */
const maxFirst = (role: Role): number => (role === 'money' ? 3 : 2);

/** At most `limit` in the order of the roles, in the order of the fields. */
function best(fields: readonly Usable[], roles: readonly Role[], limit: number): Usable[] {
  const byRole = roles.map((role) => ({
    role,
    found: fields.filter((field) => field.role === role).sort(byInterest),
  }));
  const first = byRole.flatMap(({ role, found }) => found.slice(0, maxFirst(role)));
  const rest = byRole.flatMap(({ role, found }) => found.slice(maxFirst(role)));
  const chosen = new Set([...first, ...rest].slice(0, limit));
  return fields.filter((field) => chosen.has(field));
}

const proposeFilters = (fields: readonly Usable[]): FilterDefinition[] =>
  best(
    fields.filter((field) => field.role === 'currency' || isSelective(field)),
    filterRoles,
    max.filters,
  ).map((field) => ({
    field: field.definition.name,
    operators: [
      ...(operatorsByRole[field.role] ?? ['eq']),
      ...(field.empty > 0 && mayBeMissing.has(field.role) ? (['null'] as const) : []),
    ],
  }));

/** Lines can be found by what they refer to. */
function proposeLineFilters(fields: readonly Usable[]): FilterDefinition[] {
  const found = fields.flatMap(({ definition, field }) =>
    (definition.fields ?? [])
      .filter(
        ({ source, mask }) =>
          mask === undefined &&
          field.fields?.some(({ name, target }) => name === source && target !== undefined),
      )
      .map((line): FilterDefinition => ({ field: `${definition.name}.${line.name}`, operators: ['eq'] })),
  );
  return found.slice(0, max.lineFilters);
}

/** Sums of rates, prices and limits say nothing. */
const isRate = (label: string): boolean =>
  splitWords(label).some((word) => /^(?:rate|price|percent|limit|average|cost|factor)$/.test(word));

function proposeAggregate({ role, field, definition }: Usable): AggregateDefinition {
  const { name } = definition;
  if (role === 'shownDate') return { field: name, functions: ['min', 'max'] };
  if (role === 'related') return { field: name, functions: ['count_distinct'] };
  const functions: AggregateDefinition['functions'] = isRate(field.label)
    ? ['avg', 'min', 'max']
    : ['sum', 'avg', 'min', 'max'];
  return { field: name, functions };
}

const isDate = ({ role }: Usable): boolean => role === 'shownDate' || role === 'date';

const proposeGroup = (field: Usable): GroupDefinition => {
  const { name } = field.definition;
  return isDate(field) ? { field: name, periods: ['day', 'week', 'month', 'quarter', 'year'] } : name;
};

/** References and dates, and fields whose values several records share. */
const groupsRecords = (field: Usable): boolean =>
  field.role === 'currency' ||
  isDate(field) ||
  (isSelective(field) && (field.field.target !== undefined || field.fact.distinct * 2 <= field.fact.filled));

function proposeRelations(fields: readonly Usable[]): NonNullable<EndpointDefinition['relations']> {
  const taken = new Set(fields.map(({ definition }) => definition.name.toLowerCase()));
  const found: NonNullable<EndpointDefinition['relations']> = [];
  for (const { definition, refersTo } of fields) {
    const name = definition.name.replace(/Id\d*$/, '');
    if (refersTo === null || name === definition.name || taken.has(name.toLowerCase())) continue;
    taken.add(name.toLowerCase());
    found.push({ name, field: definition.name, resource: refersTo });
  }
  return found.slice(0, max.relations);
}

function proposeSearch(fields: readonly Usable[]): string[] {
  const roles: readonly Role[] = ['number', 'name', 'prose', 'identifier'];
  const texts = fields
    .filter(({ role, fact }) => roles.includes(role) && fact.distinct > 1)
    .sort((a, b) => b.fact.filled - a.fact.filled);
  const chosen = roles.flatMap((role) => texts.filter((field) => field.role === role)).slice(0, max.search);
  return fields.filter((field) => chosen.includes(field)).map(({ definition }) => definition.name);
}

function proposeDefaultSort(sorts: readonly Usable[]): EndpointDefinition['defaultSort'] {
  const first = (['shownDate', 'number', 'modified'] as const).flatMap(
    (role) => sorts.find((field) => field.role === role) ?? [],
  )[0];
  if (first === undefined) return null;
  return { field: first.definition.name, order: first.role === 'number' ? 'asc' : 'desc' };
}

/** Without the field that names their currency, amounts could be neither grouped nor filtered by it. */
function isAddable({ role, definition }: Usable, usable: readonly Usable[], { available }: DraftSource) {
  if (role !== 'money' && role !== 'amount') return true;
  const currency = findCurrency(available, definition.source);
  return (
    currency === undefined ||
    (currency === available.currency && usable.some((field) => field.role === 'currency'))
  );
}

/** The endpoint `name` over the fields, of which masked ones are only shown. */
export function proposeEndpoint(
  name: string,
  fields: readonly Proposed[],
  draft: DraftSource,
): EndpointDefinition {
  const usable = fields
    .filter(({ definition }) => definition.mask === undefined)
    .map((proposed): Usable => ({ ...proposed, role: classifyRole(proposed, draft) }));
  const addable = usable
    .filter(({ fact }) => fact.distinct > 1)
    .filter((field) => isAddable(field, usable, draft));
  const sorts = best(usable.filter(isSelective), sortRoles, max.sorts);
  const filters = [...proposeFilters(usable), ...proposeLineFilters(usable)];
  const aggregates = best(addable, aggregateRoles, max.aggregates).map(proposeAggregate);
  const groups = best(usable.filter(groupsRecords), groupRoles, max.groups).map(proposeGroup);
  const relations = proposeRelations(usable);
  const search = proposeSearch(usable);
  return {
    name,
    recordType: draft.described.name,
    description: `${draft.described.label} records of the ERP`,
    fields: fields.map(({ definition }) => definition),
    filters,
    sorts: sorts.map(({ definition }) => definition.name),
    defaultSort: proposeDefaultSort(sorts),
    maxPageSize: 100,
    ...(aggregates.length > 0 && { aggregates }),
    ...(groups.length > 0 && { groups }),
    ...(relations.length > 0 && { relations }),
    ...(search.length > 0 && { search }),
    ...(filters.length > 1 && { or: true as const }),
  };
}
