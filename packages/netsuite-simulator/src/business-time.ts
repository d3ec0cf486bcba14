// Business time is wall time plus an offset stored in the account's database. It starts where the books end.
// While days are held back it stops one second before the next day's first change, so that no row appears
// with a time earlier than one already reported to callers. Sign-in uses another clock
// (sign-in/authentication-clock.ts).
import type { ClientBase, Pool } from 'pg';
import type { Clock } from './clock.ts';

export type BusinessTime = {
  now(): Date;
  /**
   * Stores the new time, within the caller's transaction if there is one. `now` changes when `apply` is
   * called, after the commit.
   */
  move(client: ClientBase | Pool, at: Date): Promise<{ apply(): void }>;
  /**
   * Caps `now` one second before this moment, the first change that isn't in the books yet; undefined removes
   * the cap.
   */
  capBefore(firstChange: Date | undefined): void;
};

/** Name of the row in setup.setting. */
export const BUSINESS_OFFSET = 'business_offset_ms';
const SECOND_MS = 1000;

export async function loadBusinessTime(pool: Pool, clock: Clock, startsAt: Date): Promise<BusinessTime> {
  const { rows } = await pool.query<{ value: string }>('SELECT value FROM setup.setting WHERE name = $1', [
    BUSINESS_OFFSET,
  ]);
  let offsetMs = Number(rows[0]?.value ?? 0);
  let latestMs = Number.POSITIVE_INFINITY;
  const time: BusinessTime = {
    now: () => new Date(Math.min(clock.now().getTime() + offsetMs, latestMs)),
    async move(client, at) {
      const wantedMs = at.getTime() - clock.now().getTime();
      await client.query(
        'INSERT INTO setup.setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        [BUSINESS_OFFSET, String(wantedMs)],
      );
      return {
        apply() {
          offsetMs = wantedMs;
        },
      };
    },
    capBefore(firstChange) {
      latestMs = firstChange === undefined ? Number.POSITIVE_INFINITY : firstChange.getTime() - SECOND_MS;
    },
  };
  if (rows.length === 0) (await time.move(pool, startsAt)).apply();
  return time;
}
