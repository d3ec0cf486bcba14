// How values are shown: numbers and dates as the viewer's language and zone have them.
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const dayOnly = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

export const formatNumber = (value: number): string => whole.format(value);
export const formatCompact = (value: number): string =>
  Math.abs(value) < 10_000 ? whole.format(value) : compact.format(value);
export const formatTime = (instant: string | Date): string => dateTime.format(new Date(instant));
export const formatDay = (instant: string | Date): string => dayOnly.format(new Date(instant));

const decimals: Intl.NumberFormat[] = [];
/**
 * `1,234.50`, with a currency `1,234.50 GBP`. A decimal text keeps all of its digits, also beyond those of a
 * number, which is shown with two.
 */
export function formatAmount(amount: string | number, currency?: string): string {
  const digits = typeof amount === 'number' ? 2 : (amount.split('.')[1]?.length ?? 0);
  decimals[digits] ??= new Intl.NumberFormat(undefined, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  const text = decimals[digits].format(amount as Intl.StringNumericLiteral);
  return currency === undefined ? text : `${text}\u00a0${currency}`;
}

/** `1 record`, `2,000 records`. */
export const formatCount = (value: number, one: string, many = `${one}s`): string =>
  `${formatNumber(value)} ${value === 1 ? one : many}`;

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** `5 minutes ago`, `in 2 hours`, `now`. */
export function formatRelative(instant: string | Date, nowMs = Date.now()): string {
  const seconds = (new Date(instant).getTime() - nowMs) / 1000;
  for (const [unit, size] of units)
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  return seconds > 5 ? 'in < 1 minute' : 'now';
}

/** `1 h 5 min`, `12 s`, `0.4 s`. */
export function formatDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `2.4 MB`. */
export function formatBytes(bytes: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB'];
  const at = names.findIndex(
    (_, index) => index === 4 || bytes < (index === 0 ? 1000 : 999.95 * 1000 ** index),
  );
  return `${at === 0 ? bytes : (bytes / 1000 ** at).toFixed(1)} ${names[at]}`;
}

export const sentenceCase = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const list = new Intl.ListFormat('en', { type: 'conjunction' });
/** `a, b, and 3 more`, from more than `max` on. */
export const formatList = (parts: readonly string[], max = parts.length): string =>
  list.format(parts.length <= max ? parts : [...parts.slice(0, max), `${parts.length - max} more`]);
