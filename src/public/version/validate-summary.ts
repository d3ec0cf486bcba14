// Rules of what `/summary` computes and groups by.
import { type ColumnType, isDated, isListType, isNumeric } from '../../warehouse/columns.ts';
import type { IndexedRecordType } from './bind.ts';
import { type Report, reportDuplicates } from './definition-problems.ts';
import type { IndexedEndpoint } from './endpoint-fields.ts';
import { findCurrency, mixesCurrencies } from './money.ts';
import { toSuffix } from './operators.ts';
import {
  type AggregateDefinition,
  type AggregateFunction,
  aggregateFunctions,
  type GroupDefinition,
} from './schema-document.ts';
import { findPlainField, typeOfField } from './validate-queries.ts';

/** The functions for fields of this type, in a fixed order. */
export const listFunctions = (type: ColumnType): AggregateFunction[] =>
  aggregateFunctions.filter((name) => {
    if (name === 'count_distinct') return type !== 'lines' && !isListType(type);
    return isNumeric(type) || ((name === 'min' || name === 'max') && isDated(type));
  });

/** Keys of a row of a summary, and the parameters that ask for them; `by` is only a parameter. */
export const resultNames: ReadonlySet<string> = new Set(['count', ...aggregateFunctions]);
export const parameterNames: ReadonlySet<string> = new Set([...resultNames, 'by', 'sort', 'limit']);

/** Reports every problem of the summary of an endpoint, which is at `path` of the document. */
export function checkSummary(
  endpoint: IndexedEndpoint,
  path: string,
  recordType: IndexedRecordType | undefined,
  report: Report,
): void {
  const { aggregates = [], groups = [] } = endpoint;
  if (aggregates.length + groups.length === 0) return;
  checkFilterNames(endpoint, path, report);
  for (const [index, aggregate] of aggregates.entries())
    checkAggregate(endpoint, aggregate, `${path}.aggregates[${index}]`, recordType, report);
  reportDuplicates(
    aggregates.map(({ field }) => field),
    (index) => `${path}.aggregates[${index}].field`,
    'aggregate',
    report,
  );
  for (const [index, group] of groups.entries())
    checkGroup(endpoint, group, `${path}.groups[${index}]`, recordType, report);
  checkGroupNames(groups, path, report);
  checkCurrency(endpoint, path, recordType, report);
}

/** A summary takes the filters of the list next to parameters of its own. */
function checkFilterNames({ filters }: IndexedEndpoint, path: string, report: Report): void {
  for (const [index, { field, operators }] of filters.entries()) {
    const clashing = operators
      .map((operator) => field + toSuffix(operator))
      .filter((name) => parameterNames.has(name.toLowerCase()));
    for (const name of clashing)
      report(
        'save',
        `${path}.filters[${index}].field`,
        'reserved_name',
        `The filter "${name}" is also the name of a parameter of the summary`,
      );
  }
}

function checkAggregate(
  endpoint: IndexedEndpoint,
  { field: name, functions, currency }: AggregateDefinition,
  path: string,
  recordType: IndexedRecordType | undefined,
  report: Report,
): void {
  reportDuplicates(functions, (index) => `${path}.functions[${index}]`, 'function', report);
  const words = { thing: 'An aggregate', lines: 'Lines cannot be aggregated' };
  const field = findPlainField(endpoint, name, `${path}.field`, words, report);
  const type = field && typeOfField(recordType, field);
  if (type === undefined) return;
  const fitting = listFunctions(type);
  for (const [index, each] of functions.entries()) {
    if (fitting.includes(each)) continue;
    const message = `"${each}" cannot be used with a ${type} field. Available functions: ${fitting.join(', ')}`;
    report('publish', `${path}.functions[${index}]`, 'function_misfits', message);
  }
  if (currency !== undefined && !isNumeric(type))
    report(
      'publish',
      `${path}.currency`,
      'not_a_number',
      `"currency" applies only to number fields; this is a ${type} field`,
    );
}

function checkGroup(
  endpoint: IndexedEndpoint,
  group: GroupDefinition,
  path: string,
  recordType: IndexedRecordType | undefined,
  report: Report,
): void {
  const [name, at] = typeof group === 'string' ? [group, path] : [group.field, `${path}.field`];
  const field = findPlainField(
    endpoint,
    name,
    at,
    { thing: 'A group', lines: 'Lines cannot be grouped by' },
    report,
  );
  if (resultNames.has(name.toLowerCase()))
    report(
      'save',
      at,
      'reserved_name',
      `A summary has "${name}" as a key of its own. Give the field another name to group by it.`,
    );
  const type = field && typeOfField(recordType, field);
  if (typeof group !== 'string' && type !== undefined && !isDated(type))
    report(
      'publish',
      `${path}.periods`,
      'period_misfits',
      `Periods apply only to date and time fields; "${name}" is a ${type} field`,
    );
}

function checkGroupNames(groups: readonly GroupDefinition[], path: string, report: Report): void {
  const placed = groups.flatMap((group, index) => {
    const at = `${path}.groups[${index}]`;
    if (typeof group === 'string') return [{ name: group, at }];
    return group.periods.map((period, position) => ({
      name: `${group.field}.${period}`,
      at: `${at}.periods[${position}]`,
    }));
  });
  reportDuplicates(
    placed.map(({ name }) => name),
    (index) => placed[index]?.at ?? path,
    'group',
    report,
  );
}

/** Amounts of several currencies are never added up, so a summary of amounts must tell them apart. */
function checkCurrency(
  { byName, filters, aggregates = [], groups = [] }: IndexedEndpoint,
  path: string,
  recordType: IndexedRecordType | undefined,
  report: Report,
): void {
  if (recordType === undefined) return;
  const toSource = (name: string): string => byName.get(name)?.source ?? '';
  const agreed = [
    ...groups.flatMap((group) => (typeof group === 'string' ? [toSource(group)] : [])),
    ...filters.flatMap(({ field, operators }) => (operators.includes('eq') ? [toSource(field)] : [])),
  ];
  for (const [index, { field, functions, currency: own }] of aggregates.entries()) {
    const found = byName.get(field);
    const type = found && typeOfField(recordType, found);
    if (own === 'none' || type === undefined || !isNumeric(type)) continue;
    const currency = findCurrency(recordType, toSource(field));
    if (!mixesCurrencies(functions, currency, agreed)) continue;
    const advice =
      currency === null
        ? `No field tells the currency of "${field}". Declare "currency": "none" if all of its amounts are in one currency, or if it is not an amount of money.`
        : `Add a field with the source "${currency}" as a group or with the filter "eq", or declare "currency": "none" if "${field}" is not an amount of money.`;
    const message = `Amounts of ${recordType.label} may be in several currencies, which are never added up. ${advice}`;
    report('publish', `${path}.aggregates[${index}]`, 'several_currencies', message);
  }
}
