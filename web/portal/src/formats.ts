// Numbers, money and dates as a language writes them. Numbers and money come and stay as text, so that no digit is
// lost; a text that is not of that form is shown as it is.
import type { DateStyle, Language, Money } from '../../../src/portal/view-model.ts';

/** Days come before months in English too: an American order would be misread elsewhere, and not the reverse. */
const dateLocales: Readonly<Record<Language, string>> = {
  en: 'en-GB',
  de: 'de',
  fr: 'fr',
  es: 'es',
  nl: 'nl',
};
const exactNumber = /^-?\d+(?:\.(\d+))?$/;
const isExact = (text: string): text is `${number}` => exactNumber.test(text);
const isDay = /^\d{4}-\d{2}-\d{2}$/;

const numberFormats = new Map<string, Intl.NumberFormat>();
const dateFormats = new Map<string, Intl.DateTimeFormat>();
const usualDecimals = new Map<string, number>();

function getNumberFormat(language: Language, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify([language, options]);
  const format = numberFormats.get(key) ?? new Intl.NumberFormat(language, options);
  numberFormats.set(key, format);
  return format;
}

/** How many decimals amounts of a currency have. */
function countUsualDecimals(currency: string): number {
  const known = usualDecimals.get(currency);
  if (known !== undefined) return known;
  const options = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  const count = options.maximumFractionDigits ?? 2;
  usualDecimals.set(currency, count);
  return count;
}

function getDateFormat(language: Language, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([language, options]);
  const format = dateFormats.get(key) ?? new Intl.DateTimeFormat(dateLocales[language], options);
  dateFormats.set(key, format);
  return format;
}

/** How many decimals a number has without zeros at its end. */
const countDecimals = (value: string): number =>
  Math.min((exactNumber.exec(value)?.[1] ?? '').replace(/0+$/, '').length, 100);

/** `digits`: decimals to show; null shows those that the number has. */
const decimals = (value: string, digits: number | null, min: number): Intl.NumberFormatOptions =>
  digits === null
    ? { minimumFractionDigits: min, maximumFractionDigits: Math.max(min, countDecimals(value)) }
    : { minimumFractionDigits: digits, maximumFractionDigits: digits };

export const formatNumber = (language: Language, value: string, digits: number | null = null): string =>
  isExact(value) ? getNumberFormat(language, decimals(value, digits, 0)).format(value) : value;

export function formatMoney(
  language: Language,
  { amount, currency }: Money,
  digits: number | null = null,
): string {
  if (!isExact(amount)) return [amount, currency].filter(Boolean).join(' ');
  if (currency !== null && /^[A-Z]{3}$/.test(currency)) {
    const usual = countUsualDecimals(currency);
    const options = { style: 'currency', currency, ...decimals(amount, digits, usual) } as const;
    return getNumberFormat(language, options).format(amount);
  }
  const number = getNumberFormat(language, decimals(amount, digits, 2)).format(amount);
  return currency === null ? number : `${number}\u00a0${currency}`;
}

/** An amount as one types it: no currency, no thousands. */
export const plainAmount = (language: Language, amount: string): string =>
  language === 'en' ? amount : amount.replace('.', ',');

/** `date`: a day such as 2026-11-29. */
export const formatDate = (language: Language, date: string, style: DateStyle): string =>
  style === 'iso' || !isDay.test(date) || Number.isNaN(Date.parse(date))
    ? date
    : getDateFormat(language, { dateStyle: style, timeZone: 'UTC' }).format(new Date(date));

/** `instant`: RFC 3339. `zone` names the time zone behind it. */
export function formatInstant(
  language: Language,
  instant: string | Date,
  { style, timeZone, zone = false }: { style: DateStyle; timeZone: string; zone?: boolean },
): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return String(instant);
  if (style === 'iso') {
    const [day, time] = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone })
      .format(at)
      .split(' ');
    return `${day}\u00a0${time}`;
  }
  const text = getDateFormat(language, { dateStyle: style, timeStyle: 'short', timeZone }).format(at);
  if (!zone) return text;
  const parts = getDateFormat(language, { timeZone, timeZoneName: 'short' }).formatToParts(at);
  return `${text} ${parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''}`.trim();
}

/** An amount such as `0`, `-0` or `0.00`. */
export const isZero = (amount: string): boolean => /^-?0*(?:\.0*)?$/.test(amount);
