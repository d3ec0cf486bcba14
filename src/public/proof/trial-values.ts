// Chooses the values to test a filter with, taken from the table itself: one that many records match, one
// that few match, and one that none matches; and as many as a request may have, where no index looks up each
// of them. The values are records of the tenant: they are used only for the measurement and never reported.
import { createHash } from 'node:crypto';
import { escapeLiteral, type PoolClient } from 'pg';
import { elementType, isListType, sqlTypes } from '../../warehouse/columns.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { maxValues, minContainsLength } from '../read/plan/filters.ts';
import type { CompiledColumn, FilterParameter } from '../version/compile.ts';
import type { ValueType } from '../version/operators.ts';
import type { Operator } from '../version/schema-document.ts';

export type ValueKind = 'common' | 'rare' | 'absent' | 'many' | 'many_absent';
/** `texts`: one value, or several of which any may match. */
export type TrialValue = { readonly kind: ValueKind; readonly texts: readonly string[] };

/** Values as clients write them; null when the column has none. */
export type ColumnSample = {
  readonly common: string | null;
  readonly rare: string | null;
  /** The most common three-character prefix. */
  readonly prefix: string | null;
  readonly min: string | null;
  readonly max: string | null;
  /** Percentiles: nearly all values are above `nearMin` and below `nearMax`. */
  readonly nearMin: string | null;
  readonly nearMax: string | null;
  readonly belowMin: string | null;
  readonly aboveMax: string | null;
  readonly mostlyNull: boolean;
  /** The most common values, at most `maxValues`. */
  readonly many: readonly string[] | null;
};

/** Rows sampled to tell common values from rare ones; larger tables are sampled in random blocks. */
const sampleRows = 50_000;
const maxTextLength = 200;
/** One value in a thousand lies beyond it. */
const nearEdge = 0.999;

