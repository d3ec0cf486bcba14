// Makes a finished run visible: one transaction of one organization's schema, without DDL. Rows, deletions, counts, generation
// and the run's outcome flip together, so a reader sees all of a run or none of it.
import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { systemColumns } from './columns.ts';
import { isFresh, LostLease, type PublishOutcome, type RunState } from './run-row.ts';
import { quoted, stagingTable } from './table.ts';

/** Deletions up to this many go through, however small the table. */
const alwaysDeletable = 20;

export type PublishRules = {
  /** A complete read of the record type: what it lacks is gone in the ERP. */
  readonly full: boolean;
  readonly applyDeletions: boolean;
  readonly maxDeleteShare: number;
};

type Current = { generation: string; row_count: string; active_table: string | null };
type Changed = { inserted: number; updated: number; unchanged: number; deleted: number; held: number };
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
    `select from ${schema}.run_state where run_id = $1 and lease_epoch = $2 and outcome is null for update`,
    [state.runId, state.leaseEpoch],
  );
  const current = rows[0];
  if (current === undefined || owned.rowCount !== 1) throw new LostLease('a newer lease holds this run');
  return current;
}

/** Rows of `table` that the run's complete read did not see and that no rejected record explains. */
const absent = (schema: string, table: string, seen: string): string =>
  `from ${schema}.${quoted(table)} t where not exists (select from ${seen} s where s.id = t.id)
   and not exists (select from ${schema}.rejections r where r.record_type = $1 and r.id = t.id::text)`;

const allowed = (count: number, rowCount: string, share: number): boolean =>
  count <= Math.max(alwaysDeletable, Math.floor(Number(rowCount) * share));

async function writeTombstones({ client, schema, state, generation }: Work, ids: readonly string[]): Promise<void> {
  await client.query(
    `insert into ${schema}.tombstones (record_type, id, generation) select $1, unnest($2::text[]), $3
     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = now()`,
    [state.recordType, ids, generation],
  );
}

/** Counts by hash of content: what is new, what differs, and what is the same as in the table that readers see. */
async function compare(client: PoolClient, read: string, table: string, values: readonly string[]) {
  const { rows } = await client.query<{ inserted: string; updated: string; unchanged: string }>(
    `select count(*) filter (where t.id is null) as inserted, count(*) filter (where t.content_hash <> s.content_hash) as updated,
            count(*) filter (where t.content_hash = s.content_hash) as unchanged
     from ${read} s left join ${table} t on t.id = s.id`,
    [...values],
  );
  const row = rows[0];
  return { inserted: Number(row?.inserted ?? 0), updated: Number(row?.updated ?? 0), unchanged: Number(row?.unchanged ?? 0) };
}

async function mergeStaged(work: Work, current: Current, active: string): Promise<Changed> {
  const { client, schema, state, rules, generation } = work;
  const staging = `${schema}.${quoted(stagingTable(state.recordType))}`;
  const table = `${schema}.${quoted(active)}`;
  const { inserted, updated, unchanged } = await compare(client, `(select id, content_hash from ${staging} where run_id = $1)`, table, [
    state.runId,
  ]);
  const names = state.columns.map(({ column }) => quoted(column));
  if (inserted + updated > 0) {
    const columns = ['id', 'generation', 'content_hash', ...names];
    const written = await client.query(
      `insert into ${table} (${columns.join(', ')}) select s.id, $2, s.content_hash${names.map((name) => `, s.${name}`).join('')}
       from ${staging} s left join ${table} t on t.id = s.id where s.run_id = $1 and t.content_hash is distinct from s.content_hash
       on conflict (id) do update set changed_at = now(), ${columns
         .slice(1)
         .map((name) => `${name} = excluded.${name}`)
         .join(', ')}`,
      [state.runId, generation],
    );
    if (written.rowCount !== inserted + updated) throw new Error('what was counted and what was written differ');
    await client.query(
      `delete from ${schema}.tombstones d using ${staging} s where d.record_type = $1 and s.run_id = $2 and d.id = s.id::text`,
      [state.recordType, state.runId],
    );
  }
  if (!rules.full || !rules.applyDeletions) return { inserted, updated, unchanged, deleted: 0, held: 0 };
  const seen = `(select id from ${staging} where run_id = $2)`;
  const counted = await client.query<{ count: string }>(`select count(*) ${absent(schema, active, seen)}`, [state.recordType, state.runId]);
  const missing = Number(counted.rows[0]?.count ?? 0);
  if (!allowed(missing, current.row_count, rules.maxDeleteShare)) return { inserted, updated, unchanged, deleted: 0, held: missing };
  const gone = await client.query<{ id: string }>(
    `delete from ${table} d where d.id in (select t.id ${absent(schema, active, seen)}) returning d.id::text as id`,
    [state.recordType, state.runId],
  );
  if (gone.rows.length > 0)
    await writeTombstones(
      work,
      gone.rows.map(({ id }) => id),
    );
  return { inserted, updated, unchanged, deleted: gone.rows.length, held: 0 };
}

