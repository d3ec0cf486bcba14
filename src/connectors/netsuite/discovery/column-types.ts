// The type of a column from what names one and from the values of the first records. A type that follows from
// values alone has a warning, and a value that contradicts the named type makes the field text: a wrong
// strict type would reject records.

import type { SuiteqlRow } from '../requests/suiteql.ts';
import type { ColumnDefinition } from '../types/definition.ts';
import { labelKey, valueKey } from '../types/queries.ts';
import { parseValue } from '../types/values.ts';

type ColumnType = ColumnDefinition['type'];

/** How many records the types of columns are judged by. */
export const sampleSize = 100;

/** By NetSuite's names in `customfield.fieldvaluetype`; others are text. */
export const listedTypes: Readonly<Record<string, ColumnType>> = {
  'Decimal Number': 'number',
  Currency: 'number',
  Percent: 'number',
  'Integer Number': 'integer',
  'Check Box': 'boolean',
  Date: 'date',
  'Date/Time': 'time',
  'List/Record': 'reference',
  'Multiple Select': 'multiselect',
};

const listTexts = (rows: readonly SuiteqlRow[], key: string): string[] =>
  rows.flatMap(({ [key]: value }) => (typeof value === 'string' && value !== '' ? [value] : []));

/** The forms of the date preference (facts: 3.6), without a time of day. */
export const dateText = /^(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[- ]\p{L}{3,12}\.?[- ,]+\d{2,4})$/u;
const timeOfDay = / \d{1,2}[:.-]\d{2}(?:[:.-]\d{2})?(?: ?[ap]\.?m\.?)?$/i;

/** Whether a text has a form of the date preference, with or without a time of day. */
export const isDateText = (text: string) => text.length <= 60 && dateText.test(text.replace(timeOfDay, ''));
const plainNumber = /^-?(?:\d{1,40})?(?:\.\d{1,40})?$/;
const maxLabelledCharacters = 100;

/**
 * What to query a column as whose type isn't named, by its unformatted values: `list` for those that may have
 * a display text, `time` for what looks like a date. `rows`: those of `SELECT *`.
 */
export function guessQueryType(rows: readonly SuiteqlRow[], column: string): ColumnType {
  const values = listTexts(rows, column);
  if (values.length === 0) return 'text';
  if (values.every((value) => value === 'T' || value === 'F')) return 'boolean';
  if (values.every((value) => dateText.test(value))) return 'time';
  if (values.some((value) => value.includes('.')) && values.every((value) => plainNumber.test(value)))
    return 'number';
  return values.every((value) => value.length <= maxLabelledCharacters) ? 'list' : 'text';
}

export type Judged = { readonly type: ColumnType; readonly warning?: string };

const fromValues = (count: number): string =>
  `The type follows from the values of ${count === 1 ? 'one record' : `${count} records`} alone`;

/**
 * The type of a column that was queried as `queried`. `named`: what names its type, such as "the metadata
 * catalogue", or null where nothing does. `rows`: those of the query, in which a `time` has its local time of
 * day under `clockKey`.
 */
export function judgeType(
  name: string,
  queried: ColumnType,
  named: string | null,
  rows: readonly SuiteqlRow[],
): Judged {
  const values = listTexts(rows, valueKey(name));
  const clocks = listTexts(rows, clockKey(name));
  const hasTimeOfDay = clocks.some((clock) => clock !== '00:00:00');
  if (named !== null) {
    if (queried === 'date' && hasTimeOfDay)
      return { type: 'time', warning: `${named} calls it a date, but its values have a time of day` };
    const wrong = values.find((value) => parseValue(value, queried) === undefined);
    if (wrong === undefined) return { type: queried };
    return {
      type: queried === 'multiselect' ? 'list' : 'text',
      warning: `${named} calls it ${queried}, but it has values such as "${wrong.slice(0, 40)}"`,
    };
  }
  if (values.length === 0)
    return {
      type: 'text',
      warning: 'No record that was looked at has a value, and nothing else names its type',
    };
  const warning = fromValues(values.length);
  if (queried === 'time') return { type: clocks.length > 0 && !hasTimeOfDay ? 'date' : 'time', warning };
  if (queried !== 'list') return { type: queried, warning };
  return { type: typeOfLabelled(name, values, rows), warning };
}

/** The key in a row of a time's local time of day. */
export const clockKey = (name: string): string => `tod_${valueKey(name)}`;

const isInteger = (value: string): boolean => parseValue(value, 'integer') !== undefined;

/** Measures and money may have decimals, even where the first values don't. */
const measureName = /quantity|amount|rate|price|cost|percent|total|value|balance|weight/;

function typeOfLabelled(name: string, values: readonly string[], rows: readonly SuiteqlRow[]): ColumnType {
  const hasLabels = rows.some(
    ({ [valueKey(name)]: value, [labelKey(name)]: label }) => typeof label === 'string' && label !== value,
  );
  if (values.every((value) => isInteger(value) && !/^-?0\d/.test(value)))
    return hasLabels ? 'reference' : measureName.test(name) ? 'number' : 'integer';
  return hasLabels ? 'list' : 'text';
}

/**
 * SQL that says whether a value doesn't fit a type that was judged by the first values, and the type that it
 * fits.
 */
export const contradictions: Readonly<
  Partial<Record<ColumnType, { readonly sql: (column: string) => string; readonly type: ColumnType }>>
> = {
  integer: { sql: (column) => `${column} <> ROUND(${column})`, type: 'number' },
  number: { sql: (column) => `${column} <> ROUND(${column}, 40)`, type: 'text' },
  boolean: { sql: (column) => `${column} NOT IN ('T', 'F')`, type: 'text' },
  date: { sql: (column) => `${column} <> TRUNC(${column})`, type: 'time' },
};
