// What the statements that generate transactions share. They fill temporary tables first: `trade_head`, what
// the transactions of the files get in addition, and `trade_doc`, the generated transactions, whose totals
// and header lines follow from their lines at the end.

/**
 * Internal ids of the accounts that transactions post to. A subsidiary's bank account is `bank` plus the
 * subsidiary's id.
 */
export const ACCOUNT = {
  undepositedFunds: 1,
  bank: 1,
  receivable: 5,
  inventory: 6,
  receivedNotBilled: 7,
  payable: 8,
  vatPayable: 9,
  vatReceivable: 10,
  sales: 11,
  shipping: 12,
  costOfGoods: 13,
  rent: 14,
  wages: 15,
  utilities: 16,
  badDebt: 17,
  exchangeGain: 18,
  inventoryAdjustment: 19,
  shareCapital: 20,
  retainedEarnings: 21,
  intercompanyReceivable: 22,
  intercompanyPayable: 23,
  /** In books that aren't primary. */
  shippingElsewhere: 24,
  customerDeposits: 25,
  prepaidRent: 26,
  expenses: 27,
  equipment: 28,
  depreciation: 29,
  accumulatedDepreciation: 30,
} as const;

/** Generated transactions have ids from here on, each range from the id of what it is generated from. */
export const FIRST_GENERATED = 20_000_000;
export const ID_OF = {
  salesOrder: 21_000_000,
  fulfilment: 22_000_000,
  payment: 23_000_000,
  purchaseOrder: 24_000_000,
  receipt: 25_000_000,
  bill: 26_000_000,
  expenseBill: 26_500_000,
  billPayment: 27_000_000,
  journal: 28_000_000,
  deposit: 29_000_000,
  estimate: 30_000_000,
  adjustment: 31_000_000,
  transfer: 32_000_000,
  customerDeposit: 33_000_000,
  vendorCredit: 34_000_000,
  refund: 35_000_000,
  charge: 36_000_000,
  writeOff: 37_000_000,
} as const;

/**
 * Keys of generated lines lie above all keys in data files: this, plus a million for each transaction id,
 * plus the line's id.
 */
const FIRST_KEY = 1_000_000_000_000_000;

export const VAT_ITEM = 9_000_002;
export const ZERO_RATED_ITEM = 9_000_003;
export const SHIPPING_ITEM = 9_000_001;
export const VAT_RATE = 0.2;
/** Whether the customer `c` pays VAT. */
export const PAYS_VAT = "c.defaultcountry IN ('United Kingdom', 'GB')";

/** SQL by column. */
export type Values = Readonly<Record<string, string | number>>;

const insert = (table: string, values: Values, from: string): string =>
  `INSERT INTO ${table} (${Object.keys(values).join(', ')}) SELECT ${Object.values(values).join(', ')} FROM ${from}`;

/** Inserts lines; `linesequencenumber` is the line's id. */
export const insertLines = (
  values: Values & { transaction: string; id: string | number },
  from: string,
): string =>
  insert(
    'ledger.transactionline',
    {
      uniquekey: `${FIRST_KEY} + (${values.transaction}) * 1000000 + (${values.id})`,
      linesequencenumber: values.id,
      mainline: "'F'",
      taxline: "'F'",
      ...values,
    },
    from,
  );

/**
 * Inserts generated transactions. `account` is what the header line posts to; without one there is none, or
 * it doesn't post.
 */
export const insertDocs = (values: Values & { id: string; type: string }, from: string): string =>
  insert('trade_doc', values, from);

/**
 * An amount in the subsidiary's currency. Amounts in that currency stay as they are in the files, which have
 * some with tenths of a penny.
 */
export const inBase = (amount: string, rate: string): string =>
  `CASE WHEN ${rate} = 1 THEN ${amount} ELSE round(${amount} * ${rate}, 2) END`;

/** The accounting period of a date. */
export const buildPeriodSql = (date: string): string =>
  `(extract(year FROM ${date}) * 100 + extract(month FROM ${date}))::bigint`;

/** Months as whole numbers, for ids. */
export const monthNumber = (date: string): string =>
  `((extract(year FROM ${date}) - 2000) * 12 + extract(month FROM ${date}))::bigint`;

/** A moment of a day, in the session's time zone, which is that of the data. */
export const at = (date: string, time: string): string => `(${date} + time '${time}')::timestamptz`;
