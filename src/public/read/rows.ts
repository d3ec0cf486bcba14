// Runs the statement of a read. Its state comes from the same statement and so from the same snapshot; when the statement was written for a
// table that has since been replaced, it is written again for the one that is active now.
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { asUnavailable, isUndefinedObject, withOneRetry } from './failures.ts';
import type { RecordPlan } from './plan.ts';
import { cachedFreshness, currentFreshness, type Freshness, freshnessOf, type Reader, type StateRow, stateKey } from './reader.ts';
import { repeatWhileReplaced } from './repeat-while-replaced.ts';
import { recordStatement, type Statement, type TableRef } from './sql.ts';

/** `record` is null when it does not exist. */
export type RecordRead = { readonly freshness: Freshness; readonly record: string | null };

const isSame = (a: Freshness, b: Freshness | undefined): boolean =>
  b !== undefined &&
  a.generation === b.generation &&
  a.epoch === b.epoch &&
  a.table === b.table &&
  a.syncedAt === b.syncedAt &&
  a.stale?.text === b.stale?.text &&
  a.rowCount === b.rowCount;

/**
 * Runs the statement from `write` for the active table, again after a table swap, until the statement itself saw that table as the active
 * one. Returns the row and its state, and refreshes the cached state. Rejects with 503 when nothing is synced, the table is replaced again
 * at every attempt, the read times out, or the database is unavailable.
 */
export function readRow<Row extends StateRow>(
  reader: Reader,
  recordType: string,
  write: (table: TableRef) => Statement,
): Promise<{ row: Row; freshness: Freshness }> {
  const key = stateKey(reader, recordType);
  const schema = tenantSchema(reader.organizationId);
  return repeatWhileReplaced(reader, recordType, async () => {
    const current = cachedFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
    const { table } = current;
    const statement = write({ schema, table });
    const startedMs = reader.clock.monotonicMs();
    try {
      const row = await withOneRetry(() => reader.statements.run<Row>(reader.organizationId, statement));
      const read = freshnessOf(row);
      const seen = isSame(current, read) ? current : read;
      reader.states.put(key, seen, startedMs);
      return row !== undefined && seen?.table === table ? { row, freshness: seen } : undefined;
    } catch (error) {
      if (isUndefinedObject(error)) reader.states.evict(key);
      throw asUnavailable(error);
    }
  });
}

/** Rejects with 503 as `readRow` does. */
export async function readSingleRecord(reader: Reader, plan: RecordPlan): Promise<RecordRead> {
  const { row, freshness } = await readRow<StateRow & { record: string | null }>(reader, plan.endpoint.recordType, (table) =>
    recordStatement(table, plan),
  );
  return { freshness, record: row.record };
}
