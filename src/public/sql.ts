// Writes a plan as one prepared statement. Identifiers come from the compiled version and the state row alone; every value of
// a request is a typed parameter. Pure, and no input can make it fail.
//
// LIMIT and OFFSET are parameters, so PostgreSQL prefers a custom plan for each list: the planning time buys the right plan for
// skewed values and for the depth of the page, and the number of statements stays that of the shapes, not of the pages. Lists
// that need no plan of their own are the exception: see order-index.ts.
import { rfc3339 } from '../warehouse/generation.ts';
import { quoted } from '../warehouse/table.ts';
import type { OutputField } from './compile.ts';
import { type Bind, columnSql, conditionPart, type Part, parameterTypes, whereSql } from './conditions.ts';
import { boundFor, isSteady, servedConditions } from './order-index.ts';
import { type ListPlan, type RecordPlan, sortKey } from './plan.ts';
import type { Range } from './ranges.ts';
import { recordColumns } from './render-sql.ts';

/** A statement that is written only when nobody wrote one of the same key before. */
export type Statement = { readonly key: string; readonly values: readonly unknown[]; write(): string };

export type Place = { readonly schema: string; readonly table: string };

export const stateColumns = `s.active_table, s.epoch, s.generation::text as generation, s.row_count::text as row_count, ${rfc3339('s.synced_at')} as synced_at`;
export const stateOf = ({ schema }: Place): string => `from ${schema}.record_state as s`;
export const tableSql = ({ schema, table }: Place): string => `${schema}.${quoted(table)} as t`;

/** Which fields, told by what decides them; a version's content never changes. */
const fieldsKey = (fields: readonly OutputField[], all: readonly OutputField[]): string =>
  fields === all ? '*' : fields.map(({ name }) => name).join();

/** Numbers its parameters as they are written. The first one is always the record type. */
export function openParameters(): { recordType: string; bind: Bind } {
  let last = 1;
  const bind: Bind = (_value, type) => {
    last += 1;
    return `$${last}::${type}`;
  };
  return { recordType: '$1::text', bind };
}

/** Nulls last either way; the id decides between equals, in the direction of the first key, so the order is total. */
export function orderSql({ column, order, further }: ListPlan['sort']): string {
  if (column.column === 'id') return `t.id ${order}`;
  return [...[{ column, order }, ...further].map((key) => `${columnSql(key.column)} ${key.order} nulls last`), `t.id ${order}`].join(', ');
}

/** Of a single key, the same order where all keys are values, or all are null, spelled so that one ascending index is walked either way. */
export function rangeOrderSql({ column, order }: ListPlan['sort']): string {
  return column.column === 'id'
    ? `t.id ${order}`
    : `${columnSql(column)} ${order} nulls ${order === 'asc' ? 'last' : 'first'}, t.id ${order}`;
}

/** Finds the ids of a stretch of the list: in an index where there is one. */
function rangePart(place: Place, plan: ListPlan, { by, nulls, from, limit, offset }: Range, isBounded: boolean) {
  const { sort, endpoint } = plan;
  const [column, way] = [columnSql(sort.column), sort.order === 'asc' ? '>=' : '<='];
  const byId = sort.column.column === 'id';
  const [keyType, idType] = [parameterTypes[sort.column.type], parameterTypes[endpoint.idType]];
  const withKey = !byId && nulls === 'no';
  const bounds = (bind: Bind): string[] => {
    if (from !== null && withKey) return [`(${column}, t.id) ${way} (${bind(from.key, keyType)}, ${bind(from.id, idType)})`];
    const isNull = nulls === 'any' || byId ? [] : [`${column} is ${nulls === 'no' ? 'not ' : ''}null`];
    return from === null ? isNull : [...isNull, `t.id ${way} ${bind(from.id, idType)}`];
  };
  const order = nulls === 'any' ? orderSql(sort) : rangeOrderSql(sort);
  const source = (conditions: readonly string[], bind: Bind): string => {
    const plain = `${tableSql(place)}${whereSql([...conditions, ...bounds(bind)])}`;
    if (by === 'any') return plain;
    // OFFSET 0 keeps PostgreSQL from walking the order's index; LIMIT from looking at more of it.
    if (by === 'sort') return `(select * from ${plain} offset 0) as t`;
    const served = servedConditions(plan);
    const inside = conditions.filter((_text, at) => served.has(at));
    const first = `${tableSql(place)}${whereSql([...inside, ...bounds(bind)])} order by ${order} limit ${by}`;
    return `(select * from ${first}) as t${whereSql(conditions.filter((_text, at) => !served.has(at)))}`;
  };
  const bound = isBounded && by === 'any' ? boundFor(offset + limit) : null;
  return {
    key: `${by} ${nulls} ${from === null ? 'first' : 'anchor'} ${bound}`,
    values: [...(from === null ? [] : withKey ? [from.key, from.id] : [from.id]), limit, offset],
    text: (conditions: readonly string[], bind: Bind): string => {
      const list = `select t.id from ${source(conditions, bind)} order by ${order}`;
      // A subquery's rows are handed on in its order.
      const bounded = bound === null ? list : `select b.id from (${list} limit ${bound}) as b`;
      return `(${bounded} limit ${bind(limit, 'bigint')} offset ${bind(offset, 'bigint')})`;
    },
  };
}

