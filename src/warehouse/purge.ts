// Deletes synced records: all of an organization, or those of some record types.
import type { TenantCtx } from '../core/ctx.ts';
import { quoteIdentifier, stagingTable, tableStem } from './table.ts';
import { changeTables } from './tables-pending.ts';
import { createTenantSchema, dropTenantSchema, lockLiveOrganization, tenantSchema } from './tenant-schema.ts';

/** Deletes every synced record, leaving an empty schema. Throws `OrganizationGone` during a deletion. */
export async function purgeWarehouse(ctx: TenantCtx): Promise<void> {
  await dropTenantSchema(ctx, ctx.organizationId);
  await createTenantSchema(ctx, ctx.organizationId);
}

/** State tables with rows by record type. */
const stateTables = [
  ...[
    'rolling_reads',
    'record_columns',
    'run_state',
    'rejections',
    'tombstones',
    'pruned_tombstones',
    'scope_changes',
  ],
  ...[
    'withheld_records',
    'record_indexes',
    'staged_deletions',
    'staged_unchanged',
    'listed_ids',
    'deletion_proposals',
  ],
  ...['absent_records', 'drift_outbox', 'record_state'],
];

/** Tables of records and the staging table of a record type. */
const listTablesSql = `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ? and c.relkind = 'r' and (c.relname = ?
    or (starts_with(c.relname, ?) and substr(c.relname, length(?) + 1) ~ '^[0-9]+$'))`;

/** A reader, or a run that publishes, is waited for as long. */
const lockTimeoutMs = 10_000;

/**
 * Deletes the records, and everything known about them, of the record types that `isPurged` selects. Rejects with 55P03
 * when readers or writers hold locks for longer than 10 s; throws as `lockLiveOrganization` does, and `TablesPending`.
 */
export async function purgeRecordTypes(
  ctx: TenantCtx,
  isPurged: (recordType: string) => boolean,
): Promise<void> {
  await createTenantSchema(ctx, ctx.organizationId);
  const schema = tenantSchema(ctx.organizationId);
  await changeTables(ctx.db.control, async (tx) => {
    await tx.raw("select set_config('lock_timeout', ?, true)", [`${lockTimeoutMs}ms`]);
    await lockLiveOrganization(tx, ctx.organizationId);
    // Before all other tables, as publishing locks it; no other record type begins meanwhile.
    await tx.raw(`lock table ${schema}.record_state in exclusive mode`);
    const { rows } = await tx.raw<{ rows: { name: string }[] }>(
      `select record_type as name from ${schema}.record_state`,
    );
    const purged = rows.map(({ name }) => name).filter(isPurged);
    for (const recordType of purged) {
      const stem = `${tableStem(recordType)}_`;
      const tables = await tx.raw<{ rows: { name: string }[] }>(listTablesSql, [
        ...[schema, stagingTable(recordType), stem, stem],
      ]);
      const names = tables.rows.map(({ name }) => name);
      for (const name of names) await tx.raw(`drop table if exists ${schema}.${quoteIdentifier(name)}`);
      await tx.raw(`delete from ${schema}.retired_tables where table_name = any(?::text[])`, [names]);
    }
    for (const table of stateTables)
      await tx.raw(`delete from ${schema}.${table} where record_type = any(?::text[])`, [purged]);
  });
}
