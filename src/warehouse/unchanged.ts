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

export type Split = { readonly changed: readonly EncodedRecord[]; readonly unchanged: readonly string[] };

/** Compares the records with the table that the run began over. Publishing refuses the run when another one is there by then. */
export async function splitByContent(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
): Promise<Split> {
  const { comparedWith = null } = state.plan;
  if (comparedWith === null || records.length === 0) return { changed: records, unchanged: [] };
  const asked = records.filter((record) => isComparable(record, state));
  const type = idType(state);
  const { rows } = await client.query<{ n: string }>(
    `select a.n from unnest($1::${type}[]) with ordinality a(id, n) join ${schema}.${quoted(comparedWith.table)} t on t.id = a.id
     where t.content_hash = substring($2::bytea from (a.n::integer - 1) * ${hashBytes} + 1 for ${hashBytes})`,
    [asked.map(({ id }) => id), Buffer.concat(asked.map(({ hash }) => hash))],
  );
  const unchanged = rows.flatMap(({ n }) => asked[Number(n) - 1] ?? []);
  const same = new Set(unchanged);
  return { changed: records.filter((record) => !same.has(record)), unchanged: unchanged.map(({ id }) => id) };
}

export async function noteUnchanged(client: PoolClient, schema: string, state: RunState, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await client.query(`insert into ${schema}.staged_unchanged (run_id, page, record_type, ids) values ($1, $2, $3, $4)`, [
    state.runId,
    state.page,
    state.recordType,
    ids,
  ]);
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
