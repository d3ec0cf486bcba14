// Builds SQL expressions that write a record as JSON text: exact digits, UTC times, selected sub-fields of
// lines. PostgreSQL writes the bytes that leave the service, so no value passes through a binary float.
import { escapeLiteral } from 'pg';
import { isListType } from '../../../warehouse/columns.ts';
import { quoteIdentifier } from '../../../warehouse/table.ts';
import type { LineOutput, OutputField } from '../../version/compile.ts';
import { maskedSql } from '../../version/masks.ts';
import type { ValueType } from '../../version/operators.ts';

/** Larger whole numbers lose digits in clients that use binary floats, so they are written as strings. */
export const largestExact = '9007199254740992';

const tooLarge = (number: string): string =>
  `abs(${number}) > ${largestExact} and trunc(${number}) = ${number}`;

/**
 * SQL of one value as the text that JSON has of it. Connections use DateStyle ISO, which differs from RFC
 * 3339 only in the missing T.
 */
export const valueText = (value: string, type: ValueType): string => {
  if (type === 'time') return `replace((${value} at time zone 'UTC')::text, ' ', 'T') || 'Z'`;
  if (isListType(type)) return joinedSql(value);
  return type === 'text' ? value : `(${value})::text`;
};

/**
 * SQL of the entries of a list as one text: separated by semicolons, in double quotes where they have a
 * semicolon, a quote or a line break.
 */
const joinedSql = (value: string): string => {
  const quoted = `case when u.e ~ '[;"\\r\\n]' or u.e = '' then '"' || replace(u.e, '"', '""') || '"' else coalesce(u.e, '') end`;
  return `(select string_agg(${quoted}, ';' order by u.n) from unnest((${value})::text[]) with ordinality as u(e, n))`;
};

/** SQL of one value for JSON: times as RFC 3339, numbers beyond 2^53 or `asString` as text. */
export function valueJson(value: string, type: ValueType, asString: boolean): string {
  if (type === 'time') return valueText(value, type);
  if (type === 'integers')
    return `case when ${largestExact} < any(${value}) or -${largestExact} > any(${value}) then to_json((${value})::text[]) else to_json(${value}) end`;
  if (type !== 'integer' && type !== 'number') return value;
  if (asString) return `${value}::text`;
  const large =
    type === 'integer' ? `${value} not between -${largestExact} and ${largestExact}` : tooLarge(value);
  return `case when ${large} then to_json(${value}::text) else to_json(${value}) end`;
}

function lineJson({ key, type, asString, mask }: LineOutput): string {
  const value = `(e.line -> ${escapeLiteral(key)})`;
  const text = `(e.line ->> ${escapeLiteral(key)})`;
  if (mask !== null) return maskedSql(text, mask);
  if (type === 'integers')
    return `case when jsonb_path_exists(${value}, '$[*] ? (@ > ${largestExact} || @ < -${largestExact})')
      then (select jsonb_agg(i.text) from jsonb_array_elements_text(${value}) as i(text)) else ${value} end`;
  if (type !== 'integer' && type !== 'number') return value;
  if (asString) return text;
  // The inner CASE restricts the cast to numbers: PostgreSQL may evaluate the conditions of an AND in any
  // order.
  const number = `(case when jsonb_typeof(${value}) = 'number' then ${value}::numeric end)`;
  return `case when ${tooLarge(number)} then to_jsonb(${text}) else ${value} end`;
}

/** SQL of the lines of a record as JSON; null when the record has none. */
export function linesJson(column: string, lines: readonly LineOutput[]): string {
  const outputs = lines.map((line) => `${lineJson(line)} as ${quoteIdentifier(line.name)}`).join(', ');
  return `case when ${column} is not null then coalesce((select ('[' || string_agg(row_to_json(o)::text, ',' order by e.position) || ']')::json
    from jsonb_array_elements(${column}) with ordinality as e(line, position) cross join lateral (select ${outputs}) as o), '[]'::json) end`;
}

/**
 * SQL of the text that a reader sees in place of a masked value of table `t`; undefined when it isn't masked.
 */
export const maskedColumn = ({ column: { column, type }, mask }: OutputField & { readonly kind: 'value' }) =>
  mask === null ? undefined : maskedSql(`(${valueText(`t.${quoteIdentifier(column)}`, type)})`, mask);

/** The select list of one record of table `t`: id first, then the fields by public name. */
export function recordColumns(fields: readonly OutputField[]): string {
  const outputs = fields.map((field) => {
    if (field.kind === 'absent') return `null as ${quoteIdentifier(field.name)}`;
    const json =
      field.kind === 'lines'
        ? linesJson(`t.${quoteIdentifier(field.column)}`, field.lines)
        : (maskedColumn(field) ??
          valueJson(`t.${quoteIdentifier(field.column.column)}`, field.column.type, field.asString));
    return `${json} as ${quoteIdentifier(field.name)}`;
  });
  return ['t.id::text as "id"', ...outputs].join(', ');
}
