// Values of the Entity Data Model: which texts are values of a type, how they are ordered, and how JSON has them.
// Numbers are texts from end to end, so that none loses a digit.
import type { Profile, Property } from './profiles/profile.ts';

export type Value = string | boolean | null | readonly Value[] | Values;
export type Values = { readonly [name: string]: Value };
/** null comes before every other value. */
export type Comparable = string | number | bigint | null;
/** The forms of literals in URLs; every number has the same. */
export type Form =
  | 'text'
  | 'number'
  | 'boolean'
  | 'guid'
  | 'date'
  | 'time'
  | 'timeOfDay'
  | 'duration'
  | 'binary';

const INTEGER = /^-?\d{1,19}$/;
const FLOAT = /^(?:-?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,3})?|-?INF|NaN)$/i;
const TYPES: Readonly<Record<string, readonly [Form, RegExp]>> = {
  'Edm.String': ['text', /^/],
  'Edm.Boolean': ['boolean', /^(?:true|false)$/],
  'Edm.Byte': ['number', /^\d{1,3}$/],
  'Edm.SByte': ['number', /^-?\d{1,3}$/],
  'Edm.Int16': ['number', /^-?\d{1,5}$/],
  'Edm.Int32': ['number', /^-?\d{1,10}$/],
  'Edm.Int64': ['number', INTEGER],
  'Edm.Decimal': ['number', /^-?\d{1,40}(?:\.\d{1,40})?$/],
  'Edm.Single': ['number', FLOAT],
  'Edm.Double': ['number', FLOAT],
  'Edm.Guid': ['guid', /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i],
  'Edm.Date': ['date', /^\d{4}-\d\d-\d\d$/],
  'Edm.DateTimeOffset': ['time', /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?:Z|[+-]\d\d:\d\d)$/i],
  'Edm.TimeOfDay': ['timeOfDay', /^\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?$/],
  'Edm.Duration': ['duration', /^-?P(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d{1,12})?S)?)?$/],
  'Edm.Binary': ['binary', /^[\w-]*={0,2}$/],
};
/** Literals without quotes or a prefix, by their form. */
export const PLAIN_FORMS: readonly (readonly [Form, RegExp])[] = [
  'Edm.Guid',
  'Edm.DateTimeOffset',
  'Edm.Date',
  'Edm.TimeOfDay',
  'Edm.Double',
].flatMap((type) => (TYPES[type] === undefined ? [] : [TYPES[type]]));

/** Undefined for complex types, collections, streams and geography, which no condition compares. */
export const findForm = (profile: Profile, type: string): Form | undefined =>
  type in profile.enums ? 'text' : TYPES[type]?.[0];

