// Parses the `q` parameter of record lists: `<field> <OPERATOR> [value] [AND|OR …]` with parentheses; AND
// binds tighter than OR. The result is a condition on the record's view: fields become its columns, and
// values are bound as parameters.
import type { DateFormat } from '../suiteql/render.ts';
import { RestError } from '../wire.ts';
import { OPERATORS, type OperatorContext } from './q-operators.ts';
import type { RestRecordType } from './record-type.ts';

export type RecordFilterCondition = { sql: string; values: string[] };
export type FilterSettings = { dateFormat: DateFormat; timeZone: string };

type Token = { text: string; isQuoted: boolean };
type FilterParser = { tokens: readonly Token[]; at: number; type: RestRecordType; context: OperatorContext };

const TOKEN = /\s*(?:"((?:[^"\\]|\\.)*)"|([()[\],])|([^\s()[\],"]+))/y;

/** Throws NetSuite's RestError 400 for a filter that can't be parsed. */
export function parseFilter(
  q: string,
  type: RestRecordType,
  settings: FilterSettings,
): RecordFilterCondition {
  const values: string[] = [];
  const bind = (value: string): string => `$${values.push(value)}`;
  const reader: FilterParser = {
    tokens: tokenize(q),
    at: 0,
    type,
    context: { ...settings, bind, invalidFilter: invalidFilter },
  };
  const sql = parseOr(reader);
  if (reader.at < reader.tokens.length) throw invalidFilter(`Unexpected ${reader.tokens[reader.at]?.text}.`);
  return { sql: `(${sql})`, values };
}

const invalidFilter = (description: string): RestError =>
  new RestError(400, {
    detail: `Invalid search query. ${description}`,
    'o:errorQueryParam': 'q',
    'o:errorCode': 'INVALID_PARAMETER',
  });

function tokenize(q: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  const text = q.trim();
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) throw invalidFilter('A value is not closed.');
    const [, quoted, symbol, word] = match;
    tokens.push({
      text: quoted?.replace(/\\(.)/g, '$1') ?? symbol ?? word ?? '',
      isQuoted: quoted !== undefined,
    });
  }
  return tokens;
}

const isWord = (token: Token | undefined, text: string): boolean =>
  token !== undefined && !token.isQuoted && token.text.toUpperCase() === text;

function parseOr(reader: FilterParser): string {
  const parts = [parseAnd(reader)];
  while (isWord(reader.tokens[reader.at], 'OR')) {
    reader.at += 1;
    parts.push(parseAnd(reader));
  }
  return parts.join(' OR ');
}

function parseAnd(reader: FilterParser): string {
  const parts = [parseTerm(reader)];
  while (isWord(reader.tokens[reader.at], 'AND')) {
    reader.at += 1;
    parts.push(parseTerm(reader));
  }
  return parts.join(' AND ');
}

function advance(reader: FilterParser): Token {
  const token = reader.tokens[reader.at];
  if (!token) throw invalidFilter('The query ends too early.');
  reader.at += 1;
  return token;
}

function parseTerm(reader: FilterParser): string {
  const token = advance(reader);
  if (isWord(token, '(')) {
    const inner = parseOr(reader);
    if (!isWord(advance(reader), ')')) throw invalidFilter('A parenthesis is not closed.');
    return `(${inner})`;
  }
  const property = reader.type.properties.find(({ name }) => name.toLowerCase() === token.text.toLowerCase());
  if (!property) throw unknownField(token.text);
  const name = advance(reader).text.toUpperCase();
  const isNegated = name.endsWith('_NOT') || name === 'IS_NOT';
  const operator = OPERATORS.find(
    ({ names, takes }) => names.includes(isNegated ? name.slice(0, -'_NOT'.length) : name) && takes(property),
  );
  if (!operator) throw invalidFilter(`The operator ${name} cannot be used with the field ${property.name}.`);
  const values =
    operator.values === 'none'
      ? []
      : operator.values === 'list'
        ? parseValueList(reader)
        : [advance(reader).text];
  const condition = operator.write(property, values, reader.context);
  return isNegated ? `NOT COALESCE(${condition}, false)` : `COALESCE(${condition}, false)`;
}

/** `[1, 2]`, or a single value without brackets. */
function parseValueList(reader: FilterParser): string[] {
  const first = advance(reader);
  if (!isWord(first, '[')) return [first.text];
  const values: string[] = [];
  for (let token = advance(reader); !isWord(token, ']'); token = advance(reader))
    if (!isWord(token, ',')) values.push(token.text);
  return values;
}

const unknownField = (name: string): RestError =>
  new RestError(400, {
    detail: `Unknown field name '${name}' in the search query. The field does not exist on this record type.`,
    'o:errorQueryParam': 'q',
    'o:errorCode': 'NONEXISTENT_FIELD',
  });
