// One PostgreSQL schema per organization: isolation by construction, deletion by DROP, and the unit that a distributed PostgreSQL places
// on its nodes. No table is UNLOGGED, and every table has a primary key; no foreign key leaves the schema.
import type { Knex } from 'knex';
import type { Ctx, TenantCtx } from '../core/ctx.ts';

/**
 * The schema's name, safe to write into SQL: `wh_` and the 32 hex digits of the organization's id. Throws an `Error` when the id is not a
 * UUID.
 */
export function tenantSchema(organizationId: string): string {
  const hex = organizationId.replaceAll('-', '');
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new Error('the organization id is not a UUID');
  return `wh_${hex}`;
}

/** The organization was deleted or is being deleted: none of its tables may be created again. */
export class OrganizationGone extends Error {
  override readonly name = 'OrganizationGone';
}

/** Blocks the organization's deletion until the transaction ends. Throws `OrganizationGone` when it was deleted or is being deleted. */
async function lockLiveOrganization(tx: Knex.Transaction, organizationId: string): Promise<void> {
  await tx.raw("select set_config('portal.organization_id', ?, true)", [organizationId]);
  const live = await tx.raw<{ rowCount: number }>('select from organizations where id = ? and deleting_since is null for share', [
    organizationId,
  ]);
  if (live.rowCount !== 1) throw new OrganizationGone('the organization was deleted or is being deleted');
}

/**
 * Creates the schema and its state tables unless they exist. DDL: don't call it in every run. Throws `OrganizationGone`
 * when the organization was deleted or is being deleted.
 */
export async function createTenantSchema(ctx: Pick<Ctx, 'db'>, organizationId: string): Promise<void> {
  const schema = tenantSchema(organizationId);
  await ctx.db.control.transaction(async (tx) => {
    await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [schema]);
    await lockLiveOrganization(tx, organizationId);
    await tx.raw(`
set local citus.enable_schema_based_sharding to on;
create schema if not exists ${schema};
-- One row per record type: which table readers see, and its generation.
create table if not exists ${schema}.record_state (
  record_type text primary key,
  id_type text not null,
  generation bigint not null default 0,
  row_count bigint not null default 0,
  epoch text,
  active_table text,
  next_table integer not null default 1,
  high_water timestamptz,
  published_run uuid,
  synced_at timestamptz,
  reconciled_at timestamptz,
  -- The fields that the ERP offered to the last run, by name, with their types.
  erp_fields jsonb
);
-- Which physical column holds which field. A column is 'loading' until a complete full run has filled it.
create table if not exists ${schema}.record_columns (
  record_type text not null,
  column_name text not null,
  field text not null,
  part text not null check (part in ('value', 'label', 'lines')),
  type text not null,
  state text not null check (state in ('loading', 'live', 'vanished', 'replaced')),
  line_fields jsonb,
  position integer not null,
  primary key (record_type, column_name)
);
-- The progress of each run; a page and its checkpoint are written together.
create table if not exists ${schema}.run_state (
  run_id uuid primary key,
  record_type text not null,
  lease_epoch integer not null,
  target_table text not null,
  columns jsonb not null,
  page integer not null default 0,
  checkpoint text,
  complete boolean not null default false,
  counters jsonb not null default '{}',
  plan jsonb,
  outcome jsonb,
  started_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- Records that could not be stored; a row stays until the record can be stored or the ERP no longer returns it.
create table if not exists ${schema}.rejections (
  record_type text not null,
  id text not null,
  code text not null,
  message text not null,
  run_id uuid not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts integer not null default 1,
  last_run_id uuid,
  primary key (record_type, id)
);
create table if not exists ${schema}.tombstones (
  record_type text not null,
  id text not null,
  generation bigint not null,
  deleted_at timestamptz not null default now(),
  primary key (record_type, id)
);
create index if not exists tombstones_by_generation on ${schema}.tombstones (record_type, generation, id);
-- The generation up to which tombstones were deleted: a client with an older generation can no longer get all deletions.
create table if not exists ${schema}.pruned_tombstones (
  record_type text primary key,
  generation bigint not null
);
-- The indexes that published versions need; every table that becomes active has them.
create table if not exists ${schema}.record_indexes (
  record_type text not null,
  method text not null check (method in ('btree', 'gin')),
  expression text not null,
  primary key (record_type, method, expression)
);
-- Records that a run found absent in the ERP, and the proof: the ERP's deletion feed, an approval, or absence alone.
create table if not exists ${schema}.staged_deletions (
  run_id uuid not null,
  record_type text not null,
  id text not null,
  proof text not null check (proof in ('feed', 'approved', 'absent')),
  primary key (run_id, id)
);
-- Ids of the records that a complete read found equal to those that readers see, page by page.
create table if not exists ${schema}.staged_unchanged (
  run_id uuid not null,
  page integer not null,
  record_type text not null,
  ids text[] not null,
  primary key (run_id, page)
);
-- Absent records that stay until their deletion is approved ('open'), or because the configuration deletes nothing ('kept').
create table if not exists ${schema}.deletion_proposals (
  id uuid primary key,
  record_type text not null,
  ids text[] not null,
  evidence jsonb not null,
  status text not null default 'open' check (status in ('open', 'kept', 'superseded', 'approved', 'applied')),
  created_at timestamptz not null default now(),
  closed_at timestamptz
);
create unique index if not exists one_open_proposal on ${schema}.deletion_proposals (record_type) where status in ('open', 'kept');
-- Changes of the ERP's fields that are not delivered to drift_events yet; rows are deleted on delivery.
create table if not exists ${schema}.drift_outbox (
  id uuid primary key,
  record_type text not null,
  kind text not null check (kind in ('added', 'vanished', 'retyped')),
  field text not null,
  from_type text,
  to_type text,
  run_id uuid not null,
  at timestamptz not null default clock_timestamp()
);
-- Tables that were swapped out, dropped once no reader can still use their name.
create table if not exists ${schema}.retired_tables (
  table_name text primary key,
  retired_at timestamptz not null default now()
)`);
  });
}

