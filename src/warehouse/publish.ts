// Makes a finished run visible: one transaction of one organization's schema, without DDL. Rows, deletions, counts, generation
// and the run's outcome flip together, so a reader sees all of a run or none of it.
import type { PoolClient } from 'pg';
import { systemColumns } from './columns.ts';
import { type DeletionRules, decideDeletions, readAbsent, readSure, settleProposals } from './deletions.ts';
import { newEpoch } from './generation.ts';
import { isFresh, LostLease, type PublishOutcome, type RunState } from './run-row.ts';
import { quoted, stagingTable } from './table.ts';
import { unchangedCount, unchangedIds } from './unchanged.ts';

export type PublishRules = DeletionRules & {
  /** What the ERP changed shortly before the run began may not have been visible yet: the high-water mark stays behind by this. */
  readonly settleMs: number;
};

type Current = { generation: string; row_count: string; active_table: string | null };
type Changed = { inserted: number; updated: number; unchanged: number; deleted: number; held: number; proposalId: string | null };
type Work = {
  readonly client: PoolClient;
  readonly schema: string;
  readonly state: RunState;
  readonly rules: PublishRules;
  readonly generation: string;
};

async function lockState(client: PoolClient, schema: string, state: RunState): Promise<Current> {
  const { rows } = await client.query<Current>(
    `select generation, row_count, active_table from ${schema}.record_state where record_type = $1 for update`,
    [state.recordType],
  );
  const owned = await client.query(
    `select from ${schema}.run_state where run_id = $1 and lease_epoch = $2 and page = $3 and outcome is null for update`,
    [state.runId, state.leaseEpoch, state.page],
  );
  const current = rows[0];
  if (current === undefined || owned.rowCount !== 1) throw new LostLease('a newer lease holds this run');
  const { comparedWith = null } = state.plan;
  if (comparedWith !== null && (comparedWith.table !== current.active_table || comparedWith.generation !== current.generation))
    throw new Error('the table that this run was compared with has changed since');
  return current;
}

/** Rows of `table` that the run's complete read did not see and that no rejected record explains. */
const absent = (schema: string, table: string, seen: string): string =>
  `from ${schema}.${quoted(table)} t where not exists (select from ${seen} s where s.id = t.id)
   and not exists (select from ${schema}.rejections r where r.record_type = $1 and r.id = t.id::text)`;

async function writeTombstones({ client, schema, state, generation }: Work, ids: readonly string[]): Promise<void> {
  await client.query(
    `insert into ${schema}.tombstones (record_type, id, generation) select $1, unnest($2::text[]), $3
     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = now()`,
    [state.recordType, ids, generation],
  );
}

/** Counts by hash of content: what is new, what differs, and what is the same as in the table that readers see. */
async function compare(client: PoolClient, read: string, table: string) {
  const { rows } = await client.query<{ inserted: string; updated: string; unchanged: string }>(
    `select count(*) filter (where t.id is null) as inserted, count(*) filter (where t.content_hash <> s.content_hash) as updated,
            count(*) filter (where t.content_hash = s.content_hash) as unchanged
     from ${read} s left join ${table} t on t.id = s.id`,
  );
  const row = rows[0];
  return { inserted: Number(row?.inserted ?? 0), updated: Number(row?.updated ?? 0), unchanged: Number(row?.unchanged ?? 0) };
}

/** How many rows were new. No one else writes this table: whoever publishes holds the row of record_state. */
async function insertNew({ client, schema, state, generation }: Work, staging: string, table: string): Promise<number> {
  const names = state.columns.map(({ column }) => quoted(column));
  const { rowCount } = await client.query(
    `insert into ${table} (${['id', 'generation', 'content_hash', ...names].join(', ')})
     select s.id, $2, s.content_hash${names.map((name) => `, s.${name}`).join('')} from ${staging} s
     where s.run_id = $1 and not exists (select from ${table} t where t.id = s.id)`,
    [state.runId, generation],
  );
  await client.query(
    `delete from ${schema}.tombstones d using ${staging} s where d.record_type = $1 and s.run_id = $2 and d.id = s.id::text`,
    [state.recordType, state.runId],
  );
  return rowCount ?? 0;
}

