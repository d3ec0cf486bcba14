// Exact money: integer minor units of one currency internally, decimal text in interfaces. No floats.

/** `currency`: ISO 4217, upper case. `amountMinor`: in the currency's smallest unit, such as pence. */
export type Money = { readonly amountMinor: bigint; readonly currency: string };

/**
 * ISO 4217's currencies that don't have two decimal digits. `Intl` differs for some of them: it follows
 * common usage instead of ISO.
 */
const otherDigits: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};
const digitsByCurrency = new Map(
  Object.entries(otherDigits).flatMap(([digits, codes]) =>
    codes.split(' ').map((code) => [code, Number(digits)]),
  ),
);

/** ISO 4217 also lists metals, units of account and test codes, all of which start with X. */
const isMoney = (code: string) => !code.startsWith('X') || ['XAF', 'XCD', 'XCG', 'XOF', 'XPF'].includes(code);
const known = new Set(Intl.supportedValuesOf('currency').filter(isMoney));

/** Whether the text is the upper-case code of a currency. */
export const isCurrency = (code: string): boolean => known.has(code);

/** Number of decimal digits: 0 for JPY, 2 for GBP, 3 for KWD. */
export const currencyDigits = (currency: string): number => digitsByCurrency.get(currency) ?? 2;

const decimal = /^(-?)(\d{1,15})(?:\.(\d{1,20}))?$/;

/** "12.5" GBP → 1250n. Undefined when it is no decimal number or has more decimals than the currency. */
export function parseAmount(text: string, currency: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = ''] = decimal.exec(text) ?? [];
  const digits = currencyDigits(currency);
  if (whole === '' || fraction.length > digits) return undefined;
  const minor = BigInt(whole + fraction.padEnd(digits, '0'));
  return sign === '-' ? -minor : minor;
}

/** Like `parseAmount`, for numbers as databases write them: trailing zeros are ignored. */
export const readAmount = (text: string, currency: string): bigint | undefined =>
  parseAmount(text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, ''), currency);

/** Decimal text with all digits of the currency: "12.50", "1250" for JPY, "-0.05". */
export function formatAmount({ amountMinor, currency }: Money): string {
  const digits = currencyDigits(currency);
  const sign = amountMinor < 0n ? '-' : '';
  const text = (amountMinor < 0n ? -amountMinor : amountMinor).toString().padStart(digits + 1, '0');
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