const textSql = (type: ValueType, value: string): string => {
  if (type === 'date') return `to_char(${value}, 'YYYY-MM-DD')`;
  if (type === 'time') return `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return `${value}::text`;
};

const steps: Partial<Record<ValueType, string>> = {
  number: '1',
  integer: '1',
  date: '1',
  time: "interval '1 second'",
};
const integerEdge = { '+': '9223372036854775807', '-': '-9223372036854775808' } as const;

/** The first value outside the range of the column on one side, or null at the end of the type. */
function outsideSql(type: ValueType, edge: string, sign: '+' | '-'): string {
  const outside = textSql(type, `(${edge} ${sign} ${steps[type]})`);
  return type === 'integer' ? `case when ${edge} <> ${integerEdge[sign]} then ${outside} end` : outside;
}

export type TrialColumn = Pick<CompiledColumn, 'column' | 'type' | 'line'>;

/** Of lines, one field's values as a column's: PostgreSQL reads the JSON form of dates and times. */
const linesSql = (source: string, lines: string, line: string, type: ValueType): string => {
  const value = `(e.line -> ${escapeLiteral(line)})`;
  if (isListType(type))
    return `(select i.text::${sqlTypes[elementType(type)]} as v from ${source} cross join lateral jsonb_array_elements(${lines}) as e(line)
      cross join lateral jsonb_array_elements_text(case when jsonb_typeof(${value}) = 'array' then ${value} else '[]' end) as i(text)) as l`;
  return `(select (e.line ->> ${escapeLiteral(line)})::${sqlTypes[type]} as v from ${source} cross join lateral jsonb_array_elements(${lines}) as e(line)) as l`;
};

/** Where a record may have several values, or none: these as rows. */
const manySql = (source: string, column: string, type: ValueType, line: string | undefined) => {
  if (line !== undefined) return linesSql(source, column, line, type);
  return isListType(type)
    ? `(select u.v from ${source} left join lateral unnest(${column}) as u(v) on true) as l`
    : undefined;
};

/** The ends of the range, and values near and outside them: null of a type without a range. */
function rangeSql(type: ValueType, value: string, from: string): string {
  const [min, max] = [`(select min(${value}) from ${from})`, `(select max(${value}) from ${from})`];
  const percentile = (part: number): string =>
    textSql(type, `(select percentile_disc(${part}) within group (order by v) from sampled)`);
  const inRange = (sql: string): string => (steps[type] === undefined ? 'null' : sql);
  return `${inRange(textSql(type, min))} as min, ${inRange(textSql(type, max))} as max,
       ${inRange(percentile(1 - nearEdge))} as "nearMin", ${inRange(percentile(nearEdge))} as "nearMax",
       ${inRange(outsideSql(type, min, '-'))} as "belowMin", ${inRange(outsideSql(type, max, '+'))} as "aboveMax"`;
}

/**
 * One statement per column: the ends of the range from the index, everything else from a sample; for a field
 * of lines or a list all from a sample. Rejects with the error of PostgreSQL.
 */
export async function sampleColumn(
  client: Pick<PoolClient, 'query'>,
  { schema, table }: { readonly schema: string; readonly table: string },
  { column, type: columnType, line }: TrialColumn,
  rowCount: number,
) {
  const type = elementType(columnType);
  const source = `${schema}.${quoteIdentifier(table)} as t`;
  const value = `t.${quoteIdentifier(column)}`;
  const share =
    rowCount <= sampleRows ? '' : ` tablesample system (${((sampleRows / rowCount) * 100).toFixed(4)})`;
  const text = (expression: string): string => textSql(type, expression);
  const ofMany = manySql(`${source}${share}`, value, columnType, line);
  const range = ofMany === undefined ? rangeSql(type, value, source) : rangeSql(type, 'v', 'sampled');
  const { rows } = await client.query<ColumnSample>(
    `with sampled as materialized (select ${ofMany === undefined ? `${value} as v from ${source}${share}` : `v from ${ofMany}`}),
       counted as materialized (select v, count(*) as n from sampled where v is not null
         ${type === 'text' ? `and v <> '' and length(v) <= ${maxTextLength}` : ''} group by v)
     select ${text('(select v from counted order by n desc, v limit 1)')} as common,
       ${text('(select v from counted order by n, v desc limit 1)')} as rare,
       ${type === 'text' ? `(select left(v, 3) from counted where length(v) >= 3 group by 1 order by sum(n) desc, 1 limit 1)` : 'null'} as prefix,
       ${range},
       (select array_agg(${text('m.v')}) from (select v from counted order by n desc, v limit ${maxValues}) as m) as many,
       (select count(*) filter (where v is null) > count(*) / 2 from sampled) as "mostlyNull"`,
  );
  return rows[0];
}

const absentText = `no such value ${createHash('sha256').update('absent').digest('hex').slice(0, 8)}`;

const chooseAbsentValue = (type: ValueType, sample: ColumnSample): string | null => {
  if (type === 'text') return absentText;
  if (type === 'boolean')
    return sample.common === sample.rare && sample.common !== null ? String(sample.common !== 'true') : null;
  return sample.aboveMax;
};

type Texts = Readonly<Record<'common' | 'rare' | 'absent', string | null>>;

/** Only of texts: of other types there may be no further ones. */
const manyAbsent = (type: ValueType): string[] =>
  type === 'text' ? Array.from({ length: maxValues }, (_, n) => `${absentText} ${n}`) : [];

function textsFor(operator: Operator, type: ValueType, sample: ColumnSample): Texts {
  const rareText = sample.rare !== null && sample.rare.length >= minContainsLength ? sample.rare : null;
  switch (operator) {
    case 'eq':
    case 'all':
    case 'not':
      return { common: sample.common, rare: sample.rare, absent: chooseAbsentValue(type, sample) };
    case 'null':
      return { common: String(sample.mostlyNull), rare: String(!sample.mostlyNull), absent: null };
    case 'contains':
      return { common: sample.prefix, rare: rareText, absent: absentText };
    case 'starts_with':
      return { common: sample.prefix, rare: sample.rare, absent: absentText };
    case 'after':
    case 'gte':
    case 'gt':
      return { common: sample.min, rare: sample.nearMax, absent: sample.aboveMax };
    case 'before':
    case 'lte':
    case 'lt':
      return { common: sample.max, rare: sample.nearMin, absent: sample.belowMin };
  }
}

export type TrialFilter = Pick<FilterParameter, 'operator' | 'column'>;

/** The values to test, without duplicates; none when the column is empty. Pure. */
export function trialValues({ operator, column }: TrialFilter, sample: ColumnSample): TrialValue[] {
  const type = elementType(column.type);
  const texts = textsFor(operator, type, sample);
  const found = new Map<string, TrialValue>();
  for (const kind of ['common', 'rare', 'absent'] as const) {
    const text = texts[kind];
    if (text !== null && !found.has(text)) found.set(text, { kind, texts: [text] });
  }
  const takesMany =
    operator === 'eq' && (column.line !== undefined || column.type === 'time' || isListType(column.type));
  const several = takesMany ? { many: sample.many ?? [], many_absent: manyAbsent(type) } : {};
  return [
    ...found.values(),
    ...Object.entries(several).flatMap(([kind, texts]) =>
      texts.length < 2 ? [] : [{ kind: kind as ValueKind, texts }],
    ),
  ];
}
