// What this service would hold of a record type if the run were published now: the table that readers see, with what the run
// staged and found absent. Always asked in bounded pieces.
import { inDataTransaction } from '../db/transaction.ts';
import type { RecordColumn } from '../warehouse/columns.ts';
import { rfc3339 } from '../warehouse/generation.ts';
import type { RunState } from '../warehouse/run-row.ts';
import { quoted, stagingTable } from '../warehouse/table.ts';
import { unchangedIds } from '../warehouse/unchanged.ts';
import type { Reading } from './reading.ts';

type Own = Pick<Reading, 'ctx' | 'prepared' | 'config'>;

const query = <T extends Record<string, unknown>>({ ctx }: Own, sql: string, values: readonly unknown[]): Promise<T[]> =>
  inDataTransaction(ctx.db.data, async (client) => (await client.query<T>(sql, [...values])).rows);

const typeOf = ({ plan }: RunState): string => (plan.idType === 'integer' ? 'bigint' : 'text');
/** Null for a text that no id of this type can be. */
const asId = (expression: string, state: RunState): string =>
  state.plan.idType === 'integer' ? `(case when ${expression} ~ '^-?[0-9]{1,18}$' then ${expression}::bigint end)` : expression;

const places = ({ prepared: { schema, activeTable } }: Own, state: RunState) => ({
  table: `${schema}.${quoted(activeTable ?? '')}`,
  staging: `${schema}.${quoted(stagingTable(state.recordType))}`,
  target: `${schema}.${quoted(state.targetTable)}`,
});

/** How many records there would be, counting those that can't be stored and leaving out what is known to be absent. */
export async function countOwn(own: Own, state: RunState): Promise<number> {
  const { schema } = own.prepared;
  const { table, staging } = places(own, state);
  const known = own.config.deletions === 'none' ? 'kept' : 'open';
  const inTable = (id: string) => `exists (select from ${table} t where t.id = ${asId(id, state)})`;
  const isStaged = (id: string) => `exists (select from ${staging} s where s.run_id = $2 and s.id = ${asId(id, state)})`;
  const isGone = (id: string) => `exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = ${id})`;
  const [row] = await query<{ count: string }>(
    own,
    `select (select row_count from ${schema}.record_state where record_type = $1)
       + (select count(*) from ${staging} s where s.run_id = $2 and not exists (select from ${table} t where t.id = s.id))
       + (select count(*) from ${schema}.rejections r where r.record_type = $1 and not ${inTable('r.id')} and not ${isStaged('r.id')} and not ${isGone('r.id')})
       - (select count(*) from ${schema}.staged_deletions g where g.run_id = $2 and ${inTable('g.id')})
       - (select count(*) from ${schema}.deletion_proposals p, unnest(p.ids) h(id) where p.record_type = $1 and p.status = $3
            and ${inTable('h.id')} and not ${isStaged('h.id')} and not ${isGone('h.id')}) as count`,
    [state.recordType, state.runId, known],
  );
  return Number(row?.count ?? 0);
}

/**
 * Those of these ids that `place` has. By value, so that PostgreSQL looks each of them up: joined with them, it would go through all that
 * the run has staged so far, of which it knows nothing, for each page anew.
 */
const idsIn = (place: string, state: RunState, ids: string): string =>
  `select p.id::text as id from ${place} p where p.id = any(${ids}::${typeOf(state)}[])`;
const askable = (ids: readonly string[], { plan }: RunState): readonly string[] =>
  plan.idType === 'text' ? ids : ids.filter((id) => /^-?\d{1,18}$/.test(id));

/** Those of these ids that the table has, or the run staged, or a rejection names. */
export async function knownIds(own: Own, state: RunState, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { schema } = own.prepared;
  const { table, staging } = places(own, state);
  const rows = await query<{ id: string }>(
    own,
    `${idsIn(table, state, '$1')} union ${idsIn(staging, state, '$1')} and p.run_id = $2
     union select r.id from ${schema}.rejections r where r.record_type = $3 and r.id = any($4::text[])`,
    [askable(ids, state), state.runId, state.recordType, ids],
  );
  const known = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => known.has(id));
}

/** Those of these ids that this run has not read. */
export async function unreadOf(own: Own, state: RunState, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { schema } = own.prepared;
  const { staging } = places(own, state);
  const rows = await query<{ id: string }>(
    own,
    `${idsIn(staging, state, '$1')} and p.run_id = $2
     union select r.id from ${schema}.rejections r where r.record_type = $3 and r.run_id = $2 and r.id = any($4::text[])`,
    [askable(ids, state), state.runId, state.recordType, ids],
  );
  const read = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !read.has(id));
}

/** Records that could not be stored when they were read last, and that this run has not read yet. */
export async function openRejectedIds(own: Own, state: RunState, limit: number): Promise<string[]> {
  const { schema } = own.prepared;
  const { staging } = places(own, state);
  const rows = await query<{ id: string }>(
    own,
    `select r.id from ${schema}.rejections r where r.record_type = $1 and r.run_id <> $2 and ${asId('r.id', state)} is not null
     and ($3::text is null or r.id > $3) and not exists (select from ${staging} s where s.run_id = $2 and s.id = ${asId('r.id', state)})
     order by r.id limit $4`,
    [state.recordType, state.runId, state.checkpoint, limit],
  );
  return rows.map(({ id }) => id);
}

