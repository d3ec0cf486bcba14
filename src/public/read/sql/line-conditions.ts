// Writes conditions on fields of lines as SQL. A record matches when one of its lines does. Only functions of
// PostgreSQL are used, so that the expressions can be indexed on every server that has the records.
//
// `eq` is one jsonpath for all its values, which a GIN index serves and which unpacks the lines of a record
// once, however many values there are. Ranges compare the smallest or largest value of the lines, which a
// btree index on that expression serves, and then the lines themselves: jsonpath compares with each of them,
// in quadratic time, so the expression is computed only for records with few lines, and says "may match" for
// the others.
import { escapeLiteral } from 'pg';
import { isNumeric as isNumber } from '../../../warehouse/columns.ts';
import type { ValueType } from '../../version/operators.ts';
import type { Span } from '../../version/values.ts';
import type { FilterCondition } from '../plan/filters.ts';
import { comparisons, createCondition, type WrittenCondition } from './sql-part.ts';

/** The values under the key `line` of each line. */
export type LineField = { readonly line: string; readonly type: ValueType };

/** Also of the ids of several choices: jsonpath looks into arrays by itself. */
const isNumeric = (type: ValueType): boolean => isNumber(type) || type === 'integers';

/**
 * With at most this many lines a record's smallest and largest values are in the index: 256 comparisons take
 * some 25 µs.
 */
const maxIndexedLines = 16;

/** Dates and times are stored as text that sorts like them: times in UTC with whole seconds. */
const boundType = (type: ValueType): string => (isNumeric(type) ? 'numeric' : 'text');

/**
 * SQL of the smallest or largest value of a field of lines, null without lines or when no line has one. With
 * too many lines it is beyond every value instead. `column` is SQL. An index on exactly this expression
 * serves ranges.
 */
export function lineBoundSql(column: string, { line, type }: LineField, end: 'min' | 'max'): string {
  const member = `$[*].${JSON.stringify(line)}`;
  const kind = isNumeric(type) ? 'number' : 'string';
  const path = `${member} ? (@.type() == "${kind}" && !(${member} ${end === 'max' ? '>' : '<'} @))`;
  const found = `jsonb_path_query_first(${column}, ${escapeLiteral(path)})`;
  const value = isNumeric(type) ? `(${found})::numeric` : `(${found} #>> '{}')`;
  const beyond = isNumeric(type)
    ? end === 'max'
      ? "'Infinity'::numeric"
      : "'-Infinity'::numeric"
    : end === 'max'
      ? "'~'"
      : "''";
  // Without lines the length is null, which is not true: the value is null then, and no range visits the
  // record.
  const bound = `case when jsonb_array_length(${column}) > ${maxIndexedLines} then ${beyond} else ${value} end`;
  return isNumeric(type) ? `(${bound})` : `((${bound}) collate "C")`;
}

/**
 * `column` is SQL of the lines. Throws an Error for an operator other than `lineOperators`, which versions
 * can't declare.
 */
export function writeLineCondition(
  column: string,
  { line, type }: LineField,
  { operator, values }: FilterCondition,
): WrittenCondition {
  if (type === 'time') return writeTimes(column, { line, type }, operator, values.map(roundToSeconds));
  if (operator === 'eq') return writeLineEquality(column, [{ line, type, values: values.map(String) }]);
  return writeRange(column, { line, type }, getComparison(operator), String(values[0] ?? ''));
}

/** Whether `writeLineEquality` writes a condition: equal times are a range. */
export const isLineEquality = ({ column: { line, type }, operator }: FilterCondition): boolean =>
  line !== undefined && operator === 'eq' && type !== 'time';

/** A line has one of the values of one of the fields. */
export function writeLineEquality(
  column: string,
  fields: readonly (LineField & { readonly values: readonly string[] })[],
): WrittenCondition {
  const members = fields.map(
    ({ line, type, values }) => `${JSON.stringify(line)} ? (${oneOfPath(sortValues(values, type), type)})`,
  );
  const path =
    members.length === 1
      ? `$[*].${members[0]}`
      : `$[*] ? (${members.map((member) => `exists(@.${member})`).join(' || ')})`;
  // By the value, PostgreSQL may expect its look-ups in the index to cost more than a scan of all records,
  // whose lines it takes for cheap.
  return createCondition('', [path], (bind) => `${column} @? (select ${bind(path, 'jsonpath')})`);
}

/** In the order of jsonpath: texts by their UTF-16 units. */
const sortValues = (values: readonly string[], type: ValueType): string[] =>
  isNumeric(type) ? [...new Set(values)].sort((a, b) => Number(a) - Number(b)) : [...new Set(values)].sort();

/**
 * Compares with few of many values: those below and those from one in the middle. The index looks up all of
 * them.
 */
function oneOfPath(values: readonly string[], type: ValueType): string {
  const at = values.length >> 1;
  const [below = '', middle = ''] = values.slice(Math.max(0, at - 1), at + 1);
  // Numbers may differ beyond the digits that they were sorted by.
  const divides =
    values.length > 2 && type !== 'boolean' && !(isNumeric(type) && Number(below) === Number(middle));
  if (!divides) return values.map((value) => `@ == ${memberJson(value, type)}`).join(' || ');
  const limit = memberJson(middle, type);
  return `(@ < ${limit} && (${oneOfPath(values.slice(0, at), type)})) || (@ >= ${limit} && (${oneOfPath(values.slice(at), type)}))`;
}

type Comparison = (typeof comparisons)[keyof typeof comparisons];

