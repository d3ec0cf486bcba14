// Writes a plan as one prepared statement. Identifiers come from the compiled version and the state row alone; every value of
// a request is a typed parameter. Pure, and no input can make it fail.
//
// LIMIT and OFFSET are parameters, so PostgreSQL prefers a custom plan for each list: the planning time buys the right plan for
// skewed values and for the depth of the page, and the number of statements stays that of the shapes, not of the pages.
import { createHash } from 'node:crypto';
import { rfc3339 } from '../warehouse/generation.ts';
import { quoted } from '../warehouse/table.ts';
import type { Column } from './compile.ts';
import type { ValueType } from './operators.ts';
import type { Condition, ListPlan, RecordPlan } from './plan.ts';
import { recordColumns } from './render-sql.ts';
import type { Span } from './values.ts';

export type Statement = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };

export type Place = { readonly schema: string; readonly table: string };
/** Takes a value and gives its placeholder. */
export type Bind = (value: unknown, type: string) => string;

export const sqlTypes: Readonly<Record<ValueType, string>> = {
  text: 'text',
  number: 'numeric',
  integer: 'bigint',
  boolean: 'boolean',
  date: 'date',
  time: 'timestamptz',
};

export const stateColumns = `s.active_table, s.epoch, s.generation::text as generation, s.row_count::text as row_count, ${rfc3339('s.synced_at')} as synced_at`;

export function openStatement(): { bind: Bind; finish(text: string): Statement } {
  const values: unknown[] = [];
  return {
    bind: (value, type) => `$${values.push(value)}::${type}`,
    finish: (text) => ({ name: `r_${createHash('sha256').update(text).digest('base64url').slice(0, 32)}`, text, values }),
  };
}

/** A list's page, the state it belongs to and, when asked for, the total: all of one snapshot. */
export function listStatement(place: Place, plan: ListPlan, options: { counted: boolean; skipRows: boolean }): Statement {
  const { bind, finish } = openStatement();
  const recordType = bind(plan.endpoint.recordType, 'text');
  const table = `${place.schema}.${quoted(place.table)} as t`;
  const where = whereSql(plan.conditions, bind);
  const order = orderSql(plan.sort);
  const limit = bind(options.skipRows ? 0 : plan.pageSize, 'bigint');
  const offset = bind((plan.page - 1) * plan.pageSize, 'bigint');
  // The page's ids are found first, in an index where there is one; only these records are then read and written as JSON.
  const ids = `array(select t.id from ${table}${where} order by ${order} limit ${limit} offset ${offset})`;
  const records = `select coalesce(string_agg(p.record, ','), '') from (select row_to_json(r)::text as record from ${table} cross join lateral
    (select ${recordColumns(plan.fields)}) as r where t.id = any(${ids}) order by ${order}) as p`;
  const total = options.counted ? `, (select count(*)::text from ${table}${where}) as total` : '';
  return finish(
    `select ${stateColumns}, (${records}) as records${total} from ${place.schema}.record_state as s where s.record_type = ${recordType}`,
  );
}

/** One record as JSON text, null when there is none, and the state it belongs to. */
export function recordStatement(place: Place, plan: RecordPlan): Statement {
  const { bind, finish } = openStatement();
  const recordType = bind(plan.endpoint.recordType, 'text');
  const id = bind(plan.id, sqlTypes[plan.endpoint.idType]);
  const record = `select row_to_json(r)::text from ${place.schema}.${quoted(place.table)} as t cross join lateral
    (select ${recordColumns(plan.fields)}) as r where t.id = ${id}`;
  return finish(`select ${stateColumns}, (${record}) as record from ${place.schema}.record_state as s where s.record_type = ${recordType}`);
}

const columnSql = ({ column }: Column): string => `t.${quoted(column)}`;

/** Nulls last either way; the id decides between equals, in the same direction, so the order is total. */
export function orderSql({ column, order }: ListPlan['sort']): string {
  return column.column === 'id' ? `t.id ${order}` : `${columnSql(column)} ${order} nulls last, t.id ${order}`;
}

/**
 * Text as it is compared without regard to case, by a collation that folds Unicode whatever the database's locale. An index
 * on this very expression serves `contains` (pg_trgm) and `starts_with`.
 */
export const foldedSql = (text: string): string => `lower(${text} collate "pg_c_utf8")`;

const escapedPattern = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

/** Empty without conditions, else with ` where ` in front. */
export const whereSql = (conditions: readonly Condition[], bind: Bind): string =>
  conditions.length === 0 ? '' : ` where ${conditions.map((condition) => conditionSql(condition, bind)).join(' and ')}`;

function conditionSql({ column, operator, values }: Condition, bind: Bind): string {
  const left = columnSql(column);
  const type = sqlTypes[column.type];
  const [first = ''] = values;
  if (operator === 'null') return `${left} is ${first === 'true' ? '' : 'not '}null`;
  if (operator === 'contains') return `${foldedSql(left)} like ${foldedSql(bind(`%${escapedPattern(String(first))}%`, 'text'))}`;
  if (operator === 'starts_with') return `${foldedSql(left)} like ${foldedSql(bind(`${escapedPattern(String(first))}%`, 'text'))}`;
  if (column.type === 'time') return timeSql(left, operator, values.map(spanOf), bind);
  if (operator === 'eq') return values.length === 1 ? `${left} = ${bind(first, type)}` : `${left} = any(${bind(values, `${type}[]`)})`;
  if (operator === 'not') return `(${left} is null or ${left} <> all(${bind(values, `${type}[]`)}))`;
  return `${left} ${comparisons[operator]} ${bind(first, type)}`;
}

const comparisons = { after: '>', gt: '>', before: '<', lt: '<', gte: '>=', lte: '<=' } as const;

const spanOf = (value: Condition['values'][number]): Span => (typeof value === 'string' ? { from: value, to: value } : value);

/** Times are compared with the first and last microsecond of what the caller named, so that a day means all of it. */
function timeSql(
  left: string,
  operator: Exclude<Condition['operator'], 'null' | 'contains' | 'starts_with'>,
  spans: readonly Span[],
  bind: Bind,
): string {
  const [first = { from: '', to: '' }] = spans;
  if (operator === 'eq' || operator === 'not') {
    const within =
      spans.length === 1
        ? `(${left} >= ${bind(first.from, 'timestamptz')} and ${left} <= ${bind(first.to, 'timestamptz')})`
        : `exists (select from unnest(${bind(
            spans.map(({ from }) => from),
            'timestamptz[]',
          )}, ${bind(
            spans.map(({ to }) => to),
            'timestamptz[]',
          )})
         as v(first, last) where ${left} >= v.first and ${left} <= v.last)`;
    return operator === 'eq' ? within : `(${left} is null or not ${within})`;
  }
  const edge = operator === 'after' || operator === 'gt' || operator === 'lte' ? first.to : first.from;
  return `${left} ${comparisons[operator]} ${bind(edge, 'timestamptz')}`;
}
