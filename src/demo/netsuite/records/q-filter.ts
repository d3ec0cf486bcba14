// The `q` of record lists: `<field> <OPERATOR> [value] [AND|OR …]`, AND binding tighter, with parentheses. Becomes a condition on the
// record's view; fields become columns of that view and values are bound.
import type { DateFormat } from '../suiteql/render.ts';
import { Refusal } from '../wire.ts';
import { OPERATORS, type OperatorContext } from './q-operators.ts';
import type { RecordType } from './record-types.ts';

export type Condition = { sql: string; values: string[] };
export type FilterSettings = { dateFormat: DateFormat; timeZone: string };

type Token = { text: string; isQuoted: boolean };
type Reader = { tokens: readonly Token[]; at: number; type: RecordType; context: OperatorContext };

const TOKEN = /\s*(?:"((?:[^"\\]|\\.)*)"|([()[\],])|([^\s()[\],"]+))/y;

/** Throws the Refusal that NetSuite gives for a filter it can't read. */
export function readFilter(q: string, type: RecordType, settings: FilterSettings): Condition {
  const values: string[] = [];
  const bind = (value: string): string => `$${values.push(value)}`;
  const reader: Reader = { tokens: tokenize(q), at: 0, type, context: { ...settings, bind, refuse: refuseFilter } };
  const sql = readAny(reader);
  if (reader.at < reader.tokens.length) throw refuseFilter(`Unexpected ${reader.tokens[reader.at]?.text}.`);
  return { sql: `(${sql})`, values };
}

const refuseFilter = (description: string): Refusal =>
  new Refusal(400, { detail: `Invalid search query. ${description}`, 'o:errorQueryParam': 'q', 'o:errorCode': 'INVALID_PARAMETER' });

function tokenize(q: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  const text = q.trim();
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) throw refuseFilter('A value is not closed.');
    const [, quoted, symbol, word] = match;
    tokens.push({ text: quoted?.replace(/\\(.)/g, '$1') ?? symbol ?? word ?? '', isQuoted: quoted !== undefined });
  }
  return tokens;
}

const isWord = (token: Token | undefined, text: string): boolean =>
  token !== undefined && !token.isQuoted && token.text.toUpperCase() === text;

function readAny(reader: Reader): string {
  const parts = [readAll(reader)];
  while (isWord(reader.tokens[reader.at], 'OR')) {
    reader.at += 1;
    parts.push(readAll(reader));
  }
  return parts.join(' OR ');
}

function readAll(reader: Reader): string {
  const parts = [readOne(reader)];
  while (isWord(reader.tokens[reader.at], 'AND')) {
    reader.at += 1;
    parts.push(readOne(reader));
  }
  return parts.join(' AND ');
}

function next(reader: Reader): Token {
  const token = reader.tokens[reader.at];
  if (!token) throw refuseFilter('The query ends too early.');
  reader.at += 1;
  return token;
}

function readOne(reader: Reader): string {
  const token = next(reader);
  if (isWord(token, '(')) {
    const inner = readAny(reader);
    if (!isWord(next(reader), ')')) throw refuseFilter('A parenthesis is not closed.');
    return `(${inner})`;
  }
  const property = reader.type.properties.find(({ name }) => name.toLowerCase() === token.text.toLowerCase());
  if (!property) throw unknownField(token.text);
  const name = next(reader).text.toUpperCase();
  const isNegated = name.endsWith('_NOT') || name === 'IS_NOT';
  const operator = OPERATORS.find(
    ({ names, takes }) => names.includes(isNegated ? name.slice(0, -'_NOT'.length) : name) && takes(property),
  );
  if (!operator) throw refuseFilter(`The operator ${name} cannot be used with the field ${property.name}.`);
  const values = operator.values === 'none' ? [] : operator.values === 'list' ? readList(reader) : [next(reader).text];
  const condition = operator.write(property, values, reader.context);
  return isNegated ? `NOT COALESCE(${condition}, false)` : `COALESCE(${condition}, false)`;
}

/** `[1, 2]`, or one value without brackets. */
function readList(reader: Reader): string[] {
  const first = next(reader);
  if (!isWord(first, '[')) return [first.text];
  const values: string[] = [];
  for (let token = next(reader); !isWord(token, ']'); token = next(reader)) if (!isWord(token, ',')) values.push(token.text);
  return values;
}

const unknownField = (name: string): Refusal =>
  new Refusal(400, {
    detail: `Unknown field name '${name}' in the search query. The field does not exist on this record type.`,
    'o:errorQueryParam': 'q',
    'o:errorCode': 'NONEXISTENT_FIELD',
  });