/** A time in UTC, to the digit; other texts stay as they are. */
export function toUtc(time: string): string {
  const [, minute = '', second = ':00', fraction = '', zone = 'Z'] =
    /^(.{16})(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.exec(time) ?? [];
  if (minute === '') return time;
  return new Date(`${minute}${second}${zone}`).toISOString().slice(0, 19) + `${fraction}Z`;
}

/** Also whether a day or time exists. */
export function isValid({ enums }: Profile, type: string, text: string): boolean {
  const [form, pattern] = TYPES[type] ?? [];
  const isReal = (form !== 'date' && form !== 'time') || !Number.isNaN(Date.parse(text.replace(/\.\d+/, '')));
  return enums[type]?.includes(text) ?? (isReal && pattern?.test(text) === true);
}

/**
 * A JSON value as the value of a property; undefined if it is none. Numbers may be texts, and have to be where JavaScript
 * would round them.
 */
export function parseValue(
  profile: Profile,
  { type, isRequired }: Property,
  given: unknown,
): Value | undefined {
  if (given === null) return isRequired ? undefined : null;
  const element = /^Collection\((.*)\)$/.exec(type)?.[1];
  if (element !== undefined) {
    const values = Array.isArray(given)
      ? given.map((one) => parseValue(profile, { type: element }, one))
      : [undefined];
    return values.some((value) => value === undefined) ? undefined : (values as Value[]);
  }
  const properties = profile.complexTypes[type];
  if (properties !== undefined && typeof given === 'object') {
    const entries = Object.entries(given).map(([name, value]) => {
      const inner = properties[name];
      return [name, inner && parseValue(profile, inner, value)] as const;
    });
    return entries.some(([, value]) => value === undefined)
      ? undefined
      : {
          ...Object.fromEntries(Object.keys(properties).map((name) => [name, null])),
          ...(Object.fromEntries(entries) as Values),
        };
  }
  const form = TYPES[type]?.[0];
  if (form === 'boolean') return typeof given === 'boolean' ? given : undefined;
  const isExact = typeof given !== 'number' || !Number.isInteger(given) || Number.isSafeInteger(given);
  if (typeof given !== 'string' && !(typeof given === 'number' && form === 'number' && isExact))
    return undefined;
  if (!isValid(profile, type, String(given))) return undefined;
  return form === 'time' ? toUtc(String(given)) : String(given);
}

const SCALE = 50;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/** Exact: in units of 10⁻⁵⁰. */
function toUnits(text: string): bigint {
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const shift = SCALE - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const units = shift < 0 ? digits / 10n ** BigInt(-shift) : digits * 10n ** BigInt(shift);
  return sign === '-' ? -units : units;
}

/** The exact sum of decimal numbers. */
export function sum(texts: readonly string[]): string {
  const total = texts.reduce((units, text) => units + toUnits(text), 0n);
  const digits = (total < 0n ? -total : total).toString().padStart(SCALE + 1, '0');
  return `${total < 0n ? '-' : ''}${trimFraction(`${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`)}`;
}

const SECONDS = [86_400n, 3_600n, 60n, 1n];
function toSeconds(duration: string): bigint {
  const [, sign, ...parts] =
    /^(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(duration) ?? [];
  const total = SECONDS.reduce((units, seconds, i) => units + toUnits(parts[i] ?? '0') * seconds, 0n);
  return sign === '-' ? -total : total;
}

/** SQL Server's order: the last group first, and the bytes of the first three groups from their end. */
function toSqlServerOrder(guid: string): string {
  const [a = '', b = '', c = '', d = '', e = ''] = guid.toLowerCase().split('-');
  const reverse = (group: string): string => (group.match(/../g) ?? []).reverse().join('');
  return e + d + reverse(c) + reverse(b) + reverse(a);
}

/** Without zeros at the end of the fraction. */
export function trimFraction(text: string): string {
  const [whole = '', fraction = ''] = text.split('.');
  const trimmed = fraction.replace(/0+$/, '');
  return trimmed === '' ? whole : `${whole}.${trimmed}`;
}

/** What the server orders a value of this type by. */
export function toComparable({ enums }: Profile, type: string, value: Value): Comparable {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return null;
  const members = enums[type];
  if (members !== undefined) return members.indexOf(value);
  switch (TYPES[type]?.[0]) {
    case 'number':
      return /Single|Double/.test(type) ? Number(value.replace(/INF/i, 'Infinity')) : toUnits(value);
    case 'guid':
      return toSqlServerOrder(value);
    case 'time':
      return trimFraction(toUtc(value).slice(0, -1));
    case 'timeOfDay':
      return trimFraction(value.length === 5 ? `${value}:00` : value);
    case 'duration':
      return toSeconds(value);
    default:
      return value;
  }
}

export function compare(a: Comparable, b: Comparable): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}

/** Writes values of a property as JSON. `isExact`: IEEE754Compatible=true, which makes Int64 and Decimal strings. */
export function createWriter(profile: Profile, type: string, isExact: boolean): (value: Value) => string {
  const element = /^Collection\((.*)\)$/.exec(type)?.[1];
  if (element !== undefined) {
    const write = createWriter(profile, element, isExact);
    return (value) => (Array.isArray(value) ? `[${value.map(write).join(',')}]` : '[]');
  }
  const properties = profile.complexTypes[type];
  if (properties !== undefined) {
    const writers = Object.entries(properties).map(
      ([name, inner]) => [name, createWriter(profile, inner.type, isExact)] as const,
    );
    return (value) =>
      value === null || typeof value !== 'object'
        ? 'null'
        : `{${writers.map(([name, write]) => `${JSON.stringify(name)}:${write((value as Values)[name] ?? null)}`).join(',')}}`;
  }
  const isText = TYPES[type]?.[0] !== 'number' || (isExact && /Int64|Decimal/.test(type));
  return (value) =>
    isText || (typeof value === 'string' && /INF|NaN/.test(value)) ? JSON.stringify(value) : String(value);
}
