// Recognizes dates in a question as spans of calendar days (UTC). Ambiguous ones, such as 01/02/2011, are not
// recognized.

/** Inclusive, as YYYY-MM-DD. */
export type DaySpan = { readonly from: string; readonly to: string };
type Groups = Readonly<Record<string, string | undefined>>;

const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const month = `(?<month>${months.map((name) => `${name}|${name.slice(0, 3)}`).join('|')}|sept)`;
const day = '(?<day>\\d{1,2})(?:st|nd|rd|th)?';
const year = '(?<year>(?:19|20)\\d{2})';
const forms: readonly string[] = [
  `${year}-(?<month>0[1-9]|1[0-2])-(?<day>\\d{2})`,
  `${day} (?:of )?${month},? ${year}`,
  `${month} ${day},? ${year}`,
  `(?<!\\d(?:st|nd|rd|th)? (?:of )?)${month},? (?:of )?${year}`,
  // A year alone could be any number, so it must follow one of these words.
  `(?<=\\b(?:in|during|since|before|after|until|through) )(?:the year |year )?${year}`,
  '(?<which>today|yesterday|(?:this|last) (?<unit>month|year))',
];

/** That many months and days. Months count from 0; both may run past the calendar, as in January 32. */
function computeSpan(
  year: number,
  month: number,
  day: number,
  monthCount: number,
  dayCount: number,
): DaySpan {
  const dayAt = (m: number, d: number): string => new Date(Date.UTC(year, m, d)).toISOString().slice(0, 10);
  return { from: dayAt(month, day), to: dayAt(month + monthCount, day + dayCount - 1) };
}

/** Undefined for a day that doesn't exist, such as February 30. */
function readDate({ year, month = '', day }: Groups): DaySpan | undefined {
  const named = months.findIndex((name) => name.startsWith(month.slice(0, 3).toLowerCase()));
  const first = named >= 0 ? named : Number(month) - 1;
  if (day === undefined) return computeSpan(Number(year), first, 1, month === '' ? 12 : 1, 0);
  const span = computeSpan(Number(year), first, Number(day), 0, 1);
  return Number(span.from.slice(8)) === Number(day) ? span : undefined;
}

function readRelative({ which = '', unit = '' }: Groups, today: Date): DaySpan {
  const [year, month, day] = [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()];
  const shift = /^(?:last|yesterday)/i.test(which) ? -1 : 0;
  if (unit === '') return computeSpan(year, month, day + shift, 0, 1);
  return unit.toLowerCase() === 'year'
    ? computeSpan(year + shift, 0, 1, 12, 0)
    : computeSpan(year, month + shift, 1, 1, 0);
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
