// The time of day as the database tells it, so that all processes agree and a machine's clock may jump: asked now and then, and
// measured on from there by a clock that only grows.
import { type Clock, systemClock } from '../core/clock.ts';
import type { Db } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { recurring } from '../core/recurring.ts';

const askEveryMs = 30_000;
/** An answer that took longer says too little. */
const mostTripMs = 1_000;

export type DatabaseClock = { readonly clock: Clock; close(): Promise<void> };

/** Throws when the database can't be asked at first; later it goes on without. */
export async function openDatabaseClock({ control }: Pick<Db, 'control'>, log: Log): Promise<DatabaseClock> {
  /** Milliseconds of the day's time at zero of `monotonicMs`. */
  let zeroMs: number | undefined;
  const ask = async (): Promise<void> => {
    const askedMs = systemClock.monotonicMs();
    const { rows } = await control.raw<{ rows: { now: number }[] }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as now');
    const answeredMs = systemClock.monotonicMs();
    const told = rows[0]?.now;
    if (told !== undefined && (zeroMs === undefined || answeredMs - askedMs < mostTripMs)) zeroMs = told - (askedMs + answeredMs) / 2;
  };
  await ask();
  const asking = recurring(askEveryMs, ask, (error) => log.warn({ err: error }, 'the database could not be asked for the time'));
  return {
    clock: { now: () => new Date((zeroMs ?? 0) + systemClock.monotonicMs()), monotonicMs: systemClock.monotonicMs },
    close: asking.stop,
  };
}
