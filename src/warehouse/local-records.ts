// Statements over the local records of a record type, in the active table and the staging table. Ranges and
// pages have a limit, and filters are as long as their input; `listIdsNotRead` returns everything that it finds.
import type { RecordColumn } from './columns.ts';
import { asId, type LocalView, queryIds, queryLocal, tableNames } from './local-view.ts';
import { rfc3339Sql } from './record-state.ts';
import type { RunState } from './run-state-row.ts';
import { castableIds, idSqlType } from './staging.ts';
import { quoteIdentifier, stagingTable } from './table.ts';
import { unchangedIdsSql } from './unchanged.ts';

/**
 * The number of records after the run, including records that can't be stored, and how many of them (`kept`)
 * the ERP is known to lack.
 */
export async function countLocal(
  local: LocalView & { readonly config: { readonly deletions: string } },
  state: RunState,
): Promise<{ readonly all: number; readonly kept: number }> {
  const { schema } = local.prepared;
  const { table, staging } = tableNames(local, state);
  const known = ['rejected', local.config.deletions === 'none' ? 'kept' : 'open'];
  const inTable = (id: string) => `exists (select from ${table} t where t.id = ${asId(id, state)})`;
  const isStaged = (id: string) =>
    `exists (select from ${staging} s where s.run_id = $2 and s.id = ${asId(id, state)})`;
  const isGone = (id: string) =>
    `exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = ${id})`;
  const [row] = await queryLocal<{ all: string; kept: string }>(
    local,
    `select (select row_count from ${schema}.record_state where record_type = $1)
       + (select count(*) from ${staging} s where s.run_id = $2 and not exists (select from ${table} t where t.id = s.id))
       + (select count(*) from ${schema}.rejections r where r.record_type = $1 and not ${inTable('r.id')} and not ${isStaged('r.id')} and not ${isGone('r.id')})
       - (select count(*) from ${schema}.staged_deletions g where g.run_id = $2 and ${inTable('g.id')}) as all,
       (select count(distinct h.id) from ${schema}.deletion_proposals p, unnest(p.ids) h(id) where p.record_type = $1 and p.status = any($3::text[])
            and ${inTable('h.id')} and not ${isStaged('h.id')} and not ${isGone('h.id')}) as kept`,
    [state.recordType, state.runId, known],
  );
  return { all: Number(row?.all ?? 0), kept: Number(row?.kept ?? 0) };
}

/**
 * SQL that selects the given ids that the table has. The ids are passed by value, so that PostgreSQL looks up
 * each one: with a join, it would scan all rows that the run has staged so far, of which it has no
 * statistics, once per page.
 */
const selectIds = (table: string, state: RunState, ids: string): string =>
  `select p.id::text as id from ${table} p where p.id = any(${ids}::${idSqlType(state)}[])`;

/** The given ids that are in the active table, staged by the run, or rejected. */
export async function filterKnownIds(local: LocalView, state: RunState, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const { schema } = local.prepared;
  const { table, staging } = tableNames(local, state);
  const found = await queryIds(
    local,
    `${selectIds(table, state, '$1')} union ${selectIds(staging, state, '$1')} and p.run_id = $2
     union select r.id from ${schema}.rejections r where r.record_type = $3 and r.id = any($4::text[])`,
    [castableIds(ids, state), state.runId, state.recordType, ids],
  );
  const known = new Set(found);
  return ids.filter((id) => known.has(id));
}

/** The given ids that this run has not read yet. */
export async function filterUnreadIds(local: LocalView, state: RunState, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const { schema } = local.prepared;
  const { staging } = tableNames(local, state);
  const found = await queryIds(
    local,
    `${selectIds(staging, state, '$1')} and p.run_id = $2
     union select r.id from ${schema}.rejections r where r.record_type = $3 and r.run_id = $2 and r.id = any($4::text[])`,
    [castableIds(ids, state), state.runId, state.recordType, ids],
  );
  const read = new Set(found);
  return ids.filter((id) => !read.has(id));
}

/**
 * Ids in the active table, and of records rejected before, that a complete read did not return and that the
 * run has not yet found absent.
 */
