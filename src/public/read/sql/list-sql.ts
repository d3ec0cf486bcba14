// Writes a plan as one prepared statement. Identifiers come only from the compiled version and the state row;
// every value of a request is a typed parameter. Pure apart from caches.
//
// LIMIT and OFFSET are parameters, so PostgreSQL prefers a custom plan for each list: the planning time buys
// the right plan for skewed values and for the depth of the page, and the number of statements grows with the
// shapes, not with the pages. Lists that need no custom plan are the exception: see order-index.ts.
import { serviceRole } from '../../../db/session.ts';
import { sqlTypes } from '../../../warehouse/columns.ts';
import { rfc3339Sql } from '../../../warehouse/record-state.ts';
import { quoteIdentifier } from '../../../warehouse/table.ts';
import type { OutputField } from '../../version/compile.ts';
import { capsFor, hasOnePlan, servedConditions } from '../plan/order-index.ts';
import { type ListPlan, type RecordPlan, sortKey } from '../plan/plan.ts';
import type { Range } from '../plan/ranges.ts';
import { columnReference, planConditions, whereSql } from './conditions.ts';
import { type ExpandedSql, expandedSql } from './expand-sql.ts';
import { boundedCount, maxTextBytes, pieceColumns, pieceExpressions, piecesFrom } from './large-sql.ts';
import type { Bind, SqlPart } from './sql-part.ts';

/** A statement whose text is written only when no text of the same key is cached. */
export type Statement = { readonly key: string; readonly values: readonly unknown[]; write(): string };

/** `related`: the tables of related records, for `readExpansions` in their order; absent without any. */
export type TableRef = {
  readonly schema: string;
  readonly table: string;
  readonly related?: readonly string[];
};

/** The epoch is null in a session with another role than the service's: see `toFreshness`. */
export const stateColumns = `s.active_table, case current_user when '${serviceRole}' then s.epoch end as epoch, s.generation::text as generation, s.row_count::text as row_count, ${rfc3339Sql('s.synced_at')} as synced_at,
  nullif(s.stale_fields, '{}')::text as stale_fields, nullif(s.accepted_fields, '{}')::text as accepted_fields`;
export const buildStateSource = ({ schema }: Pick<TableRef, 'schema'>): string =>
  `from ${schema}.record_state as s`;
export const tableSql = ({ schema, table }: TableRef): string => `${schema}.${quoteIdentifier(table)} as t`;

/** Key of the selected fields; the content of a version never changes. */
const fieldsKey = (fields: readonly OutputField[], all: readonly OutputField[]): string =>
  fields === all ? '*' : fields.map(({ name }) => name).join();

/** Numbers parameters in the order in which they are written. The first one is always the record type. */
export function createParameters(): { recordType: string; bind: Bind } {
  let last = 1;
  const bind: Bind = (_value, type) => {
    last += 1;
    return `$${last}::${type}`;
  };
  return { recordType: '$1::text', bind };
}

/**
 * Nulls last in both directions; the id breaks ties, in the direction of the first key, so the order is
 * total.
 */
export function orderSql({ column, order, further }: ListPlan['sort']): string {
  if (column.column === 'id') return `t.id ${order}`;
  return [
    ...[{ column, order }, ...further].map((key) => `${columnReference(key.column)} ${key.order} nulls last`),
    `t.id ${order}`,
  ].join(', ');
}

/**
 * For a single key within a range where all keys are values or all are null: the same order, written so that
 * one ascending index is walked in either direction.
 */
export function rangeOrderSql({ column, order }: ListPlan['sort']): string {
  return column.column === 'id'
    ? `t.id ${order}`
    : `${columnReference(column)} ${order} nulls ${order === 'asc' ? 'last' : 'first'}, t.id ${order}`;
}

/**
 * Found once for a page and its total: the records that the conditions select, with what they are sorted by.
 */
const matched = 'matched';
const matchedSql = (ref: TableRef, { sort }: ListPlan, conditions: readonly string[]): string => {
  const keys = [sort, ...sort.further].map(({ column }) => columnReference(column));
  return `${matched} as materialized (select ${[...new Set(['t."id"', ...keys])].join(', ')} from ${tableSql(ref)}${whereSql(conditions)})`;
};

