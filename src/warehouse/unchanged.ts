// A complete read over a table that readers see stages only what differs from it. Of what is the same by the hash of its content
// it keeps the ids, one row per page: enough to prove that all came and to see what is absent, at a fraction of the writing.
import type { PoolClient } from 'pg';
import type { EncodedRecord } from './encode.ts';
import type { RunState } from './run-row.ts';
import { quoted } from './table.ts';

const hashBytes = 16;
const idType = ({ plan }: Pick<RunState, 'plan'>): string => (plan.idType === 'integer' ? 'bigint' : 'text');

/** Ids of an integer column that COPY would refuse are left to COPY, which says what is wrong with them. */
const isComparable = ({ id }: EncodedRecord, { plan }: RunState): boolean => plan.idType === 'text' || /^-?\d{1,18}$/.test(id);

/** Numbers need no quoting, and there are a thousand on a page. */
const idArray = (ids: readonly string[], { plan }: RunState): string | readonly string[] =>
  plan.idType === 'integer' ? `{${ids.join()}}` : ids;

/**
 * Gives the records that differ from the table that the run began over, or are new; notes the ids of the others. Publishing refuses
 * the run when another table is there by then.
 */
export async function keepChanged(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
): Promise<readonly EncodedRecord[]> {
  const { comparedWith = null } = state.plan;
  if (comparedWith === null || records.length === 0) return records;
  const asked = records.filter((record) => isComparable(record, state));
  const ids = asked.map(({ id }) => id);
  const { rows } = await client.query<{ n: number }>(
    `with compared as materialized (
       select a.id, a.n::integer as n, t.content_hash is not distinct from substring($2::bytea from (a.n::integer - 1) * ${hashBytes} + 1 for ${hashBytes}) as same
       from unnest($1::${idType(state)}[]) with ordinality a(id, n) left join ${schema}.${quoted(comparedWith.table)} t on t.id = a.id
     ), noted as (
       insert into ${schema}.staged_unchanged (run_id, page, record_type, ids)
       select $3, $4, $5, array_agg(id::text) from compared where same having count(*) > 0
     )
     select n from compared where not same`,
    [idArray(ids, state), `\\x${asked.map(({ hash }) => hash).join('')}`, state.runId, state.page, state.recordType],
  );
  if (rows.length === 0 && asked.length === records.length) return [];
  const changed = new Set(rows.map(({ n }) => asked[n - 1]));
  const comparable = new Set(asked);
  return records.filter((record) => changed.has(record) || !comparable.has(record));
}

/** What was read again gives way; says how many of these ids there were. */
export async function takeBackUnchanged(client: PoolClient, schema: string, state: RunState, ids: readonly string[]): Promise<number> {
  if ((state.plan.comparedWith ?? null) === null) return 0;
  const { rows } = await client.query<{ taken: number }>(
    `update ${schema}.staged_unchanged u set ids = array(select unnest(h.ids) except select unnest($2::text[]))
     from (select page, ids from ${schema}.staged_unchanged where run_id = $1 and ids && $2::text[]) h
     where u.run_id = $1 and u.page = h.page returning cardinality(h.ids) - cardinality(u.ids) as taken`,
    [state.runId, ids],
  );
  return rows.reduce((sum, { taken }) => sum + taken, 0);
}

/** As a table of `id`; `run` is the run's id or its placeholder. */
export const unchangedIds = (schema: string, state: Pick<RunState, 'plan'>, run: string): string =>
  `(select unnest(ids)::${idType(state)} as id from ${schema}.staged_unchanged where run_id = ${run})`;

/** As an expression. */
export const unchangedCount = (schema: string, run: string): string =>
  `(select coalesce(sum(cardinality(ids)), 0) from ${schema}.staged_unchanged where run_id = ${run})`;
