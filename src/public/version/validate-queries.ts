// Rules of what lists can be filtered, searched and sorted by.
import { boundSource, type IndexedRecordType } from './bind.ts';
import { type Report, reportDuplicates } from './definition-problems.ts';
import type { IndexedEndpoint } from './endpoint-fields.ts';
import { lineOperators, listOperators, operatorFits, toSuffix } from './operators.ts';
import type { FieldDefinition, FilterDefinition, Operator } from './schema-document.ts';

type Target = {
  readonly endpoint: IndexedEndpoint;
  readonly recordType: IndexedRecordType | undefined;
  readonly report: Report;
};

/** Reports every problem of the endpoint's filters, search and sorts; `path` is its place in the document. */
export function checkQueries(
  endpoint: IndexedEndpoint,
  path: string,
  recordType: IndexedRecordType | undefined,
  report: Report,
): void {
  const target = { endpoint, recordType, report };
  checkFilters(target, path);
  checkSorts(target, path);
  checkSortSets(target, path);
  checkSearch(target, path);
}

/** Undefined after a report when the name is none of a field, or one of lines. */
export function findPlainField(
  { fields, byName }: IndexedEndpoint,
  name: string,
  path: string,
  { thing, lines }: { readonly thing: string; readonly lines: string },
  report: Report,
) {
  const field = byName.get(name);
  if (field === undefined) {
    const known = () => fields.map((other) => other.name);
    report('save', path, 'not_included', `${thing} must refer to a field of this endpoint.`, {
      wanted: name,
      known,
    });
  } else if (field.source === 'lines') report('save', path, 'lines', lines);
  else return field;
  return undefined;
}

/** As `findPlainField`, for what a list can be sorted by: a field with one value. */
function checkSortField({ endpoint, report }: Target, name: string, path: string, thing: string): void {
  const field = findPlainField(endpoint, name, path, { thing, lines: 'Lines cannot be sorted by' }, report);
  if (field?.as === 'list') report('save', path, 'lists', 'Lists cannot be sorted by');
}

/** Of the values that the field has now; undefined when it is not synced. */
export const typeOfField = (recordType: IndexedRecordType | undefined, field: FieldDefinition) =>
  recordType?.bySource.get(boundSource(field))?.type;

function checkFilters({ endpoint, recordType, report }: Target, path: string): void {
  const names = endpoint.filters.map(({ field }) => field);
  reportDuplicates(names, (index) => `${path}.filters[${index}].field`, 'filter', report);
  for (const [index, filter] of endpoint.filters.entries()) {
    const at = `${path}.filters[${index}]`;
    reportDuplicates(filter.operators, (position) => `${at}.operators[${position}]`, 'operator', report);
    if (filter.field.includes('.')) {
      checkLineFilter({ endpoint, recordType, report }, filter, at);
      continue;
    }
    const lines = 'Lines as a whole cannot be filtered. Filter one of their fields, as in lines.<field>';
    const field = findPlainField(endpoint, filter.field, `${at}.field`, { thing: 'A filter', lines }, report);
    const type = field && typeOfField(recordType, field);
    if (type !== undefined)
      checkOperators(filter, listOperators(type), `a ${type} field`, 'publish', at, report);
  }
  checkLineFilterNames(endpoint, path, report);
}

function checkOperators(
  { operators }: FilterDefinition,
  fitting: readonly Operator[],
  thing: string,
  blocks: 'save' | 'publish',
  path: string,
  report: Report,
): void {
  for (const [position, operator] of operators.entries()) {
    if (fitting.includes(operator)) continue;
    const message = `"${operator}" cannot be used with ${thing}. Available operators: ${fitting.join(', ')}`;
    report(blocks, `${path}.operators[${position}]`, 'operator_misfits', message);
  }
}

/** A filter such as `lines.item`. */
function checkLineFilter({ endpoint, recordType, report }: Target, filter: FilterDefinition, path: string) {
  const line = endpoint.linesByName.get(filter.field);
  if (line === undefined) {
    const known = () =>
      endpoint.fields.flatMap((field) => (field.fields ?? []).map((each) => `${field.name}.${each.name}`));
    const message = 'A filter must refer to a field of this endpoint, or to a field of its lines.';
    report('save', `${path}.field`, 'not_included', message, { wanted: filter.field, known });
    return;
  }
  checkOperators(filter, lineOperators, 'fields of lines', 'save', path, report);
  const type = recordType?.lineTypes.get(boundSource(line));
  if (type === undefined) return;
  const fitting = lineOperators.filter((operator) => operatorFits(operator, type));
  const operators = filter.operators.map((operator) => (lineOperators.includes(operator) ? operator : 'eq'));
  checkOperators({ ...filter, operators }, fitting, `a ${type} field of lines`, 'publish', path, report);
}

/** Fields never have the names of each other's filters; those of lines may, unless both are filters. */
function checkLineFilterNames({ filters }: IndexedEndpoint, path: string, report: Report): void {
  const owners = new Map(
    filters.flatMap(({ field, operators }) =>
      operators.map((each) => [(field + toSuffix(each)).toLowerCase(), field]),
    ),
  );
  for (const [index, { field, operators }] of filters.entries()) {
    if (!field.includes('.')) continue;
    for (const operator of operators) {
      const name = field + toSuffix(operator);
      const owner = owners.get(name.toLowerCase());
      if (owner !== undefined && owner.toLowerCase() !== field.toLowerCase()) {
        const message = `"${name}" would be a filter of "${field}" and of "${owner}"`;
        report('save', `${path}.filters[${index}].field`, 'clashes_with_filter', message);
      }
    }
  }
}

function checkSorts(target: Target, path: string): void {
  const { endpoint, report } = target;
  reportDuplicates(endpoint.sorts, (index) => `${path}.sorts[${index}]`, 'sort', report);
  for (const [index, sort] of endpoint.sorts.entries())
    checkSortField(target, sort, `${path}.sorts[${index}]`, 'A sort');
  const { defaultSort } = endpoint;
  if (defaultSort !== null && !endpoint.sorts.includes(defaultSort.field)) {
    report(
      'save',
      `${path}.defaultSort.field`,
      'not_a_sort',
      'The default sort must be one of the declared sorts.',
      { wanted: defaultSort.field, known: () => endpoint.sorts },
    );
  }
}

function checkSortSets(target: Target, path: string): void {
  const { endpoint, report } = target;
  const sets = endpoint.sortSets ?? [];
  for (const [index, set] of sets.entries()) {
    const names = set.map((key) => key.replace(/^-/, ''));
    const at = (position: number): string => `${path}.sortSets[${index}][${position}]`;
    for (const [position, name] of names.entries())
      checkSortField(target, name, at(position), 'A key of a sort set');
    reportDuplicates(names, at, 'sort key', report);
  }
  reportDuplicates(
    sets.map((set) => set.join()),
    (index) => `${path}.sortSets[${index}]`,
    'sort set',
    report,
  );
}

function checkSearch({ endpoint, recordType, report }: Target, path: string): void {
  const search = endpoint.search ?? [];
  const at = (index: number): string => `${path}.search[${index}]`;
  reportDuplicates(search, at, 'search field', report);
  for (const [index, name] of search.entries()) {
    const words = { thing: 'The search', lines: 'Fields of lines cannot be searched' };
    const field = findPlainField(endpoint, name, at(index), words, report);
    const type = field && typeOfField(recordType, field);
    if (type !== undefined && type !== 'text')
      report(
        'publish',
        at(index),
        'not_text',
        `Only text fields can be searched; "${name}" is a ${type} field`,
      );
  }
}
