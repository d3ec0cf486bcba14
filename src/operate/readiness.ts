// The readiness check: whether this process should receive requests. It queries the database on a reserved connection, so that a busy
// service isn't mistaken for a broken one, and at most once a second however often it is called.
import type { Pool } from 'pg';
import { createCache } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Readiness } from '../http/health.ts';

export type ReadinessOptions = {
  /** A pool reserved for such queries; its connections and statements time out within seconds. */
  readonly control: Pick<Pool, 'query'>;
  /** The database of the records, if it is a different one. */
  readonly warehouse: Pick<Pool, 'query'> | undefined;
  /** Compares the migrations applied to a database with this code. */
  readonly migrationStatus: (applied: readonly string[]) => 'behind' | 'level' | 'ahead';
  /** Milliseconds since the scheduler last completed a tick. */
  readonly sinceTickMs: () => number;
  /** Aborted when the process starts to shut down. */
  readonly stopping: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
};

const ttlMs = 1_000;
const maxBytes = 64 * 1024;
/** The scheduler ticks each minute; a long tick may take another one. */
const maxSinceTickMs = 180_000;
const ok = 'ok';
/** Not a failure: each migration leaves what the previous version needs, so during a deployment both versions serve. */
const ahead = 'ahead of this version';
const statusTexts = { behind: 'behind this version', level: ok, ahead };

/** The returned function never rejects. */
export function createReadinessCheck(parts: ReadinessOptions): () => Promise<Readiness> {
  const { control, warehouse, clock, log } = parts;
  const cache = createCache<Record<string, string>>({ maxBytes, ttl: { clock, ms: ttlMs, joinsSlowReads: true } });

  const reach = async (what: string, query: () => Promise<string>): Promise<string> => {
    try {
      return await query();
    } catch (error) {
      log.warn({ err: error }, `the ${what} can't be reached`);
      return "can't be reached";
    }
  };
  const migrationState = async (): Promise<string> => {
    const { rows } = await control.query<{ name: string }>('select name from public.knex_migrations');
    return statusTexts[parts.migrationStatus(rows.map(({ name }) => name))];
  };
  const queryDatabase = async (): Promise<Record<string, string>> => {
    const [migrations, records] = await Promise.all([
      reach('database', migrationState),
      warehouse === undefined ? ok : reach('warehouse', () => warehouse.query('select 1').then(() => ok)),
    ]);
    const reached = migrations !== "can't be reached";
    return {
      database: reached ? ok : migrations,
      migrations: reached ? migrations : 'unknown',
      ...(warehouse !== undefined && { warehouse: records }),
    };
  };
  return async () => {
    // Report the shutdown at once, without waiting for the database.
    if (parts.stopping.aborted) return { ready: false, checks: { process: 'stopping' } };
    const checks = {
      process: ok,
      ...(await cache.load('', queryDatabase)),
      scheduler: parts.sinceTickMs() <= maxSinceTickMs ? ok : 'does not tick',
    };
    return { ready: Object.values(checks).every((state) => state === ok || state === ahead), checks };
  };
}
