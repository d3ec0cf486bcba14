// Decimal numbers in plain digits, exactly and without a float.

const plain = /^-?(?:0|[1-9]\d{0,40})(?:\.\d{1,40})?$/;
const decimal = /^(-?)(\d*)(?:\.(\d*))?(?:E([+-]?\d{1,3}))?$/i;
const maxExponent = 60;

/** `.5` → `0.5`, `1.0E-4` → `0.00010`; undefined for what isn't a number of at most 100 characters. */
export function plainDecimal(raw: string): string | undefined {
  if (plain.test(raw)) return raw;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = decimal.exec(raw) ?? [];
  const exponent = Number(exponentText);
  if (whole === '' && fraction === '') return undefined;
  if (Math.abs(exponent) > maxExponent || raw.length > 100) return undefined;
  const point = whole.length + exponent;
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, '0');
  const split = Math.max(0, point);
  const left = digits.slice(0, split).replace(/^0+(?=\d)/, '');
  const right = digits.slice(split);
  return `${sign}${left === '' ? '0' : left}${right === '' ? '' : `.${right}`}`;
}