/** The conditions that the records of the range meet. */
function rangeBounds({ sort, endpoint }: ListPlan, { nulls, from }: Range) {
  const [column, way] = [columnReference(sort.column), sort.order === 'asc' ? '>=' : '<='];
  const byId = sort.column.column === 'id';
  const [keyType, idType] = [sqlTypes[sort.column.type], sqlTypes[endpoint.idType]];
  const withKey = !byId && nulls === 'no';
  const text = (bind: Bind): string[] => {
    if (from !== null && withKey)
      return [`(${column}, t.id) ${way} (${bind(from.key, keyType)}, ${bind(from.id, idType)})`];
    const isNull = nulls === 'any' || byId ? [] : [`${column} is ${nulls === 'no' ? 'not ' : ''}null`];
    return from === null ? isNull : [...isNull, `t.id ${way} ${bind(from.id, idType)}`];
  };
  return { values: from === null ? [] : withKey ? [from.key, from.id] : [from.id], text };
}

/** Selects the ids of one range of the list, through an index if there is one. */
function rangePart(ref: TableRef, plan: ListPlan, range: Range, isCapped: boolean, isShared: boolean) {
  const { sort } = plan;
  const { strategy, nulls, from, limit, offset } = range;
  const bounds = rangeBounds(plan, range);
  const order = nulls === 'any' ? orderSql(sort) : rangeOrderSql(sort);
  const source = (conditions: readonly string[], bind: Bind): string => {
    if (isShared) return `${matched} as t`;
    const plain = `${tableSql(ref)}${whereSql([...conditions, ...bounds.text(bind)])}`;
    if (strategy === 'any') return plain;
    // OFFSET 0 keeps PostgreSQL from walking the index of the order; LIMIT keeps it from scanning further.
    if (strategy === 'sort') return `(select * from ${plain} offset 0) as t`;
    const served = servedConditions(plan);
    const inside = conditions.filter((_text, at) => served.has(at));
    const first = `${tableSql(ref)}${whereSql([...inside, ...bounds.text(bind)])} order by ${order} limit ${strategy}`;
    return `(select * from ${first}) as t${whereSql(conditions.filter((_text, at) => !served.has(at)))}`;
  };
  const caps = isCapped && strategy === 'any' ? capsFor(limit, offset) : null;
  return {
    key: `${strategy} ${nulls} ${from === null ? 'first' : 'anchor'} ${caps?.walked} ${caps?.selected}`,
    values: [...bounds.values, limit, offset],
    text: (conditions: readonly string[], bind: Bind): string => {
      const list = `select t.id from ${source(conditions, bind)} order by ${order}`;
      const page = `limit ${bind(limit, 'bigint')} offset ${bind(offset, 'bigint')}`;
      if (caps === null) return `(${list} ${page})`;
      // The rows of a subquery keep its order.
      return `(select c.id from (select b.id from (${list} limit ${caps.walked}) as b ${page}) as c limit ${caps.selected})`;
    },
  };
}

/**
 * For plans in the plan cache; the conditions of a plan never change, nor does the schema of their
 * organization.
 */
const conditionCache = new WeakMap<ListPlan['conditions'], readonly SqlPart[]>();
function conditionParts(plan: Pick<ListPlan, 'endpoint' | 'conditions'>, { schema }: TableRef) {
  const cached = conditionCache.get(plan.conditions);
  if (cached !== undefined) return cached;
  const parts = planConditions(plan, schema);
  conditionCache.set(plan.conditions, parts);
  return parts;
}
/** Of a record that this reader may read. */
const scopeParts = ({ endpoint }: RecordPlan, ref: TableRef) =>
  conditionParts({ endpoint, conditions: endpoint.scope }, ref);
const joinKeys = (parts: readonly { key: string }[]): string => parts.map(({ key }) => key).join();
const listValues = (parts: readonly { values: readonly unknown[] }[]): unknown[] =>
  parts.flatMap(({ values }) => values);

type LastStatement = {
  readonly ref: TableRef;
  readonly ranges: readonly Range[];
  readonly withTotal: boolean;
  readonly statement: Statement;
};
const isSameTable = (one: TableRef, other: TableRef): boolean =>
  one.table === other.table &&
  one.schema === other.schema &&
  one.related?.join('\n') === other.related?.join('\n');
/** The last statement of a cached plan: the same page is often requested again. */
const lastStatements = new WeakMap<ListPlan, LastStatement>();

export function listStatement(
  ref: TableRef,
  plan: ListPlan,
  ranges: readonly Range[],
  withTotal: boolean,
): Statement {
  const last = lastStatements.get(plan);
  if (last?.ranges === ranges && last.withTotal === withTotal && isSameTable(last.ref, ref))
    return last.statement;
  const statement = writeList(ref, plan, ranges, withTotal);
  lastStatements.set(plan, { ref, ranges, withTotal, statement });
  return statement;
}

