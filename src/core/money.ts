// Exact money: whole minor units of one currency inside, decimal text at the surfaces. Never a floating-point number in between.

/** `currency`: ISO 4217, upper case. `amountMinor`: in its smallest unit, such as pence. */
export type Money = { readonly amountMinor: bigint; readonly currency: string };

/** ISO 4217's currencies without two digits. `Intl` knows other digits for some, those that people write. */
const otherDigits: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};
const digitsOf = new Map(Object.entries(otherDigits).flatMap(([digits, codes]) => codes.split(' ').map((code) => [code, Number(digits)])));

/** What ISO 4217 lists beside money: metals, units of account, codes for tests. */
const isMoney = (code: string): boolean => !code.startsWith('X') || ['XAF', 'XCD', 'XCG', 'XOF', 'XPF'].includes(code);
const known = new Set(Intl.supportedValuesOf('currency').filter(isMoney));

/** Whether it is the code of a currency, in upper case. */
export const isCurrency = (code: string): boolean => known.has(code);

/** Digits behind the point: 0 for JPY, 2 for GBP, 3 for KWD. */
export const currencyDigits = (currency: string): number => digitsOf.get(currency) ?? 2;

const decimal = /^(-?)(\d{1,15})(?:\.(\d{1,20}))?$/;

/** "12.5" GBP is 1250; undefined for what is no decimal number, and for one with more digits than the currency has. */
export function parseAmount(text: string, currency: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = ''] = decimal.exec(text) ?? [];
  const digits = currencyDigits(currency);
  if (whole === '' || fraction.length > digits) return undefined;
  const minor = BigInt(whole + fraction.padEnd(digits, '0'));
  return sign === '-' ? -minor : minor;
}

/** Like `parseAmount`, for numbers as databases write them: zeros at the end mean nothing. */
export const readAmount = (text: string, currency: string): bigint | undefined =>
  parseAmount(text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, ''), currency);

/** With all digits of the currency: "12.50", "1250" for JPY, "-0.05". */
export function formatAmount({ amountMinor, currency }: Money): string {
  const digits = currencyDigits(currency);
  const sign = amountMinor < 0n ? '-' : '';
  const text = (amountMinor < 0n ? -amountMinor : amountMinor).toString().padStart(digits + 1, '0');
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
