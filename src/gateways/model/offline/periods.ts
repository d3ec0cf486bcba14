// Divides days into calendar periods, so that each can be asked for by the filters of a date.
import type { DaySpan } from './dates.ts';

export type Period = 'day' | 'week' | 'month' | 'quarter' | 'year';
/** `name` is a day, for a week its Monday, or `2026-10`, `2026-Q4`, `2026`. */
export type NamedSpan = DaySpan & { readonly name: string };

/** The first day of the period of a day, and that of the next period; both as times. */
function computeBounds(day: Date, period: Period): readonly [start: number, next: number] {
  const [year, month, date] = [day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()];
  if (period === 'year') return [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)];
  const months = period === 'quarter' ? 3 : 1;
  const first = month - (month % months);
  if (period === 'quarter' || period === 'month')
    return [Date.UTC(year, first, 1), Date.UTC(year, first + months, 1)];
  const start = period === 'week' ? date - ((day.getUTCDay() + 6) % 7) : date;
  return [Date.UTC(year, month, start), Date.UTC(year, month, start + (period === 'week' ? 7 : 1))];
}

/** The periods from a day through another, cut to these days; at most `max` and one more. */
export function listPeriods({ from, to }: DaySpan, period: Period, max: number): readonly NamedSpan[] {
  const spans: NamedSpan[] = [];
  const formatDay = (time: number): string => new Date(time).toISOString().slice(0, 10);
  for (let at = Date.parse(from); at <= Date.parse(to) && spans.length <= max; ) {
    const [start, next] = computeBounds(new Date(at), period);
    const first = formatDay(start);
    const quarter = `${first.slice(0, 4)}-Q${Math.ceil(Number(first.slice(5, 7)) / 3)}`;
    const name = { day: first, week: first, month: first.slice(0, 7), quarter, year: first.slice(0, 4) }[
      period
    ];
    spans.push({ name, from: formatDay(at), to: formatDay(Math.min(next - 86_400_000, Date.parse(to))) });
    at = next;
  }
  return spans;
}
