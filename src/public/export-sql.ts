// Writes an export as one COPY. PostgreSQL takes no parameters there, so the values of a request are put into settings of the
// transaction first and read from them by type: as everywhere, no text of a request is part of a statement.
import { quoted } from '../warehouse/table.ts';
import { columnSql, conditionPart, whereSql } from './conditions.ts';
import type { ListPlan } from './plan.ts';
import { mayLackKey } from './ranges.ts';
import { csvColumns, recordColumns } from './render-sql.ts';
import { orderSql, type Place, rangeOrderSql } from './sql.ts';

export type ExportType = 'application/x-ndjson' | 'text/csv';

export type CopyStatement = {
  readonly text: string;
  /** To be run first, in the same transaction. */
  readonly settings: Query;
};

type Query = { readonly text: string; readonly values: readonly unknown[] };

/** JSON text holds no control characters, so nothing in it is ever quoted or escaped: each row stands there as it is. */
const asItIs = `format csv, quote e'\\x01', delimiter e'\\x02', encoding 'UTF8'`;
/** Nulls are empty, empty text is `""`. */
const asCsv = `format csv, header true, encoding 'UTF8'`;

export function copyStatement({ schema, table }: Place, plan: ListPlan, type: ExportType): CopyStatement {
  const values: unknown[] = [];
  const texts = plan.conditions.map((condition) =>
    conditionPart(condition).text((value, sqlType) => `current_setting('export.v${values.push(value)}')::${sqlType}`),
  );
  // Sorted first and written afterwards: where no index gives the order, columns are sorted and not finished lines.
  const stretch = (bounds: readonly string[], order: string): string => {
    const sorted = `(select * from ${schema}.${quoted(table)} as t${whereSql([...texts, ...bounds])} order by ${order} offset 0) as t`;
    return type === 'text/csv'
      ? `select ${csvColumns(plan.fields)} from ${sorted} order by ${order}`
      : `select row_to_json(r)::text from ${sorted} cross join lateral (select ${recordColumns(plan.fields)}) as r order by ${order}`;
  };
  const settings = values.map((_value, index) => `set_config('export.v${index + 1}', $${index + 1}::text, true)`);
  return {
    text: `copy (${linesOf(plan, stretch)}) to stdout (${type === 'text/csv' ? asCsv : asItIs})`,
    // One after the other: parallel workers would mix the stretches.
    settings: { text: `select ${[...settings, `set_config('max_parallel_workers_per_gather', '0', true)`].join(', ')}`, values },
  };
}

/** Downwards, records with a value and those without are two stretches of one index: see ranges.ts. */
function linesOf(plan: ListPlan, stretch: (bounds: readonly string[], order: string) => string): string {
  if (plan.sort.order === 'asc' || !mayLackKey(plan)) return stretch([], orderSql(plan.sort));
  const [column, order] = [columnSql(plan.sort.column), rangeOrderSql(plan.sort)];
  return `(${stretch([`${column} is not null`], order)}) union all (${stretch([`${column} is null`], order)})`;
}

export function countStatement({ schema, table }: Place, plan: ListPlan): Query {
  const values: unknown[] = [];
  const where = whereSql(
    plan.conditions.map((condition) => conditionPart(condition).text((value, type) => `$${values.push(value)}::${type}`)),
  );
  return { text: `select count(*)::text as total from ${schema}.${quoted(table)} as t${where}`, values };
}
