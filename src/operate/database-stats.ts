// Database statistics for the metrics. Concurrent callers share one query, cached for a few seconds.
import type { Pool } from 'pg';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { createCache } from '../core/work/cache.ts';

/** A row of the SQL function operational_figures(). */
export type DatabaseStat = { readonly figure: string; readonly label: string; readonly value: number };

const ttlMs = 5_000;
const maxBytes = 1024 * 1024;

/** The returned function resolves with undefined when the query fails; it never rejects. */
export function createDatabaseStats(pool: Pick<Pool, 'query'>, clock: Pick<Clock, 'monotonicMs'>, log: Log) {
  const stats = createCache<readonly DatabaseStat[]>({
    maxBytes,
    ttl: { clock, ms: ttlMs, joinsSlowReads: true },
  });
  const query = async (): Promise<readonly DatabaseStat[]> => {
    try {
      return (await pool.query<DatabaseStat>('select figure, label, value from operational_figures()')).rows;
    } catch (error) {
      log.warn({ err: error }, 'the database statistics could not be read');
      throw error;
    }
  };
  return () => stats.load('', query).catch(() => undefined);
}
