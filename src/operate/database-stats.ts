// Statistics from the database for the metrics. Concurrent callers share one query, and its result is cached for a few seconds.
import type { Pool } from 'pg';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';

/** A row of the SQL function operational_figures(). */
export type DatabaseStat = { readonly figure: string; readonly label: string; readonly value: number };

const ttlMs = 5_000;

/** The returned function resolves with undefined when the query fails; it never rejects. */
export function createDatabaseStats(
  pool: Pick<Pool, 'query'>,
  clock: Pick<Clock, 'monotonicMs'>,
  log: Log,
): () => Promise<readonly DatabaseStat[] | undefined> {
  let querying: Promise<readonly DatabaseStat[] | undefined> | undefined;
  let cached: { readonly atMs: number; readonly stats: readonly DatabaseStat[] } | undefined;
  const query = async (): Promise<readonly DatabaseStat[] | undefined> => {
    try {
      const { rows } = await pool.query<DatabaseStat>('select figure, label, value from operational_figures()');
      cached = { atMs: clock.monotonicMs(), stats: rows };
      return rows;
    } catch (error) {
      log.warn({ err: error }, 'the database statistics could not be read');
      return undefined;
    } finally {
      querying = undefined;
    }
  };
  return async () => {
    if (cached !== undefined && clock.monotonicMs() - cached.atMs < ttlMs) return cached.stats;
    querying ??= query();
    return querying;
  };
}
