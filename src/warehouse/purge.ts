// Deletes synced records: all of an organization, or those of some record types.
import type { TenantCtx } from '../core/ctx.ts';
import { orIfNotSetUp } from './record-state.ts';
import { quoteIdentifier, stagingTable, tableStem } from './table.ts';
import { changeTables } from './tables-pending.ts';
import { createTenantSchema, dropTenantSchema, tenantSchema } from './tenant-schema.ts';

/** Every synced record, leaving an empty schema. Throws `OrganizationGone` during a deletion. */
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

/**
 * Deletes the records, and everything known about them, of the record types that `isPurged` selects. Throws
 * `OrganizationGone` during a deletion of the organization, and `TablesPending`.
 */
export async function purgeRecordTypes(
  ctx: TenantCtx,
  isPurged: (recordType: string) => boolean,
): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  const known = await orIfNotSetUp([], async () => {
    const { rows } = await ctx.db.data.query<{ name: string }>(
      `select record_type as name from ${schema}.record_state`,
    );
    return rows.map(({ name }) => name);
  });
  const purged = known.filter(isPurged);
  if (purged.length === known.length) return purgeWarehouse(ctx);
  await changeTables(ctx.db.control, async (tx) => {
    for (const table of stateTables)
      await tx.raw(`delete from ${schema}.${table} where record_type = any(?::text[])`, [purged]);
    for (const recordType of purged) {
      const stem = `${tableStem(recordType)}_`;
      const { rows } = await tx.raw<{ rows: { name: string }[] }>(listTablesSql, [
        ...[schema, stagingTable(recordType), stem, stem],
      ]);
      for (const { name } of rows) await tx.raw(`drop table if exists ${schema}.${quoteIdentifier(name)}`);
    }
  });
}
