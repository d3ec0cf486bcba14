// Writes one page of the changes of a resource as one statement: records and tombstones by generation, which is commit order.

import { rfc3339Sql } from '../../warehouse/record-state.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { type Bind, parameterTypes } from '../read/conditions.ts';
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

/** `changes` is comma-separated JSON text; the position of the last change is null when there are none. */
export type ChangeRow = {
  changes: string;
  more: boolean;
  last_generation: string | null;
  last_kind: number | null;
  last_id: string | null;
  pruned: string;
};

type ChangeSource = { readonly alias: 't' | 'd'; readonly kind: ChangePosition['kind']; readonly idType: string };

/** Condition for rows of one kind that come after the position. Within a generation, records come before deletions. */
function afterSql({ alias, kind, idType }: ChangeSource, after: ChangePosition | null, bind: Bind): string {
  if (after === null) return 'true';
  const generation = bind(after.generation, 'bigint');
  if (after.kind === kind) return `(${alias}.generation, ${alias}.id) > (${generation}, ${bind(after.id, idType)})`;
  return `${alias}.generation ${kind === 'delete' ? '>=' : '>'} ${generation}`;
}

export function changesStatement({ schema, table }: TableRef, { endpoint, after, limit }: ChangePlan): Statement {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const recordType = bind(endpoint.recordType, 'text');
  const idType = parameterTypes[endpoint.idType];
  const tableName = `${schema}.${quoteIdentifier(table)}`;
  const records = afterSql({ alias: 't', kind: 'upsert', idType }, after, bind);
  const deletions = afterSql({ alias: 'd', kind: 'delete', idType: 'text' }, after, bind);
  const max = bind(limit, 'bigint');
  const text = `with found as (
  (select t.generation, 0 as kind, row_number() over (order by t.generation, t.id) as rank, t.id::text as id, t.changed_at as at
   from ${tableName} as t where ${records} order by t.generation, t.id limit ${max} + 1)
  union all
  (select d.generation, 1, row_number() over (order by d.generation, d.id), d.id, d.deleted_at
   from ${schema}.tombstones as d where d.record_type = ${recordType} and ${deletions} order by d.generation, d.id limit ${max} + 1)
), numbered as (select *, row_number() over (order by generation, kind, rank) as n from found),
page as (select * from numbered where n <= ${max}),
entries as (
  select p.n, '{"op":"upsert","id":' || to_json(p.id) || ',"at":"' || ${rfc3339Sql('p.at')} || '","record":' || row_to_json(r)::text || '}' as change
  from page as p join ${tableName} as t on t.id = p.id::${idType} cross join lateral (select ${recordColumns(endpoint.fields)}) as r where p.kind = 0
  union all
  select p.n, '{"op":"delete","id":' || to_json(p.id) || ',"at":"' || ${rfc3339Sql('p.at')} || '","record":null}' from page as p where p.kind = 1
)
select ${stateColumns}, coalesce((select string_agg(change, ',' order by n) from entries), '') as changes,
  (select count(*) from found) > ${max} as more, l.generation::text as last_generation, l.kind as last_kind, l.id as last_id,
  coalesce((select p.generation from ${schema}.pruned_tombstones as p where p.record_type = ${recordType}), 0)::text as pruned
from ${schema}.record_state as s left join (select * from page order by n desc limit 1) as l on true where s.record_type = ${recordType}`;
  const key = ['changes', schema, table, endpoint.key, after?.kind ?? 'start'].join('\n');
  return { key, values, write: () => text };
}
