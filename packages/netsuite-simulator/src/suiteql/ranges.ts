// Ranges of days and of posting periods relative to today, by the codes of SuiteScript's N/query module
// (RelativeDateRange, DateId and PeriodCode). Weeks begin on Monday, and the fiscal year with the calendar
// year.
import { unsupported } from './suiteql-error.ts';

type Unit = 'day' | 'week' | 'month' | 'quarter' | 'half' | 'year';
type Range = { unit: Unit; offset: number; toDate?: boolean };

const TODAY = 'suiteql.today()::timestamp';
const INTERVALS: Record<Unit, string> = {
  day: '1 day',
  week: '7 days',
  month: '1 month',
  quarter: '3 months',
  half: '6 months',
  year: '1 year',
};

const plus = (moment: string, unit: Unit, count: number): string =>
  count === 0
    ? moment
    : `(${moment} OPERATOR(pg_catalog.+) (interval '${INTERVALS[unit]}' OPERATOR(pg_catalog.*) (${count})))`;

const DAY_BEFORE = "OPERATOR(pg_catalog.-) interval '1 day'";

function beginning(unit: Unit): string {
  if (unit !== 'half') return `pg_catalog.date_trunc('${unit}', ${TODAY})`;
  const year = `pg_catalog.date_trunc('year', ${TODAY})`;
  return `(${year} OPERATOR(pg_catalog.+) CASE WHEN extract(month FROM ${TODAY}) > 6 THEN interval '6 months' ELSE interval '0' END)`;
}

/** Letters of the codes → unit, in the calendar or the fiscal year. */
const UNITS: Readonly<Record<string, Unit>> = {
  W: 'week',
  BW: 'week',
  M: 'month',
  FQ: 'quarter',
  FH: 'half',
  FY: 'year',
  Y: 'year',
};
/** The codes of periods say Q where those of days say FQ. */
const PERIOD_UNITS: Readonly<Record<string, Unit>> = { P: 'month', Q: 'quarter', FY: 'year' };
const NEAR: Readonly<Record<string, number>> = { T: 0, L: -1, N: 1 };
const FAR: Readonly<Record<string, number>> = { BL: -2, B: -3, AN: 2 };
const SAME_DAYS: Readonly<Record<string, [Unit, number]>> = {
  SDLW: ['week', -1],
  SDLM: ['month', -1],
  SDLFQ: ['quarter', -1],
  SDLFY: ['year', -1],
  SDWBL: ['week', -2],
  SDMBL: ['month', -2],
  SDFQBL: ['quarter', -2],
  SDFYBL: ['year', -2],
};
const DISTANT_UNITS: Readonly<Record<string, Unit>> = {
  D: 'day',
  W: 'week',
  M: 'month',
  Q: 'quarter',
  Y: 'year',
};

/**
 * Such as TM, LFQ, NW, MBL, FYB or WAN, each of which TD can follow: up to the day that corresponds to today.
 */
function namedRange(code: string, units: Readonly<Record<string, Unit>>): Range | undefined {
  const [, named = code, toDate] = /^(.+?)(TD)?$/.exec(code) ?? [];
  const near = units[named.slice(1)];
  const offset = NEAR[named.charAt(0)];
  if (near && offset !== undefined) return { unit: near, offset, toDate: toDate !== undefined };
  const [, letters = '', place = ''] = /^(W|M|FQ|FH|FY|Q|P)(BL|B|AN)$/.exec(named) ?? [];
  const [far, distance] = [units[letters], FAR[place]];
  return far && distance !== undefined
    ? { unit: far, offset: distance, toDate: toDate !== undefined }
    : undefined;
}

/** A single day: its SQL. */
function singleDay(code: string): string | undefined {
  const days: Readonly<Record<string, number>> = { TODAY: 0, YESTERDAY: -1, TOMORROW: 1 };
  if (days[code] !== undefined) return plus(TODAY, 'day', days[code]);
  const same = SAME_DAYS[code];
  if (same) return plus(TODAY, ...same);
  const [, letter = '', direction, count] = /^([DWMQY])(AGO|FN)(\d{1,4})$/.exec(code) ?? [];
  const unit = DISTANT_UNITS[letter];
  return unit && plus(TODAY, unit, direction === 'AGO' ? -Number(count) : Number(count));
}

function bounds(code: string, units: Readonly<Record<string, Unit>>): { start: string; end: string } {
  const day = singleDay(code);
  if (day !== undefined) return { start: day, end: day };
  const range = namedRange(code, units);
  if (!range) throw unsupported();
  const { unit, offset, toDate } = range;
  const first = beginning(unit);
  return {
    start: plus(first, unit, offset),
    end: toDate ? plus(TODAY, unit, offset) : `(${plus(first, unit, offset + 1)} ${DAY_BEFORE})`,
  };
}

/**
 * The first or the last day of a range; with `hasTime` its last second. Throws SuiteqlError for a code that
 * isn't supported.
 */
export function rangeEdgeSql(code: string, isEnd: boolean, hasTime: boolean): string {
  const { start, end } = bounds(code, UNITS);
  return isEnd && hasTime ? `(${end} OPERATOR(pg_catalog.+) interval '86399 seconds')` : isEnd ? end : start;
}

/**
 * The ids of the months in a range of periods, with or without adjustment periods. Throws SuiteqlError for a
 * code that isn't supported.
 */
export function periodsSql(code: string, hasAdjustments: boolean, periods: string): string {
  const quarter = /^Q([1-4])(T|L)FY$/.exec(code);
  const { start, end } = quarter
    ? buildQuarter(Number(quarter[1]), quarter[2] === 'L' ? -1 : 0)
    : bounds(code, PERIOD_UNITS);
  const kinds = `"p".isyear = 'F' AND "p".isquarter = 'F'${hasAdjustments ? '' : ` AND "p".isadjust = 'F'`}`;
  return `(SELECT "p".id FROM ${periods} "p" WHERE ${kinds} AND "p".startdate >= ${start} AND "p".startdate <= ${end})`;
}

function buildQuarter(number: number, yearOffset: number): { start: string; end: string } {
  const start = plus(plus(beginning('year'), 'year', yearOffset), 'quarter', number - 1);
  return { start, end: `(${plus(start, 'quarter', 1)} ${DAY_BEFORE})` };
}
