// Writes an export as one COPY of bare columns, which the service turns into the form that was asked for: PostgreSQL needs three
// times as long to write JSON. COPY takes no parameters, so the values of a request are put into settings of the transaction first
// and read from them by type: as everywhere, no text of a request is part of a statement.
import { quoted } from '../warehouse/table.ts';
import { columnSql, conditionPart, whereSql } from './conditions.ts';
import type { CellColumn } from './copy-rows.ts';
import type { ListPlan } from './plan.ts';
import { mayLackKey } from './ranges.ts';
import { cellColumns } from './render-sql.ts';
import { orderSql, type Place, rangeOrderSql } from './sql.ts';

export type CopyStatement = {
  readonly text: string;
  /** What the columns of its rows hold. */
  readonly columns: readonly CellColumn[];
  /** To be run first, in the same transaction. */
  readonly settings: Query;
};

type Query = { readonly text: string; readonly values: readonly unknown[] };

/** One after the other: parallel workers would mix the stretches. */
const inOrder = `set_config('max_parallel_workers_per_gather', '0', true)`;
/**
 * A page that is not in the server's own memory costs a copy even when the system has it. Told so, the planner walks an index where
 * that follows the order of the table, and sorts where it would jump about in it.
 */
const ownMemory = `set_config('effective_cache_size', current_setting('shared_buffers'), true)`;

export function copyStatement({ schema, table }: Place, plan: ListPlan): CopyStatement {
  const values: unknown[] = [];
  const texts = plan.conditions.map((condition) =>
    conditionPart(condition).text((value, sqlType) => `current_setting('export.v${values.push(value)}')::${sqlType}`),
  );
  const { sql, columns } = cellColumns(plan.fields, plan.endpoint.idType);
  const stretch = (bounds: readonly string[], order: string): string => {
    const sorted = `from ${schema}.${quoted(table)} as t${whereSql([...texts, ...bounds])} order by ${order}`;
    // Lines are made after the sort, so that it moves less; for bare columns the detour costs a tenth.
    return plan.fields.some(({ kind }) => kind === 'lines')
      ? `select ${sql} from (select * ${sorted} offset 0) as t order by ${order}`
      : `select ${sql} ${sorted}`;
  };
  const settings = values.map((_value, index) => `set_config('export.v${index + 1}', $${index + 1}::text, true)`);
  return {
    text: `copy (${linesOf(plan, stretch)}) to stdout (format text, encoding 'UTF8')`,
    columns,
    settings: { text: `select ${[...settings, inOrder, ownMemory].join(', ')}`, values },
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
