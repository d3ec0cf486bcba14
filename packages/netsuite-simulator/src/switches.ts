// One switch for each behaviour that is unknown or differs between real accounts, so that a connector can be
// tested against both.

export type Switches = {
  /**
   * Pages beyond a query's first `maxRows` rows or 1,000 pages: silently left out, or 400 (and `hasMore` is
   * true up to there).
   */
  beyondCap: 'truncate' | 'refuse';
  /** How many rows of one query can be read. */
  maxRows: number;
  /** The Retry-After of a 429, in seconds; null sends none. */
  retryAfterSeconds: number | null;
  /**
   * What a condition on transaction.status compares with: `A`, or `CustInvc:A`. The selected value is `A`
   * either way.
   */
  statusFilter: 'letter' | 'typed';
  /** Whether applying a payment or credit, or undoing that, changes the lastmodifieddate of the invoice. */
  paymentTouchesInvoice: boolean;
  /** Whether deletedrecord.deleteddate has a time of day; otherwise it is the beginning of the day. */
  deletedDateHasTime: boolean;
  /** How long the job of an asynchronous request waits in its queue. */
  asyncDelayMs: number;
  /**
   * What SYS_EXTRACT_UTC makes of a column's time in the hour that the end of daylight saving time repeats:
   * the instant that it was, or, as if the column held the users' local time, always standard time (Oracle's
   * rule) or always daylight saving time.
   */
  repeatedHour: 'exact' | 'standard' | 'daylight';
  /** Whether five failed sign-ins with a token lock it for half an hour. */
  locksAfterFailures: boolean;
  /** Whether a refused token-based call gets `WWW-Authenticate: OAuth realm="…"`. */
  challengesTba: boolean;
  /** Whether `POST invoice/{id}/!transform/customerPayment` works. */
  transformsInvoiceToPayment: boolean;
  /**
   * YYYY-MM-DD: the books are closed through this day; transactions dated on or before it can't be created,
   * changed or deleted.
   */
  booksClosedThrough: string | null;
  /** What a query gets that takes too long: an unexpected error, or a closed connection without an answer. */
  timedOutQuery: 'error' | 'disconnect';
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
  asyncDelayMs: 0,
  repeatedHour: 'exact',
  locksAfterFailures: false,
  challengesTba: false,
  transformsInvoiceToPayment: false,
  booksClosedThrough: null,
  timedOutQuery: 'error',
  customersOnHold: [],
};

export const createSwitches = (given: Partial<Switches> = {}): Switches => ({ ...DEFAULTS, ...given });
