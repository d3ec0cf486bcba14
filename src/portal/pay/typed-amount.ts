// An amount as a person typed it: with the separators of their language, or with those of another one where the text
// can mean one amount only.
import { currencyDigits } from '../../core/text/money.ts';
import type { Language } from '../view-model.ts';

const decimalOf = (language: Language): string => (language === 'en' ? '.' : ',');

/** What separates the decimals: what comes last, unless it can only separate thousands. Undefined for none. */
function findDecimal(text: string, digits: number, language: Language): string | undefined {
  const last = /[.,](?=[^.,]*$)/.exec(text);
  if (last === null) return undefined;
  const [mark] = last;
  if (text.split(mark).length > 2) return undefined;
  const isMixed = /\./.test(text) && /,/.test(text);
  const decimals = text.length - last.index - 1;
  if (isMixed || decimals !== 3) return mark;
  return digits >= 3 && mark === decimalOf(language) ? mark : undefined;
}

/**
 * `1.234,50`, `1,234.5` or `1234.50` are 1234.50: decimal text with a point, as amounts are everywhere else. Undefined
 * for a text that is no amount, or has more decimals than the currency. Pure.
 */
export function parseTypedAmount(typed: string, currency: string, language: Language): string | undefined {
  const text = typed.replaceAll(/[\s'’]/g, '');
  const digits = currencyDigits(currency);
  const decimal = findDecimal(text, digits, language);
  const [whole = '', fraction = ''] = decimal === undefined ? [text] : text.split(decimal);
  const isGrouped = /^\d{1,3}(?:[.,]\d{3})+$/.test(whole) && new Set(whole.match(/[.,]/g)).size === 1;
  if (!(isGrouped || /^\d+$/.test(whole)) || !/^\d*$/.test(fraction) || fraction.length > digits)
    return undefined;
  const units = whole.replaceAll(/[.,]/g, '').replace(/^0+(?=\d)/, '');
  return fraction === '' ? units : `${units}.${fraction}`;
}
