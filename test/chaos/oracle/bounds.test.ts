// Until when records may be older than in the account, by the modification times of the lines and by the
// account's clock.
import { expect, it } from 'vitest';
import type { Shape, Truth } from './account.ts';
import { isDue } from './bounds.ts';
import type { Moment } from './history.ts';

const shape: Shape = { recordType: 'invoice', fields: [], lineFields: [] };
const momentAt = (turn: number, time: string): Moment => ({
  turn,
  at: new Date(time),
  day: time.slice(0, 10),
  latest: new Date(time),
});
const [old, recent, latest] = ['2011-08-01T09:00:00Z', '2011-09-05T08:50:00Z', '2011-09-05T08:55:00Z'];

/** Whether the next run must serve lines that had the times `before` and have the times `now`. */
function isDueNow(before: readonly string[], now: readonly string[]): boolean {
  const record = { cells: [], lines: now.map(() => '[]'), modified: old, linesModified: now.join(), raw: '' };
  const truth: Truth = { at: new Date(latest), records: new Map([['1', record]]), types: new Map() };
  const change = {
    since: momentAt(5, latest),
    tracedSince: null,
    totalsSince: null,
    lineTimes: before.join(),
  };
  const served = { cells: [], lines: now.map(() => '[]') };
  const question = { id: '1', part: 'lines', served, isBalanced: true, isSteady: true } as const;
  const previous = momentAt(3, '2011-09-05T09:00:00Z');
  return isDue(shape, question, change, truth, {
    mode: 'incremental',
    begin: momentAt(9, '2011-09-05T09:01:00Z'),
    previous,
    completeSince: null,
  });
}

it('a line with a new time is due in the next run, whether or not it is the latest one', () => {
  expect(isDueNow([old, old], [old, recent])).toBe(true);
  expect(isDueNow([old, latest], [recent, latest])).toBe(true);
});

it('a line that is edited again and whose new time is not later than the latest one is not, while another line has that', () => {
  expect(isDueNow([recent, latest], [latest, latest])).toBe(false);
  expect(isDueNow([recent, latest], ['2011-09-05T08:52:00Z', latest])).toBe(false);
  expect(isDueNow([recent, latest], ['2011-09-05T08:56:00Z', latest])).toBe(true);
});

it('lines without a new time, or with one of long ago, are not', () => {
  expect(isDueNow([old, recent], [old, recent])).toBe(false);
  expect(isDueNow([old, recent], [recent])).toBe(false);
  expect(isDueNow([old], [old, '2011-08-02T09:00:00Z'])).toBe(false);
});

/** Whether a change at 06:00 must be served by a run that begins at this time, after one at 09:00. */
function isDueAt(time: string, isSteady: boolean): boolean {
  const modified = '2011-09-05T06:00:00Z';
  const record = { cells: ['new'], lines: null, modified, linesModified: '', raw: '' };
  const truth: Truth = { at: new Date(time), records: new Map([['1', record]]), types: new Map() };
  const changed = momentAt(5, modified);
  const change = { since: changed, tracedSince: changed, totalsSince: null, lineTimes: '' };
  const question = { id: '1', part: 0, served: { cells: ['old'], lines: null }, isBalanced: true, isSteady };
  const [begin, previous] = [momentAt(9, time), momentAt(3, '2011-09-05T09:00:00Z')];
  const of: Shape = {
    ...shape,
    fields: [{ name: 'f0', field: 'memo', isLabel: false, isNumber: false }],
    lineFields: null,
  };
  return isDue(of, question, change, truth, { mode: 'incremental', begin, previous, completeSince: null });
}

it('a change is due in the run that finds the clock set back, unless the clock went on by leaps during the run', () => {
  expect(isDueAt('2011-09-05T06:01:00Z', true)).toBe(true);
  expect(isDueAt('2011-09-05T06:01:00Z', false)).toBe(false);
  expect(isDueAt('2011-09-05T08:00:00Z', true)).toBe(false);
});
