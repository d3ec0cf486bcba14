// What isn't known of real accounts, or differs between them: one named switch each, so that a connector can be tried with either.

export type Switches = {
  /** A page beyond a query's first `mostRows` rows or 1,000 pages: left out without a word, or 400 with `hasMore` true until then. */
  beyondCap: 'truncate' | 'refuse';
  /** How many rows of one query there are to be had. */
  mostRows: number;
  /** Seconds that a 429 tells callers to wait; null sends no Retry-After. */
  retryAfterSeconds: number | null;
  /** What a condition on transaction.status compares with: `A`, or `CustInvc:A`. The value selected is `A` either way. */
  statusFilter: 'letter' | 'typed';
  /** Whether applying a payment or credit, or undoing that, changes the lastmodifieddate of the invoice. */
  paymentTouchesInvoice: boolean;
  /** Whether deletedrecord.deleteddate has a time or is the beginning of the day. */
  deletedDateHasTime: boolean;
  /** Five failed log-ins with a token lock it for half an hour. */
  locksAfterFailures: boolean;
  /** A refused token-based call gets `WWW-Authenticate: OAuth realm="…"`. */
  challengesTba: boolean;
  /** `POST invoice/{id}/!transform/customerPayment` works. */
  transformsInvoiceToPayment: boolean;
  /** YYYY-MM-DD: the books are closed through this day, so that no transaction on such a day can be made, changed or deleted. */
  booksClosedThrough: string | null;
  /** Ids of customers for whom no transaction can be made. */
  customersOnHold: readonly string[];
};

const USUAL: Switches = {
  beyondCap: 'truncate',
  mostRows: 100_000,
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

export const makeSwitches = (given: Partial<Switches> = {}): Switches => ({ ...USUAL, ...given });
