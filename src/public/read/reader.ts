// What a read needs of its process, and the published state of a record type that it reads: from the cache, or from the database.

import type { Cache } from '../../core/cache.ts';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../core/ctx.ts';
import type { Log } from '../../core/log.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { readRecordState } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import type { AnchorCache } from './anchors.ts';
import { asUnavailable, isUndefinedObject, notSynced, withOneRetry } from './failures.ts';
import type { StatementRunner } from './statements.ts';
import type { TotalCache } from './totals.ts';

/** The published state of a record type at one moment. */
export type Freshness = {
  readonly table: string;
  readonly epoch: string;
  readonly generation: string;
  readonly rowCount: number;
  /** RFC 3339; null when the run's time is unknown. */
  readonly syncedAt: string | null;
};

export type Reader = {
  readonly db: Pick<Db, 'data'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly organizationId: string;
  readonly states: Cache<Freshness | undefined>;
  readonly totals: TotalCache;
  readonly anchors: AnchorCache;
  /** Records to scan for a page while the total is unknown. */
  readonly scanLimit: number;
  readonly statements: StatementRunner;
  /** Queue for the data connections, by organization. */
  readonly queue: Semaphore;
};

/** The reader of one organization. */
export type ReaderOf = (organizationId: string) => Reader;

export type StateRow = {
  active_table: string | null;
  epoch: string | null;
  generation: string;
  row_count: string;
  synced_at: string | null;
};

/** The state of a row; undefined before the first publish. */
export function freshnessOf(row: StateRow | undefined): Freshness | undefined {
  if (row === undefined || row.active_table === null || row.epoch === null || row.generation === '0') return undefined;
  return {
    table: row.active_table,
    epoch: row.epoch,
    generation: row.generation,
    rowCount: Number(row.row_count),
    syncedAt: row.synced_at,
  };
}

/** In the cache of states. */
export const stateKey = (reader: Reader, recordType: string): string => `${reader.organizationId}/${recordType}`;

/** The cached state, when it is within its TTL. */
export const cachedFreshness = (reader: Reader, recordType: string): Freshness | undefined =>
  reader.states.findFresh(stateKey(reader, recordType));

/** The current state, from the cache or the database. Rejects with 503 when nothing has been published or the database is unavailable. */
export async function currentFreshness(reader: Reader, recordType: string): Promise<Freshness> {
  const found = await reader.states.load(stateKey(reader, recordType), () => readFreshness(reader, recordType));
  if (found === undefined) throw notSynced();
  return found;
}

async function readFreshness(reader: Reader, recordType: string): Promise<Freshness | undefined> {
  const { queue, organizationId } = reader;
  const releasePermit = queue.tryAcquire(organizationId) ?? (await queue.acquire(organizationId));
  try {
    const state = await withOneRetry(() => readRecordState(reader.db.data, tenantSchema(organizationId), recordType));
    if (state === undefined) return undefined;
    return freshnessOf({
      active_table: state.activeTable,
      epoch: state.epoch,
      generation: state.generation,
      row_count: String(state.rowCount),
      synced_at: state.syncedAt,
    });
  } catch (error) {
    if (isUndefinedObject(error)) return undefined;
    throw asUnavailable(error);
  } finally {
    releasePermit();
  }
}
