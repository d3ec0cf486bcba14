// The operators of `q` by kind of field. Dates must be in the users' date format; ISO dates are accepted only
// if that is their format.
import type { DateFormat } from '../suiteql/render.ts';
import { quoteSqlName } from '../tables/table.ts';
import type { RestError } from '../wire.ts';
import type { Property } from './property.ts';

export type OperatorContext = {
  dateFormat: DateFormat;
  timeZone: string;
  bind: (value: string) => string;
  invalidFilter: (description: string) => RestError;
};
type Operator = {
  names: readonly string[];
  takes: (property: Property) => boolean;
  values: 'none' | 'one' | 'list';
  write: (property: Property, values: readonly string[], context: OperatorContext) => string;
};

const kinds =
  (...wanted: Property['kind'][]) =>
  ({ kind, name }: Property): boolean =>
    name === 'id' ? wanted.includes('number') : wanted.includes(kind);
const NUMBERS = kinds('number', 'integer', 'reference');
const TEXTS = kinds('string');
const DATES = kinds('date', 'date-time');

/** The column with the sign that the record shows. */
const signedColumn = (property: Property): string =>
  property.isNegated ? `-${quoteSqlName(property.column)}` : quoteSqlName(property.column);

function numberSql(value: string | undefined, { bind, invalidFilter }: OperatorContext): string {
  if (value === undefined || !/^-?\d{1,15}(\.\d{1,12})?$/.test(value))
    throw invalidFilter(`${value ?? 'Nothing'} is not a number.`);
  return `${bind(value)}::numeric`;
}

const compare = (names: string[], sign: string): Operator => ({
  names,
  takes: NUMBERS,
  values: 'one',
  write: (property, [value], context) => `${signedColumn(property)} ${sign} ${numberSql(value, context)}`,
});

const search = (names: string[], before: string, after: string): Operator => ({
  names,
  takes: TEXTS,
  values: 'one',
  write: (property, [value = ''], { bind }) =>
    `${quoteSqlName(property.column)} ILIKE ${bind(before + value.replace(/[\\%_]/g, '\\$&') + after)}`,
});

const compareDates = (names: string[], sign: string): Operator => ({
  names,
  takes: DATES,
  values: 'one',
  write: (property, [value = ''], context) => {
    const { day, time } = parseDateTime(value, context);
    const at = context.bind(time === undefined ? day : `${day} ${time}`);
    // Without a time, the condition is about whole days.
    return time === undefined
      ? `${quoteSqlName(property.column)}::date ${sign} ${at}::date`
      : `${quoteSqlName(property.column)}::timestamp ${sign} ${at}::timestamp`;
  },
});

/** `write` throws RestError 400 for a value that doesn't fit the operator. */
export const OPERATORS: readonly Operator[] = [
  {
    names: ['EMPTY'],
    takes: () => true,
    values: 'none',
    write: (property) => `${quoteSqlName(property.column)} IS NULL`,
  },
  {
    names: ['IS'],
    takes: kinds('boolean'),
    values: 'one',
    write: (property, [value = ''], { bind, invalidFilter }) => {
      if (!/^(true|false|T|F)$/i.test(value)) throw invalidFilter(`${value} is not true or false.`);
      return `${quoteSqlName(property.column)} = ${bind(/^t/i.test(value) ? 'T' : 'F')}`;
    },
  },
  search(['IS'], '', ''),
  {
    names: ['IS', 'EQUAL'],
    takes: kinds('enum'),
    values: 'one',
    write: (property, [value = ''], { bind }) => `${quoteSqlName(property.column)}::text = ${bind(value)}`,
  },
  search(['CONTAIN'], '%', '%'),
  search(['START_WITH'], '', '%'),
  search(['END_WITH', 'ENDWITH'], '%', ''),
  compare(['EQUAL'], '='),
  compare(['GREATER'], '>'),
  compare(['LESS'], '<'),
  compare(['GREATER_OR_EQUAL'], '>='),
  compare(['LESS_OR_EQUAL'], '<='),
  {
    names: ['ANY_OF'],
    takes: NUMBERS,
    values: 'list',
    write: (property, values, context) =>
      `${signedColumn(property)} IN (${values.map((value) => numberSql(value, context)).join(', ') || 'NULL'})`,
  },
  {
    names: ['ANY_OF'],
    takes: kinds('enum'),
    values: 'list',
    write: (property, values, { bind }) =>
      `${quoteSqlName(property.column)}::text IN (${values.map((value) => bind(value)).join(', ') || 'NULL'})`,
  },
  {
    names: ['BETWEEN', 'WITHIN'],
    takes: NUMBERS,
    values: 'list',
    write: (property, [low, high], context) =>
      `${signedColumn(property)} BETWEEN ${numberSql(low, context)} AND ${numberSql(high, context)}`,
  },
  compareDates(['AFTER'], '>'),
  compareDates(['BEFORE'], '<'),
  compareDates(['ON'], '='),
  compareDates(['ON_OR_AFTER'], '>='),
  compareDates(['ON_OR_BEFORE'], '<='),
];

const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?\s*(AM|PM)?$/i;

function parseDateTime(text: string, context: OperatorContext): { day: string; time: string | undefined } {
  const { dateFormat, timeZone, invalidFilter } = context;
  const [written = '', ...rest] = text.trim().split(/\s+/);
  const day = parseDay(written, dateFormat.name);
  const clock = rest.length === 0 ? undefined : CLOCK.exec(rest.join(' '));
  if (day === undefined || clock === null) {
    throw invalidFilter(
      `Detailed unprocessed description follows. Search error occurred: Parse of date/time "${text}" failed with date format "${dateFormat.name}" in time zone ${timeZone}`,
    );
  }
  if (clock === undefined) return { day, time: undefined };
  const [, hours = '', minutes, seconds = '00', half] = clock;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (/pm/i.test(half) ? 12 : 0);
  return { day, time: `${String(hour).padStart(2, '0')}:${minutes}:${seconds}` };
}

/**
 * Parses a date in this format to YYYY-MM-DD; the year may have two digits. Undefined if it is no such date.
 */
function parseDay(text: string, format: string): string | undefined {
  const pattern = format
    .replace(/[.]/g, '\\.')
    .replace(/Y+/, '(?<year>\\d{4}|\\d\\d)')
    .replace(/M+/, '(?<month>\\d{1,2})')
    .replace(/D+/, '(?<day>\\d{1,2})');
  const { year = '', month = '', day = '' } = new RegExp(`^${pattern}$`).exec(text)?.groups ?? {};
  const iso = `${year.length === 2 ? `20${year}` : year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return new Date(`${iso}T00:00:00Z`).toJSON()?.startsWith(iso) ? iso : undefined;
}
