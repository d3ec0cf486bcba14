// Exact decimal numbers of templates. A number that a float shows with exactly its digits stays one; any
// other is an `ExactNumber`, so that no sum, product or comparison depends on binary fractions. Only a
// quotient is rounded, to 20 places.
import Big from 'big.js';
import { exactNumber } from '../../core/text/exact-json.ts';

const maxDigits = 1_000;
Big.DP = 20;

/** Compared by Liquid through its `Comparable` methods. A template sees own properties: it has none. */
export class ExactNumber {
  readonly #value: Big;
  readonly #text: string;
  /** `text`: its digits as they are shown. */
  constructor(value: Big, text: string) {
    this.#value = value;
    this.#text = text;
  }
  static valueOf(number: ExactNumber): Big {
    return number.#value;
  }
  /** A number differs from every text. */
  equals(other: unknown): boolean {
    return typeof other !== 'string' && this.#compare(other) === 0;
  }
  gt(other: unknown): boolean {
    return (this.#compare(other) ?? 0) > 0;
  }
  geq(other: unknown): boolean {
    return (this.#compare(other) ?? -1) >= 0;
  }
  lt(other: unknown): boolean {
    return (this.#compare(other) ?? 0) < 0;
  }
  leq(other: unknown): boolean {
    return (this.#compare(other) ?? 1) <= 0;
  }
  #compare(other: unknown): number | undefined {
    const value = toDecimal(other);
    return value && this.#value.cmp(value);
  }
  toString(): string {
    return this.#text;
  }
  toJSON(): unknown {
    return exactNumber(this.#text);
  }
}

/** Of a text that is taken for a number. */
const maxLength = 500;
const decimalText = /^\s*-?\d+(\.\d+)?(e[-+]?\d{1,2})?\s*$/i;

/** Undefined for anything but a number and the text of one. */
function toDecimal(value: unknown): Big | undefined {
  if (value instanceof ExactNumber) return ExactNumber.valueOf(value);
  if (typeof value === 'number') return Number.isFinite(value) ? new Big(value) : undefined;
  return typeof value === 'string' && value.length <= maxLength && decimalText.test(value)
    ? new Big(value.trim())
    : undefined;
}

/** A number of JSON or of a template as written there; it keeps its digits, unless it has an exponent. */
export const parseNumber = (text: string): number | ExactNumber | string => {
  const value = toDecimal(text);
  return value === undefined ? text : toNumber(value, /e/i.test(text) ? undefined : text);
};

/** As a template sees it. Throws an Error for one with more than a thousand digits. */
function toNumber(value: Big, written?: string): number | ExactNumber {
  if (value.c.length + Math.abs(value.e) > maxDigits)
    throw new Error(`A number has more than ${maxDigits} digits`);
  const text = value.toFixed();
  const float = Number(text);
  return String(float) === text ? float : new ExactNumber(value, written ?? text);
}

/** What Liquid takes for a number: anything else is 0. */
const operand = (value: unknown): Big => toDecimal(value) ?? new Big(value === true ? 1 : 0);

/** The places to round to: a whole number that a result can have. */
const toDecimalPlaces = (value: unknown): number =>
  Math.min(Math.max(Math.trunc(operand(value).toNumber()), -maxDigits), maxDigits);

const floor = (value: Big): Big => value.round(0, value.s < 0 ? Big.roundUp : Big.roundDown);
const ceil = (value: Big): Big => value.round(0, value.s < 0 ? Big.roundDown : Big.roundUp);

function divide(dividend: Big, divisor: Big, isWhole: unknown): Big {
  if (divisor.eq(0)) throw new Error('divided by 0');
  if (isWhole !== true) return dividend.div(divisor);
  return floor(dividend.minus(modulo(dividend, divisor)).div(divisor));
}

/** Has the sign of the divisor. */
function modulo(value: Big, divisor: Big): Big {
  if (divisor.eq(0)) throw new Error('divided by 0');
  const rest = value.mod(divisor);
  return rest.eq(0) || rest.s === divisor.s ? rest : rest.plus(divisor);
}

type Calculation = (value: unknown, ...args: unknown[]) => number | ExactNumber;
const binary =
  (calculate: (left: Big, right: Big, ...more: unknown[]) => Big): Calculation =>
  (value, other, ...more) =>
    toNumber(calculate(operand(value), operand(other), ...more));

/** By the names of Liquid's filters. */
export const calculations: Readonly<Record<string, Calculation>> = {
  abs: binary((value) => value.abs()),
  at_least: binary((value, least) => (value.lt(least) ? least : value)),
  at_most: binary((value, most) => (value.gt(most) ? most : value)),
  ceil: binary(ceil),
  divided_by: binary(divide),
  floor: binary(floor),
  minus: binary((value, other) => value.minus(other)),
  modulo: binary(modulo),
  plus: binary((value, other) => value.plus(other)),
  round: (value, places) => toNumber(operand(value).round(toDecimalPlaces(places), Big.roundHalfUp)),
  times: binary((value, other) => value.times(other)),
};

export const sumValues = (values: readonly unknown[]): number | ExactNumber =>
  toNumber(values.reduce<Big>((sum, value) => sum.plus(operand(value)), new Big(0)));

/** For `sort`: by value where all are numbers or texts of numbers, else undefined. Missing ones are last. */
export function compareNumbers(values: readonly unknown[]): ((a: unknown, b: unknown) => number) | undefined {
  const decimals = new Map<unknown, Big>();
  for (const value of values) {
    const decimal = toDecimal(value);
    if (decimal !== undefined) decimals.set(value, decimal);
    else if (value !== null && value !== undefined) return undefined;
  }
  return (a, b) => {
    const [left, right] = [decimals.get(a), decimals.get(b)];
    return left !== undefined && right !== undefined
      ? left.cmp(right)
      : Number(left === undefined) - Number(right === undefined);
  };
}

/** Whether two numbers, or texts of numbers, are in this order; undefined for anything else. */
export function inOrder(left: unknown, right: unknown, holds: (sign: number) => boolean) {
  const [a, b] = [toDecimal(left), toDecimal(right)];
  return a && b && holds(a.cmp(b));
}
