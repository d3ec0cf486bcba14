// Writes one page of the changes of a resource as one statement: records and deletions by generation, which
// is commit order. The deletions are the tombstones; under a row scope, they are the records that left it, by
// the values they had before, so that no tombstone of a record outside the scope is read.

import { escapeLiteral } from 'pg';
import { sqlTypes } from '../../warehouse/columns.ts';
import { type FormerEpoch, rfc3339Sql } from '../../warehouse/record-state.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { planConditions } from '../read/sql/conditions.ts';
import { boundedCount, pieceColumns, pieceExpressions, piecesFrom } from '../read/sql/large-sql.ts';
import { type Statement, stateColumns, type TableRef } from '../read/sql/list-sql.ts';
import { recordColumns } from '../read/sql/render-sql.ts';
import type { Bind, SqlPart } from '../read/sql/sql-part.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import type { ChangePosition } from './change-token.ts';

export type ChangePlan = {
  readonly endpoint: ReadableEndpoint;
  /** Null: from the beginning. */
  readonly after: ChangePosition | null;
  /**
   * The client has nothing that left its scope up to this generation. Null: it has nothing at all. Without a
   * row scope it is ignored.
   */
  readonly floor: string | null;
  readonly limit: number;
};

/** The position of the last change is null when there are none. */
export type ChangeRow = {
  more: boolean;
  last_generation: string | null;
  last_kind: number | null;
  last_id: string | null;
  /** Deletions up to this generation are no longer kept. */
  pruned: string;
  /** For each column of the row scope: changes after this generation were recorded; null when none are. */
  recorded: readonly (string | null)[];
  /** The epochs before the current one, with the last generation of each that was not lost. */
  former_epochs: readonly FormerEpoch[];
};

type ChangeSource = {
  readonly alias: 't' | 'd' | 'c';
  readonly kind: ChangePosition['kind'];
  readonly idType: string;
};

/** Rows of one kind that come after the position. Within a generation, records precede deletions. */
function afterSql({ alias, kind, idType }: ChangeSource, after: ChangePosition | null, bind: Bind): string {
  if (after === null) return 'true';
  const generation = bind(after.generation, 'bigint');
  if (after.kind === kind)
    return `(${alias}.generation, ${alias}.id) > (${generation}, ${bind(after.id, idType)})`;
  return `${alias}.generation ${kind === 'delete' ? '>=' : '>'} ${generation}`;
}

type PageSql = {
  /** Expressions of `with`: the changes after the position as `found`, those of the page as `page`. */
  readonly expressions: string;
  readonly columns: string;
  readonly max: string;
  readonly state: string;
  readonly table: string;
  readonly idType: string;
  readonly recordType: string;
};

/** The text of a change of `page as p` before its record. */
const headSql = `case p.kind when 0 then '{"op":"upsert","id":' else '{"op":"delete","id":' end || to_json(p.id) || ',"at":"' || ${rfc3339Sql('p.at')} || '","record":'`;

/**
 * Where the changes come from: a condition for records `t`, deletions as `d`, and what decides whether the
 * deletions are complete.
 */
type Sources = {
  readonly shown: string;
  /** With `generation`, `id` and `deleted_at`. */
  readonly deletions: string;
  readonly columns: string;
};
type Written = {
  readonly ref: TableRef;
  readonly plan: ChangePlan;
  readonly recordType: string;
  readonly idType: string;
  /** The conditions of the row scope, and that a record isn't withheld. */
  readonly scope: readonly SqlPart[];
  readonly bind: Bind;
};

function wholeSources({ ref: { schema }, plan, recordType, bind }: Written): Sources {
  const after = afterSql({ alias: 'd', kind: 'delete', idType: 'text' }, plan.after, bind);
  return {
    shown: 'true',
    deletions: `(select * from ${schema}.tombstones as d where d.record_type = ${recordType} and ${after}) as d`,
    columns: `coalesce((select p.generation from ${schema}.pruned_tombstones as p where p.record_type = ${recordType}), 0)::text as pruned,
  '{}'::text[] as recorded`,
  };
}