/** Ids absent by nothing but their absence, which the table still has. */
export async function unsureIds(own: Own, state: RunState): Promise<string[]> {
  const { schema } = own.prepared;
  const { table } = places(own, state);
  const rows = await query<{ id: string }>(
    own,
    `select d.id from ${schema}.staged_deletions d where d.run_id = $1 and d.proof = 'absent'
     and exists (select from ${table} t where t.id = ${asId('d.id', state)})`,
    [state.runId],
  );
  return rows.map(({ id }) => id);
}

/** What the table has and a complete read did not bring. */
export async function unreadIds(own: Own, state: RunState): Promise<string[]> {
  if (own.prepared.activeTable === null) return [];
  const { schema } = own.prepared;
  const { table, target } = places(own, state);
  const ofRun = state.targetTable === stagingTable(state.recordType) ? 'and s.run_id = $2' : '';
  const rows = await query<{ id: string }>(
    own,
    `select t.id::text as id from ${table} t where not exists (select from ${target} s where s.id = t.id ${ofRun})
     and not exists (select from ${unchangedIds(schema, state, '$2')} u where u.id = t.id)
     and not exists (select from ${schema}.rejections r where r.record_type = $1 and r.run_id = $2 and r.id = t.id::text)`,
    [state.recordType, state.runId],
  );
  return rows.map(({ id }) => id);
}

export async function approvedProposals(own: Own, state: RunState): Promise<{ id: string; ids: string[] }[]> {
  return query(own, `select id, ids from ${own.prepared.schema}.deletion_proposals where record_type = $1 and status = 'approved'`, [
    state.recordType,
  ]);
}

export type OwnRecord = {
  readonly id: string;
  readonly gone: boolean;
  readonly rejected: boolean;
  readonly cells: readonly (string | null)[];
};
type OwnRow = { id: string; gone: boolean; rejected: boolean; cells: (string | null)[] };

const cellText = ({ column, type }: RecordColumn): string => {
  const name = quoted(column);
  if (type === 'time') return rfc3339(name);
  return type === 'date' ? `to_char(${name}, 'YYYY-MM-DD')` : `${name}::text`;
};

/** Of each source the lowest ids: the lowest of both together are among them. */
const lowest = (place: string, columns: readonly RecordColumn[], where: string): string =>
  `(select id, array[${columns.map(cellText).join(', ')}]::text[] as cells from ${place} where ${where} order by id limit $4)`;

/** Records after the checkpoint in the order of their ids, up to and with `upTo` if given, with these columns as text. */
export async function ownRange(
  own: Own,
  state: RunState,
  columns: readonly RecordColumn[],
  upTo: string | null,
  limit: number,
): Promise<OwnRecord[]> {
  const { schema } = own.prepared;
  const { table, staging } = places(own, state);
  const type = typeOf(state);
  const range = `($2::${type} is null or id > $2::${type}) and ($3::${type} is null or id <= $3::${type})`;
  return query<OwnRow>(
    own,
    `select o.id::text as id, o.cells,
       exists (select from ${schema}.staged_deletions d where d.run_id = $1 and d.id = o.id::text) as gone,
       exists (select from ${schema}.rejections r where r.record_type = $5 and r.run_id = $1 and r.id = o.id::text) as rejected
     from (select coalesce(s.id, t.id) as id, case when s.id is null then t.cells else s.cells end as cells
           from ${lowest(staging, columns, `run_id = $1 and ${range}`)} s full join ${lowest(table, columns, range)} t on t.id = s.id) o
     order by o.id limit $4`,
    [state.runId, state.checkpoint, upTo, limit, state.recordType],
  );
}

/** The same for given ids. */
export async function ownByIds(own: Own, state: RunState, columns: readonly RecordColumn[], ids: readonly string[]): Promise<OwnRecord[]> {
  const { table } = places(own, state);
  return query<OwnRow>(
    own,
    `select id::text as id, array[${columns.map(cellText).join(', ')}]::text[] as cells, false as gone, false as rejected
     from ${table} where id = any($1::${typeOf(state)}[])`,
    [ids],
  );
}

/** Which of these could not be stored in this run. */
export async function rejectedNow(own: Own, state: RunState, ids: readonly string[]): Promise<Set<string>> {
  const rows = await query<{ id: string }>(
    own,
    `select id from ${own.prepared.schema}.rejections where record_type = $1 and run_id = $2 and id = any($3::text[])`,
    [state.recordType, state.runId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Which of these were absent when a complete scan looked last, and stayed. */
export async function heldBefore(own: Own, state: RunState, ids: readonly string[]): Promise<Set<string>> {
  const rows = await query<{ id: string }>(
    own,
    `select h.id from ${own.prepared.schema}.deletion_proposals p, unnest(p.ids) h(id)
     where p.record_type = $1 and p.status in ('open', 'kept', 'approved') and h.id = any($2::text[])`,
    [state.recordType, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Open records after the checkpoint that this run has not read yet. `condition` speaks of the table as `t`, with $4 for its values. */
export async function openIds(own: Own, state: RunState, condition: string, values: readonly string[], limit: number): Promise<string[]> {
  const { schema } = own.prepared;
  const { table, staging } = places(own, state);
  const type = typeOf(state);
  const rows = await query<{ id: string }>(
    own,
    `select t.id::text as id from ${table} t where ($2::${type} is null or t.id > $2::${type}) and ${condition} and ($4::text[] is not null)
     and not exists (select from ${staging} s where s.run_id = $1 and s.id = t.id)
     and not exists (select from ${schema}.rejections r where r.record_type = $5 and r.run_id = $1 and r.id = t.id::text)
     order by t.id limit $3`,
    [state.runId, state.checkpoint, limit, values, state.recordType],
  );
  return rows.map(({ id }) => id);
}
