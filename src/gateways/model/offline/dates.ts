// Recognizes dates in a question as spans of calendar days (UTC). Ambiguous ones, such as 01/02/2011, are not recognized.

/** Inclusive, as YYYY-MM-DD. */
export type DaySpan = { readonly from: string; readonly to: string };
type Groups = Readonly<Record<string, string | undefined>>;
type Day = { readonly year: number; readonly month: number; readonly day: number };

const months = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const month = `(?<month>${months.map((name) => `${name}|${name.slice(0, 3)}`).join('|')}|sept)`;
const isoMonth = '(?<isoMonth>0[1-9]|1[0-2])';
const day = '(?<day>\\d{1,2})(?:st|nd|rd|th)?';
const year = '(?<year>(?:19|20)\\d{2})';
/** A year alone could be any number, so it must follow one of these words. */
const yearAlone = `(?<=\\b(?:in|during|since|before|after|until|through) )(?:the year |year )?${year}`;
const shifts: Readonly<Record<string, number>> = { this: 0, next: 1, last: -1, previous: -1 };

const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
/** That many months and days. Months count from 0; months and days outside of the calendar run on, as in January 32. */
const spanOf = (first: Day, monthCount: number, dayCount: number): DaySpan => ({
  from: isoDay(Date.UTC(first.year, first.month, first.day)),
  to: isoDay(Date.UTC(first.year, first.month + monthCount, first.day + dayCount - 1)),
});

function firstDayOf(g: Groups): Day {
  const named = months.findIndex((name) => name.startsWith((g['month'] ?? 'january').slice(0, 3).toLowerCase()));
  return { year: Number(g['year']), month: g['isoMonth'] === undefined ? named : Number(g['isoMonth']) - 1, day: Number(g['day'] ?? 1) };
}
/** Undefined for a day that doesn't exist, such as February 30. */
function readDay(g: Groups): DaySpan | undefined {
  const span = spanOf(firstDayOf(g), 0, 1);
  return Number(span.from.slice(8)) === Number(g['day']) ? span : undefined;
}
const readMonth = (g: Groups): DaySpan => spanOf(firstDayOf(g), 1, 0);
function readRelative({ which = '', unit = '' }: Groups, now: Day): DaySpan {
  const shift = shifts[which.toLowerCase()] ?? 0;
  const size = { month: 1, quarter: 3, year: 12 }[unit.toLowerCase()];
  const daysSinceMonday = (new Date(Date.UTC(now.year, now.month, now.day)).getUTCDay() + 6) % 7;
  if (size === undefined) return spanOf({ ...now, day: now.day - daysSinceMonday + 7 * shift }, 0, 7);
  return spanOf({ ...now, month: now.month - (now.month % size) + size * shift, day: 1 }, size, 0);
}

const forms: readonly (readonly [pattern: string, read: (groups: Groups, now: Day) => DaySpan | undefined])[] = [
  [`${year}-${isoMonth}-(?<day>\\d{2})`, readDay],
  [`${day} (?:of )?${month},? ${year}`, readDay],
  [`${month} ${day},? ${year}`, readDay],
  [`(?<!\\d(?:st|nd|rd|th)? (?:of )?)${month},? (?:of )?${year}`, readMonth],
  [`${year}-${isoMonth}`, readMonth],
  [`q(?<quarter>[1-4]),? (?:of )?${year}`, (g) => spanOf({ ...firstDayOf(g), month: Number(g['quarter']) * 3 - 3 }, 3, 0)],
  [yearAlone, (g) => spanOf(firstDayOf(g), 12, 0)],
  ['(?:last|past) (?<days>\\d{1,4}) days', (g, now) => spanOf({ ...now, day: now.day - Number(g['days']) + 1 }, 0, Number(g['days']))],
  ['today', (_g, now) => spanOf(now, 0, 1)],
  ['yesterday', (_g, now) => spanOf({ ...now, day: now.day - 1 }, 0, 1)],
  ['(?<which>this|last|previous|next) (?<unit>week|month|quarter|year)', readRelative],
];

/** Replaces each day or span of days in a text by what `mark` returns. */
export function markDates(text: string, today: string, mark: (span: DaySpan) => string): string {
  const now = firstDayOf({ year: today.slice(0, 4), isoMonth: today.slice(5, 7), day: today.slice(8) });
  return forms.reduce((marked, [pattern, read]) => {
    const form = new RegExp(`(?<![\\w./-])${pattern}(?![\\w/]|[.-]\\d)`, 'gi');
    return marked.replaceAll(form, (...parts: unknown[]) => {
      const span = read(parts.at(-1) as Groups, now);
      return span === undefined ? String(parts[0]) : mark(span);
    });
  }, text);
}