/** A record not shown now left the scope with the last of its changes before which it was in it. */
function scopedSources({ ref: { schema, table }, plan, recordType, idType, scope, bind }: Written): Sources {
  const columns = plan.endpoint.scope.map(({ column }) => column);
  const conditions = scope.map((part) => part.text(bind));
  const shown = conditions.join(' and ');
  const before = columns.map(({ column, type }) => {
    const value = column === 'id' ? 'c.id' : `c.before ->> ${escapeLiteral(column)}`;
    // In other record types such a column may have another type, and conditions are evaluated in any order.
    return `(case c.record_type when ${recordType} then ${value} end)::${sqlTypes[type]} as ${quoteIdentifier(column)}`;
  });
  const after = afterSql({ alias: 'c', kind: 'delete', idType: 'text' }, plan.after, bind);
  const since = plan.floor === null ? 'false' : `c.generation > ${bind(plan.floor, 'bigint')} and ${after}`;
  return {
    shown,
    deletions: `(select distinct on (c.id) c.generation, c.id, c.at as deleted_at from ${schema}.scope_changes as c
    cross join lateral (select ${before.join(', ')}) as t
    where c.record_type = ${recordType} and ${since} and ${conditions.slice(0, columns.length).join(' and ')}
      and not exists (select from ${schema}.${quoteIdentifier(table)} as t where t.id = c.id::${idType} and ${shown})
    order by c.id, c.generation desc) as d`,
    columns: `s.scope_pruned::text as pruned, array[${columns.map(({ column }) => `s.scope_columns ->> ${escapeLiteral(column)}`).join(', ')}] as recorded`,
  };
}

type SourceSql = Sources &
  Pick<PageSql, 'state' | 'table' | 'idType' | 'recordType'> & {
    /** The condition for records after the position. */
    readonly after: string;
    readonly bind: Bind;
  };

function sourceStatement(
  kind: string,
  ref: TableRef,
  plan: ChangePlan,
  write: (sources: SourceSql) => string,
): Statement {
  const { endpoint, after } = plan;
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const recordType = bind(endpoint.recordType, 'text');
  const idType = sqlTypes[endpoint.idType];
  const scope = planConditions({ endpoint, conditions: endpoint.scope }, ref.schema);
  const records = afterSql({ alias: 't', kind: 'upsert', idType }, after, bind);
  const written = { ref, plan, recordType, idType, scope, bind };
  const text = write({
    ...(scope.length === 0 ? wholeSources(written) : scopedSources(written)),
    state: `${ref.schema}.record_state as s`,
    table: `${ref.schema}.${quoteIdentifier(ref.table)} as t`,
    after: records,
    ...{ idType, recordType, bind },
  });
  const shape = [endpoint.key, ...scope.map(({ key }) => key), after?.kind ?? 'start'];
  return { key: [kind, ref.schema, ref.table, ...shape].join('\n'), values, write: () => text };
}

/** `write` gets the function that binds further values. */
const pageStatement = (
  kind: string,
  ref: TableRef,
  plan: ChangePlan,
  write: (page: PageSql, bind: Bind) => string,
): Statement =>
  sourceStatement(kind, ref, plan, ({ shown, deletions, columns, after, bind, ...sources }) => {
    const max = bind(plan.limit, 'bigint');
    const expressions = `found as (
  (select t.generation, 0 as kind, row_number() over (order by t.generation, t.id) as rank, t.id::text as id, t.changed_at as at
   from ${sources.table} where ${after} and ${shown} order by t.generation, t.id limit ${max} + 1)
  union all
  (select d.generation, 1, row_number() over (order by d.generation, d.id), d.id, d.deleted_at
   from ${deletions} order by d.generation, d.id limit ${max} + 1)
), numbered as (select *, row_number() over (order by generation, kind, rank) as n from found),
page as (select * from numbered where n <= ${max})`;
    return write({ ...sources, expressions, columns: `${lastColumns}, ${columns}`, max }, bind);
  });
