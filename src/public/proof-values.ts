// Chooses the values with which a filter is tried: one that many records meet, one that few meet and one that none meets, taken from
// the table itself. The values are used and forgotten: they are the tenant's records and belong in no report.
import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { quoted } from '../warehouse/table.ts';
import type { Column, FilterParameter } from './compile.ts';
import type { ValueType } from './operators.ts';
import type { Operator } from './schema-document.ts';

export type ValueKind = 'common' | 'rare' | 'absent';
export type TrialValue = { readonly kind: ValueKind; readonly text: string };

/** Texts as callers write them; null where the column has none. */
export type ColumnSample = {
  readonly common: string | null;
  readonly rare: string | null;
  /** The three characters that most texts begin with. */
  readonly prefix: string | null;
  readonly least: string | null;
  readonly most: string | null;
  /** Below, and above, nearly all. */
  readonly nearLeast: string | null;
  readonly nearMost: string | null;
  readonly beneath: string | null;
  readonly beyond: string | null;
  readonly mostlyNull: boolean;
};

type Place = { readonly schema: string; readonly table: string };

/** Rows that are looked at to tell common values from rare ones; of larger tables as many, from blocks chosen by chance. */
const sampleRows = 50_000;
const longestText = 200;
/** One in a thousand records lies beyond it. */
const nearEdge = 0.999;
const shortestContains = 3;

const textSql = (type: ValueType, value: string): string => {
  if (type === 'date') return `to_char(${value}, 'YYYY-MM-DD')`;
  if (type === 'time') return `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return `${value}::text`;
};

const steps: Partial<Record<ValueType, string>> = { number: '1', integer: '1', date: '1', time: "interval '1 second'" };
const integerEdge = { '+': '9223372036854775807', '-': '-9223372036854775808' } as const;

/** The first value outside the column's range on one side, or null at the end of the type. */
function outsideSql(type: ValueType, edge: string, sign: '+' | '-'): string {
  const outside = textSql(type, `(${edge} ${sign} ${steps[type]})`);
  return type === 'integer' ? `case when ${edge} <> ${integerEdge[sign]} then ${outside} end` : outside;
}

/** One statement per column: the ends of its range by its index, all else from a sample. */
export async function sampleColumn(
  client: Pick<PoolClient, 'query'>,
  { schema, table }: Place,
  { column, type }: Column,
  rowCount: number,
) {
  const place = `${schema}.${quoted(table)} as t`;
  const value = `t.${quoted(column)}`;
  const share = rowCount <= sampleRows ? '' : ` tablesample system (${((sampleRows / rowCount) * 100).toFixed(4)})`;
  const text = (expression: string): string => textSql(type, expression);
  const ranged = steps[type] !== undefined;
  const [least, most] = [`(select min(${value}) from ${place})`, `(select max(${value}) from ${place})`];
  const percentile = (part: number): string => text(`(select percentile_disc(${part}) within group (order by v) from looked)`);
  const inRange = (sql: string): string => (ranged ? sql : 'null');
  const { rows } = await client.query<ColumnSample>(
    `with looked as materialized (select ${value} as v from ${place}${share}),
       counted as materialized (select v, count(*) as n from looked where v is not null
         ${type === 'text' ? `and v <> '' and length(v) <= ${longestText}` : ''} group by v)
     select ${text('(select v from counted order by n desc, v limit 1)')} as common,
       ${text('(select v from counted order by n, v desc limit 1)')} as rare,
       ${type === 'text' ? `(select left(v, 3) from counted where length(v) >= 3 group by 1 order by sum(n) desc, 1 limit 1)` : 'null'} as prefix,
       ${inRange(text(least))} as least, ${inRange(text(most))} as most,
       ${inRange(percentile(1 - nearEdge))} as "nearLeast", ${inRange(percentile(nearEdge))} as "nearMost",
       ${inRange(outsideSql(type, least, '-'))} as beneath, ${inRange(outsideSql(type, most, '+'))} as beyond,
       (select count(*) filter (where v is null) > count(*) / 2 from looked) as "mostlyNull"`,
  );
  return rows[0];
}

const absentText = `no such value ${createHash('sha256').update('absent').digest('hex').slice(0, 8)}`;

const absentOf = (type: ValueType, sample: ColumnSample): string | null => {
  if (type === 'text') return absentText;
  if (type === 'boolean') return sample.common === sample.rare && sample.common !== null ? String(sample.common !== 'true') : null;
  return sample.beyond;
};

type Texts = Readonly<Record<ValueKind, string | null>>;

function textsFor(operator: Operator, type: ValueType, sample: ColumnSample): Texts {
  const rareText = sample.rare !== null && sample.rare.length >= shortestContains ? sample.rare : null;
  switch (operator) {
    case 'eq':
    case 'not':
      return { common: sample.common, rare: sample.rare, absent: absentOf(type, sample) };
    case 'null':
      return { common: String(sample.mostlyNull), rare: String(!sample.mostlyNull), absent: null };
    case 'contains':
      return { common: sample.prefix, rare: rareText, absent: absentText };
    case 'starts_with':
      return { common: sample.prefix, rare: sample.rare, absent: absentText };
    case 'after':
    case 'gte':
    case 'gt':
      return { common: sample.least, rare: sample.nearMost, absent: sample.beyond };
    case 'before':
    case 'lte':
    case 'lt':
      return { common: sample.most, rare: sample.nearLeast, absent: sample.beneath };
  }
}

/** The values to try, each once; none where the column is empty. Pure. */
export function trialValues({ operator, column }: Pick<FilterParameter, 'operator' | 'column'>, sample: ColumnSample): TrialValue[] {
  const texts = textsFor(operator, column.type, sample);
  const found = new Map<string, TrialValue>();
  for (const kind of ['common', 'rare', 'absent'] as const) {
    const text = texts[kind];
    if (text !== null && !found.has(text)) found.set(text, { kind, text });
  }
  return [...found.values()];
}
