// Business time is wall time plus an offset that is kept in the account's database: it starts where the books end and then runs on.
// While days are held back it waits just before the first change of the next one: nothing ever appears that is older than what a caller
// has been told the time is. Signing in goes by another clock.
import type { ClientBase, Pool } from 'pg';
import type { Clock } from '../../core/clock.ts';

export type BusinessTime = {
  now(): Date;
  /** Moves time, within the caller's transaction if there is one; `now` follows when `apply` is called, after the commit. */
  move(client: ClientBase | Pool, at: Date): Promise<{ apply(): void }>;
  /** The first change that isn't in the books yet. */
  holdBefore(firstChange: Date | undefined): void;
};

/** The name of the setting. */
export const BUSINESS_OFFSET = 'business_offset_ms';
const SECOND_MS = 1000;

export async function openBusinessTime(pool: Pool, clock: Clock, startsAt: Date): Promise<BusinessTime> {
  const { rows } = await pool.query<{ value: string }>('SELECT value FROM setup.setting WHERE name = $1', [BUSINESS_OFFSET]);
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
    holdBefore(firstChange) {
      latestMs = firstChange === undefined ? Number.POSITIVE_INFINITY : firstChange.getTime() - SECOND_MS;
    },
  };
  if (rows.length === 0) (await time.move(pool, startsAt)).apply();
  return time;
}