/** Of the last change as `l`. */
const lastColumns =
  'l.generation::text as last_generation, l.kind as last_kind, l.id as last_id, s.former_epochs';

/** Null without a position. */
export type ChangeCounts = { upserts: string | null; deletes: string | null };

/** More are not counted. */
const maxCounted = 10_000;

/** How many changes come after the position, and the last change of all of them. */
export const countsStatement = (ref: TableRef, plan: ChangePlan): Statement =>
  sourceStatement('change counts', ref, plan, (sources) => {
    const { shown, deletions, columns, after, table, state, recordType } = sources;
    const records = `from ${table} where ${after} and ${shown}`;
    const count = (from: string): string =>
      plan.after === null
        ? 'null::text'
        : `(select count(*) from (select ${from} limit ${maxCounted}) as c)::text`;
    return `with last as (
  (select t.generation, 0 as kind, t.id::text as id ${records} order by t.generation desc, t.id desc limit 1)
  union all
  (select d.generation, 1, d.id from ${deletions} order by d.generation desc, d.id desc limit 1))
select ${stateColumns}, ${count(records)} as upserts, ${count(`from ${deletions}`)} as deletes, false as more, ${lastColumns}, ${columns}
from ${state} left join (select * from last order by generation desc, kind desc limit 1) as l on true where s.record_type = ${recordType}`;
  });

/** One page of changes. Fails when the changes have more than `maxTextBytes`. */
export const changesStatement = (ref: TableRef, plan: ChangePlan): Statement =>
  pageStatement(
    'changes',
    ref,
    plan,
    ({ expressions, columns, state, max, table, idType, recordType }) => `with ${expressions},
entries as (
  select ${headSql} || coalesce((select row_to_json(r)::text from ${table} cross join lateral (select ${recordColumns(plan.endpoint.fields)}) as r
    where p.kind = 0 and t.id = case p.kind when 0 then p.id::${idType} end), 'null') || '}' as change
  from (select * from page order by n offset 0) as p offset 0
)
select ${stateColumns}, e.changes, e.entries, (select count(*) from found) > ${max} as more, ${columns}
from ${state} cross join (select coalesce(string_agg(change, ','), '') as changes, ${boundedCount('change')} as entries from entries) as e
left join (select * from page order by n desc limit 1) as l on true where s.record_type = ${recordType}`,
  );

/** The position of a page of changes, without their records. */
export const positionStatement = (ref: TableRef, plan: ChangePlan): Statement =>
  pageStatement(
    'position of changes',
    ref,
    plan,
    ({ expressions, columns, state, max, recordType }) => `with ${expressions}
select ${stateColumns}, (select count(*) from found) > ${max} as more, ${columns}
from ${state} left join (select * from page order by n desc limit 1) as l on true where s.record_type = ${recordType}`,
  );

/** As `changesStatement`, in pieces (`PieceRow`): as many as fit into `maxBytes`, at least one. */
export const largeChangesStatement = (ref: TableRef, plan: ChangePlan, maxBytes: number): Statement =>
  pageStatement(
    'large changes',
    ref,
    plan,
    ({ expressions, columns, state, table, idType, recordType }, bind) => {
      const records = `${table} cross join lateral (select ${recordColumns(plan.endpoint.fields)}) as o`;
      const entries = `select coalesce(array_agg(case p.kind when 0 then p.id::${idType} end order by p.n), '{}') as ids,
  coalesce(array_agg(${headSql} order by p.n), '{}') as heads from page as p`;
      return `with recursive ${expressions}, ${pieceExpressions({ records, entries, maxBytes: bind(maxBytes, 'bigint'), mayEndEarly: true })}
select ${stateColumns}, ${pieceColumns}, (select count(*) from found) > taken.fitting as more, ${columns}
from ${state} cross join ${piecesFrom} left join page as l on l.n = taken.fitting where s.record_type = ${recordType}`;
    },
  );
