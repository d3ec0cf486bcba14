// Writes one page of the changes of a resource as one statement: records and tombstones by generation, which is commit order.

import { type FormerEpoch, rfc3339Sql } from '../../warehouse/record-state.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { type Bind, parameterTypes } from '../read/conditions.ts';
import { boundedCount, pieceColumns, pieceExpressions, piecesFrom } from '../read/large-sql.ts';
import { recordColumns } from '../read/render-sql.ts';
import { type Statement, stateColumns, type TableRef } from '../read/sql.ts';
import type { CompiledEndpoint } from '../version/compile.ts';
import type { ChangePosition } from './change-token.ts';

export type ChangePlan = {
  readonly endpoint: CompiledEndpoint;
  /** Null: from the beginning. */
  readonly after: ChangePosition | null;
  readonly limit: number;
};

/** The position of the last change is null when there are none. */
export type ChangeRow = {
  more: boolean;
  last_generation: string | null;
  last_kind: number | null;
  last_id: string | null;
  pruned: string;
  /** The epochs before the current one, with the last generation of each that was not lost. */
  former_epochs: readonly FormerEpoch[];
};

type ChangeSource = { readonly alias: 't' | 'd'; readonly kind: ChangePosition['kind']; readonly idType: string };

/** Condition for rows of one kind that come after the position. Within a generation, records come before deletions. */
function afterSql({ alias, kind, idType }: ChangeSource, after: ChangePosition | null, bind: Bind): string {
  if (after === null) return 'true';
  const generation = bind(after.generation, 'bigint');
  if (after.kind === kind) return `(${alias}.generation, ${alias}.id) > (${generation}, ${bind(after.id, idType)})`;
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

/** `write` gets the function that binds further values. */
function pageStatement(
  kind: string,
  { schema, table }: TableRef,
  { endpoint, after, limit }: ChangePlan,
  write: (page: PageSql, bind: Bind) => string,
): Statement {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const recordType = bind(endpoint.recordType, 'text');
  const idType = parameterTypes[endpoint.idType];
  const tableName = `${schema}.${quoteIdentifier(table)}`;
  const records = afterSql({ alias: 't', kind: 'upsert', idType }, after, bind);
  const deletions = afterSql({ alias: 'd', kind: 'delete', idType: 'text' }, after, bind);
  const max = bind(limit, 'bigint');
  const expressions = `found as (
  (select t.generation, 0 as kind, row_number() over (order by t.generation, t.id) as rank, t.id::text as id, t.changed_at as at
   from ${tableName} as t where ${records} order by t.generation, t.id limit ${max} + 1)
  union all
  (select d.generation, 1, row_number() over (order by d.generation, d.id), d.id, d.deleted_at
   from ${schema}.tombstones as d where d.record_type = ${recordType} and ${deletions} order by d.generation, d.id limit ${max} + 1)
), numbered as (select *, row_number() over (order by generation, kind, rank) as n from found),
page as (select * from numbered where n <= ${max})`;
  const columns = `l.generation::text as last_generation, l.kind as last_kind, l.id as last_id,
  coalesce((select p.generation from ${schema}.pruned_tombstones as p where p.record_type = ${recordType}), 0)::text as pruned, s.former_epochs`;
  const state = `${schema}.record_state as s`;
  const text = write({ expressions, columns, state, max, table: `${tableName} as t`, idType, recordType }, bind);
  return { key: [kind, schema, table, endpoint.key, after?.kind ?? 'start'].join('\n'), values, write: () => text };
}

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

/** As `changesStatement`, with the changes in pieces (`PieceRow`): as many as have at most `maxBytes`, at least one. */
export const largeChangesStatement = (ref: TableRef, plan: ChangePlan, maxBytes: number): Statement =>
  pageStatement('large changes', ref, plan, ({ expressions, columns, state, table, idType, recordType }, bind) => {
    const { fields } = plan.endpoint;
    const entries = `select coalesce(array_agg(case p.kind when 0 then p.id::${idType} end order by p.n), '{}') as ids,
  coalesce(array_agg(${headSql} order by p.n), '{}') as heads from page as p`;
    return `with recursive ${expressions}, ${pieceExpressions({ table, fields, entries, maxBytes: bind(maxBytes, 'bigint'), mayEndEarly: true })}
select ${stateColumns}, ${pieceColumns}, (select count(*) from found) > taken.fitting as more, ${columns}
from ${state} cross join ${piecesFrom} left join page as l on l.n = taken.fitting where s.record_type = ${recordType}`;
  });
