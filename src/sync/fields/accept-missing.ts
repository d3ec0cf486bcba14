// Fields whose stored values may be out of date, for other features.
import type { TenantCtx } from '../../core/ctx.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import {
  isNotSetUp,
  orIfNotSetUp,
  type RecordState,
  type StaleFields,
} from '../../warehouse/record-state.ts';
import { acceptStaleFields } from '../../warehouse/stale-fields.ts';
import { tenantSchema, updateTenantSchema } from '../../warehouse/tenant-schema.ts';

export type FieldGaps = { readonly stale: StaleFields; readonly accepted: RecordState['acceptedFields'] };

/** The schema of an older version lacks the columns until it is upgraded. */
const isOutdated = (error: unknown): boolean => sqlState(error) === '42703';

/** Stale and accepted fields by record type, without types never synced. Rejects with database errors. */
export async function readFieldGaps(ctx: TenantCtx): Promise<ReadonlyMap<string, FieldGaps>> {
  try {
    const { rows } = await ctx.db.data.query<FieldGaps & { recordType: string }>(
      `select record_type as "recordType", stale_fields as stale, accepted_fields as accepted
       from ${tenantSchema(ctx.organizationId)}.record_state`,
    );
    return new Map(rows.map(({ recordType, ...gaps }) => [recordType, gaps]));
  } catch (error) {
    if (isNotSetUp(error) || isOutdated(error)) return new Map();
    throw error;
  }
}

/**
 * Accepts these stale fields as missing; see `acceptStaleFields`. Returns the names of all stale fields, and
 * changes nothing, when one of `fields` isn't stale; otherwise null. Rejects with database errors.
 */
export async function acceptMissingFields(
  ctx: TenantCtx,
  recordType: string,
  fields: readonly string[],
): Promise<readonly string[] | null> {
  await updateTenantSchema(ctx, ctx.organizationId);
  const schema = tenantSchema(ctx.organizationId);
  return orIfNotSetUp([], () =>
    inDataTransaction(ctx.db.data, (client) => acceptStaleFields(client, schema, recordType, fields)),
  );
}
