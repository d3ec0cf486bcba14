import { describe, expect, it } from 'vitest';
import { findDueSlot, findNextSlot, findScheduleProblem } from '../../src/sync/queue/due-slots.ts';

const longAgo = new Date('2020-01-01T00:00:00Z');
const due = (
  schedule: string,
  timezone: string,
  now: string,
  lastSlot: string | null = null,
  since: Date = longAgo,
): string | null =>
  findDueSlot(
    { schedule, timezone, lastSlot: lastSlot === null ? null : new Date(lastSlot), since },
    new Date(now),
  )?.toISOString() ?? null;

/** Every slot that becomes due when the tick checks once a minute. */
function slotsBetween(schedule: string, timezone: string, from: string, to: string): string[] {
  const found: string[] = [];
  for (let at = new Date(from).getTime(); at <= new Date(to).getTime(); at += 60_000) {
    const slot = due(schedule, timezone, new Date(at).toISOString(), found.at(-1) ?? null, new Date(from));
    if (slot !== null) found.push(slot);
  }
  return found;
}

describe('findDueSlot', () => {
  it('is due once, from its minute on', () => {
    expect(due('0 2 * * *', 'UTC', '2026-03-02T01:59:59.999Z', '2026-03-01T02:00:00Z')).toBeNull();
    expect(due('0 2 * * *', 'UTC', '2026-03-02T02:00:00Z', '2026-03-01T02:00:00Z')).toBe(
      '2026-03-02T02:00:00.000Z',
    );
    expect(due('0 2 * * *', 'UTC', '2026-03-02T02:00:30Z', '2026-03-02T02:00:00Z')).toBeNull();
  });

  it('is in the time zone of the configuration', () => {
    expect(due('30 1 * * *', 'Asia/Kolkata', '2026-03-01T20:30:00Z')).toBe('2026-03-01T20:00:00.000Z');
    expect(due('0 9 * * 1', 'America/New_York', '2026-03-02T20:00:00Z')).toBe('2026-03-02T14:00:00.000Z');
  });

  it('only the latest of several missed slots is due', () => {
    expect(due('*/15 * * * *', 'UTC', '2026-03-02T10:07:00Z', '2026-02-20T00:00:00Z')).toBe(
      '2026-03-02T10:00:00.000Z',
    );
    expect(due('0 2 * * *', 'UTC', '2026-03-09T12:00:00Z', '2026-03-01T02:00:00Z')).toBe(
      '2026-03-09T02:00:00.000Z',
    );
  });

  it('slots before the schedule was set are not due', () => {
    const since = new Date('2026-03-02T09:00:00Z');
    expect(due('0 2 * * *', 'UTC', '2026-03-02T10:00:00Z', null, since)).toBeNull();
    expect(due('0 2 * * *', 'UTC', '2026-03-03T02:00:00Z', null, since)).toBe('2026-03-03T02:00:00.000Z');
  });

  it('a clock that went backwards makes none due', () => {
    expect(due('*/5 * * * *', 'UTC', '2026-03-02T09:57:00Z', '2026-03-02T10:00:00Z')).toBeNull();
    expect(due('*/5 * * * *', 'UTC', '2026-03-02T10:05:00Z', '2026-03-02T10:00:00Z')).toBe(
      '2026-03-02T10:05:00.000Z',
    );
  });

  it('a local time that daylight saving skips runs at the next minute', () => {
    // Europe/London goes from 01:00 to 02:00 on 29 March 2026.
    const slots = slotsBetween('30 1 * * *', 'Europe/London', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z');
    expect(slots).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
  });

  it('a local time that occurs twice runs once', () => {
    // Europe/London goes from 02:00 back to 01:00 on 25 October 2026.
    expect(
      slotsBetween('30 1 * * *', 'Europe/London', '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'),
    ).toEqual([expect.stringMatching(/^2026-10-25T0[01]:30:00\.000Z$/), '2026-10-26T01:30:00.000Z']);
  });

  it.each(['2026-03-29', '2026-10-25'])(
    'a slot every 15 minutes continues through the clock change of %s',
    (day) => {
      const slots = slotsBetween('*/15 * * * *', 'Europe/London', `${day}T00:00:00Z`, `${day}T03:00:00Z`);
      expect(slots).toEqual(
        Array.from({ length: 12 }, (_unused, n) =>
          new Date(Date.parse(`${day}T00:15:00Z`) + n * 900_000).toISOString(),
        ),
      );
    },
  );
});

it('findNextSlot returns the next one, in the time zone', () => {
  expect(findNextSlot('0 2 * * *', 'Europe/London', new Date('2026-07-01T12:00:00Z'))?.toISOString()).toBe(
    '2026-07-02T01:00:00.000Z',
  );
});

describe('day and weekday', () => {
  const days = (schedule: string): string => {
    const found: string[] = [];
    for (
      let after = new Date('2026-01-01T00:00:00Z');
      found.length < 4;
      after = new Date(Date.parse(found.at(-1) ?? ''))
    ) {
      found.push(findNextSlot(schedule, 'UTC', after)?.toISOString() ?? '');
    }
    return found.map((slot) => slot.slice(5, 10)).join(' ');
  };
  // January 2026 begins on a Thursday. crontab(5): a field that begins with * restricts nothing.
  it.each([
    ['0 6 13 * 5', '01-02 01-09 01-13 01-16'],
    ['0 6 */2 * 1', '01-05 01-19 02-09 02-23'],
    ['0 6 1-7 * */3', '01-03 01-04 01-07 02-01'],
    ['0 6 * * 1', '01-05 01-12 01-19 01-26'],
    ['0 6 15 * *', '01-15 02-15 03-15 04-15'],
    ['0 6 ? * 1', '01-05 01-12 01-19 01-26'],
  ])('%s comes due on %s', (schedule, expected) => expect(days(schedule)).toBe(expected));
});

describe('findScheduleProblem', () => {
  it.each([
    ['*/90 * * * *', 'minute', '*/90', '0 to 59'],
    ['0 22-2 * * *', 'hour', '22-2', '0 to 23'],
    ['0 0 32 * *', 'day', '32', '1 to 31'],
    ['0 0 * 13 *', 'month', '13', '1 to 12, or JAN to DEC'],
    ['0 0 * * 8', 'weekday', '8', '0 to 7, or SUN to SAT'],
  ])('"%s": the %s "%s" is not valid: it takes %s', (schedule, field, value, takes) => {
    const allowed = `it takes ${takes}, in lists, ascending ranges and steps`;
    const message = `the ${field} "${value}" is not valid: ${allowed}`;
    expect(findScheduleProblem(schedule, 'UTC')).toEqual({ path: 'schedule', message });
  });
  it('says of a date that never comes that the schedule never comes due', () => {
    const message = 'never comes due: no date matches all of its fields';
    expect(findScheduleProblem('0 0 31 2 *', 'UTC')).toEqual({ path: 'schedule', message });
  });
  it.each(['*/15 * * * *', '0 2 * * 1-5', '0 0 29 2 *', '5,35 8-18 * * *'])('%s is a schedule', (schedule) =>
    expect(findScheduleProblem(schedule, 'Europe/London')).toBeNull(),
  );
  it.each(['* * * * * *', 'every day', '61 * * * *', '@hourly', '2099-01-01T00:00:00', '', '* * * *'])(
    '"%s" is none',
    (schedule) => expect(findScheduleProblem(schedule, 'UTC')?.path).toBe('schedule'),
  );
  it('reports an invalid time zone', () => {
    expect(findScheduleProblem('0 2 * * *', 'Mars/Olympus')?.path).toBe('timezone');
  });
});