/** How many rows differ by the hash of their content. */
async function updateChanged({ client, state, generation }: Work, staging: string, table: string): Promise<number> {
  const names = ['content_hash', ...state.columns.map(({ column }) => quoted(column))];
  const { rowCount } = await client.query(
    `update ${table} t set generation = $2, changed_at = now(), ${names.map((name) => `${name} = s.${name}`).join(', ')}
     from ${staging} s where s.run_id = $1 and t.id = s.id and t.content_hash <> s.content_hash`,
    [state.runId, generation],
  );
  return rowCount ?? 0;
}

async function mergeStaged(work: Work, current: Current, active: string): Promise<Changed> {
  const { client, schema, state } = work;
  const staging = `${schema}.${quoted(stagingTable(state.recordType))}`;
  const table = `${schema}.${quoted(active)}`;
  const { rows } = await client.query<{ staged: string; same: string }>(
    `select (select count(*) from ${staging} where run_id = $1) as staged, ${unchangedCount(schema, '$1')} as same`,
    [state.runId],
  );
  const staged = Number(rows[0]?.staged ?? 0);
  const inserted = staged === 0 ? 0 : await insertNew(work, staging, table);
  const updated = inserted === staged ? 0 : await updateChanged(work, staging, table);
  const unchanged = staged - inserted - updated + Number(rows[0]?.same ?? 0);
  return { inserted, updated, unchanged, ...(await removeAbsent(work, current, active)) };
}

/** Ids that the table has and the ERP has not: all that a complete read lacks, or those that an incremental run found out. */
async function findAbsent(work: Work, table: string): Promise<string[]> {
  const { client, schema, state } = work;
  if (state.plan.mode === 'incremental') return readAbsent(work, table);
  const seen = `(select id from ${schema}.${quoted(stagingTable(state.recordType))} where run_id = $2 union all ${unchangedIds(schema, state, '$2')})`;
  const { rows } = await client.query<{ id: string }>(`select t.id::text as id ${absent(schema, table, seen)} order by t.id`, [
    state.recordType,
    state.runId,
  ]);
  return rows.map(({ id }) => id);
}

async function removeAbsent(work: Work, current: Current, active: string): Promise<Pick<Changed, 'deleted' | 'held' | 'proposalId'>> {
  const { client, schema, state, rules } = work;
  const absentIds = await findAbsent(work, active);
  const decision = decideDeletions(absentIds, await readSure(work), current.row_count, rules, state.plan.feed);
  const settled = await settleProposals(work, active, decision, rules, current.row_count);
  if (decision.remove.length > 0) {
    const type = state.plan.idType === 'integer' ? 'bigint' : 'text';
    const gone = await client.query(`delete from ${schema}.${quoted(active)} where id = any($1::${type}[])`, [decision.remove]);
    if (gone.rowCount !== decision.remove.length) throw new Error('what was found absent and what was deleted differ');
    await writeTombstones(work, decision.remove);
  }
  return { deleted: decision.remove.length, ...settled };
}

