// Parses the body of a write: properties, lines and applications by their kinds. Doesn't check them against
// the books.
import type { Property } from './property.ts';
import { APPLY_PROPERTIES, LINE_PROPERTIES } from './property.ts';
import { invalidBody, invalidHeader, invalidValue, unknownProperty } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';

/** Values by column, as PostgreSQL text; null clears. A reference by external id is `eid:…`. */
export type Values = ReadonlyMap<string, string | null>;
/**
 * One line of a sublist: its values, the number of the line it changes (if any), and its place in the body.
 */
export type WrittenLine = { values: Values; line: string | undefined; path: string };
export type WriteBody = {
  values: Values;
  lines: WrittenLine[] | undefined;
  apply: WrittenLine[] | undefined;
  unknownNames: string[];
};

type Json = Record<string, unknown>;

const NAME_CHECKS = ['Error', 'Warning', 'Ignore'] as const;
export type NameCheck = (typeof NAME_CHECKS)[number];
export const NAME_CHECK_HEADER = 'X-NetSuite-PropertyNameValidation';
/** Not writable, but never reported as unknown. */
const IGNORED_NAMES = ['links', 'refName', 'id'];

/** Throws RestError 400 for another value than Error, Warning or Ignore; the default is Warning. */
export function parseNameCheck(header: string | undefined): NameCheck {
  const found = NAME_CHECKS.find((known) => known.toLowerCase() === (header ?? 'Warning').toLowerCase());
  if (!found) throw invalidHeader(NAME_CHECK_HEADER, NAME_CHECKS);
  return found;
}

/** Throws RestError 400 unless the text is a JSON object. */
export function parseJsonBody(text: unknown): Json {
  let body: unknown;
  try {
    body = JSON.parse(typeof text === 'string' ? text : '');
  } catch (error) {
    throw invalidBody(error);
  }
  if (!isObject(body)) throw invalidBody();
  return body;
}

/**
 * Throws RestError 400 for an invalid value, and for an unknown name if `nameCheck` is Error; otherwise lists
 * unknown names.
 */
export function parseWriteBody(type: RestRecordType, body: Json, nameCheck: NameCheck): WriteBody {
  const unknownNames: string[] = [];
  const reportUnknown = (path: string): void => {
    if (nameCheck === 'Error') throw unknownProperty(path);
    unknownNames.push(path);
  };
  const { item, apply, ...fields } = body;
  const lines =
    item === undefined
      ? undefined
      : parseSublist('item', item, type.lines?.properties ?? LINE_PROPERTIES, reportUnknown);
  const applied =
    apply === undefined ? undefined : parseSublist('apply', apply, APPLY_PROPERTIES, reportUnknown);
  if (lines && !type.lines) reportUnknown('item');
  if (applied && !type.applies) reportUnknown('apply');
  return {
    values: parseValues(fields, type.properties, '', reportUnknown),
    lines: type.lines ? lines : undefined,
    apply: type.applies ? applied : undefined,
    unknownNames,
  };
}

/** Read-only properties are ignored, as NetSuite ignores those that it computes. */
function parseValues(
  fields: Json,
  properties: readonly Property[],
  prefix: string,
  reportUnknown: (path: string) => void,
): Map<string, string | null> {
  const values = new Map<string, string | null>();
  for (const [name, value] of Object.entries(fields)) {
    const property = properties.find((known) => known.name.toLowerCase() === name.toLowerCase());
    if (!property) {
      if (!IGNORED_NAMES.includes(name)) reportUnknown(`${prefix}${name}`);
    } else if (property.writes !== undefined) {
      values.set(property.column, parseValue(property, value, `${prefix}${name}`));
    }
  }
  return values;
}

function parseSublist(
  name: string,
  value: unknown,
  properties: readonly Property[],
  reportUnknown: (path: string) => void,
): WrittenLine[] {
  const items = isObject(value) ? value['items'] : value;
  if (!Array.isArray(items)) throw invalidValue(value, name);
  return items.map((item: unknown, index) => {
    const path = `${name}.items[${index}]`;
    if (!isObject(item)) throw invalidValue(item, path);
    const { line, ...fields } = item;
    if (line !== undefined && !/^\d{1,9}$/.test(String(line)))
      throw invalidValue(line, `${path}.line`, 'line');
    return {
      values: parseValues(fields, properties, `${path}.`, reportUnknown),
      line: line === undefined ? undefined : String(line),
      path,
    };
  });
}

const PLAIN_NUMBER = /^-?\d{1,15}(\.\d{1,12})?$/;

function parseValue(property: Property, value: unknown, path: string): string | null {
  if (value === null || value === '') return null;
  const scalar =
    property.kind === 'reference' || property.kind === 'enum' || property.kind === 'integer'
      ? referenceId(value)
      : value;
  const text =
    typeof scalar === 'string' || typeof scalar === 'number' || typeof scalar === 'boolean'
      ? String(scalar)
      : undefined;
  const read = text === undefined ? undefined : parseScalar(property, text);
  if (read === undefined) throw invalidValue(value, path, property.name);
  return read;
}

/** References are objects with an id or external id; a bare id is accepted too. */
function referenceId(value: unknown): unknown {
  if (!isObject(value)) return value;
  return value['id'] ?? (typeof value['externalId'] === 'string' ? `eid:${value['externalId']}` : undefined);
}

function parseScalar(property: Property, text: string): string | undefined {
  switch (property.kind) {
    case 'boolean':
      return /^(true|T)$/.test(text) ? 'T' : /^(false|F)$/.test(text) ? 'F' : undefined;
    case 'number':
      return PLAIN_NUMBER.test(text) && (property.column !== 'exchangerate' || Number(text) > 0)
        ? text
        : undefined;
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? text : undefined;
    case 'date':
      return isDay(text.slice(0, 10)) ? text.slice(0, 10) : undefined;
    case 'reference':
      return /^(-?\d{1,15}|eid:.{1,200})$/.test(text) ? text : undefined;
    case 'enum':
      return property.values?.includes(text) ? text : undefined;
    default:
      return text.includes('\0') ? undefined : text;
  }
}

const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && (new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) ?? false);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
