// Stripe counts some currencies in other minor units than ISO 4217. From https://docs.stripe.com/currencies:
// which currencies have no decimal digits, which have three and must end in 0, and which are written with two
// digits that must be zeros.
import { currencyDigits, type Money } from '../../../core/text/money.ts';
import { ProviderError } from '../provider.ts';

const withoutDigits = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '));
const withThreeDigits = new Set('BHD JOD KWD OMR TND'.split(' '));
const wholeOnly = new Set('ISK UGX'.split(' '));

const stripeDigits = (currency: string): number =>
  withoutDigits.has(currency) ? 0 : withThreeDigits.has(currency) ? 3 : 2;
/** Amounts in Stripe's unit must be a multiple of this. */
const chooseStep = (currency: string): bigint =>
  withThreeDigits.has(currency) ? 10n : wholeOnly.has(currency) ? 100n : 1n;

const power = (digits: number): bigint => 10n ** BigInt(digits);

/** Throws ProviderError('rejected') for an amount that Stripe can't charge exactly. */
export function toStripeAmount({ amountMinor, currency }: Money): number {
  const scaled = amountMinor * power(stripeDigits(currency));
  const unit = power(currencyDigits(currency));
  if (scaled % unit !== 0n || (scaled / unit) % chooseStep(currency) !== 0n)
    throw new ProviderError(
      'rejected',
      `Stripe cannot charge this amount in ${currency} exactly: it has too many decimal digits`,
    );
  const amount = Number(scaled / unit);
  if (!Number.isSafeInteger(amount))
    throw new ProviderError('rejected', 'The amount is larger than Stripe allows');
  return amount;
}

/**
 * `stripeCurrency` is in lower case, as Stripe writes it. Throws ProviderError('malformed-answer') for an
 * amount that is no whole number of ISO 4217 minor units.
 */
export function fromStripeAmount(amount: number, stripeCurrency: string): Money {
  const currency = stripeCurrency.toUpperCase();
  const scaled = BigInt(amount) * power(currencyDigits(currency));
  const unit = power(stripeDigits(currency));
  if (scaled % unit !== 0n)
    throw new ProviderError(
      'malformed-answer',
      `Stripe returned a fraction of the smallest unit of ${currency}`,
    );
  return { amountMinor: scaled / unit, currency };
}