/** Carries over what a fresh table must keep from the old one, and notes what it leaves behind. */
async function carryOver(work: Work, current: Current, old: string): Promise<Pick<Changed, 'deleted' | 'held'>> {
  const { client, schema, state, rules } = work;
  const fresh = `${schema}.${quoted(state.targetTable)}`;
  const missing = await client.query<{ id: string; rejected: boolean }>(
    `select t.id::text as id, exists (select from ${schema}.rejections r where r.record_type = $1 and r.id = t.id::text) as rejected
     from ${schema}.${quoted(old)} t where not exists (select from ${fresh} s where s.id = t.id)`,
    [state.recordType],
  );
  const absentIds = missing.rows.filter(({ rejected }) => !rejected).map(({ id }) => id);
  const deletes = rules.applyDeletions && allowed(absentIds.length, current.row_count, rules.maxDeleteShare);
  const kept = deletes ? missing.rows.filter(({ rejected }) => rejected).map(({ id }) => id) : missing.rows.map(({ id }) => id);
  if (kept.length > 0) {
    const shared = await client.query<{ name: string }>(
      `select quote_ident(a.attname) as name from pg_attribute a join pg_attribute b on b.attname = a.attname
       where a.attrelid = $1::regclass and b.attrelid = $2::regclass and a.attnum > 0 and b.attnum > 0 and not a.attisdropped and not b.attisdropped`,
      [`${schema}.${quoted(old)}`, fresh],
    );
    const names = shared.rows.map(({ name }) => name).join(', ');
    await client.query(`insert into ${fresh} (${names}) select ${names} from ${schema}.${quoted(old)} where id::text = any($1)`, [kept]);
  }
  if (deletes && absentIds.length > 0) await writeTombstones(work, absentIds);
  return { deleted: deletes ? absentIds.length : 0, held: deletes || !rules.applyDeletions ? 0 : absentIds.length };
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
      : await compare(client, fresh, `${schema}.${quoted(old)}`, []);
  if (old !== null) await carryOldColumns(work, old);
  const carried = old === null ? { deleted: 0, held: 0 } : await carryOver(work, current, old);
  const counted = await client.query<{ count: string }>(`select count(*) from ${fresh}`);
  await client.query(`delete from ${schema}.tombstones d using ${fresh} f where d.record_type = $1 and d.id = f.id::text`, [
    state.recordType,
  ]);
  if (old !== null) await client.query(`insert into ${schema}.retired_tables (table_name) values ($1) on conflict do nothing`, [old]);
  await client.query(`update ${schema}.record_state set active_table = $2, epoch = $3 where record_type = $1`, [
    state.recordType,
    state.targetTable,
    randomBytes(12).toString('hex'),
  ]);
  return { ...read, ...carried, rowCount: Number(counted.rows[0]?.count ?? 0) };
}

/** Rejected records that this run read well are solved; those it did not see in a complete read are gone. */
async function closeRejections({ client, schema, state, rules }: Work, table: string): Promise<number> {
  const solved = rules.full
    ? 'run_id <> $2'
    : `run_id <> $2 and exists (select from ${schema}.${quoted(table)} t where t.id::text = rejections.id)`;
  await client.query(`delete from ${schema}.rejections where record_type = $1 and ${solved}`, [state.recordType, state.runId]);
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${schema}.rejections where record_type = $1`, [
    state.recordType,
  ]);
  return Number(rows[0]?.count ?? 0);
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
  const { inserted, updated, unchanged, deleted, held, rowCount } = changed;
  const moved = fresh || inserted + updated + deleted > 0;
  const generation = moved ? next : current.generation;
  await client.query(
    `update ${schema}.record_state set generation = $2, row_count = $3, published_run = $4, high_water = $5::timestamptz,
       synced_at = (select started_at from ${schema}.run_state where run_id = $4) where record_type = $1`,
    [state.recordType, generation, rowCount, state.runId, state.counters.erpStartedAt],
  );
  if (rules.full) {
    await client.query(
      `update ${schema}.record_columns set state = 'live' where record_type = $1 and state = 'loading' and column_name = any($2)`,
      [state.recordType, state.columns.map(({ column }) => column)],
    );
  }
  const counts = { fetched: state.counters.fetched, inserted, updated, unchanged, deleted, rejected: open };
  onVerified(counts, rowCount, held);
  const outcome: PublishOutcome = { status: open > 0 || held > 0 ? 'partial' : 'succeeded', generation, counts, heldDeletions: held };
  await client.query(`update ${schema}.run_state set outcome = $2, updated_at = now() where run_id = $1`, [
    state.runId,
    JSON.stringify(outcome),
  ]);
  await client.query(`delete from ${schema}.${quoted(stagingTable(state.recordType))} where run_id = $1`, [state.runId]);
  return outcome;
}
