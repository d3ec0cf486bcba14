// One PostgreSQL schema per organization: isolation by construction, deletion by DROP, and the unit that a
// distributed PostgreSQL places on its nodes. No table is UNLOGGED, and every table has a primary key; no
// foreign key leaves the schema.
import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { unavailable } from '../core/errors.ts';
import { chooseWarehouse } from '../db/former-warehouse.ts';
import { createStateTables } from './state-tables.ts';
import { changeTables } from './tables-pending.ts';

/**
 * The schema's name, safe to write into SQL: `wh_` and the 32 hex digits of the organization's id. Throws an
 * `Error` when the id is not a UUID.
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

/**
 * Blocks the organization's deletion until the transaction ends. Throws `OrganizationGone` when it was
 * deleted or is being deleted, and 503 while its records are on the former server of a move.
 */
export async function lockLiveOrganization(tx: Knex.Transaction, organizationId: string): Promise<void> {
  await tx.raw("select set_config('portal.organization_id', ?, true)", [organizationId]);
  const live = await tx.raw<{ rows: { warehouse: string }[] }>(
    'select warehouse from organizations where id = ? and deleting_since is null for share',
    [organizationId],
  );
  const [found] = live.rows;
  if (found === undefined) throw new OrganizationGone('the organization was deleted or is being deleted');
  if (found.warehouse !== 'current')
    throw unavailable('The records of this organization are being moved to another server', 60);
}

/**
 * Creates the schema and its state tables unless they exist. DDL: don't call it in every run. Throws
 * `OrganizationGone` when the organization was deleted or is being deleted, and `TablesPending`.
 */
export async function createTenantSchema(ctx: Pick<Ctx, 'db'>, organizationId: string): Promise<void> {
  const schema = tenantSchema(organizationId);
  await changeTables(ctx.db.control, async (tx) => {
    await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [schema]);
    await lockLiveOrganization(tx, organizationId);
    // Citus places the whole schema on one node; plain PostgreSQL ignores the setting.
    await tx.raw('set local citus.enable_schema_based_sharding to on');
    await tx.raw(`create schema if not exists ${schema}`);
    await tx.raw(`set local search_path to ${schema}`);
    for (const statement of createStateTables) await tx.raw(statement);
  });
}

/** Tables added after the first version of this service; a schema that lacks one is of an older version. */
const laterTables = [
  'staged_unchanged',
  'pruned_tombstones',
  'rolling_reads',
  'absent_records',
  'scope_changes',
  'withheld_records',
  'listed_ids',
];
/** The same for a constraint of record_state: name the one that was added last. */
const laterConstraint = 'record_state_token_check';

const recordStateUpgrades = (schema: string): readonly string[] => [
  `alter table ${schema}.record_state add column if not exists reconciled_at timestamptz, add column if not exists compared_at timestamptz, add column if not exists erp_fields jsonb,
     add column if not exists scanned_on date, add column if not exists shown_columns jsonb,
     add column if not exists stale_fields jsonb not null default '{}', add column if not exists accepted_fields jsonb not null default '{}',
     add column if not exists timeline text, add column if not exists former_epochs jsonb not null default '[]', add column if not exists filter jsonb,
     add column if not exists scope_columns jsonb not null default '{"id": "0"}', add column if not exists scope_pruned bigint not null default 0,
     add column if not exists deletion_history jsonb, add column if not exists change_token text`,
  `alter table ${schema}.record_state drop constraint if exists ${laterConstraint}`,
  `alter table ${schema}.record_state add constraint ${laterConstraint} check (change_token <> '')`,
  `update ${schema}.record_state set scope_columns = ('{"id": "' || generation::text || '"}')::jsonb where scope_columns = '{"id": "0"}'`,
];

