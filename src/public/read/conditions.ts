// Writes the conditions of a plan as SQL. The text of a condition depends on its column, its operator and the number of values, never on
// the values: those are parameters, so that one prepared statement serves them all.
import { quoteIdentifier } from '../../warehouse/table.ts';
import type { CompiledColumn } from '../version/compile.ts';
import type { ValueType } from '../version/operators.ts';
import type { Span } from '../version/values.ts';
import type { FilterCondition, ListPlan } from './plan.ts';
import { literal } from './render-sql.ts';

/** Returns the placeholder of one of a part's values, such as `$3::text`. */
export type Bind = (value: unknown, type: string) => string;
/** A fragment of a statement. Equal keys mean equal texts. `text` binds each of its values once, in order. */
export type SqlPart = { readonly key: string; readonly values: readonly unknown[]; text(bind: Bind): string };

export const parameterTypes: Readonly<Record<ValueType, string>> = {
  text: 'text',
  number: 'numeric',
  integer: 'bigint',
  boolean: 'boolean',
  date: 'date',
  time: 'timestamptz',
};

export const columnReference = ({ column }: CompiledColumn): string => `t.${quoteIdentifier(column)}`;

/**
 * SQL for case-insensitive comparison, by a collation that folds Unicode whatever the locale of the database. An index on exactly this
 * expression serves `contains` (pg_trgm) and `starts_with`.
 */
export const foldedSql = (text: string): string => `lower(${text} collate "pg_c_utf8")`;

const escapedPattern = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');
const comparisons = { after: '>', gt: '>', before: '<', lt: '<', gte: '>=', lte: '<=' } as const;
const spanOf = (value: FilterCondition['values'][number]): Span => (typeof value === 'string' ? { from: value, to: value } : value);

type Written = { readonly variant: string; readonly values: readonly unknown[]; text(bind: Bind): string };
const written = (variant: string, values: readonly unknown[], text: (bind: Bind) => string): Written => ({ variant, values, text });

export function conditionPart(condition: FilterCondition): SqlPart {
  const { variant, values, text } = writeCondition(condition);
  return { key: `${condition.column.column} ${condition.operator} ${variant}`, values, text };
}

/**
 * The conditions of a plan in their order, and after those of a row scope that the record isn't withheld: its newest version may be outside
 * the scope. `schema` is that of the table.
 */
export function planConditions({ endpoint, conditions }: Pick<ListPlan, 'endpoint' | 'conditions'>, schema: string): readonly SqlPart[] {
  const parts = conditions.map(conditionPart);
  if (endpoint.scope.length === 0) return parts;
  const withheld = `select from ${schema}.withheld_records as w where w.record_type = ${literal(endpoint.recordType)} and w.id = t.id::text`;
  return [...parts, { key: 'not withheld', values: [], text: () => `not exists (${withheld})` }];
}

/** Empty without conditions, otherwise starts with ` where `. */
export const whereSql = (conditions: readonly string[]): string => (conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`);

function writeCondition({ column, operator, values }: FilterCondition): Written {
  const left = columnReference(column);
  const type = parameterTypes[column.type];
  const [first = ''] = values;
  if (operator === 'null') return written(String(first), [], () => `${left} is ${first === 'true' ? '' : 'not '}null`);
  if (operator === 'contains' || operator === 'starts_with') {
    const pattern = `${operator === 'contains' ? '%' : ''}${escapedPattern(String(first))}%`;
    return written('', [pattern], (bind) => `${foldedSql(left)} like ${foldedSql(bind(pattern, 'text'))}`);
  }
  if (column.type === 'time') return writeTime(left, operator, values.map(spanOf));
  if (operator === 'eq')
    return values.length === 1
      ? written('one', [first], (bind) => `${left} = ${bind(first, type)}`)
      : written('any', [values], (bind) => `${left} = any(${bind(values, `${type}[]`)})`);
  if (operator === 'not') return written('', [values], (bind) => `(${left} is null or ${left} <> all(${bind(values, `${type}[]`)}))`);
  return written('', [first], (bind) => `${left} ${comparisons[operator]} ${bind(first, type)}`);
}

/** Times are compared with the first and last microsecond of the value that the client gave, so that a date means the whole day. */
function writeTime(
  left: string,
  operator: Exclude<FilterCondition['operator'], 'null' | 'contains' | 'starts_with'>,
  spans: readonly Span[],
): Written {
  const [first = { from: '', to: '' }] = spans;
  if (operator !== 'eq' && operator !== 'not') {
    const edge = operator === 'after' || operator === 'gt' || operator === 'lte' ? first.to : first.from;
    return written('', [edge], (bind) => `${left} ${comparisons[operator]} ${bind(edge, 'timestamptz')}`);
  }
  const one = spans.length === 1;
  const [from, to] = one ? [first.from, first.to] : [spans.map((span) => span.from), spans.map((span) => span.to)];
  return written(one ? 'one' : 'any', [from, to], (bind) => {
    const within = one
      ? `(${left} >= ${bind(from, 'timestamptz')} and ${left} <= ${bind(to, 'timestamptz')})`
      : `exists (select from unnest(${bind(from, 'timestamptz[]')}, ${bind(to, 'timestamptz[]')}) as v(first, last) where ${left} >= v.first and ${left} <= v.last)`;
    return operator === 'eq' ? within : `(${left} is null or not ${within})`;
  });
}
