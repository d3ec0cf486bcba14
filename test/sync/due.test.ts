import { describe, expect, it } from 'vitest';
import { dueSlot, nextSlot, scheduleProblem } from '../../src/sync/due.ts';

const longAgo = new Date('2020-01-01T00:00:00Z');
const due = (schedule: string, timezone: string, now: string, lastSlot: string | null = null, since: Date = longAgo): string | null =>
  dueSlot({ schedule, timezone, lastSlot: lastSlot === null ? null : new Date(lastSlot), since }, new Date(now))?.toISOString() ?? null;

/** Every slot that comes due when the tick looks once a minute. */
function slotsBetween(schedule: string, timezone: string, from: string, to: string): string[] {
  const found: string[] = [];
  for (let at = new Date(from).getTime(); at <= new Date(to).getTime(); at += 60_000) {
    const slot = due(schedule, timezone, new Date(at).toISOString(), found.at(-1) ?? null, new Date(from));
    if (slot !== null) found.push(slot);
  }
  return found;
}

describe('dueSlot', () => {
  it('is due from its minute on, once', () => {
    expect(due('0 2 * * *', 'UTC', '2026-03-02T01:59:59.999Z', '2026-03-01T02:00:00Z')).toBeNull();
    expect(due('0 2 * * *', 'UTC', '2026-03-02T02:00:00Z', '2026-03-01T02:00:00Z')).toBe('2026-03-02T02:00:00.000Z');
    expect(due('0 2 * * *', 'UTC', '2026-03-02T02:00:30Z', '2026-03-02T02:00:00Z')).toBeNull();
  });

  it('is meant in the time zone of the configuration', () => {
    expect(due('30 1 * * *', 'Asia/Kolkata', '2026-03-01T20:30:00Z')).toBe('2026-03-01T20:00:00.000Z');
    expect(due('0 9 * * 1', 'America/New_York', '2026-03-02T20:00:00Z')).toBe('2026-03-02T14:00:00.000Z');
  });

  it('of several missed slots the latest alone is made up for', () => {
    expect(due('*/15 * * * *', 'UTC', '2026-03-02T10:07:00Z', '2026-02-20T00:00:00Z')).toBe('2026-03-02T10:00:00.000Z');
    expect(due('0 2 * * *', 'UTC', '2026-03-09T12:00:00Z', '2026-03-01T02:00:00Z')).toBe('2026-03-09T02:00:00.000Z');
  });

  it('a schedule does not make up for what lay before it', () => {
    const since = new Date('2026-03-02T09:00:00Z');
    expect(due('0 2 * * *', 'UTC', '2026-03-02T10:00:00Z', null, since)).toBeNull();
    expect(due('0 2 * * *', 'UTC', '2026-03-03T02:00:00Z', null, since)).toBe('2026-03-03T02:00:00.000Z');
  });

  it('a clock that runs backwards makes none due', () => {
    expect(due('*/5 * * * *', 'UTC', '2026-03-02T09:57:00Z', '2026-03-02T10:00:00Z')).toBeNull();
    expect(due('*/5 * * * *', 'UTC', '2026-03-02T10:05:00Z', '2026-03-02T10:00:00Z')).toBe('2026-03-02T10:05:00.000Z');
  });

  it('a local time that daylight saving skips runs at the next minute', () => {
    // Europe/London goes from 01:00 to 02:00 on 29 March 2026.
    const slots = slotsBetween('30 1 * * *', 'Europe/London', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z');
    expect(slots).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
  });

  it('a local time that comes twice runs once', () => {
    // Europe/London goes from 02:00 back to 01:00 on 25 October 2026.
    expect(slotsBetween('30 1 * * *', 'Europe/London', '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z')).toEqual([
      expect.stringMatching(/^2026-10-25T0[01]:30:00\.000Z$/),
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it.each(['2026-03-29', '2026-10-25'])('every quarter of an hour goes on through the change of %s', (day) => {
    const slots = slotsBetween('*/15 * * * *', 'Europe/London', `${day}T00:00:00Z`, `${day}T03:00:00Z`);
    expect(slots).toEqual(Array.from({ length: 12 }, (_unused, n) => new Date(Date.parse(`${day}T00:15:00Z`) + n * 900_000).toISOString()));
  });
});

describe('nextSlot', () => {
  it('is the next one, in the time zone', () => {
    expect(nextSlot('0 2 * * *', 'Europe/London', new Date('2026-07-01T12:00:00Z'))?.toISOString()).toBe('2026-07-02T01:00:00.000Z');
  });
});

describe('scheduleProblem', () => {
  it.each(['*/15 * * * *', '0 2 * * 1-5', '0 0 29 2 *', '5,35 8-18 * * *'])('%s is a schedule', (schedule) => {
    expect(scheduleProblem(schedule, 'Europe/London')).toBeNull();
  });
  it.each(['* * * * * *', 'every day', '61 * * * *', '@hourly', '2099-01-01T00:00:00', '0 0 31 2 *', '', '* * * *'])(
    '"%s" is none',
    (schedule) => {
      expect(scheduleProblem(schedule, 'UTC')?.path).toBe('schedule');
    },
  );
  it('a time zone that is none', () => {
    expect(scheduleProblem('0 2 * * *', 'Mars/Olympus')?.path).toBe('timezone');
  });
});