/** Tables added after the first version of this service; when one is missing, an older version created the schema.
 * A new column alone isn't noticed: add a table or another check. */
const laterTables = ['staged_unchanged', 'pruned_tombstones'];

/**
 * Upgrades a schema that an older version of this service created. Rejects with 55P03 when its tables stay locked for 5 s, and with
 * `OrganizationGone` when the organization was deleted or is being deleted.
 */
export async function updateTenantSchema(ctx: Pick<Ctx, 'db'>, organizationId: string): Promise<void> {
  const schema = tenantSchema(organizationId);
  const { rows } = await ctx.db.data.query<{ old: boolean }>(
    'select to_regclass($1) is not null and exists (select from unnest($2::text[]) as t(name) where to_regclass(name) is null) as old',
    [`${schema}.record_state`, laterTables.map((table) => `${schema}.${table}`)],
  );
  if (rows[0]?.old !== true) return;
  await ctx.db.control.transaction(async (tx) => {
    await tx.raw("set local lock_timeout = '5s'");
    await tx.raw(
      `alter table ${schema}.record_state add column if not exists reconciled_at timestamptz, add column if not exists erp_fields jsonb`,
    );
    await tx.raw(
      `alter table ${schema}.rejections add column if not exists last_seen_at timestamptz not null default now(),
         add column if not exists attempts integer not null default 1, add column if not exists last_run_id uuid`,
    );
    await tx.raw(`alter table ${schema}.run_state add column if not exists plan jsonb`);
  });
  await createTenantSchema(ctx, organizationId);
}

/**
 * Deletes every synced record of the organization. Rejects with 55P03 when readers or writers hold locks for longer than `lockTimeoutMs`;
 * 0 waits without limit.
 */
export async function dropTenantSchema(ctx: Pick<Ctx, 'db'>, organizationId: string, lockTimeoutMs = 0): Promise<void> {
  await ctx.db.control.transaction(async (tx) => {
    await tx.raw("select set_config('lock_timeout', ?, true)", [`${lockTimeoutMs}ms`]);
    await tx.raw(`drop schema if exists ${tenantSchema(organizationId)} cascade`);
  });
}

/** Size in bytes and number of records of the organization's warehouse; both 0 before the first sync. */
export async function measureTenantStorage(ctx: TenantCtx): Promise<{ bytes: number; records: number }> {
  const schema = tenantSchema(ctx.organizationId);
  const { rows } = await ctx.db.data.query<{ bytes: string; known: boolean }>(
    'select public.schema_bytes($1) as bytes, to_regnamespace($1) is not null as known',
    [schema],
  );
  const row = rows[0];
  if (row === undefined || !row.known) return { bytes: 0, records: 0 };
  const counted = await ctx.db.data.query<{ records: string }>(`select coalesce(sum(row_count), 0) as records from ${schema}.record_state`);
  return { bytes: Number(row.bytes), records: Number(counted.rows[0]?.records ?? 0) };
}
