// Ids of records, and the filters that select records by them. The id of a key with several properties has all
// of their values, separated by commas; commas and percent signs within a value are percent-encoded.
import { isDay } from '../../../core/text/calendar.ts';
import type { DigitsJson } from '../../../core/text/exact-json.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { isObject, type JsonObject } from '../requests/http.ts';

type Key = OdataDefinition['key'];

/** The value at a path such as `address/city`; null below a property that is null. */
export function valueAt(row: JsonObject, path: string): DigitsJson | undefined {
  let value: DigitsJson | undefined = row;
  for (const name of path.split('/')) {
    if (value === null || value === undefined) return value;
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** The id of a row; undefined where the row lacks a part of the key. */
export function toId(key: readonly Pick<Key[number], 'path'>[], row: JsonObject): string | undefined {
  const parts = key.map(({ path }) => valueAt(row, path));
  if (!parts.every((part) => typeof part === 'string' || typeof part === 'boolean')) return undefined;
  if (parts.length === 1) return String(parts[0]);
  return parts.map((part) => String(part).replaceAll('%', '%25').replaceAll(',', '%2C')).join(',');
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?:Z|[+-]\d\d:\d\d)$/i;
const isValue: Readonly<Record<string, (raw: string) => boolean>> = {
  'Edm.Guid': (raw) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(raw),
  'Edm.Decimal': (raw) => /^-?\d{1,100}(?:\.\d{1,100})?$/.test(raw),
  'Edm.Date': isDay,
  'Edm.DateTimeOffset': (raw) => dateTime.test(raw),
  'Edm.TimeOfDay': (raw) => /^\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?$/.test(raw),
  'Edm.Boolean': (raw) => raw === 'true' || raw === 'false',
};

/** A value in a filter; undefined for a text that is no value of the type. */
function toLiteral(type: string, raw: string): string | undefined {
  if (type === 'Edm.String') return `'${raw.replaceAll("'", "''")}'`;
  if (/^Edm\.(?:S?Byte|Int\d\d)$/.test(type)) return /^-?\d{1,19}$/.test(raw) ? raw : undefined;
  if (!type.startsWith('Edm.')) return /^[\p{L}\p{N}_]{1,200}$/u.test(raw) ? `${type}'${raw}'` : undefined;
  return isValue[type]?.(raw) === true ? raw : undefined;
}

type Part = { readonly path: string; readonly literal: string };
function toParts(key: Key, id: string): Part[] | undefined {
  const texts =
    key.length === 1 ? [id] : id.split(',').map((text) => text.replaceAll('%2C', ',').replaceAll('%25', '%'));
  const parts = key.flatMap(({ path, type }, index) => {
    const literal = toLiteral(type, texts[index] ?? '');
    return literal === undefined ? [] : [{ path, literal }];
  });
  return texts.length === key.length && parts.length === key.length ? parts : undefined;
}

/** Selects one record; undefined for an id that no record can have. */
export const equalTo = (key: Key, id: string): string | undefined =>
  toParts(key, id)
    ?.map(({ path, literal }) => `${path} eq ${literal}`)
    .join(' and ');

/** Selects the records behind an id, or before it, in the order of the service; undefined as for `equalTo`. */
export const beyond = (key: Key, id: string, operator: 'gt' | 'lt'): string | undefined =>
  toParts(key, id)
    ?.map(({ path, literal }, index, all) =>
      [
        ...all.slice(0, index).map((before) => `${before.path} eq ${before.literal}`),
        `${path} ${operator} ${literal}`,
      ].join(' and '),
    )
    .map((part, _index, all) => (all.length === 1 ? part : `(${part})`))
    .join(' or ');