export async function listIdsNotRead(local: LocalView, state: RunState): Promise<string[]> {
  if (local.prepared.activeTable === null) return [];
  const { schema } = local.prepared;
  const { table, target } = tableNames(local, state);
  const ofRun = state.targetTable === stagingTable(state.recordType) ? 'and s.run_id = $2' : '';
  return queryIds(
    local,
    `select o.id::text as id from (select t.id from ${table} t union all
       select ${asId('r.id', state)} from ${schema}.rejections r where r.record_type = $1 and ${asId('r.id', state)} is not null
         and not exists (select from ${table} t where t.id = ${asId('r.id', state)})) o(id)
     where not exists (select from ${target} s where s.id = o.id ${ofRun})
     and not exists (select from ${unchangedIdsSql(schema, state, '$2')} u where u.id = o.id)
     and not exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = o.id::text)
     and not exists (select from ${schema}.rejections r where r.record_type = $1 and r.run_id = $2 and r.id = o.id::text)`,
    [state.recordType, state.runId],
  );
}

/**
 * Ids in the active table that the stored pages of the run's list don't have, and that the run has not found
 * absent.
 */
export async function listUnlistedIds(local: LocalView, state: RunState): Promise<string[]> {
  const { schema } = local.prepared;
  const { table } = tableNames(local, state);
  return queryIds(
    local,
    `select t.id::text as id from ${table} t
     except select unnest(l.ids) from ${schema}.listed_ids l where l.run_id = $1
     except select d.id from ${schema}.staged_deletions d where d.run_id = $1`,
    [state.runId],
  );
}

export type LocalRecord = {
  readonly id: string;
  readonly absent: boolean;
  readonly rejected: boolean;
  readonly cells: readonly (string | null)[];
};

type LocalRow = { id: string; absent: boolean; rejected: boolean; cells: (string | null)[] };

/** SQL for the column's value as canonical text; `table` is an alias. */
export const cellText = ({ column, type }: Pick<RecordColumn, 'column' | 'type'>, table?: string): string => {
  const name = `${table === undefined ? '' : `${table}.`}${quoteIdentifier(column)}`;
  if (type === 'time') return rfc3339Sql(name);
  return type === 'date' ? `to_char(${name}, 'YYYY-MM-DD')` : `${name}::text`;
};

/** The lowest ids of one source: the lowest ids of both sources together are among them. */
const lowestRows = (source: string, columns: readonly RecordColumn[], where: string): string =>
  `(select id, array[${columns.map((column) => cellText(column)).join(', ')}]::text[] as cells from ${source} where ${where} order by id limit $4)`;

/** Records after the checkpoint up to and including `upTo` (null: all), by id, the columns as text. */
export async function readLocalRange(
  local: LocalView,
  state: RunState,
  columns: readonly RecordColumn[],
  upTo: string | null,
  limit: number,
): Promise<LocalRecord[]> {
  const { schema } = local.prepared;
  const { table, staging } = tableNames(local, state);
  const type = idSqlType(state);
  const range = `($2::${type} is null or id > $2::${type}) and ($3::${type} is null or id <= $3::${type})`;
  return queryLocal<LocalRow>(
    local,
    `select o.id::text as id, o.cells,
       exists (select from ${schema}.staged_deletions d where d.run_id = $1 and d.id = o.id::text) as absent,
       exists (select from ${schema}.rejections r where r.record_type = $5 and r.run_id = $1 and r.id = o.id::text) as rejected
     from (select coalesce(s.id, t.id) as id, case when s.id is null then t.cells else s.cells end as cells
           from ${lowestRows(staging, columns, `run_id = $1 and ${range}`)} s full join ${lowestRows(table, columns, range)} t on t.id = s.id) o
     order by o.id limit $4`,
    [state.runId, state.checkpoint, upTo, limit, state.recordType],
  );
}