/** The records of a plan with those that they embed. */
const buildExpandedSql = ({ fields, expansions }: Pick<ListPlan, 'fields' | 'expansions'>, ref: TableRef) =>
  expandedSql(
    ref,
    fields,
    expansions,
    (type) =>
      `(select row_to_json(x) from (select ${stateColumns} ${buildStateSource(ref)} where s.record_type = ${type}) as x)`,
  );

type PageSql = {
  readonly recordType: string;
  readonly bind: Bind;
  /** An expression of `with` that `found` and `total` use, or empty. */
  readonly shared: string;
  readonly found: string;
  readonly total: string;
  readonly records: string;
};

/**
 * A statement about a page of a list. `found` selects its ids in their order; `total` has further columns, if
 * requested; `records` is the table with its records as `o`.
 */
function pageStatement(
  kind: string,
  ref: TableRef,
  plan: ListPlan,
  ranges: readonly Range[],
  withTotal: boolean,
  writePage: (page: PageSql) => string,
): Statement {
  const { endpoint, fields, sort } = plan;
  const conditions = conditionParts(plan, ref);
  const isCapped = hasOnePlan(plan);
  const isShared = withTotal && ranges.every(({ strategy }) => strategy === 'sort');
  const parts = ranges.map((range) => rangePart(ref, plan, range, isCapped, isShared));
  const expanded = buildExpandedSql(plan, ref);
  const write = (): string => {
    const { recordType, bind } = createParameters();
    const texts = conditions.map((part) => part.text(bind));
    const found = parts.map((part) => part.text(texts, bind)).join(' union all ');
    const shared = isShared ? matchedSql(ref, plan, texts) : '';
    const counted = isShared ? matched : `${tableSql(ref)}${whereSql(texts)}`;
    const total = withTotal ? `, (select count(*)::text from ${counted}) as total` : '';
    const { records, states } = expanded.text(bind);
    return writePage({
      recordType,
      bind,
      shared,
      found,
      total: total + states,
      records: `${tableSql(ref)} ${records}`,
    });
  };
  const shape = [
    fieldsKey(fields, endpoint.fields),
    joinKeys(conditions),
    sortKey(sort),
    joinKeys(parts),
    withTotal,
    expanded.key,
  ];
  return {
    key: [kind, ref.schema, ref.table, endpoint.key, ...shape].join('\n'),
    values: [endpoint.recordType, ...listValues(conditions), ...listValues(parts), ...expanded.values],
    write,
  };
}

/**
 * A page of a list, its state, the number of records found and, if requested, the total: all from one
 * snapshot. Fails when the records have more than `maxTextBytes`. A record is written when its id is found,
 * so nothing is sorted after that, and the rest is not written.
 */
const writeList = (ref: TableRef, plan: ListPlan, ranges: readonly Range[], withTotal: boolean): Statement =>
  pageStatement(
    'list',
    ref,
    plan,
    ranges,
    withTotal,
    ({
      recordType,
      shared,
      found,
      total,
      records,
    }) => `${shared === '' ? '' : `with ${shared} `}select ${stateColumns}, r.records, r.found${total} ${buildStateSource(ref)} cross join lateral (
      select coalesce(string_agg(p.record, ','), '') as records, ${boundedCount('p.record')} as found from (select (select row_to_json(o)::text
        from ${records} where t.id = f.id) as record from (${found}) as f offset 0) as p
      ) as r where s.record_type = ${recordType}`,
  );

/**
 * As `listStatement`, with the records in pieces (`PieceRow`), and none when they have more than `maxBytes`.
 */
export function largeListStatement(
  ref: TableRef,
  plan: ListPlan,
  ranges: readonly Range[],
  withTotal: boolean,
  maxBytes: number,
): Statement {
  const { key, values, write } = pageStatement(
    'large list',
    ref,
    plan,
    ranges,
    withTotal,
    ({ recordType, bind, shared, found, total, records }) => {
      const pieces = { records, maxBytes: bind(maxBytes, 'bigint'), mayEndEarly: false };
      return `with recursive ${shared === '' ? '' : `${shared}, `}${pieceExpressions({ ...pieces, entries: `select array(${found}) as ids` })}
      select ${stateColumns}, ${pieceColumns}${total} ${buildStateSource(ref)} cross join ${piecesFrom} where s.record_type = ${recordType}`;
    },
  );
  return { key, values: [...values, maxBytes], write };
}