/** On Citus, ADD CONSTRAINT must be the only subcommand of its statement. */
const upgradeStatements = (schema: string): readonly string[] => [
  ...recordStateUpgrades(schema),
  `alter table ${schema}.record_columns drop constraint if exists record_columns_state_check`,
  `alter table ${schema}.record_columns
     add constraint record_columns_state_check check (state in ('loading', 'live', 'stale', 'returned', 'vanished', 'replaced'))`,
  `alter table ${schema}.record_columns drop constraint if exists record_columns_part_check`,
  `alter table ${schema}.record_columns drop constraint if exists record_columns_parts_check`,
  `alter table ${schema}.record_columns add constraint record_columns_parts_check check (part in ('value', 'label', 'ids', 'names', 'lines'))`,
  `alter table if exists ${schema}.deletion_proposals add column if not exists revision integer not null default 1`,
  `alter table if exists ${schema}.deletion_proposals drop constraint if exists deletion_proposals_status_check`,
  `alter table if exists ${schema}.deletion_proposals
     add constraint deletion_proposals_status_check check (status in ('open', 'kept', 'superseded', 'approved', 'applied', 'rejected'))`,
  `alter table ${schema}.rejections add column if not exists last_seen_at timestamptz not null default now(),
     add column if not exists attempts integer not null default 1, add column if not exists last_run_id uuid,
     add column if not exists scope_values jsonb`,
  `alter table if exists ${schema}.staged_deletions add column if not exists referenced_by jsonb`,
  `alter table ${schema}.run_state add column if not exists plan jsonb`,
];

/**
 * Upgrades a schema that an older version of this service created. Rejects with 55P03 when its tables stay
 * locked for 5 s, with `OrganizationGone` when the organization was deleted or is being deleted, and with
 * `TablesPending`.
 */
export async function updateTenantSchema(ctx: Pick<Ctx, 'db'>, organizationId: string): Promise<void> {
  const schema = tenantSchema(organizationId);
  const { rows } = await ctx.db.data.query<{ old: boolean }>(
    `select to_regclass($1) is not null and (exists (select from unnest($2::text[]) as t(name) where to_regclass(name) is null)
       or not exists (select from pg_constraint where conrelid = to_regclass($1) and conname = $3)) as old`,
    [`${schema}.record_state`, laterTables.map((table) => `${schema}.${table}`), laterConstraint],
  );
  if (rows[0]?.old !== true) return;
  await changeTables(ctx.db.control, async (tx) => {
    await tx.raw("set local lock_timeout = '5s'");
    for (const change of upgradeStatements(schema)) await tx.raw(change);
  });
  await createTenantSchema(ctx, organizationId);
}

/**
 * The organizations whose schema an older version of this service created. One query over the catalog,
 * whatever their number.
 */
export async function listOutdatedOrganizations(data: Pick<ClientBase, 'query'>): Promise<string[]> {
  const { rows } = await data.query<{ id: string }>(
    `select substr(n.nspname, 4)::uuid::text as id from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p')
     where n.nspname ~ '^wh_[0-9a-f]{32}$' and c.relname = any($1::text[]) group by n.nspname
     having bool_or(c.relname = 'record_state') and (count(*) < cardinality($1::text[])
       or bool_or(c.relname = 'record_state' and not exists (select from pg_constraint o where o.conrelid = c.oid and o.conname = $2))) order by 1`,
    [['record_state', ...laterTables], laterConstraint],
  );
  return rows.map(({ id }) => id);
}

/**
 * Deletes every synced record of the organization. Rejects with 55P03 when readers or writers hold locks for
 * longer than `lockTimeoutMs`; 0 waits without limit. Rejects with `TablesPending` when a server of the
 * warehouse doesn't respond.
 */
export async function dropTenantSchema(ctx: Pick<Ctx, 'db'>, organizationId: string, lockTimeoutMs = 0) {
  await changeTables(ctx.db.control, async (tx) => {
    await tx.raw("select set_config('lock_timeout', ?, true)", [`${lockTimeoutMs}ms`]);
    await tx.raw(`drop schema if exists ${tenantSchema(organizationId)} cascade`);
  });
}

/**
 * Size in bytes and number of records of the organization's warehouse; both 0 before the first sync. The size
 * is null while any server of the warehouse doesn't respond.
 */
export async function measureTenantStorage(
  ctx: TenantCtx,
): Promise<{ bytes: number | null; records: number }> {
  const schema = tenantSchema(ctx.organizationId);
  const { data } = chooseWarehouse(ctx.db, ctx.organizationId);
  const { rows } = await data.query<{ bytes: string | null; known: boolean }>(
    'select public.schema_bytes($1) as bytes, to_regnamespace($1) is not null as known',
    [schema],
  );
  const row = rows[0];
  if (row === undefined || !row.known) return { bytes: 0, records: 0 };
  const counted = await data.query<{ records: string }>(
    `select coalesce(sum(row_count), 0) as records from ${schema}.record_state`,
  );
  return {
    bytes: row.bytes === null ? null : Number(row.bytes),
    records: Number(counted.rows[0]?.records ?? 0),
  };
}