/** Of plans that are remembered; a plan's conditions never change. */
const written = new WeakMap<ListPlan['conditions'], readonly Part[]>();
function conditionParts({ conditions }: ListPlan): readonly Part[] {
  const held = written.get(conditions);
  if (held !== undefined) return held;
  const parts = conditions.map(conditionPart);
  written.set(conditions, parts);
  return parts;
}
const keysOf = (parts: readonly { key: string }[]): string => parts.map(({ key }) => key).join();
const valuesOf = (parts: readonly { values: readonly unknown[] }[]): unknown[] => parts.flatMap(({ values }) => values);

type LastStatement = { readonly place: Place; readonly ranges: readonly Range[]; readonly counted: boolean; readonly statement: Statement };
/** The one that a remembered plan was written as last: the same page is asked for again and again. */
const lastStatements = new WeakMap<ListPlan, LastStatement>();

export function listStatement(place: Place, plan: ListPlan, ranges: readonly Range[], counted: boolean): Statement {
  const last = lastStatements.get(plan);
  const { schema, table } = place;
  if (last?.ranges === ranges && last.counted === counted && last.place.table === table && last.place.schema === schema)
    return last.statement;
  const statement = writeList(place, plan, ranges, counted);
  lastStatements.set(plan, { place, ranges, counted, statement });
  return statement;
}

/** A list's page, the state it belongs to, how many records were found and, when asked for, the total: all of one snapshot. */
function writeList(place: Place, plan: ListPlan, ranges: readonly Range[], counted: boolean): Statement {
  const { endpoint, fields, sort } = plan;
  const conditions = conditionParts(plan);
  // What counts may be better off reading a common value's records in another way than a rare one's.
  const isBounded = !counted && isSteady(plan);
  const parts = ranges.map((range) => rangePart(place, plan, range, isBounded));
  const write = (): string => {
    const { recordType, bind } = openParameters();
    const texts = conditions.map((part) => part.text(bind));
    const found = parts.map((part) => part.text(texts, bind)).join(' union all ');
    const table = tableSql(place);
    const total = counted ? `, (select count(*)::text from ${table}${whereSql(texts)}) as total` : '';
    return `select ${stateColumns}, r.records, r.found${total} ${stateOf(place)} cross join lateral (
      select coalesce(string_agg(p.record, ','), '') as records, count(*)::int as found from (select row_to_json(o)::text as record from ${table}
        cross join lateral (select ${recordColumns(fields)}) as o where t.id = any(array(${found})) order by ${orderSql(sort)}) as p
      ) as r where s.record_type = ${recordType}`;
  };
  const shape = [fieldsKey(fields, endpoint.fields), keysOf(conditions), sortKey(sort), keysOf(parts), counted];
  return {
    key: ['list', place.schema, place.table, endpoint.key, ...shape].join('\n'),
    values: [endpoint.recordType, ...valuesOf(conditions), ...valuesOf(parts)],
    write,
  };
}

/**
 * Every so manyth record of a list in its order, apart for those with and those without a value to sort by, how many there are
 * of each, and the state they belong to. An anchor is `[number from 1, key, id]`.
 */
export function anchorsStatement(place: Place, plan: ListPlan, every: number): Statement {
  const { endpoint, sort } = plan;
  const conditions = conditionParts(plan);
  const write = (): string => {
    const { recordType, bind } = openParameters();
    const texts = conditions.map((part) => part.text(bind));
    const spacing = bind(every, 'bigint');
    const [column, byId] = [columnSql(sort.column), sort.column.column === 'id'];
    const stretch = (bounds: readonly string[]): string =>
      `(select json_build_array(count(*), coalesce(json_agg(json_build_array(a.n, a.key::text, a.id::text)) filter (where (a.n - 1) % ${spacing} = 0), '[]'))::text
        from (select ${column} as key, t.id, row_number() over (order by ${rangeOrderSql(sort)}) as n from ${tableSql(place)}${whereSql([...texts, ...bounds])}) as a)`;
    return `select ${stateColumns}, ${stretch(byId ? [] : [`${column} is not null`])} as valued,
      ${byId ? 'null' : stretch([`${column} is null`])} as nulls ${stateOf(place)} where s.record_type = ${recordType}`;
  };
  return {
    key: ['anchors', place.schema, place.table, endpoint.key, keysOf(conditions), sortKey(sort)].join('\n'),
    values: [endpoint.recordType, ...valuesOf(conditions), every],
    write,
  };
}

/** One record as JSON text, null when there is none, and the state it belongs to. */
export function recordStatement(place: Place, { endpoint, fields, id }: RecordPlan): Statement {
  const write = (): string => {
    const { recordType, bind } = openParameters();
    const record = `select row_to_json(o)::text from ${tableSql(place)} cross join lateral (select ${recordColumns(fields)}) as o
      where t.id = ${bind(id, parameterTypes[endpoint.idType])}`;
    return `select ${stateColumns}, (${record}) as record ${stateOf(place)} where s.record_type = ${recordType}`;
  };
  const key = ['record', place.schema, place.table, endpoint.key, fieldsKey(fields, endpoint.fields)].join('\n');
  return { key, values: [endpoint.recordType, id], write };
}
