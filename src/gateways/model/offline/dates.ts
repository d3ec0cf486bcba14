// Recognizes dates in a question as spans of calendar days (UTC). Ambiguous ones, such as 01/02/2011, are not recognized.

/** Inclusive, as YYYY-MM-DD. */
export type DaySpan = { readonly from: string; readonly to: string };

const months = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const month = `(?<month>${months.map((name) => (name.length > 3 ? `${name}|${name.slice(0, 3)}` : name)).join('|')}|sept)`;
const day = '(?<day>\\d{1,2})(?:st|nd|rd|th)?';
const year = '(?<year>(?:19|20)\\d{2})';

const dayMs = 86_400_000;
const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const atUtc = (yearNumber: number, monthIndex: number, dayNumber: number): number => Date.UTC(yearNumber, monthIndex, dayNumber);
const monthIndexOf = (name: string): number => months.findIndex((known) => known.startsWith(name.slice(0, 3)));

export const addDays = (text: string, days: number): string => isoDay(Date.parse(`${text}T00:00:00Z`) + days * dayMs);

function oneDay(yearNumber: number, monthIndex: number, dayNumber: number): DaySpan | undefined {
  const at = new Date(atUtc(yearNumber, monthIndex, dayNumber));
  if (at.getUTCMonth() !== monthIndex || at.getUTCDate() !== dayNumber) return undefined;
  const text = isoDay(at.getTime());
  return { from: text, to: text };
}

/** `count` months from the first of a month. */
const monthsFrom = (yearNumber: number, monthIndex: number, count: number): DaySpan | undefined =>
  monthIndex < 0 || monthIndex > 11
    ? undefined
    : { from: isoDay(atUtc(yearNumber, monthIndex, 1)), to: isoDay(atUtc(yearNumber, monthIndex + count, 1) - dayMs) };

function relative(words: string, today: string): DaySpan | undefined {
  const [yearNumber = 0, monthNumber = 0] = today.split('-').map(Number);
  const back = words.startsWith('this') ? 0 : words.startsWith('next') ? -1 : 1;
  if (words === 'today') return { from: today, to: today };
  if (words === 'yesterday') return { from: addDays(today, -1), to: addDays(today, -1) };
  if (words.endsWith('week')) {
    const sinceMonday = (new Date(`${today}T00:00:00Z`).getUTCDay() + 6) % 7;
    const monday = addDays(today, -sinceMonday - 7 * back);
    return { from: monday, to: addDays(monday, 6) };
  }
  if (words.endsWith('year')) return monthsFrom(yearNumber - back, 0, 12);
  const span = words.endsWith('quarter') ? 3 : 1;
  const first = new Date(atUtc(yearNumber, Math.floor((monthNumber - 1) / span) * span - back * span, 1));
  return monthsFrom(first.getUTCFullYear(), first.getUTCMonth(), span);
}

type Groups = Readonly<Record<string, string | undefined>>;
type Form = { readonly pattern: RegExp; span(groups: Groups, today: string): DaySpan | undefined };
const form = (pattern: string, span: Form['span']): Form => ({
  pattern: new RegExp(`(?<![\\w./-])${pattern}(?![\\w/]|[.-]\\d)`, 'g'),
  span,
});

/** A year alone could be any number, so it must follow one of these words. */
const beforeYear = '(?<=\\b(?:in|during|since|before|after|until|till|through|year) )';

const forms: readonly Form[] = [
  form('(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})', (g) => oneDay(Number(g['year']), Number(g['month']) - 1, Number(g['day']))),
  form(`${day} (?:of )?${month},? ${year}`, (g) => oneDay(Number(g['year']), monthIndexOf(g['month'] ?? ''), Number(g['day']))),
  form(`${month} ${day},? ${year}`, (g) => oneDay(Number(g['year']), monthIndexOf(g['month'] ?? ''), Number(g['day']))),
  form(`(?<!\\d(?:st|nd|rd|th)? (?:of )?)${month},? (?:of )?${year}`, (g) =>
    monthsFrom(Number(g['year']), monthIndexOf(g['month'] ?? ''), 1),
  ),
  form(`${year}-(?<month>\\d{2})`, (g) => monthsFrom(Number(g['year']), Number(g['month']) - 1, 1)),
  form(`q(?<quarter>[1-4]),? (?:of )?${year}`, (g) => monthsFrom(Number(g['year']), Number(g['quarter']) * 3 - 3, 3)),
  form('(?:the )?(?:last|past) (?<days>\\d{1,4}) days', (g, today) => ({ from: addDays(today, 1 - Number(g['days'])), to: today })),
  form('(?<words>today|yesterday|(?:this|last|previous|next) (?:week|month|quarter|year))', (g, today) =>
    relative(g['words'] ?? '', today),
  ),
  form(`${beforeYear}${year}`, (g) => monthsFrom(Number(g['year']), 0, 12)),
];

/** Replaces each day or span of days in a lower-case text by what `mark` returns. */
export function markDates(text: string, today: string, mark: (span: DaySpan) => string): string {
  return forms.reduce(
    (marked, { pattern, span }) =>
      marked.replaceAll(pattern, (...parts: unknown[]) => {
        const found = span(parts.at(-1) as Groups, today);
        return found === undefined ? String(parts[0]) : mark(found);
      }),
    text,
  );
}
