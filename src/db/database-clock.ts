// The database's time, so that all processes agree on it and a jump of this machine's clock does no harm:
// queried every 30 seconds and extrapolated in between with a monotonic clock.
import { type Clock, systemClock } from '../core/clock.ts';
import type { Db } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { startRecurring } from '../core/work/recurring.ts';

const queryEveryMs = 30_000;
/** A result that took longer is too inaccurate and discarded. */
const maxRoundTripMs = 1_000;

export type DatabaseClock = { readonly clock: Clock; close(): Promise<void> };

/**
 * Rejects when the first query of the database's time fails. Later failures are logged, and the clock
 * continues from the last result.
 */
export async function startDatabaseClock({ control }: Pick<Db, 'control'>, log: Log): Promise<DatabaseClock> {
  /** Unix time in milliseconds at which `monotonicMs` was zero. */
  let zeroMs: number | undefined;
  const queryTime = async (): Promise<void> => {
    const sentMs = systemClock.monotonicMs();
    const { rows } = await control.raw<{ rows: { now: number }[] }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    );
    const receivedMs = systemClock.monotonicMs();
    const databaseMs = rows[0]?.now;
    if (databaseMs !== undefined && (zeroMs === undefined || receivedMs - sentMs < maxRoundTripMs))
      zeroMs = databaseMs - (sentMs + receivedMs) / 2;
  };
  await queryTime();
  const querying = startRecurring(queryEveryMs, queryTime, (error) =>
    log.warn({ err: error }, "could not query the database's time"),
  );
  return {
    clock: {
      now: () => new Date((zeroMs ?? 0) + systemClock.monotonicMs()),
      monotonicMs: systemClock.monotonicMs,
    },
    close: querying.stop,
  };
}