function getComparison(operator: FilterCondition['operator']): Comparison {
  if (!Object.hasOwn(comparisons, operator)) throw new Error(`"${operator}" cannot be used with lines`);
  return comparisons[operator as keyof typeof comparisons];
}

/** The end that decides whether some line is in the range of this operator. */
export const rangeEnd = (operator: FilterCondition['operator']): 'min' | 'max' =>
  endFor(getComparison(operator));
const endFor = (comparison: Comparison): 'min' | 'max' => (comparison.startsWith('>') ? 'max' : 'min');

/**
 * The lines are compared again for records that have too many to be in the index. Where PostgreSQL uses
 * another index, it computes only this second comparison for most records, because it is cheaper.
 */
function writeRange(
  column: string,
  line: LineField,
  comparison: Comparison,
  value: string,
): WrittenCondition {
  const member = `$[*].${JSON.stringify(line.line)}`;
  const variables = JSON.stringify({ v: 0 }).replace('0', memberJson(value, line.type));
  return createCondition('', [value, variables], (bind) => {
    const within = `${lineBoundSql(column, line, endFor(comparison))} ${comparison} ${bind(value, boundType(line.type))}`;
    return `(${within} and jsonb_path_exists(${column}, ${escapeLiteral(`${member} ? (@ ${comparison} $v)`)}, ${bind(variables, 'jsonb')}))`;
  });
}

/** A day is all its seconds; stored times have no fractions. */
function writeTimes(
  column: string,
  line: LineField,
  operator: FilterCondition['operator'],
  spans: readonly Span[],
): WrittenCondition {
  const [first = { from: '', to: '' }] = spans;
  if (operator !== 'eq') {
    const comparison = getComparison(operator);
    return writeRange(
      column,
      line,
      comparison,
      comparison === '>' || comparison === '<=' ? first.to : first.from,
    );
  }
  return spans.length === 1 ? writeSpan(column, line, first) : writeSpans(column, line, spans);
}

function writeSpan(column: string, line: LineField, { from, to }: Span): WrittenCondition {
  const variables = JSON.stringify({ from, to });
  return createCondition('one', [from, to, variables], (bind) => {
    const within = spanBounds(column, line, bind(from, 'text'), bind(to, 'text'));
    const path = escapeLiteral(`$[*].${JSON.stringify(line.line)} ? (@ >= $from && @ <= $to)`);
    return `(${within} and jsonb_path_exists(${column}, ${path}, ${bind(variables, 'jsonb')}))`;
  });
}

/**
 * One look at the smallest and the largest value for all spans together, so that the cost hardly grows with
 * their number.
 */
function writeSpans(column: string, line: LineField, spans: readonly Span[]): WrittenCondition {
  const merged = mergeSpans(spans);
  const [first = '', last = ''] = [merged[0]?.from, merged.at(-1)?.to];
  const path = `$[*].${JSON.stringify(line.line)} ? (${withinPath(merged)})`;
  return createCondition('any', [first, last, path], (bind) => {
    const within = spanBounds(column, line, bind(first, 'text'), bind(last, 'text'));
    return `(${within} and jsonb_path_exists(${column}, ${bind(path, 'jsonpath')}))`;
  });
}

/** In their order, those that overlap as one. */
function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = merged.at(-1);
    if (last === undefined || span.from > last.to) merged.push(span);
    else if (span.to > last.to) merged.splice(-1, 1, { ...last, to: span.to });
  }
  return merged;
}

/** Compares with few of many spans. */
function withinPath(spans: readonly Span[]): string {
  const [first = { from: '', to: '' }] = spans;
  if (spans.length < 2) return `@ >= ${JSON.stringify(first.from)} && @ <= ${JSON.stringify(first.to)}`;
  const at = spans.length >> 1;
  const middle = JSON.stringify(spans[at]?.from);
  return `(@ < ${middle} && (${withinPath(spans.slice(0, at))})) || (@ >= ${middle} && (${withinPath(spans.slice(at))}))`;
}

const spanBounds = (column: string, line: LineField, from: string, to: string): string =>
  `${lineBoundSql(column, line, 'max')} >= ${from} and ${lineBoundSql(column, line, 'min')} <= ${to}`;

/**
 * A span in the form of stored times. An instant within a second is the empty span between two seconds: no
 * line is equal to it.
 */
function roundToSeconds(value: FilterCondition['values'][number]): Span {
  const span = typeof value === 'string' ? { from: value, to: value } : value;
  return { from: roundToSecond(span.from, 'up'), to: roundToSecond(span.to, 'down') };
}

function roundToSecond(instant: string, rounded: 'up' | 'down'): string {
  const [, seconds = '', fraction = '', zone = ''] = /^(.+T[^.Z+-]+)(?:\.(\d+))?(.+)$/.exec(instant) ?? [];
  const atMs = Date.parse(seconds + zone) + (rounded === 'up' && /[1-9]/.test(fraction) ? 1_000 : 0);
  const text = new Date(atMs).toISOString().replace('.000', '');
  // Years of more than four digits, which an offset can lead to, must sort before and after all others.
  return text.startsWith('+') ? '~' : text.startsWith('-') ? '' : text;
}

/** JSON of a value as it is stored in lines. JSON allows no leading zeros. */
function memberJson(value: string, type: ValueType): string {
  if (isNumeric(type)) return value.replace(/^(-?)0+(?=\d)/, '$1');
  return type === 'boolean' ? value : JSON.stringify(value);
}
