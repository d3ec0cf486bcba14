// One switch for each behaviour that is unknown or differs between real accounts, so that a connector can be tested against both.

export type Switches = {
  /** Pages beyond a query's first `maxRows` rows or 1,000 pages: silently left out, or 400 (and `hasMore` is true up to there). */
  beyondCap: 'truncate' | 'refuse';
  /** How many rows of one query can be read. */
  maxRows: number;
  /** The Retry-After of a 429, in seconds; null sends none. */
  retryAfterSeconds: number | null;
  /** What a condition on transaction.status compares with: `A`, or `CustInvc:A`. The selected value is `A` either way. */
  statusFilter: 'letter' | 'typed';
  /** Whether applying a payment or credit, or undoing that, changes the lastmodifieddate of the invoice. */
  paymentTouchesInvoice: boolean;
  /** Whether deletedrecord.deleteddate has a time of day; otherwise it is the beginning of the day. */
  deletedDateHasTime: boolean;
  /** Whether five failed sign-ins with a token lock it for half an hour. */
  locksAfterFailures: boolean;
  /** Whether a refused token-based call gets `WWW-Authenticate: OAuth realm="…"`. */
  challengesTba: boolean;
  /** Whether `POST invoice/{id}/!transform/customerPayment` works. */
  transformsInvoiceToPayment: boolean;
  /** YYYY-MM-DD: the books are closed through this day; transactions dated on or before it can't be created, changed or deleted. */
  booksClosedThrough: string | null;
  /** Ids of customers on credit hold: no transaction can be created for them. */
  customersOnHold: readonly string[];
};

const DEFAULTS: Switches = {
  beyondCap: 'truncate',
  maxRows: 100_000,
  retryAfterSeconds: null,
  statusFilter: 'letter',
  paymentTouchesInvoice: true,
  deletedDateHasTime: true,
  locksAfterFailures: false,
  challengesTba: false,
  transformsInvoiceToPayment: false,
  booksClosedThrough: null,
  customersOnHold: [],
};

export const createSwitches = (given: Partial<Switches> = {}): Switches => ({ ...DEFAULTS, ...given });
