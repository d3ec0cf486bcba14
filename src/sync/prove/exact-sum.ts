// Sums of decimals without rounding.

/** Below 10^13 in millionths, so that a number holds the sum of 900 of them exactly. */
const shortDecimal = /^-?\d{1,7}(?:\.\d{1,6})?$/;
const maxShortValues = 900;
const toMillionths = (decimal: string): number => Math.round(Number(decimal) * 1e6);

const decimal = /^-?\d{1,400}(?:\.\d{1,400})?$/;

function sumsUpToExactly(values: readonly string[], total: string): boolean {
  const texts = [total, ...values];
  if (!texts.every((text) => decimal.test(text))) return false;
  const all = texts.map((text) => {
    const [whole = '', fraction = ''] = text.split('.');
    return { digits: whole + fraction, scale: fraction.length };
  });
  const scale = Math.max(...all.map((one) => one.scale));
  const [wanted = 0n, ...units] = all.map((one) => BigInt(one.digits + '0'.repeat(scale - one.scale)));
  return units.reduce((sum, unit) => sum + unit, 0n) === wanted;
}

/** Whether decimals such as `-12.50` add up to `total`. False if one isn't a decimal without exponent. */
export function sumsUpTo(values: readonly string[], total: string): boolean {
  if (values.length > maxShortValues || !shortDecimal.test(total)) return sumsUpToExactly(values, total);
  let millionths = 0;
  for (const value of values) {
    if (!shortDecimal.test(value)) return sumsUpToExactly(values, total);
    millionths += toMillionths(value);
  }
  return millionths === toMillionths(total);
}
