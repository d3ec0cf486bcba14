// Business time is wall time plus an offset that is kept in the account's database: it starts where the data end and then runs on.
// Whatever has to do with signing in uses wall time.
import type { Pool } from 'pg';
import type { Clock } from '../../core/clock.ts';

export type BusinessTime = { now(): Date; set(at: Date): Promise<void> };

const SETTING = 'business_offset_ms';
const HOUR_MS = 3_600_000;

/** `isFresh`: new data were loaded, and the offset of the former ones means nothing any more. */
export async function openBusinessTime(pool: Pool, clock: Clock, lastChange: Date, isFresh: boolean): Promise<BusinessTime> {
  const { rows } = await pool.query<{ value: string }>('SELECT value FROM setup.setting WHERE name = $1', [SETTING]);
  const kept = isFresh ? undefined : rows[0]?.value;
  let offsetMs = kept === undefined ? 0 : Number(kept);
  const time: BusinessTime = {
    now: () => new Date(clock.now().getTime() + offsetMs),
    async set(at) {
      const wanted = at.getTime() - clock.now().getTime();
      await pool.query(`INSERT INTO setup.setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, [SETTING, String(wanted)]);
      offsetMs = wanted;
    },
  };
  // The full hour after the last change of the last loaded day: nothing in the data lies ahead of it.
  if (kept === undefined) await time.set(new Date((Math.floor(lastChange.getTime() / HOUR_MS) + 1) * HOUR_MS));
  return time;
}
