// Takes the body of a write apart: every property by its kind, lines and applications by theirs. Decides nothing about the books.
import type { Property } from './property.ts';
import { APPLY_PROPERTIES, LINE_PROPERTIES } from './property.ts';
import type { RecordType } from './record-types.ts';
import { badHeader, invalidBody, invalidValue, unknownName } from './refusals.ts';

/** By column, as PostgreSQL reads it; null clears. A reference by external id is `eid:…`. */
export type Values = ReadonlyMap<string, string | null>;
/** One line: what it sets, the line it changes if it names one, and its place in the body. */
export type WrittenLine = { values: Values; line: string | undefined; path: string };
export type WriteBody = { values: Values; lines: WrittenLine[] | undefined; apply: WrittenLine[] | undefined; unknownNames: string[] };

type Json = Record<string, unknown>;

const NAME_CHECKS = ['Error', 'Warning', 'Ignore'] as const;
export type NameCheck = (typeof NAME_CHECKS)[number];
export const NAME_CHECK_HEADER = 'X-NetSuite-PropertyNameValidation';
/** Known to be no property of what is written, and no reason to complain. */
const IDLE_NAMES = ['links', 'refName', 'id'];

export function readNameCheck(header: string | undefined): NameCheck {
  const found = NAME_CHECKS.find((known) => known.toLowerCase() === (header ?? 'Warning').toLowerCase());
  if (!found) throw badHeader(NAME_CHECK_HEADER, NAME_CHECKS);
  return found;
}

export function parseBody(text: unknown): Json {
  let body: unknown;
  try {
    body = JSON.parse(typeof text === 'string' ? text : '');
  } catch (error) {
    throw invalidBody(error);
  }
  if (!isObject(body)) throw invalidBody();
  return body;
}

/** Unknown names are an error, or they are listed. */
export function readWriteBody(type: RecordType, body: Json, nameCheck: NameCheck): WriteBody {
  const unknownNames: string[] = [];
  const note = (path: string): void => {
    if (nameCheck === 'Error') throw unknownName(path);
    unknownNames.push(path);
  };
  const { item, apply, ...fields } = body;
  const lines = item === undefined ? undefined : readSublist('item', item, type.lines?.properties ?? LINE_PROPERTIES, note);
  const applied = apply === undefined ? undefined : readSublist('apply', apply, APPLY_PROPERTIES, note);
  if (lines && !type.lines) note('item');
  if (applied && !type.applies) note('apply');
  return {
    values: readValues(fields, type.properties, '', note),
    lines: type.lines ? lines : undefined,
    apply: type.applies ? applied : undefined,
    unknownNames,
  };
}

/** What a caller may not set is passed over, as NetSuite does with what it works out itself. */
function readValues(
  fields: Json,
  properties: readonly Property[],
  prefix: string,
  note: (path: string) => void,
): Map<string, string | null> {
  const values = new Map<string, string | null>();
  for (const [name, value] of Object.entries(fields)) {
    const property = properties.find((known) => known.name.toLowerCase() === name.toLowerCase());
    if (!property) {
      if (!IDLE_NAMES.includes(name)) note(`${prefix}${name}`);
    } else if (property.writes !== undefined) {
      values.set(property.column, readValue(property, value, `${prefix}${name}`));
    }
  }
  return values;
}

function readSublist(name: string, value: unknown, properties: readonly Property[], note: (path: string) => void): WrittenLine[] {
  const items = isObject(value) ? value['items'] : value;
  if (!Array.isArray(items)) throw invalidValue(value, name);
  return items.map((item: unknown, index) => {
    const path = `${name}.items[${index}]`;
    if (!isObject(item)) throw invalidValue(item, path);
    const { line, ...fields } = item;
    if (line !== undefined && !/^\d{1,9}$/.test(String(line))) throw invalidValue(line, `${path}.line`, 'line');
    return { values: readValues(fields, properties, `${path}.`, note), line: line === undefined ? undefined : String(line), path };
  });
}

const PLAIN_NUMBER = /^-?\d{1,15}(\.\d{1,12})?$/;

function readValue(property: Property, value: unknown, path: string): string | null {
  if (value === null || value === '') return null;
  const scalar = property.kind === 'reference' || property.kind === 'enum' || property.kind === 'integer' ? referenceId(value) : value;
  const text = typeof scalar === 'string' || typeof scalar === 'number' || typeof scalar === 'boolean' ? String(scalar) : undefined;
  const read = text === undefined ? undefined : readText(property, text);
  if (read === undefined) throw invalidValue(value, path, property.name);
  return read;
}

/** References are objects with an id; a bare id will do. */
function referenceId(value: unknown): unknown {
  if (!isObject(value)) return value;
  return value['id'] ?? (typeof value['externalId'] === 'string' ? `eid:${value['externalId']}` : undefined);
}

function readText(property: Property, text: string): string | undefined {
  switch (property.kind) {
    case 'boolean':
      return /^(true|T)$/.test(text) ? 'T' : /^(false|F)$/.test(text) ? 'F' : undefined;
    case 'number':
      return PLAIN_NUMBER.test(text) ? text : undefined;
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

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
