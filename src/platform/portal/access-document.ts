// Compiles the settings of the portal into a document of the read engine, which is validated, proved, indexed
// and read as a version of the public interface is. Pure.

import { hash } from 'node:crypto';
import { type Meaning, meanings } from '../../core/text/portal-terms.ts';
import {
  type Available,
  type EndpointDefinition,
  isListType,
  type SchemaDocument,
  toSource,
} from '../../public/index.ts';
import type { PortalSettings, Reference } from './access.schemas.ts';

type People = PortalSettings['people'][number];
type Records = PortalSettings['records'][number];
type Column = Available[string]['columns'][number];

/** The names of the endpoints: of people by their place in the settings, of records by their record type. */
export const peopleEndpoint = (index: number): string => `people-${index + 1}`;
export const recordsEndpoint = (recordType: string): string => {
  const plain = `r-${recordType.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-')}`;
  // `a:b_c` and `a-b:c` would be one.
  return recordType.includes(':')
    ? `${plain.slice(0, 52)}-${hash('sha256', recordType).slice(0, 10)}`
    : plain.slice(0, 63);
};
export const customersEndpoint = 'customers';

/** The fields that hold an address and a customer's id. */
export const emailName = 'email';
export const customerName = 'customer';
export const parentName = 'parent';
/** The field that holds a customer's name, where there is one. */
export const nameName = 'name';

const isUsable = ({ state, type }: Column): boolean =>
  state !== 'vanished' && state !== 'replaced' && state !== 'loading' && !isListType(type);

const listColumns = (available: Available, recordType: string): Column[] =>
  Object.hasOwn(available, recordType) ? (available[recordType]?.columns ?? []).filter(isUsable) : [];

type Field = EndpointDefinition['fields'][number];
const field = (name: string, source: string, more: Partial<Field> = {}): Field => ({
  name,
  source,
  description: '',
  ...more,
});

/** Fields by source: one source is one field, scopable when any use needs that. */
function createFields() {
  const bySource = new Map<string, Field>();
  return {
    add(name: string, source: string, more: Partial<Field> = {}): string {
      const known = bySource.get(source);
      bySource.set(source, { ...field(known?.name ?? name, source), ...known, ...more });
      return known?.name ?? name;
    },
    has: (source: string): boolean => bySource.has(source),
    list: (): Field[] => [...bySource.values()],
  };
}

const endpoint = (
  name: string,
  recordType: string,
  more: Pick<EndpointDefinition, 'fields'> & Partial<EndpointDefinition>,
): EndpointDefinition => ({
  name,
  recordType,
  description: '',
  filters: [],
  sorts: [],
  defaultSort: null,
  maxPageSize: 1_000,
  ...more,
});

/** `id` is no field: every endpoint has it. */
const addConditions = (fields: ReturnType<typeof createFields>, conditions: People['conditions']): void => {
  for (const [index, { field: source }] of conditions.entries())
    if (source !== 'id') fields.add(`condition${index + 1}`, source, { scopable: true });
};

/** An index on the folded text finds candidates; whether one holds the address is decided exactly afterwards. */
function peopleOf(
  { recordType, emailField, customerField, conditions }: People,
  index: number,
): EndpointDefinition {
  const fields = createFields();
  const email = fields.add(emailName, emailField);
  if (customerField !== 'id') fields.add(customerName, customerField);
  addConditions(fields, conditions);
  return endpoint(peopleEndpoint(index), recordType, {
    fields: fields.list(),
    filters: [{ field: email, operators: ['contains'] }],
  });
}

/** Texts that visitors search besides the number, where they see them: the customer's own reference first. */
const searchedSources = ['otherrefnum', 'memo', 'title', 'description'];

const filtersByMeaning: Readonly<Partial<Record<Meaning, readonly string[]>>> = {
  number: ['eq'],
  date: ['gte', 'lte'],
  dueDate: ['gte', 'lte', 'before', 'null'],
  amountDue: ['gt', 'not', 'null'],
  status: ['eq', 'not'],
};
type Operators = EndpointDefinition['filters'][number]['operators'];
const sortedMeanings: readonly Meaning[] = ['date', 'dueDate', 'amount', 'amountDue'];

/** Fields that refer from shown records to others, in the order of the settings. */
export function listReferences({ records }: PortalSettings, available: Available): Reference[] {
  const shown = new Set(records.map(({ recordType }) => recordType));
  return records.flatMap(({ recordType }) => {
    const usable = new Set(listColumns(available, recordType).map(toSource));
    return Object.entries(available[recordType]?.targets ?? {}).flatMap(([source, target]) =>
      shown.has(target) && usable.has(source) ? [{ recordType, source, target }] : [],
    );
  });
}

