// Amounts in Stripe's smallest units.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { currencyDigits } from '../../../src/core/text/money.ts';
import { ProviderError } from '../../../src/gateways/payments/provider.ts';
import { fromStripeAmount, toStripeAmount } from '../../../src/gateways/payments/stripe/amounts.ts';

describe('amounts', () => {
  it.each([
    ['GBP', 12_50n, 1250],
    ['JPY', 500n, 500],
    ['KWD', 5_120n, 5120],
    ['KWD', 5_124n, undefined],
    ['ISK', 5n, 500],
    ['UGX', 5n, 500],
    ['HUF', 10_45n, 1045],
    ['MGA', 5_00n, 5],
    ['MGA', 5_20n, undefined],
    ['IQD', 1_000n, 100],
    ['GBP', 10n ** 17n, undefined],
  ])('%s %d is %d in Stripe’s units', (currency, amountMinor, expected) => {
    const convert = () => toStripeAmount({ amountMinor, currency });
    if (expected === undefined) expect(convert).toThrow(ProviderError);
    else
      expect([convert(), fromStripeAmount(expected, currency.toLowerCase())]).toEqual([
        expected,
        { amountMinor, currency },
      ]);
  });

  it('survive the conversion to Stripe and back in every currency, or are refused', () => {
    const money = fc.record({
      amountMinor: fc.bigInt(0n, 10n ** 12n),
      currency: fc.constantFrom(...Intl.supportedValuesOf('currency')),
    });
    fc.assert(
      fc.property(money, (given) => {
        // Whole amounts that end in zeros are accepted in every currency.
        const whole = {
          ...given,
          amountMinor: given.amountMinor * 10n ** BigInt(currencyDigits(given.currency)),
        };
        expect(fromStripeAmount(toStripeAmount(whole), whole.currency.toLowerCase())).toEqual(whole);
        try {
          expect(fromStripeAmount(toStripeAmount(given), given.currency.toLowerCase())).toEqual(given);
        } catch (error) {
          expect(error).toBeInstanceOf(ProviderError);
        }
      }),
    );
  });
});