/** Records of the active table with these ids, with these columns as text. */
export async function readLocalByIds(
  local: LocalView,
  state: RunState,
  columns: readonly RecordColumn[],
  ids: readonly string[],
): Promise<LocalRecord[]> {
  const { schema } = local.prepared;
  const { table } = tableNames(local, state);
  return queryLocal<LocalRow>(
    local,
    `select t.id::text as id, array[${columns.map((column) => cellText(column, 't')).join(', ')}]::text[] as cells, false as rejected,
       exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = t.id::text) as absent
     from ${table} t where t.id = any($1::${idSqlType(state)}[])`,
    [ids, state.runId],
  );
}

/**
 * Those of the listed records that this run has not staged with the listed time in this column, which is a
 * `time`; `staged` says whether it staged them with another one.
 */
export async function listNotStagedAs(
  local: LocalView,
  state: RunState,
  { column }: RecordColumn,
  listed: readonly { readonly id: string; readonly modifiedAt: string | null }[],
): Promise<{ id: string; staged: boolean }[]> {
  const { staging } = tableNames(local, state);
  const type = idSqlType(state);
  return queryLocal(
    local,
    `with s as materialized (select id, ${quoteIdentifier(column)} as at from ${staging} where run_id = $2 and id = any($1::${type}[]))
     select l.id::text as id, s.id is not null as staged from unnest($1::${type}[], $3::timestamptz[]) l(id, at) left join s on s.id = l.id
     where s.id is null or s.at is distinct from l.at`,
    [listed.map(({ id }) => id), state.runId, listed.map(({ modifiedAt }) => modifiedAt)],
  );
}

/** SQL conditions over a row of the table as `t`: `values` is $4, `closedSince` (YYYY-MM-DD) is $6. */
export type OpenCondition = {
  readonly open: string;
  readonly recentlyClosed: string;
  readonly values: readonly string[];
  readonly closedSince: string;
};

export type OpenRecord = { readonly id: string; readonly open: boolean };

/**
 * Open and recently closed records after the checkpoint that this run has not read, by id. `is not null`
 * keeps parameters used that the conditions don't need.
 */
export async function listOpenIds(
  local: LocalView,
  state: RunState,
  condition: OpenCondition,
  limit: number,
): Promise<OpenRecord[]> {
  const { schema } = local.prepared;
  const { table, staging } = tableNames(local, state);
  const type = idSqlType(state);
  const { open, recentlyClosed, values, closedSince } = condition;
  return queryLocal<OpenRecord>(
    local,
    `select t.id::text as id, ${open} as open from ${table} t where ($2::${type} is null or t.id > $2::${type})
     and (${open} or ${recentlyClosed}) and $4::text[] is not null and $6::text is not null
     and not exists (select from ${staging} s where s.run_id = $1 and s.id = t.id)
     and not exists (select from ${schema}.rejections r where r.record_type = $5 and r.run_id = $1 and r.id = t.id::text)
     order by t.id limit $3`,
    [state.runId, state.checkpoint, limit, values, state.recordType, closedSince],
  );
}

type IdRange = {
  readonly afterId: string | null;
  readonly upTo: string | null;
  readonly except: readonly string[];
  readonly limit: number;
};

/**
 * Stored ids after `afterId`, up to and including `upTo` (null: to the end), that this run has neither read
 * nor found absent, by id. Leaves out those that a deletion proposal lists.
 */
export async function listUnreadInRange(
  local: LocalView,
  state: RunState,
  { afterId, upTo, except, limit }: IdRange,
): Promise<string[]> {
  const { schema } = local.prepared;
  const { table, staging } = tableNames(local, state);
  const type = idSqlType(state);
  return queryIds(
    local,
    `select t.id::text as id from ${table} t where ($3::${type} is null or t.id > $3::${type}) and ($4::${type} is null or t.id <= $4::${type})
     and t.id <> all($5::${type}[])
     and not exists (select from ${staging} s where s.run_id = $2 and s.id = t.id)
     and not exists (select from ${schema}.rejections r where r.record_type = $1 and r.run_id = $2 and r.id = t.id::text)
     and not exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = t.id::text)
     and not exists (select from ${schema}.deletion_proposals p where p.record_type = $1
       and p.status in ('open', 'kept', 'approved', 'rejected') and t.id::text = any(p.ids))
     order by t.id limit $6`,
    [state.recordType, state.runId, afterId, upTo, castableIds(except, state), limit],
  );
}
