// What people type as an amount, in their language's way or in another one's, is one amount or none.
import { expect, it } from 'vitest';
import { parseTypedAmount } from '../../src/portal/pay/typed-amount.ts';
import type { Language } from '../../src/portal/view-model.ts';

it.each<[typed: string, currency: string, language: Language, amount: string | undefined]>([
  ['1234.50', 'EUR', 'de', '1234.50'],
  ['1.234,50', 'EUR', 'de', '1234.50'],
  ['1,234.5', 'EUR', 'de', '1234.5'],
  ['1 234,50', 'EUR', 'fr', '1234.50'],
  ['1 234,50', 'EUR', 'fr', '1234.50'],
  ['1’234.50', 'CHF', 'de', '1234.50'],
  ['1,234', 'GBP', 'en', '1234'],
  ['1.234', 'GBP', 'en', undefined],
  ['0.500', 'EUR', 'en', undefined],
  ['0,500', 'EUR', 'en', undefined],
  ['0.500', 'EUR', 'de', undefined],
  ['1.234', 'GBP', 'de', '1234'],
  ['1.234.567', 'GBP', 'en', '1234567'],
  ['1.234', 'KWD', 'en', '1.234'],
  ['1.234', 'KWD', 'de', '1234'],
  ['1,234', 'KWD', 'de', '1.234'],
  ['1,234', 'JPY', 'en', '1234'],
  ['007', 'GBP', 'en', '7'],
  ['0,05', 'GBP', 'nl', '0.05'],
  ['5.', 'GBP', 'en', '5'],
  ['12.5', 'JPY', 'en', undefined],
  ['1.005', 'GBP', 'en', undefined],
  ['1.0055', 'GBP', 'en', undefined],
  ['12,34.56', 'GBP', 'en', undefined],
  ['1.234,567', 'EUR', 'de', undefined],
  ['1,2.3,4', 'GBP', 'en', undefined],
  ['-5', 'GBP', 'en', undefined],
  ['1e3', 'GBP', 'en', undefined],
  ['', 'GBP', 'en', undefined],
  ['five', 'GBP', 'en', undefined],
])('"%s" in %s, typed in %s, is %s', (typed, currency, language, amount) => {
  expect(parseTypedAmount(typed, currency, language)).toBe(amount);
});
