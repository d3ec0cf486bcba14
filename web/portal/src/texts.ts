// The portal's texts, from one ICU message file per language, and values as the language writes them.
import { IntlMessageFormat } from 'intl-messageformat';
import type { DateStyle, Label, Language, Money } from '../../../src/portal/view-model.ts';
import de from '../messages/de.json';
import en from '../messages/en.json';
import es from '../messages/es.json';
import fr from '../messages/fr.json';
import nl from '../messages/nl.json';
import { formatDate, formatInstant, formatMoney, formatNumber } from './formats.ts';

export type MessageKey = keyof typeof en;
export type MessageValues = Readonly<Record<string, string | number>>;

const messages: Readonly<Record<Language, Readonly<Record<MessageKey, string>>>> = { en, de, fr, es, nl };
const compiled = new Map<string, IntlMessageFormat>();

/** The message of a key, with its placeholders filled in. */
export function message(language: Language, key: MessageKey, values: MessageValues = {}): string {
  const text = messages[language][key];
  if (!/['{]/.test(text)) return text;
  const name = `${language} ${key}`;
  const format = compiled.get(name) ?? new IntlMessageFormat(text, language, undefined, { ignoreTag: true });
  compiled.set(name, format);
  return String(format.format(values));
}

/** The name of a language, in that language. */
export const languageName = (language: Language): string => message(language, 'language.name');

export function labelText(label: Label, language: Language): string {
  if (typeof label === 'string') return label;
  if ('meaning' in label) return message(language, `meaning.${label.meaning}`);
  if ('role' in label) return message(language, `role.${label.role}`);
  if ('line' in label) return message(language, `line.${label.line}`);
  if ('document' in label) return message(language, `document.${label.document}`);
  if ('statement' in label) return message(language, `statement.${label.statement}`);
  return message(language, `own.${label.own}`);
}

export type Texts = {
  readonly language: Language;
  text(key: MessageKey, values?: MessageValues): string;
  label(label: Label): string;
  number(value: string | number, digits?: number | null): string;
  money(money: Money, digits?: number | null): string;
  date(date: string, style: DateStyle): string;
  instant(instant: string, options?: { style?: DateStyle; zone?: boolean }): string;
};

export const createTexts = (language: Language, timeZone: string): Texts => ({
  language,
  text: (key, values) => message(language, key, values),
  label: (label) => labelText(label, language),
  number: (value, digits) => formatNumber(language, String(value), digits),
  money: (money, digits) => formatMoney(language, money, digits),
  date: (date, style) => formatDate(language, date, style),
  instant: (instant, { style = 'medium', zone = false } = {}) =>
    formatInstant(language, instant, { style, timeZone, zone }),
});
