// The periods that summaries group dates by, as their keys: `2026-03-02` (a day, or a week by its Monday),
// `2026-03`, `2026-Q1` and `2026`. Pure.
export const periods = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Period = (typeof periods)[number];

const dayMs = 86_400_000;
/** More empty periods than this between two dates are a gap that tells nothing. */
const maxFilled = 400;

/** The first day of the period. */
function startOf(key: string, period: Period): Date {
  if (period === 'quarter') {
    const [year = '', quarter = ''] = key.split('-Q');
    return new Date(Date.UTC(Number(year), (Number(quarter) - 1) * 3));
  }
  return new Date(`${key}${{ day: '', week: '', month: '-01', year: '-01-01' }[period]}T00:00:00Z`);
}

function startOfNext(key: string, period: Period): Date {
  const start = startOf(key, period);
  if (period === 'day') return new Date(start.getTime() + dayMs);
  if (period === 'week') return new Date(start.getTime() + 7 * dayMs);
  const months = { month: 1, quarter: 3, year: 12 }[period];
  return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + months));
}

const toDay = (date: Date): string => date.toISOString().slice(0, 10);

function toKey(start: Date, period: Period): string {
  const day = toDay(start);
  if (period === 'quarter') return `${day.slice(0, 4)}-Q${Math.floor(start.getUTCMonth() / 3) + 1}`;
  return day.slice(0, { day: 10, week: 10, month: 7, year: 4 }[period]);
}

/** The first and the last day of a period. */
export const daysOf = (key: string, period: Period): readonly [first: string, last: string] => [
  toDay(startOf(key, period)),
  toDay(new Date(startOfNext(key, period).getTime() - dayMs)),
];

/** The keys, ascending, with those of the empty periods between them. */
export function fillPeriods(keys: readonly string[], period: Period): readonly string[] {
  const [first] = keys;
  const last = keys.at(-1);
  if (first === undefined || last === undefined) return keys;
  const filled = [first];
  for (let key = first; key < last; filled.push(key)) {
    if (filled.length > maxFilled) return keys;
    const next = startOfNext(key, period);
    if (Number.isNaN(next.getTime())) return keys;
    key = toKey(next, period);
  }
  return filled;
}

const month = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** The key in the words of the reader. */
export function showPeriod(key: string, period: Period): string {
  const start = startOf(key, period);
  if (Number.isNaN(start.getTime())) return key;
  if (period === 'month') return month.format(start);
  if (period === 'year') return key;
  if (period === 'quarter') return key.replace(/^(\d+)-(Q\d)$/, '$2 $1');
  return period === 'week' ? `Week of ${day.format(start)}` : day.format(start);
}
