// Writes one page of a resource's changes as one statement: records and tombstones by generation, which is the order of commits.

import { rfc3339 } from '../warehouse/generation.ts';
import { quoted } from '../warehouse/table.ts';
import type { Position } from './change-token.ts';
import type { CompiledEndpoint } from './compile.ts';
import { type Bind, parameterTypes } from './conditions.ts';
import { recordColumns } from './render-sql.ts';
import { type Place, type Statement, stateColumns } from './sql.ts';

export type ChangePlan = {
  readonly endpoint: CompiledEndpoint;
  /** Null: from the start. */
  readonly after: Position | null;
  readonly limit: number;
};

/** `changes` is JSON text, joined by commas; the last one's position is null when there are none. */
export type ChangeRow = {
  changes: string;
  more: boolean;
  last_generation: string | null;
  last_kind: number | null;
  last_id: string | null;
  pruned: string;
};

type Cursor = { readonly alias: 't' | 'd'; readonly kind: Position['kind']; readonly idType: string };

/** Rows of one kind that lie behind the position; records of a generation lie before its deletions. */
function behind({ alias, kind, idType }: Cursor, after: Position | null, bind: Bind): string {
  if (after === null) return 'true';
  const generation = bind(after.generation, 'bigint');
  if (after.kind === kind) return `(${alias}.generation, ${alias}.id) > (${generation}, ${bind(after.id, idType)})`;
  return `${alias}.generation ${kind === 'delete' ? '>=' : '>'} ${generation}`;
}

export function changesStatement({ schema, table }: Place, { endpoint, after, limit }: ChangePlan): Statement {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const recordType = bind(endpoint.recordType, 'text');
  const idType = parameterTypes[endpoint.idType];
  const place = `${schema}.${quoted(table)}`;
  const records = behind({ alias: 't', kind: 'upsert', idType }, after, bind);
  const deletions = behind({ alias: 'd', kind: 'delete', idType: 'text' }, after, bind);
  const most = bind(limit, 'bigint');
  const text = `with found as (
  (select t.generation, 0 as kind, row_number() over (order by t.generation, t.id) as place, t.id::text as id, t.changed_at as at
   from ${place} as t where ${records} order by t.generation, t.id limit ${most} + 1)
  union all
  (select d.generation, 1, row_number() over (order by d.generation, d.id), d.id, d.deleted_at
   from ${schema}.tombstones as d where d.record_type = ${recordType} and ${deletions} order by d.generation, d.id limit ${most} + 1)
), numbered as (select *, row_number() over (order by generation, kind, place) as n from found),
page as (select * from numbered where n <= ${most}),
told as (
  select p.n, '{"op":"upsert","id":' || to_json(p.id) || ',"at":"' || ${rfc3339('p.at')} || '","record":' || row_to_json(r)::text || '}' as change
  from page as p join ${place} as t on t.id = p.id::${idType} cross join lateral (select ${recordColumns(endpoint.fields)}) as r where p.kind = 0
  union all
  select p.n, '{"op":"delete","id":' || to_json(p.id) || ',"at":"' || ${rfc3339('p.at')} || '","record":null}' from page as p where p.kind = 1
)
select ${stateColumns}, coalesce((select string_agg(change, ',' order by n) from told), '') as changes,
  (select count(*) from found) > ${most} as more, l.generation::text as last_generation, l.kind as last_kind, l.id as last_id,
  coalesce((select p.generation from ${schema}.pruned_tombstones as p where p.record_type = ${recordType}), 0)::text as pruned
from ${schema}.record_state as s left join (select * from page order by n desc limit 1) as l on true where s.record_type = ${recordType}`;
  const key = ['changes', schema, table, endpoint.key, after?.kind ?? 'start'].join('\n');
  return { key, values, write: () => text };
}
