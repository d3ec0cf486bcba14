// Which columns the versions of the public interface show, as publishing a run reads it.
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { mergeShownColumns, orIfNotSetUp, type ShownColumns } from '../../warehouse/record-state.ts';
import { startScopeColumns } from '../../warehouse/scope-changes.ts';
import { tenantSchema, updateTenantSchema } from '../../warehouse/tenant-schema.ts';

/** By record type. */
export type EnteredColumns = Readonly<Record<string, ShownColumns>>;

/**
 * Adds the entries of these versions to those of each record type, replacing entries of the same version.
 * `entered` must have every version that was ever published: a record type without entries from before takes
 * its entries as complete. One transaction for each record type, which waits while a run of it is being
 * published. Does nothing before the first sync. Rejects with database errors.
 */
export async function enterShownColumns(ctx: TenantCtx, entered: EnteredColumns): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  await updateTenantSchema(ctx, ctx.organizationId);
  await orIfNotSetUp(undefined, async () => {
    const { rows } = await ctx.db.data.query<{ recordType: string; shown: ShownColumns | null }>(
      `select record_type as "recordType", shown_columns as shown from ${schema}.record_state order by record_type`,
    );
    for (const { recordType, shown } of rows) {
      const added = entered[recordType] ?? {};
      const isEntered = ([version, columns]: [string, ShownColumns[string]]) =>
        JSON.stringify(shown?.[version]) === JSON.stringify(columns);
      if (shown !== null && Object.entries(added).every(isEntered)) continue;
      await inDataTransaction(ctx.db.data, async (client) => {
        await mergeShownColumns(client, schema, recordType, added);
        await startScopeColumns(client, schema, recordType);
      });
    }
  });
}
