// Writes an export as one COPY of bare columns; the service converts them into the requested form, because
// PostgreSQL takes three times as long to write JSON. COPY takes no parameters, so the values of a request
// are written as hexadecimal digits of their UTF-8 bytes and cast to their type: as everywhere, no text of a
// request becomes part of a statement. Settings of the transaction would not do: on Citus the rows are read
// in a session of another node.
import { isListType, isNumeric, type ListType } from '../../warehouse/columns.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { testsLines } from '../read/plan/filters.ts';
import type { ListPlan } from '../read/plan/plan.ts';
import { mayLackKey } from '../read/plan/ranges.ts';
import type { SummaryPlan } from '../read/plan/summary-plan.ts';
import { columnReference, planConditions, whereSql } from '../read/sql/conditions.ts';
import { orderSql, rangeOrderSql, type TableRef } from '../read/sql/list-sql.ts';
import { linesJson, maskedColumn, valueJson, valueText } from '../read/sql/render-sql.ts';
import { summaryRowsSql } from '../read/sql/summary-sql.ts';
import type { LinesField, OutputField } from '../version/compile.ts';
import type { ValueType } from '../version/operators.ts';
import type { CellColumn, CellKind } from './copy-rows.ts';

export type CopyStatement = {
  readonly text: string;
  /** Contents of the result columns. */
  readonly columns: readonly CellColumn[];
};

/**
 * No parallel workers: they would interleave the ranges. On Citus the setting goes along to the node that has
 * the records; plain PostgreSQL ignores the setting that says so.
 */
const noParallelWorkers = `set local citus.propagate_set_commands to 'local'; set local max_parallel_workers_per_gather to 0`;
/**
 * A page outside shared buffers costs a copy even when the operating system has it cached. With this setting
 * the planner walks an index that follows the physical order of the table, and sorts when the index would
 * jump around in it.
 */
const smallCacheSize = `select set_config('effective_cache_size', current_setting('shared_buffers'), true)`;

/** Must run before the COPY, in the same transaction. */
export const exportSettings = `${noParallelWorkers}; ${smallCacheSize}`;

const encoded = (value: unknown): string =>
  `convert_from('\\x${Buffer.from(String(value)).toString('hex')}', 'UTF8')`;

/** SQL for a value, or for the elements of an array, that contains no text of it. */
const valueSql = (value: unknown, type: string): string =>
  `${Array.isArray(value) ? `array[${value.map(encoded).join(', ')}]` : encoded(value)}::${type}`;

const copyText = (sql: string): string => `copy (${sql}) to stdout (format text, encoding 'UTF8')`;

/** Every group of a summary, each as the JSON text of its row. */
export const copySummaryStatement = (table: TableRef, plan: SummaryPlan): CopyStatement => ({
  text: copyText(summaryRowsSql(table, plan, valueSql)),
  columns: [{ name: 'row', kind: 'json' }],
});

/** `form`: lists are JSON, or one text in CSV. */
export function copyStatement(
  { schema, table }: TableRef,
  plan: ListPlan,
  form: 'json' | 'csv' = 'json',
): CopyStatement {
  const texts = planConditions(plan, schema).map((part) => part.text(valueSql));
  const { sql, columns } = cellColumns(plan.fields, plan.endpoint.idType, form);
  const rangeSql = (bounds: readonly string[], order: string): string => {
    const selected = `${schema}.${quoteIdentifier(table)} as t${whereSql([...texts, ...bounds])}`;
    const sorted = `from ${testsLines(plan) ? `(select * from ${selected} offset 0) as t` : selected} order by ${order}`;
    // Lines are built after the sort, which then moves less; for bare columns the subquery costs a tenth.
    return plan.fields.some(({ kind }) => kind === 'lines')
      ? `select ${sql} from (select * ${sorted} offset 0) as t order by ${order}`
      : `select ${sql} ${sorted}`;
  };
  return { text: copyText(rowsSql(plan, rangeSql)), columns };
}

/** In descending order, records with a value and those without are two ranges of one index: see ranges.ts. */
function rowsSql(plan: ListPlan, rangeSql: (bounds: readonly string[], order: string) => string): string {
  if (plan.sort.order === 'asc' || !mayLackKey(plan)) return rangeSql([], orderSql(plan.sort));
  const [column, order] = [columnReference(plan.sort.column), rangeOrderSql(plan.sort)];
  return `(${rangeSql([`${column} is not null`], order)}) union all (${rangeSql([`${column} is null`], order)})`;
}

