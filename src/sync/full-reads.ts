// How far the rolling full read of each record type is, as callers see it.
import type { TenantCtx } from '../core/ctx.ts';
import { isNotSetUp } from '../warehouse/record-state.ts';
import { type RollingRead, readRollingReads } from '../warehouse/rolling-reads.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';

export type FullRead = {
  /** The setting: every record is to be read in full again within this many days. */
  readonly periodDays: number;
  /** What that takes at the pace of the current pass, at least `periodDays`; null while no pass has a pace yet. */
  readonly expectedDays: number | null;
  readonly passStartedAt: string | null;
  /** Records that the pass has read. */
  readonly records: number;
  readonly completeSince: string | null;
};

const dayMs = 86_400_000;

/** Rounded up to a tenth of a day. Pure. */
export function describeFullRead(read: RollingRead | undefined, rowCount: number, periodDays: number): FullRead {
  const { passStartedAt = null, lastReadAt = null, records = 0, completeSince = null } = read ?? {};
  const elapsedMs = passStartedAt === null || lastReadAt === null ? 0 : Date.parse(lastReadAt) - Date.parse(passStartedAt);
  const share = Math.min(1, records / Math.max(1, rowCount));
  const expectedDays = elapsedMs > 0 && share > 0 ? Math.max(periodDays, Math.ceil((elapsedMs / share / dayMs) * 10) / 10) : null;
  return { periodDays, expectedDays, passStartedAt, records, completeSince };
}

/** By record type; the function returns a value for record types that were never read, too. Rejects with database errors. */
export async function readFullReads(ctx: TenantCtx): Promise<(recordType: string) => FullRead> {
  const schema = tenantSchema(ctx.organizationId);
  const { fullReadDays } = ctx.settings.sync;
  try {
    const reads = await readRollingReads(ctx.db.data, schema);
    const { rows } = await ctx.db.data.query<{ record_type: string; row_count: string }>(
      `select record_type, row_count from ${schema}.record_state`,
    );
    const counts = new Map(rows.map((row) => [row.record_type, Number(row.row_count)]));
    return (recordType) => describeFullRead(reads.get(recordType), counts.get(recordType) ?? 0, fullReadDays);
  } catch (error) {
    if (!isNotSetUp(error)) throw error;
    return () => describeFullRead(undefined, 0, fullReadDays);
  }
}