/** Carries over what a fresh table must keep from the old one, and notes what it leaves behind. */
async function carryOver(work: Work, current: Current, old: string): Promise<Pick<Changed, 'deleted' | 'held' | 'proposalId'>> {
  const { client, schema, state, rules } = work;
  const fresh = `${schema}.${quoted(state.targetTable)}`;
  const missing = await client.query<{ id: string; rejected: boolean }>(
    `select t.id::text as id, exists (select from ${schema}.rejections r where r.record_type = $1 and r.id = t.id::text) as rejected
     from ${schema}.${quoted(old)} t where not exists (select from ${fresh} s where s.id = t.id)`,
    [state.recordType],
  );
  const absentIds = missing.rows.filter(({ rejected }) => !rejected).map(({ id }) => id);
  const decision = decideDeletions(absentIds, await readSure(work), current.row_count, rules, state.plan.feed);
  const settled = await settleProposals(work, old, decision, rules, current.row_count);
  const removed = new Set(decision.remove);
  const kept = missing.rows.map(({ id }) => id).filter((id) => !removed.has(id));
  if (kept.length > 0) {
    const shared = await client.query<{ name: string }>(
      `select quote_ident(a.attname) as name from pg_attribute a join pg_attribute b on b.attname = a.attname
       where a.attrelid = $1::regclass and b.attrelid = $2::regclass and a.attnum > 0 and b.attnum > 0 and not a.attisdropped and not b.attisdropped`,
      [`${schema}.${quoted(old)}`, fresh],
    );
    const names = shared.rows.map(({ name }) => name).join(', ');
    await client.query(`insert into ${fresh} (${names}) select ${names} from ${schema}.${quoted(old)} where id::text = any($1)`, [kept]);
  }
  if (decision.remove.length > 0) await writeTombstones(work, decision.remove);
  return { deleted: decision.remove.length, ...settled };
}

/** Columns whose field the ERP no longer has keep their values: published versions may read them. */
async function carryOldColumns({ client, schema, state }: Work, old: string): Promise<void> {
  const fresh = `${schema}.${quoted(state.targetTable)}`;
  const shared = await client.query<{ name: string }>(
    `select a.attname as name from pg_attribute a join pg_attribute b on b.attname = a.attname
     where a.attrelid = $1::regclass and b.attrelid = $2::regclass and a.attnum > 0 and b.attnum > 0 and not a.attisdropped and not b.attisdropped
       and a.attname <> all($3)`,
    [`${schema}.${quoted(old)}`, fresh, [...systemColumns, ...state.columns.map(({ column }) => column)]],
  );
  const names = shared.rows.map(({ name }) => quoted(name));
  if (names.length === 0) return;
  await client.query(
    `update ${fresh} f set ${names.map((name) => `${name} = o.${name}`).join(', ')} from ${schema}.${quoted(old)} o
     where o.id = f.id and (${names.map((name) => `o.${name} is not null`).join(' or ')})`,
  );
}

async function swapIn(work: Work, current: Current): Promise<Changed & { rowCount: number }> {
  const { client, schema, state } = work;
  const old = current.active_table;
  const fresh = `${schema}.${quoted(state.targetTable)}`;
  const read =
    old === null
      ? { inserted: state.counters.fetched - state.counters.rejected, updated: 0, unchanged: 0 }
      : await compare(client, fresh, `${schema}.${quoted(old)}`);
  if (old !== null) await carryOldColumns(work, old);
  const carried = old === null ? { deleted: 0, held: 0, proposalId: null } : await carryOver(work, current, old);
  const counted = await client.query<{ count: string }>(`select count(*) from ${fresh}`);
  await client.query(`delete from ${schema}.tombstones d using ${fresh} f where d.record_type = $1 and d.id = f.id::text`, [
    state.recordType,
  ]);
  if (old !== null) await client.query(`insert into ${schema}.retired_tables (table_name) values ($1) on conflict do nothing`, [old]);
  await client.query(`update ${schema}.record_state set active_table = $2, epoch = $3 where record_type = $1`, [
    state.recordType,
    state.targetTable,
    newEpoch(),
  ]);
  return { ...read, ...carried, rowCount: Number(counted.rows[0]?.count ?? 0) };
}

