// A complete read of a table that stays in place stages only the records that differ from it. Of records with
// the same content hash it stores only the ids, one row per page: enough to prove that all were read and to
// find absent ones, at a fraction of the writes.
import type { PoolClient } from 'pg';
import { isOutsideHash, sqlTypes } from './columns.ts';
import { type EncodedRecord, emptyColumns } from './encode.ts';
import type { RunState } from './run-state-row.ts';
import { sql, sqlText, tableOf } from './sql.ts';
import { quoteIdentifier } from './table.ts';

const hashBytes = 16;

/** Ids of an integer column that COPY would reject are left to COPY, whose error describes the problem. */
const isComparable = ({ id }: EncodedRecord, { plan }: RunState): boolean =>
  plan.idType === 'text' || /^-?\d{1,18}$/.test(id);

/** Builds the array literal directly: integers need no quoting, and a page has a thousand of them. */
const idArray = (ids: readonly string[], { plan }: RunState): string | readonly string[] =>
  plan.idType === 'integer' ? `{${ids.join()}}` : ids;

/**
 * SQL that is true where no column is empty in the ERP and has a stored value, of those that may differ in spite
 * of the same hash: a content hash leaves out empty columns as well.
 */
function keepsEmpty({ columns }: RunState, compared: readonly EncodedRecord[]) {
  const outside = columns.filter(isOutsideHash).map(({ column }) => column);
  const empty = outside.length === 0 ? [] : compared.map((record) => emptyColumns(record, columns));
  return outside.reduce((conditions, column) => {
    const isEmpty = empty.map((names) => names.has(column));
    const name = sqlText(quoteIdentifier(column));
    return sql`${conditions} and (t.${name} is null or not (${isEmpty}::boolean[])[a.n::integer])`;
  }, sql`true`);
}

/**
 * Returns the records that are new or differ from the table that the run is compared with, and stores the ids
 * of the others. Publishing fails when that table is no longer the active one at the same generation.
 */
export async function filterChanged(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
): Promise<readonly EncodedRecord[]> {
  const { comparedWith = null } = state.plan;
  if (comparedWith === null || records.length === 0) return records;
  const compared = records.filter((record) => isComparable(record, state));
  const ids = compared.map(({ id }) => id);
  const hashes = `\\x${compared.map(({ hash }) => hash).join('')}`;
  const bytes = sqlText(String(hashBytes));
  const { rows } = await client.query<{ n: number }>(
    sql`with compared as materialized (
       select a.id, a.n::integer as n, t.content_hash is not distinct from substring(${hashes}::bytea from (a.n::integer - 1) * ${bytes} + 1 for ${bytes}) and ${keepsEmpty(state, compared)} as same
       from unnest(${idArray(ids, state)}::${sqlText(sqlTypes[state.plan.idType])}[]) with ordinality a(id, n) left join ${tableOf(schema, comparedWith.table)} t on t.id = a.id
     ), stored as (
       insert into ${tableOf(schema, 'staged_unchanged')} (run_id, page, record_type, ids)
       select ${state.runId}, ${state.page}, ${state.recordType}, array_agg(id::text) from compared where same having count(*) > 0
     )
     select n from compared where not same`,
  );
  if (rows.length === 0 && compared.length === records.length) return [];
  const changed = new Set(rows.map(({ n }) => compared[n - 1]));
  const comparable = new Set(compared);
  return records.filter((record) => changed.has(record) || !comparable.has(record));
}

/** Deletes these ids from the stored ones: their records were read again. Returns how many there were. */
export async function removeUnchanged(
  client: PoolClient,
  schema: string,
  state: RunState,
  ids: readonly string[],
): Promise<number> {
  if ((state.plan.comparedWith ?? null) === null) return 0;
  const { rows } = await client.query<{ taken: number }>(
    `update ${schema}.staged_unchanged u set ids = array(select unnest(h.ids) except select unnest($2::text[]))
     from (select page, ids from ${schema}.staged_unchanged where run_id = $1 and ids && $2::text[]) h
     where u.run_id = $1 and u.page = h.page returning cardinality(h.ids) - cardinality(u.ids) as taken`,
    [state.runId, ids],
  );
  return rows.reduce((sum, { taken }) => sum + taken, 0);
}

/** SQL for a table of `id`; `run` is the run's id or its placeholder. */
export const unchangedIdsSql = (schema: string, state: Pick<RunState, 'plan'>, run: string): string =>
  `(select unnest(ids)::${sqlTypes[state.plan.idType]} as id from ${schema}.staged_unchanged where run_id = ${run})`;

/** SQL for a scalar expression. */
export const unchangedCountSql = (schema: string, run: string): string =>
  `(select coalesce(sum(cardinality(ids)), 0) from ${schema}.staged_unchanged where run_id = ${run})`;
