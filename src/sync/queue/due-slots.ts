// Decides which slots of a schedule are due. Pure. After downtime only the latest missed slot is due.

import { Cron } from 'croner';
import { isTimeZone } from '../../core/time-zone.ts';

/** As in crontab(5): day or weekday is enough, unless one begins with `*`, which is no restriction. */
function parseSchedule(schedule: string, timezone: string): Cron {
  const [, , day = '', , weekday = ''] = schedule.trim().split(/\s+/);
  return new Cron(schedule, {
    timezone,
    paused: true,
    mode: '5-part',
    domAndDow: [day, weekday].some((field) => /^[*?]/.test(field)),
  });
}

const parts = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day', '1 to 31'],
  ['month', '1 to 12, or JAN to DEC'],
  ['weekday', '0 to 7, or SUN to SAT'],
] as const;

/** What is wrong with the first field that is invalid by itself. */
function findInvalidField(fields: readonly string[]): string | undefined {
  for (const [index, [name, range]] of parts.entries()) {
    const alone = parts.map((_, at) => (at === index ? fields[at] : '*')).join(' ');
    try {
      parseSchedule(alone, 'UTC');
    } catch {
      return `the ${name} "${fields[index]}" is not valid: it takes ${range}, in lists, ascending ranges and steps`;
    }
  }
  return undefined;
}

/** What is wrong with a schedule (five fields, as in crontab) or its time zone; null when both are valid. */
export function findScheduleProblem(
  schedule: string,
  timezone: string,
): { path: 'schedule' | 'timezone'; message: string } | null {
  if (!isTimeZone(timezone))
    return { path: 'timezone', message: 'must be an IANA time zone such as Europe/London' };
  const malformed = {
    path: 'schedule',
    message: 'must be a cron expression of five fields: minute hour day month weekday',
  } as const;
  const fields = schedule.trim().split(/\s+/);
  // The parser also accepts nicknames such as @daily and a single instant.
  if (fields.length !== 5) return malformed;
  const invalid = findInvalidField(fields);
  if (invalid !== undefined) return { path: 'schedule', message: invalid };
  try {
    return parseSchedule(schedule, timezone).nextRun() === null
      ? { path: 'schedule', message: 'never comes due: no date matches all of its fields' }
      : null;
  } catch {
    return malformed;
  }
}

/** The next slot after an instant; null when there is none. */
export const findNextSlot = (schedule: string, timezone: string, after: Date): Date | null =>
  parseSchedule(schedule, timezone).nextRun(after);

type Scheduled = {
  readonly schedule: string;
  readonly timezone: string;
  readonly lastSlot: Date | null;
  readonly since: Date;
};

const latestSlot = (schedule: string, timezone: string, now: Date): Date | undefined =>
  parseSchedule(schedule, timezone).previousRuns(1, new Date(now.getTime() + 1))[0];

/**
 * Returns a function that finds the latest slot that is due and has no run yet; null when there is none. A
 * clock that went backwards makes none due. Meant for many configurations at one instant: computing a
 * schedule's latest slot is most of the work, so it is cached for all configurations that share the schedule.
 */
export function createDueSlotFinder(now: Date): (scheduled: Scheduled) => Date | null {
  const latestSlots = new Map<string, Date | undefined>();
  return ({ schedule, timezone, lastSlot, since }) => {
    const key = `${timezone} ${schedule}`;
    if (!latestSlots.has(key)) latestSlots.set(key, latestSlot(schedule, timezone, now));
    const latest = latestSlots.get(key);
    if (latest === undefined || latest > now || latest <= since) return null;
    return lastSlot !== null && latest <= lastSlot ? null : latest;
  };
}

/** Like `createDueSlotFinder`, for a single configuration. */
export const findDueSlot = (scheduled: Scheduled, now: Date) => createDueSlotFinder(now)(scheduled);
