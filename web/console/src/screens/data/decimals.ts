// Sums of decimal texts: a JavaScript number would lose some of their digits.

const fractionOf = (text: string): number => text.split('.')[1]?.length ?? 0;

/** The exact sum, with the decimals of the text that has most of them. Pure. */
export function addDecimals(texts: readonly string[]): string {
  const decimals = Math.max(0, ...texts.map(fractionOf));
  const sum = texts.reduce(
    (total, text) => total + BigInt(text.replace('.', '') + '0'.repeat(decimals - fractionOf(text))),
    0n,
  );
  const digits = String(sum < 0n ? -sum : sum).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return `${sum < 0n ? '-' : ''}${whole}${decimals === 0 ? '' : `.${digits.slice(-decimals)}`}`;
}
