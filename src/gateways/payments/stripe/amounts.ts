// Stripe counts some currencies in other units than ISO 4217 does. Taken from https://docs.stripe.com/currencies: which ones have no
// digits, which have three and must end in 0, and which are written with two digits that must be zeros.
import { currencyDigits, type Money } from '../../../core/money.ts';
import { ProviderError } from '../provider.ts';

const withoutDigits = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '));
const withThree = new Set('BHD JOD KWD OMR TND'.split(' '));
const wholeAlone = new Set('ISK UGX'.split(' '));

const stripeDigits = (currency: string): number => (withoutDigits.has(currency) ? 0 : withThree.has(currency) ? 3 : 2);
/** Whatever Stripe charges is a multiple of this. */
const stepOf = (currency: string): bigint => (withThree.has(currency) ? 10n : wholeAlone.has(currency) ? 100n : 1n);

const power = (digits: number): bigint => 10n ** BigInt(digits);

/** Throws ProviderError('rejected') for an amount that Stripe can't charge exactly. */
export function toStripeAmount({ amountMinor, currency }: Money): number {
  const scaled = amountMinor * power(stripeDigits(currency));
  const unit = power(currencyDigits(currency));
  if (scaled % unit !== 0n || (scaled / unit) % stepOf(currency) !== 0n)
    throw new ProviderError('rejected', `Stripe takes no amounts in ${currency} with so many digits`);
  const amount = Number(scaled / unit);
  if (!Number.isSafeInteger(amount)) throw new ProviderError('rejected', 'The amount is larger than Stripe takes');
  return amount;
}

/** `currency` as Stripe writes it, in lower case. Throws ProviderError('malformed-answer') for what is less than a minor unit. */
export function fromStripeAmount(amount: number, stripeCurrency: string): Money {
  const currency = stripeCurrency.toUpperCase();
  const scaled = BigInt(amount) * power(currencyDigits(currency));
  const unit = power(stripeDigits(currency));
  if (scaled % unit !== 0n) throw new ProviderError('malformed-answer', `Stripe told a part of the smallest unit of ${currency}`);
  return { amountMinor: scaled / unit, currency };
}
