// Recognizes dates in a question as spans of calendar days (UTC). Ambiguous ones, such as 01/02/2011, are not recognized.

/** Inclusive, as YYYY-MM-DD. */
export type DaySpan = { readonly from: string; readonly to: string };
type Groups = Readonly<Record<string, string | undefined>>;

const months = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const month = `(?<month>${months.map((name) => `${name}|${name.slice(0, 3)}`).join('|')}|sept)`;
const isoMonth = '(?<month>0[1-9]|1[0-2])';
const day = '(?<day>\\d{1,2})(?:st|nd|rd|th)?';
const year = '(?<year>(?:19|20)\\d{2})';
const forms: readonly string[] = [
  `${year}-${isoMonth}-(?<day>\\d{2})`,
  `${day} (?:of )?${month},? ${year}`,
  `${month} ${day},? ${year}`,
  `(?<!\\d(?:st|nd|rd|th)? (?:of )?)${month},? (?:of )?${year}`,
  `${year}-${isoMonth}`,
  `q(?<quarter>[1-4]),? (?:of )?${year}`,
  // A year alone could be any number, so it must follow one of these words.
  `(?<=\\b(?:in|during|since|before|after|until|through) )(?:the year |year )?${year}`,
  '(?:last|past) (?<days>\\d{1,4}) days',
  '(?<which>today|yesterday)',
  '(?<which>this|last|previous|next) (?<unit>week|month|quarter|year)',
];
const shifts: Readonly<Record<string, number>> = { today: 0, this: 0, next: 1, last: -1, previous: -1, yesterday: -1 };
const unitMonths: Readonly<Record<string, number>> = { month: 1, quarter: 3, year: 12 };

/** That many months and days. Months count from 0; months and days outside of the calendar run on, as in January 32. */
function spanOf(year: number, month: number, day: number, monthCount: number, dayCount: number): DaySpan {
  const dayAt = (m: number, d: number): string => new Date(Date.UTC(year, m, d)).toISOString().slice(0, 10);
  return { from: dayAt(month, day), to: dayAt(month + monthCount, day + dayCount - 1) };
}

/** Undefined for a day that doesn't exist, such as February 30. */
function readDate({ year, quarter, month = '', day }: Groups): DaySpan | undefined {
  const named = months.findIndex((name) => name.startsWith(month.slice(0, 3).toLowerCase()));
  const numbered = quarter === undefined ? Number(month) - 1 : Number(quarter) * 3 - 3;
  const first = quarter === undefined && named >= 0 ? named : numbered;
  if (day === undefined) return spanOf(Number(year), first, 1, quarter === undefined ? (month === '' ? 12 : 1) : 3, 0);
  const span = spanOf(Number(year), first, Number(day), 0, 1);
  return Number(span.from.slice(8)) === Number(day) ? span : undefined;
}

function readRelative({ days, which = '', unit = '' }: Groups, today: Date): DaySpan {
  const [year, month, day] = [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()];
  const shift = shifts[which.toLowerCase()] ?? 0;
  const size = unitMonths[unit.toLowerCase()];
  const daysSinceMonday = (today.getUTCDay() + 6) % 7;
  if (days !== undefined) return spanOf(year, month, day - Number(days) + 1, 0, Number(days));
  if (size !== undefined) return spanOf(year, month - (month % size) + size * shift, 1, size, 0);
  return unit === '' ? spanOf(year, month, day + shift, 0, 1) : spanOf(year, month, day - daysSinceMonday + 7 * shift, 0, 7);
}

/** Replaces each day or span of days in a text by what `mark` returns. */
export function markDates(text: string, today: string, mark: (span: DaySpan) => string): string {
  return forms.reduce((marked, pattern) => {
    const form = new RegExp(`(?<![\\w./-])${pattern}(?![\\w/]|[.-]\\d)`, 'gi');
    return marked.replaceAll(form, (...parts: unknown[]) => {
      const groups = parts.at(-1) as Groups;
      const span = groups['year'] === undefined ? readRelative(groups, new Date(today)) : readDate(groups);
      return span === undefined ? String(parts[0]) : mark(span);
    });
  }, text);
}
