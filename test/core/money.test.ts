// Exact conversion between decimal text and minor units.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  currencyDigits,
  formatAmount,
  isCurrency,
  parseAmount,
  readAmount,
} from '../../src/core/text/money.ts';

describe('money', () => {
  it('has the digits of ISO 4217', () => {
    const digits = ['JPY', 'HUF', 'GBP', 'IQD', 'KWD', 'CLF'].map(currencyDigits);
    expect(digits).toEqual([0, 2, 2, 3, 3, 4]);
  });

  it.each([
    ['12.5', 'GBP', 1250n],
    ['0.01', 'GBP', 1n],
    ['-3', 'GBP', -300n],
    ['1250', 'JPY', 1250n],
    ['1.234', 'KWD', 1234n],
    ['999999999999999.99', 'GBP', 99_999_999_999_999_999n],
  ])('%s %s is %s', (text, currency, minor) => expect(parseAmount(text, currency)).toBe(minor));

  it.each([
    ['1.005', 'GBP'],
    ['1.00', 'JPY'],
    ['1.000', 'GBP'],
    ['', 'GBP'],
    ['.5', 'GBP'],
    ['5.', 'GBP'],
    ['1e3', 'GBP'],
    ['1,000.00', 'GBP'],
    ['+1', 'GBP'],
    [' 1', 'GBP'],
    ['٣', 'GBP'],
    ['1000000000000000', 'GBP'],
  ])('%s %s is not an amount', (text, currency) => expect(parseAmount(text, currency)).toBeUndefined());

  it('reads the trailing zeros that databases write', () => {
    expect([readAmount('120.5000', 'GBP'), readAmount('7.000', 'JPY'), readAmount('1.005', 'GBP')]).toEqual([
      12_050n,
      7n,
      undefined,
    ]);
  });

  it('formatAmount and parseAmount are inverse', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }),
        fc.constantFrom('JPY', 'GBP', 'KWD', 'CLF'),
        (minor, currency) => {
          const text = formatAmount({ amountMinor: minor, currency });
          expect(text.split('.')[1]?.length ?? 0).toBe(currencyDigits(currency));
          expect(parseAmount(text, currency) ?? minor).toBe(minor);
        },
      ),
    );
  });

  it('knows only currencies', () => {
    expect(['GBP', 'XOF', 'XAU', 'XXX', 'gbp', 'ZZZ', ''].filter(isCurrency)).toEqual(['GBP', 'XOF']);
  });
});
