// Writes the conditions of a plan as SQL. The text of a condition depends on its column, its operator and the
// number of values, never on the values: those are parameters, so that one prepared statement serves them
// all.
import { escapeLiteral } from 'pg';
import { foldedSql } from '../../../core/text/folded-text.ts';
import { isListType, sqlTypes } from '../../../warehouse/columns.ts';
import { quoteIdentifier } from '../../../warehouse/table.ts';
import type { CompiledColumn } from '../../version/compile.ts';
import type { Span } from '../../version/values.ts';
import type { FilterCondition, Selection } from '../plan/filters.ts';
import type { ListPlan } from '../plan/plan.ts';
import { isLineEquality, writeLineCondition, writeLineEquality } from './line-conditions.ts';
import { comparisons, createCondition, type SqlPart, type WrittenCondition } from './sql-part.ts';

export const columnReference = ({ column }: CompiledColumn): string => `t.${quoteIdentifier(column)}`;

/**
 * SQL of the text of a column, or of a text to compare it with. An index on this expression serves `contains`
 * (pg_trgm) and `starts_with`.
 */
export const searchedSql = ({ lowered }: Pick<CompiledColumn, 'lowered'>, text: string): string =>
  lowered === true ? `lower(${text} collate "pg_c_utf8")` : foldedSql(text);

const escapedPattern = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');
const toSpan = (value: FilterCondition['values'][number]): Span =>
  typeof value === 'string' ? { from: value, to: value } : value;

export function conditionPart(condition: FilterCondition): SqlPart {
  const { column, line } = condition.column;
  const { variant, values, text } = writeCondition(condition);
  return {
    key: `${column}${line === undefined ? '' : ` ${JSON.stringify(line)}`} ${condition.operator} ${variant}`,
    values,
    text,
  };
}

/** Equalities of fields of the same lines as one condition, which unpacks the lines once. */
function equalitiesPart(group: readonly FilterCondition[]): SqlPart {
  const fields = group.map(({ column: { line = '', type }, values }) => ({
    line,
    type,
    values: values.map(String),
  }));
  const [first] = group;
  const column = first === undefined ? '' : columnReference(first.column);
  const { values, text } = writeLineEquality(column, fields);
  return { key: `${column} eq`, values, text };
}

/** One of the conditions must match; those on lines, which cost most, are evaluated last. */
function groupPart(group: readonly FilterCondition[]): SqlPart {
  const equalities = Map.groupBy(group.filter(isLineEquality), ({ column: { column } }) => column);
  const others = group.filter((condition) => !isLineEquality(condition));
  const parts = [
    ...others.filter(({ column: { line } }) => line === undefined).map(conditionPart),
    ...[...equalities.values()].map(equalitiesPart),
    ...others.filter(({ column: { line } }) => line !== undefined).map(conditionPart),
  ];
  return {
    key: `(${parts.map(({ key }) => key).join(' or ')})`,
    values: parts.flatMap(({ values }) => values),
    text: (bind) => `(${parts.map((part) => part.text(bind)).join(' or ')})`,
  };
}

type Selecting = Pick<ListPlan, 'endpoint' | 'conditions'> & Partial<Pick<Selection, 'anyOf'>>;

/**
 * The conditions of a plan in their order, then its groups, and under a row scope that the record isn't
 * withheld: its newest version may be outside the scope. `schema` is that of the table.
 */
export function planConditions(
  { endpoint, conditions, anyOf = [] }: Selecting,
  schema: string,
): readonly SqlPart[] {
  const parts = [...conditions.map(conditionPart), ...anyOf.map(groupPart)];
  if (endpoint.scope.length === 0) return parts;
  const withheld = `select from ${schema}.withheld_records as w where w.record_type = ${escapeLiteral(endpoint.recordType)} and w.id = t.id::text`;
  return [...parts, { key: 'not withheld', values: [], text: () => `not exists (${withheld})` }];
}

/** Empty without conditions, otherwise starts with ` where `. */
export const whereSql = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;

function writeCondition(condition: FilterCondition): WrittenCondition {
  const { column, operator, values } = condition;
  const left = columnReference(column);
  if (column.line !== undefined)
    return writeLineCondition(left, { line: column.line, type: column.type }, condition);
  const type = sqlTypes[column.type];
  const [first = ''] = values;
  if (operator === 'null')
    return createCondition(String(first), [], () => `${left} is ${first === 'true' ? '' : 'not '}null`);
  if (operator === 'contains' || operator === 'starts_with') {
    const pattern = `${operator === 'contains' ? '%' : ''}${escapedPattern(String(first))}%`;
    const variant = column.lowered === true ? 'lowered' : '';
    return createCondition(
      variant,
      [pattern],
      (bind) => `${searchedSql(column, left)} like ${searchedSql(column, bind(pattern, 'text'))}`,
    );
  }
  if (isListType(column.type)) return writeList(left, type, operator, values);
  if (operator === 'all') throw new Error('only lists have several values');
  if (column.type === 'time') return writeTime(left, operator, values.map(toSpan));
  if (operator === 'eq')
    return values.length === 1
      ? createCondition('one', [first], (bind) => `${left} = ${bind(first, type)}`)
      : createCondition('any', [values], (bind) => `${left} = any(${bind(values, `${type}[]`)})`);
  if (operator === 'not')
    return createCondition(
      '',
      [values],
      (bind) => `(${left} is null or ${left} <> all(${bind(values, `${type}[]`)}))`,
    );
  return createCondition('', [first], (bind) => `${left} ${comparisons[operator]} ${bind(first, type)}`);
}

/** Has one of the entries, all of them, or none. A GIN index serves the first two. */
function writeList(
  left: string,
  type: string,
  operator: FilterCondition['operator'],
  values: FilterCondition['values'],
): WrittenCondition {
  return createCondition('', [values], (bind) => {
    const given = bind(values, type);
    if (operator === 'all') return `${left} @> ${given}`;
    return operator === 'not' ? `(${left} is null or not ${left} && ${given})` : `${left} && ${given}`;
  });
}

/**
 * Times are compared with the first and last microsecond of the value that the client gave, so that a date
 * means the whole day.
 */
function writeTime(
  left: string,
  operator: Exclude<FilterCondition['operator'], 'null' | 'contains' | 'starts_with' | 'all'>,
  spans: readonly Span[],
): WrittenCondition {
  const [first = { from: '', to: '' }] = spans;
  if (operator !== 'eq' && operator !== 'not') {
    const edge = operator === 'after' || operator === 'gt' || operator === 'lte' ? first.to : first.from;
    return createCondition(
      '',
      [edge],
      (bind) => `${left} ${comparisons[operator]} ${bind(edge, 'timestamptz')}`,
    );
  }
  const one = spans.length === 1;
  const ranges = `{${spans.map(({ from, to }) => `["${from}","${to}"]`).join()}}`;
  // Of a multirange, PostgreSQL looks at few of many spans.
  return createCondition(one ? 'one' : 'any', one ? [first.from, first.to] : [ranges], (bind) => {
    const within = one
      ? `(${left} >= ${bind(first.from, 'timestamptz')} and ${left} <= ${bind(first.to, 'timestamptz')})`
      : `${left} <@ ${bind(ranges, 'tstzmultirange')}`;
    return operator === 'eq' ? within : `(${left} is null or not ${within})`;
  });
}
