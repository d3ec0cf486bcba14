// Averages of decimal texts with whole numbers, which never lose a digit: no floating-point number, and
// nothing of PostgreSQL.

const countDecimals = (text: string): number => text.split('.')[1]?.length ?? 0;

const scaled = (text: string, decimals: number): bigint =>
  BigInt(text.replace('.', '') + '0'.repeat(decimals - countDecimals(text)));

/** Rounded to 6 decimals, half away from zero, without zeros at the end; null without values. */
export function exactAverage(given: readonly (string | null | undefined)[]): string | null {
  const values = given.filter((value) => typeof value === 'string');
  if (values.length === 0) return null;
  const decimals = Math.max(6, ...values.map(countDecimals));
  const sum = values.reduce((total, value) => total + scaled(value, decimals), 0n);
  const size = sum < 0n ? -sum : sum;
  const unit = BigInt(values.length) * 10n ** BigInt(decimals - 6);
  const millionths = (2n * size + unit) / (2n * unit);
  const digits = millionths.toString().padStart(7, '0');
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '');
  return sum < 0n && millionths > 0n ? `-${text}` : text;
}
