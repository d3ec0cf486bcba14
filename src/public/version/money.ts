// Which numbers are amounts of money, and whether a summary mixes amounts of several currencies: the one rule
// of published summaries, of the agents' aggregates, of views and of what may be published. Pure.

/** What is known of the amounts of a record type; empty where the account has one currency. */
export type Money = {
  /** The first reference field that names a currency; absent where there is none. */
  readonly currency?: string;
  /**
   * By the source of an amount: the reference field that names its currency, or null where no field tells it.
   * Absent in the bindings of versions that were published before there was this: every number is then an
   * amount in `currency`.
   */
  readonly amounts?: Readonly<Record<string, string | null>>;
};

/** A number's currency field; null when no field tells it, undefined when it is no amount. */
export function findCurrency({ currency, amounts }: Money, source: string): string | null | undefined {
  if (amounts === undefined) return currency;
  return Object.hasOwn(amounts, source) ? amounts[source] : undefined;
}

/** Whether a field with this source tells the currency: the reference itself or its label. */
export const isCurrencySource = (source: string, currency: string): boolean =>
  source === currency || source === `${currency}.name`;

/** A number of different values mixes nothing. */
const mixing: ReadonlySet<string> = new Set(['sum', 'avg', 'min', 'max']);

/**
 * Whether one result of these functions may be of amounts in several currencies. `currency` is as
 * `findCurrency` returns it; `agreed` are the sources that all records of one result agree in: group keys, and
 * filters with one value.
 */
export const mixesCurrencies = (
  functions: readonly string[],
  currency: string | null | undefined,
  agreed: readonly string[],
): boolean =>
  currency !== undefined &&
  functions.some((name) => mixing.has(name)) &&
  (currency === null || !agreed.some((source) => isCurrencySource(source, currency)));
