// The operators of `q`, by kind of field. Dates are written in the users' date preference, never in ISO unless that is it.
import type { DateFormat } from '../suiteql/render.ts';
import { quote } from '../tables/table.ts';
import type { Refusal } from '../wire.ts';
import type { Property } from './property.ts';

export type OperatorContext = {
  dateFormat: DateFormat;
  timeZone: string;
  bind: (value: string) => string;
  refuse: (description: string) => Refusal;
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
const MOMENTS = kinds('date', 'date-time');

/** As the record shows it. */
const shown = (property: Property): string => (property.isNegated ? `-${quote(property.column)}` : quote(property.column));

function number(value: string | undefined, { bind, refuse }: OperatorContext): string {
  if (value === undefined || !/^-?\d{1,15}(\.\d{1,12})?$/.test(value)) throw refuse(`${value ?? 'Nothing'} is not a number.`);
  return `${bind(value)}::numeric`;
}

const compare = (names: string[], sign: string): Operator => ({
  names,
  takes: NUMBERS,
  values: 'one',
  write: (property, [value], context) => `${shown(property)} ${sign} ${number(value, context)}`,
});

const search = (names: string[], before: string, after: string): Operator => ({
  names,
  takes: TEXTS,
  values: 'one',
  write: (property, [value = ''], { bind }) => `${quote(property.column)} ILIKE ${bind(before + value.replace(/[\\%_]/g, '\\$&') + after)}`,
});

const moment = (names: string[], sign: string): Operator => ({
  names,
  takes: MOMENTS,
  values: 'one',
  write: (property, [value = ''], context) => {
    const { day, time } = readMoment(value, context);
    const at = context.bind(time === undefined ? day : `${day} ${time}`);
    // A day stands for all of it.
    return time === undefined
      ? `${quote(property.column)}::date ${sign} ${at}::date`
      : `${quote(property.column)}::timestamp ${sign} ${at}::timestamp`;
  },
});

export const OPERATORS: readonly Operator[] = [
  { names: ['EMPTY'], takes: () => true, values: 'none', write: (property) => `${quote(property.column)} IS NULL` },
  {
    names: ['IS'],
    takes: kinds('boolean'),
    values: 'one',
    write: (property, [value = ''], { bind, refuse }) => {
      if (!/^(true|false|T|F)$/i.test(value)) throw refuse(`${value} is not true or false.`);
      return `${quote(property.column)} = ${bind(/^t/i.test(value) ? 'T' : 'F')}`;
    },
  },
  search(['IS'], '', ''),
  {
    names: ['IS', 'EQUAL'],
    takes: kinds('enum'),
    values: 'one',
    write: (property, [value = ''], { bind }) => `${quote(property.column)} = ${bind(value)}`,
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
    write: (property, values, context) => `${shown(property)} IN (${values.map((value) => number(value, context)).join(', ') || 'NULL'})`,
  },
  {
    names: ['ANY_OF'],
    takes: kinds('enum'),
    values: 'list',
    write: (property, values, { bind }) => `${quote(property.column)} IN (${values.map((value) => bind(value)).join(', ') || 'NULL'})`,
  },
  {
    names: ['BETWEEN', 'WITHIN'],
    takes: NUMBERS,
    values: 'list',
    write: (property, [low, high], context) => `${shown(property)} BETWEEN ${number(low, context)} AND ${number(high, context)}`,
  },
  moment(['AFTER'], '>'),
  moment(['BEFORE'], '<'),
  moment(['ON'], '='),
  moment(['ON_OR_AFTER'], '>='),
  moment(['ON_OR_BEFORE'], '<='),
];

const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?\s*(AM|PM)?$/i;

function readMoment(text: string, context: OperatorContext): { day: string; time: string | undefined } {
  const { dateFormat, timeZone, refuse } = context;
  const [written = '', ...rest] = text.trim().split(/\s+/);
  const day = readDay(written, dateFormat.name);
  const clock = rest.length === 0 ? undefined : CLOCK.exec(rest.join(' '));
  if (day === undefined || clock === null) {
    throw refuse(
      `Detailed unprocessed description follows. Search error occurred: Parse of date/time "${text}" failed with date format "${dateFormat.name}" in time zone ${timeZone}`,
    );
  }
  if (clock === undefined) return { day, time: undefined };
  const [, hours = '', minutes, seconds = '00', half] = clock;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (/pm/i.test(half) ? 12 : 0);
  return { day, time: `${String(hour).padStart(2, '0')}:${minutes}:${seconds}` };
}

/** In the order and with the separators of the format; a year may have two digits. */
function readDay(text: string, format: string): string | undefined {
  const pattern = format
    .replace(/[.]/g, '\\.')
    .replace(/Y+/, '(?<year>\\d{4}|\\d\\d)')
    .replace(/M+/, '(?<month>\\d{1,2})')
    .replace(/D+/, '(?<day>\\d{1,2})');
  const { year = '', month = '', day = '' } = new RegExp(`^${pattern}$`).exec(text)?.groups ?? {};
  const iso = `${year.length === 2 ? `20${year}` : year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return new Date(`${iso}T00:00:00Z`).toJSON()?.startsWith(iso) ? iso : undefined;
}
