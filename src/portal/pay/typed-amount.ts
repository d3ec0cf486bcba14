// An amount as a person typed it: with the separators of their language, or with those of another one where the text
// can mean one amount only.
import { currencyDigits } from '../../core/text/money.ts';
import type { Language } from '../view-model.ts';

const decimalOf = (language: Language): string => (language === 'en' ? '.' : ',');

/** What separates the decimals; undefined for none. A single mark before three digits is read as the language reads it. */
function findDecimal(text: string, language: Language): string | undefined {
  const last = /[.,](?=[^.,]*$)/.exec(text);
  const mark = last?.[0];
  if (last === null || mark === undefined || text.split(mark).length > 2) return undefined;
  const isMixed = text.includes('.') && text.includes(',');
  const mayGroup = !isMixed && text.length - last.index - 1 === 3;
  return mayGroup && mark !== decimalOf(language) ? undefined : mark;
}

/**
 * `1.234,50`, `1,234.5` or `1234.50` are 1234.50: decimal text with a point, as amounts are everywhere else. Undefined
 * for a text that is no amount, or has more decimals than the currency. Pure.
 */
export function parseTypedAmount(typed: string, currency: string, language: Language): string | undefined {
  const text = typed.replaceAll(/[\s'’]/g, '');
  const digits = currencyDigits(currency);
  const decimal = findDecimal(text, language);
  const [whole = '', fraction = ''] = decimal === undefined ? [text] : text.split(decimal);
  const isGrouped = /^[1-9]\d{0,2}(?:[.,]\d{3})+$/.test(whole) && new Set(whole.match(/[.,]/g)).size === 1;
  if (!(isGrouped || /^\d+$/.test(whole)) || !/^\d*$/.test(fraction) || fraction.length > digits)
    return undefined;
  const units = whole.replaceAll(/[.,]/g, '').replace(/^0+(?=\d)/, '');
  return fraction === '' ? units : `${units}.${fraction}`;
}
