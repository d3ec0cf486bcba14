// What is stored of each record type, and how far its rolling full read is, as callers see it.
import type { TenantCtx } from '../../core/ctx.ts';
import { orIfNotSetUp, rfc3339Sql } from '../../warehouse/record-state.ts';
import { type RollingRead, readRollingReads } from '../../warehouse/rolling-reads.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';

export type FullRead = {
  /** The setting: every record is to be read in full again within this many days. */
  readonly periodDays: number;
  /** What that takes at the current pass's pace, at least `periodDays`; null while no pass has a pace. */
  readonly expectedDays: number | null;
  readonly passStartedAt: string | null;
  /** Records that the pass has read. */
  readonly records: number;
  readonly completeSince: string | null;
};

const dayMs = 86_400_000;

/** Rounded up to a tenth of a day. Pure. */
export function describeFullRead(
  read: RollingRead | undefined,
  rowCount: number,
  periodDays: number,
): FullRead {
  const { passStartedAt = null, lastReadAt = null, records = 0, completeSince = null } = read ?? {};
  const elapsedMs =
    passStartedAt === null || lastReadAt === null ? 0 : Date.parse(lastReadAt) - Date.parse(passStartedAt);
  const share = Math.min(1, records / Math.max(1, rowCount));
  const expectedDays =
    elapsedMs > 0 && share > 0
      ? Math.max(periodDays, Math.ceil((elapsedMs / share / dayMs) * 10) / 10)
      : null;
  return { periodDays, expectedDays, passStartedAt, records, completeSince };
}

/** Describes `syncedAt` wherever it is returned. */
export const syncedAtText = 'When the last published run started to read the ERP; null before the first';

/** What is stored of a record type. `syncedAt`: see `syncedAtText`. */
export type StoredRecords = {
  readonly records: number;
  readonly syncedAt: string | null;
  readonly fullRead: FullRead;
};

/** By record type, with a value also for types that were never read. Rejects with database errors. */
export async function readStoredRecords(ctx: TenantCtx): Promise<(recordType: string) => StoredRecords> {
  const schema = tenantSchema(ctx.organizationId);
  const { fullReadDays } = ctx.settings.sync;
  const describe = (
    read: RollingRead | undefined,
    records: number,
    syncedAt: string | null,
  ): StoredRecords => ({ records, syncedAt, fullRead: describeFullRead(read, records, fullReadDays) });
  const describeUnread = () => describe(undefined, 0, null);
  return orIfNotSetUp(describeUnread, async () => {
    const reads = await readRollingReads(ctx.db.data, schema);
    const { rows } = await ctx.db.data.query<{
      record_type: string;
      row_count: string;
      synced_at: string | null;
    }>(`select record_type, row_count, ${rfc3339Sql('synced_at')} as synced_at from ${schema}.record_state`);
    const states = new Map(rows.map((row) => [row.record_type, row]));
    return (recordType) => {
      const state = states.get(recordType);
      return describe(reads.get(recordType), Number(state?.row_count ?? 0), state?.synced_at ?? null);
    };
  });
}