/** Rejected records that this run read well are solved; those it did not see in a complete read, or found absent, are gone. */
async function closeRejections({ client, schema, state }: Work, table: string): Promise<number> {
  const solved =
    state.plan.mode === 'full'
      ? 'run_id <> $2'
      : `run_id <> $2 and (exists (select from ${schema}.${quoted(table)} t where t.run_id = $2 and t.id::text = rejections.id)
           or exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = rejections.id))`;
  await client.query(`delete from ${schema}.rejections where record_type = $1 and ${solved}`, [state.recordType, state.runId]);
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${schema}.rejections where record_type = $1`, [
    state.recordType,
  ]);
  return Number(rows[0]?.count ?? 0);
}

/**
 * The high-water mark never goes back, and never past what the ERP may still bring to light: after a complete read it follows the
 * ERP's clock, after an incremental one the records that were seen.
 */
async function writeState({ client, schema, state, rules }: Work, generation: string, rowCount: number): Promise<void> {
  const { mode, maxModified, scanned } = state.plan;
  await client.query(
    `update ${schema}.record_state set generation = $2, row_count = $3, published_run = $4,
       high_water = case when $6 then $5::timestamptz - make_interval(secs => $8)
         else greatest(high_water, least($7::timestamptz, $5::timestamptz - make_interval(secs => $8))) end,
       reconciled_at = case when $6 or $9 then $5::timestamptz else reconciled_at end,
       synced_at = (select started_at from ${schema}.run_state where run_id = $4) where record_type = $1`,
    [
      state.recordType,
      generation,
      rowCount,
      state.runId,
      state.counters.erpStartedAt,
      mode === 'full',
      // Nothing seen: the mark stays. least() would skip an empty value.
      maxModified ?? '-infinity',
      rules.settleMs / 1000,
      scanned,
    ],
  );
}

/** `onVerified` sees the exact number of rows before anything becomes visible, and may throw to undo all of it. */
export async function publishRun(
  client: PoolClient,
  schema: string,
  state: RunState,
  rules: PublishRules,
  onVerified: (counts: PublishOutcome['counts'], rows: number, heldDeletions: number) => void,
): Promise<PublishOutcome> {
  const current = await lockState(client, schema, state);
  const next = (BigInt(current.generation) + 1n).toString();
  const work: Work = { client, schema, state, rules, generation: next };
  const fresh = isFresh(state);
  if (!fresh && current.active_table === null) throw new Error('a first load needs a fresh table');
  const open = await closeRejections(work, fresh ? state.targetTable : stagingTable(state.recordType));
  const changed = fresh
    ? await swapIn(work, current)
    : await mergeStaged(work, current, current.active_table ?? '').then((merged) => ({
        ...merged,
        rowCount: Number(current.row_count) + merged.inserted - merged.deleted,
      }));
  const { inserted, updated, unchanged, deleted, held, proposalId, rowCount } = changed;
  const moved = fresh || inserted + updated + deleted > 0;
  const generation = moved ? next : current.generation;
  await writeState(work, generation, rowCount);
  if (state.plan.mode === 'full') {
    await client.query(
      `update ${schema}.record_columns set state = 'live' where record_type = $1 and state = 'loading' and column_name = any($2)`,
      [state.recordType, state.columns.map(({ column }) => column)],
    );
  }
  const counts = { fetched: state.counters.fetched, inserted, updated, unchanged, deleted, rejected: open };
  onVerified(counts, rowCount, held);
  const outcome: PublishOutcome = {
    status: open > 0 || held > 0 ? 'partial' : 'succeeded',
    generation,
    counts,
    heldDeletions: held,
    proposalId,
  };
  await client.query(`update ${schema}.run_state set outcome = $2, updated_at = now() where run_id = $1`, [
    state.runId,
    JSON.stringify(outcome),
  ]);
  await client.query(`delete from ${schema}.${quoted(stagingTable(state.recordType))} where run_id = $1`, [state.runId]);
  for (const table of ['staged_deletions', 'staged_unchanged'])
    await client.query(`delete from ${schema}.${table} where run_id = $1`, [state.runId]);
  return outcome;
}
