// Which slots of a schedule are due. Pure. After downtime the latest missed slot alone is due: one catch-up run.
import { Cron } from 'croner';

const parse = (schedule: string, timezone: string): Cron =>
  new Cron(schedule, { timezone, paused: true, mode: '5-part', legacyMode: true });

/** What is wrong with a schedule or time zone; null when nothing is. Five fields, as in crontab. */
export function scheduleProblem(schedule: string, timezone: string): { path: 'schedule' | 'timezone'; message: string } | null {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    return { path: 'timezone', message: 'must be an IANA time zone such as Europe/London' };
  }
  const malformed = { path: 'schedule', message: 'must be a cron expression of five fields: minute hour day month weekday' } as const;
  // The parser would also take nicknames and a single instant.
  if (schedule.trim().split(/\s+/).length !== 5) return malformed;
  try {
    return parse(schedule, timezone).nextRun() === null ? { path: 'schedule', message: 'never comes due' } : null;
  } catch {
    return malformed;
  }
}

/** The next slot after an instant; null when none will come. */
export const nextSlot = (schedule: string, timezone: string, after: Date): Date | null => parse(schedule, timezone).nextRun(after);

type Scheduled = { readonly schedule: string; readonly timezone: string; readonly lastSlot: Date | null; readonly since: Date };

const latestSlot = (schedule: string, timezone: string, now: Date): Date | undefined =>
  parse(schedule, timezone).previousRuns(1, new Date(now.getTime() + 1))[0];

/**
 * The latest slot that is due and has no run yet; null when there is none. A clock that ran backwards makes none due. To be asked of many
 * configurations at one time: what a schedule's latest slot is takes most of the work, and is found out once for all that share it.
 */
export function openDueSlots(now: Date): (scheduled: Scheduled) => Date | null {
  const found = new Map<string, Date | undefined>();
  return ({ schedule, timezone, lastSlot, since }) => {
    const key = `${timezone} ${schedule}`;
    if (!found.has(key)) found.set(key, latestSlot(schedule, timezone, now));
    const latest = found.get(key);
    if (latest === undefined || latest > now || latest <= since) return null;
    return lastSlot !== null && latest <= lastSlot ? null : latest;
  };
}

/** As `openDueSlots`, for one alone. */
export const dueSlot = (scheduled: Scheduled, now: Date): Date | null => openDueSlots(now)(scheduled);