/**
 * Every Nth record of a list in its order, separately for records with and without a sort value, with the
 * number of each and the state they belong to. An anchor is `[number from 1, key, id]`.
 */
export function anchorsStatement(ref: TableRef, plan: ListPlan, every: number): Statement {
  const { endpoint, sort } = plan;
  const conditions = conditionParts(plan, ref);
  const write = (): string => {
    const { recordType, bind } = createParameters();
    const texts = conditions.map((part) => part.text(bind));
    const spacing = bind(every, 'bigint');
    const [column, byId] = [columnReference(sort.column), sort.column.column === 'id'];
    const rangeSql = (bounds: readonly string[]): string =>
      `(select json_build_array(count(*), coalesce(json_agg(json_build_array(a.n, a.key::text, a.id::text)) filter (where (a.n - 1) % ${spacing} = 0), '[]'))::text
        from (select ${column} as key, t.id, row_number() over (order by ${rangeOrderSql(sort)}) as n from ${tableSql(ref)}${whereSql([...texts, ...bounds])}) as a)`;
    return `select ${stateColumns}, ${rangeSql(byId ? [] : [`${column} is not null`])} as valued,
      ${byId ? 'null' : rangeSql([`${column} is null`])} as nulls ${buildStateSource(ref)} where s.record_type = ${recordType}`;
  };
  return {
    key: ['anchors', ref.schema, ref.table, endpoint.key, joinKeys(conditions), sortKey(sort)].join('\n'),
    values: [endpoint.recordType, ...listValues(conditions), every],
    write,
  };
}

/**
 * One record as JSON text, null when it does not exist or is outside the row scope, and its state. The record
 * is also null when it has more than `maxTextBytes`; `bytes` tells the two apart.
 */
export function recordStatement(ref: TableRef, plan: RecordPlan): Statement {
  const expanded = buildExpandedSql(plan, ref);
  const write = (): string => {
    const { recordType, bind } = createParameters();
    const where = recordWhere(ref, plan, bind);
    const { records, states } = expanded.text(bind);
    const record = `select row_to_json(o)::text as text from ${tableSql(ref)} ${records}
      ${where} offset 0`;
    return `select ${stateColumns}, octet_length(r.text) as bytes, case when octet_length(r.text) <= ${maxTextBytes} then r.text end as record${states}
      ${buildStateSource(ref)} left join lateral (${record}) as r on true where s.record_type = ${recordType}`;
  };
  return { ...keyAndValues('record', ref, plan, expanded), write };
}

const recordWhere = (ref: TableRef, plan: RecordPlan, bind: Bind): string =>
  whereSql([
    `t.id = ${bind(plan.id, sqlTypes[plan.endpoint.idType])}`,
    ...scopeParts(plan, ref).map((part) => part.text(bind)),
  ]);

function keyAndValues(
  kind: string,
  ref: TableRef,
  plan: RecordPlan,
  expanded: ExpandedSql,
): Pick<Statement, 'key' | 'values'> {
  const { endpoint, fields, id } = plan;
  const scope = scopeParts(plan, ref);
  return {
    key: [
      kind,
      ref.schema,
      ref.table,
      endpoint.key,
      fieldsKey(fields, endpoint.fields),
      joinKeys(scope),
      expanded.key,
    ].join('\n'),
    values: [endpoint.recordType, id, ...listValues(scope), ...expanded.values],
  };
}

/**
 * One record of any size in pieces (`PieceRow`), none when it does not exist or is outside the row scope, and
 * its state.
 */
export function largeRecordStatement(ref: TableRef, plan: RecordPlan): Statement {
  const expanded = buildExpandedSql(plan, ref);
  const write = (): string => {
    const { recordType, bind } = createParameters();
    const entries = `select array(select t.id from ${tableSql(ref)}${recordWhere(ref, plan, bind)}) as ids`;
    const { records, states } = expanded.text(bind);
    return `with recursive ${pieceExpressions({ records: `${tableSql(ref)} ${records}`, entries, maxBytes: '0', mayEndEarly: false })}
      select ${stateColumns}, ${pieceColumns}${states} ${buildStateSource(ref)} cross join ${piecesFrom} where s.record_type = ${recordType}`;
  };
  return { ...keyAndValues('large record', ref, plan, expanded), write };
}
