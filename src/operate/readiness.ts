// The readiness check: whether this process should receive requests. It queries on a reserved connection, so
// that a busy service isn't taken for a broken one, and at most once a second however often it is called.
import type { Pool } from 'pg';
import type { Clock } from '../core/clock.ts';
import type { Replica } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { createCache } from '../core/work/cache.ts';
import type { Readiness } from '../http/health.ts';

export type ReadinessOptions = {
  /** A pool reserved for such queries; its connections and statements time out within seconds. */
  readonly control: Pick<Pool, 'query'>;
  /** The database of the records, if it is a different one. */
  readonly warehouse: Pick<Pool, 'query'> | undefined;
  /** Whether known API keys are trusted while the database can't be reached, so that records are served. */
  readonly isTrusting: () => boolean;
  /** The read replicas. */
  readonly replicas: readonly Pick<Replica, 'isInUse'>[];
  /** Compares the migrations applied to a database with this code. */
  readonly migrationStatus: (applied: readonly string[]) => 'behind' | 'level' | 'ahead';
  /** Milliseconds since the scheduler last completed a tick; undefined in a process that doesn't sync. */
  readonly sinceTickMs: () => number | undefined;
  /** `paused` or `moved` during a move to another database, else undefined. No failure: public reads work. */
  readonly pauseState: () => string | undefined;
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
/** Not a failure: migrations leave what the previous version needs, so both serve during a deployment. */
const ahead = 'ahead of this version';
const readOnly = 'is read-only';
const unreachable = "can't be reached";
/** Not a failure: the process still serves public reads, and no other process could do more. */
const trusting = `${unreachable}; known API keys stay trusted`;
const tablesPending = 'pending: ';
const statusTexts = { behind: 'behind this version', level: ok, ahead };

/** What waits to change tables, as text; empty when nothing does. Not a failure: everything else works. */
async function pendingTables(control: Pick<Pool, 'query'>): Promise<string> {
  const { rows } = await control.query<{ kind: string; waiting: number }>(
    'select kind, waiting::int from public.tables_pending() where waiting > 0',
  );
  return rows.map(({ kind, waiting }) => `${waiting} ${waiting === 1 ? kind.slice(0, -1) : kind}`).join(', ');
}

/** Not a failure: without its replicas, the process reads from the primary. */
function replicaState({ replicas }: Pick<ReadinessOptions, 'replicas'>): Record<string, string> {
  const inUse = replicas.filter((replica) => replica.isInUse()).length;
  return replicas.length === 0
    ? {}
    : { replicas: inUse === replicas.length ? ok : `${inUse} of ${replicas.length} in use` };
}

/** A server that takes no writes is not the primary: a standby, or a primary that is being replaced. */
async function serverState(pool: Pick<Pool, 'query'>): Promise<string> {
  const { rows } = await pool.query<{ readOnly: boolean }>(
    `select current_setting('transaction_read_only')::boolean as "readOnly"`,
  );
  return rows[0]?.readOnly === true ? readOnly : ok;
}

async function readMigrations({ control, migrationStatus }: ReadinessOptions): Promise<string> {
  const { rows } = await control.query<{ name: string }>('select name from public.knex_migrations');
  return statusTexts[migrationStatus(rows.map(({ name }) => name))];
}

/** The returned function never rejects. */
export function createReadinessCheck(parts: ReadinessOptions): () => Promise<Readiness> {
  const { control, warehouse, clock, log } = parts;
  const cache = createCache<Record<string, string>>({
    maxBytes,
    ttl: { clock, ms: ttlMs, joinsSlowReads: true },
  });

  const reach = async (what: string, query: () => Promise<string>): Promise<string> => {
    try {
      return await query();
    } catch (error) {
      log.warn({ err: error }, `the ${what} can't be reached`);
      return unreachable;
    }
  };
  const queryDatabase = async (): Promise<Record<string, string>> => {
    const [database, records, migrations, pending] = await Promise.all([
      reach('database', () => serverState(control)),
      warehouse === undefined ? ok : reach('warehouse', () => serverState(warehouse)),
      readMigrations(parts).catch(() => 'unknown'),
      pendingTables(control).catch(() => ''),
    ]);
    const tables = pending === '' ? {} : { tables: `${tablesPending}${pending}` };
    if (warehouse === undefined) return { database, migrations, ...tables };
    if (database === unreachable && records === ok && parts.isTrusting())
      return { database: trusting, warehouse: records };
    return { database, migrations, warehouse: records, ...tables };
  };
  return async () => {
    // Report the shutdown at once, without waiting for the database.
    if (parts.stopping.aborted) return { ready: false, checks: { process: 'stopping' } };
    const sinceTickMs = parts.sinceTickMs();
    const checks = {
      process: ok,
      ...(await cache.load('', queryDatabase)),
      ...(sinceTickMs !== undefined && { scheduler: sinceTickMs <= maxSinceTickMs ? ok : 'does not tick' }),
    };
    const ready = Object.values(checks).every(
      (state) => [ok, ahead, trusting].includes(state) || state.startsWith(tablesPending),
    );
    const writes = parts.pauseState();
    return { ready, checks: { ...checks, ...(writes !== undefined && { writes }), ...replicaState(parts) } };
  };
}