/**
 * The lines of the listed records as rows: the record's id, the number of the line in it, and its fields, as
 * the list shows them.
 */
export function copyLinesStatement(
  { schema, table }: TableRef,
  plan: ListPlan,
  field: LinesField,
): CopyStatement {
  const texts = planConditions(plan, schema).map((part) => part.text(valueSql));
  const from = `${schema}.${quoteIdentifier(table)} as t cross join lateral json_array_elements(${linesJson(`t.${quoteIdentifier(field.column)}`, field.lines)}) with ordinality as line(content, number)`;
  const cells = field.lines.map(({ name }) => `line.content ->> ${valueSql(name, 'text')}`);
  return {
    text: copyText(
      `select ${['t.id', 'line.number', ...cells].join(', ')} from ${from}${whereSql(texts)} order by ${orderSql(plan.sort)}, line.number`,
    ),
    columns: [
      { name: 'id', kind: plan.endpoint.idType === 'integer' ? 'digits' : 'text' },
      { name: numberName(field), kind: 'number' },
      ...field.lines.map((line) => ({ name: line.name, kind: lineKind(line) })),
    ],
  };
}

/** The name of the column with the number of the line, which no field of the lines has. */
const numberName = ({ lines }: LinesField): string =>
  ['line', 'lineNumber'].find((name) => lines.every((line) => line.name !== name)) ?? '#';

function lineKind({ type, asString, mask }: LinesField['lines'][number]): CellKind {
  return mask !== null || isListType(type) ? 'text' : toCellKind(asString, type);
}

function toCellKind(asString: boolean, type: Exclude<ValueType, ListType>): CellKind {
  if (isNumeric(type)) return asString ? 'digits' : 'number';
  return type;
}

/** Counts the lines of the selected records. */
export function countLinesStatement(table: TableRef, plan: ListPlan, { column }: LinesField): CountStatement {
  return countStatement(table, plan, `coalesce(sum(jsonb_array_length(t.${quoteIdentifier(column)})), 0)`);
}

type CountStatement = { readonly text: string; readonly values: readonly unknown[] };

export function countStatement(
  { schema, table }: TableRef,
  plan: ListPlan,
  counted = 'count(*)',
): CountStatement {
  const values: unknown[] = [];
  const where = whereSql(
    planConditions(plan, schema).map((part) => part.text((value, type) => `$${values.push(value)}::${type}`)),
  );
  return {
    text: `select ${counted}::text as total from ${schema}.${quoteIdentifier(table)} as t${where}`,
    values,
  };
}

/**
 * The stored values of the same record (lines as JSON, masked values as text), and what each cell holds, for
 * writers of other forms.
 */
function cellColumns(
  fields: readonly OutputField[],
  idType: 'integer' | 'text',
  form: 'json' | 'csv',
): { readonly sql: string; readonly columns: readonly CellColumn[] } {
  const cells = fields.map((field) => {
    const { name } = field;
    if (field.kind === 'absent') return { name, kind: 'text' as const, sql: 'null::text' };
    if (field.kind === 'lines')
      return {
        name,
        kind: 'json' as const,
        sql: linesJson(`t.${quoteIdentifier(field.column)}`, field.lines),
      };
    const masked = maskedColumn(field);
    if (masked !== undefined) return { name, kind: 'text' as const, sql: masked };
    const { column, type } = field.column;
    const value = `t.${quoteIdentifier(column)}`;
    if (!isListType(type)) return { name, kind: toCellKind(field.asString, type), sql: value };
    return form === 'csv'
      ? { name, kind: 'text' as const, sql: valueText(value, type) }
      : { name, kind: 'json' as const, sql: `to_json(${valueJson(value, type, false)})` };
  });
  const id = {
    name: 'id',
    kind: idType === 'integer' ? ('digits' as const) : ('text' as const),
    sql: 't.id',
  };
  return {
    sql: [id, ...cells].map(({ sql }) => sql).join(', '),
    columns: [id, ...cells].map(({ name, kind }) => ({ name, kind })),
  };
}