function recordsOf(
  { recordType, customerField, fields: given, conditions }: Records,
  available: Available,
  references: readonly Reference[],
): EndpointDefinition {
  const fields = createFields();
  if (customerField !== 'id') fields.add(customerName, customerField, { scopable: true });
  const names = new Map<Meaning, string>();
  for (const meaning of meanings) {
    const source = given[meaning];
    if (source !== undefined) names.set(meaning, fields.add(meaning, source));
  }
  addConditions(fields, conditions);
  const columns = listColumns(available, recordType);
  for (const [index, column] of columns.entries()) addColumn(fields, `field${index + 1}`, column);
  const named = (sources: readonly string[]): string[] =>
    fields.list().flatMap(({ name, source }) => (sources.includes(source) ? [name] : []));
  const own = references.filter((reference) => reference.recordType === recordType);
  const texts = columns.filter(({ type }) => type === 'text').map(toSource);
  return endpoint(recordsEndpoint(recordType), recordType, {
    fields: fields.list(),
    ...listQueries(
      names,
      named(own.map(({ source }) => source)),
      named(searchedSources.filter((source) => texts.includes(source))),
    ),
  });
}

/** How the records are filtered, sorted, added up and searched. `referring`, `searched`: names of fields. */
function listQueries(
  names: ReadonlyMap<Meaning, string>,
  referring: readonly string[],
  searched: readonly string[],
): Partial<EndpointDefinition> {
  const of = (wanted: readonly Meaning[]): string[] => wanted.flatMap((meaning) => names.get(meaning) ?? []);
  const [date, amounts] = [names.get('date'), of(['amount', 'amountDue'])];
  return {
    filters: [
      ...Object.entries(filtersByMeaning).flatMap(([meaning, operators]) => {
        const name = names.get(meaning as Meaning);
        return name === undefined ? [] : [{ field: name, operators: operators as Operators }];
      }),
      ...referring.map((field) => ({ field, operators: ['eq' as const] })),
    ],
    sorts: of(sortedMeanings),
    defaultSort: date === undefined ? null : { field: date, order: 'desc' },
    ...(amounts.length > 0 && {
      aggregates: amounts.map((name) => ({ field: name, functions: ['sum' as const] })),
    }),
    ...(names.has('currency') && { groups: of(['currency']) }),
    ...(names.has('number') && { search: [...new Set([...of(['number']), ...searched])] }),
  };
}

/** Whether the settings name it: not one of those that only a field mapping may show. */
export const isNamedField = (name: string): boolean => !/^(field\d+|lines)$/.test(name);

function addColumn(fields: ReturnType<typeof createFields>, name: string, column: Column): void {
  const source = toSource(column);
  if (fields.has(source)) return;
  if (column.part !== 'lines') return void fields.add(name, source);
  // The entries of multiselects are shown as one text.
  const lines = column.lineFields?.filter(({ type }) => !isListType(type)) ?? [];
  if (lines.length > 0)
    fields.add('lines', source, {
      fields: lines.map((line, index) => ({
        name: `field${index + 1}`,
        source: line.name,
        description: '',
      })),
    });
}

/** The record type of the customers: that whose own id is one, or that to which a customer field refers. */
export function findCustomerType({ people, records }: PortalSettings, available: Available) {
  const own = people.find(({ customerField }) => customerField === 'id')?.recordType;
  if (own !== undefined) return own;
  return [...people, ...records]
    .map(({ recordType, customerField }) => available[recordType]?.targets?.[customerField])
    .find((target) => target !== undefined && Object.hasOwn(available, target));
}

/** Fields that hold the name of a customer, the most telling first. */
const nameSources = ['companyname', 'name', 'altname', 'entitytitle', 'fullname', 'entityid'];

function customersOf(recordType: string, available: Available): EndpointDefinition {
  const fields = createFields();
  const columns = listColumns(available, recordType);
  const texts = new Set(columns.filter(({ type }) => type === 'text').map(toSource));
  const name = nameSources.find((source) => texts.has(source));
  if (name !== undefined) fields.add(nameName, name);
  const hasParent = columns.some((column) => toSource(column) === 'parent');
  if (hasParent) fields.add(parentName, 'parent', { scopable: true });
  for (const [index, column] of columns.entries()) addColumn(fields, `field${index + 1}`, column);
  return endpoint(customersEndpoint, recordType, {
    fields: fields.list(),
    ...(hasParent && { filters: [{ field: parentName, operators: ['eq'] }] }),
  });
}

/** Names and types are checked by `validateDocument`, whose paths `toSettingsPath` translates. */
export function toDocument(settings: PortalSettings, available: Available): SchemaDocument {
  const customerType = findCustomerType(settings, available);
  const references = listReferences(settings, available);
  return {
    endpoints: [
      ...settings.people.map(peopleOf),
      ...settings.records.map((records) => recordsOf(records, available, references)),
      ...(customerType === undefined ? [] : [customersOf(customerType, available)]),
    ],
  };
}
