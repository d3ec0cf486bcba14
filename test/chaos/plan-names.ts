// The names of everything that a plan can contain, and for which record types a lasting fault makes sense.
/**
 * Record types that the connector doesn't know by name; only accounts with a profile have records of all of
 * them.
 */
export const genericTypes = ['purchaseOrder', 'journalEntry', 'customrecord_complaint'] as const;
export type GenericType = (typeof genericTypes)[number];
export const recordTypes = [
  'customer',
  'item',
  'invoice',
  'creditMemo',
  'customerPayment',
  ...genericTypes,
] as const;
export type RecordTypeName = (typeof recordTypes)[number];

/** What people and scripts do in the account. Numbers: how often, relative to each other. */
export const editWeights = {
  'edit-invoice': 4,
  'edit-lines': 4,
  'insert-invoice': 3,
  'delete-invoice': 3,
  'edit-customer': 3,
  'rename-customer': 3,
  'insert-customer': 2,
  'delete-customer': 2,
  // One is created and another deleted at once: between two pages or counts, no number shows it.
  'replace-customer': 2,
  'edit-item': 2,
  'rename-item': 2,
  'insert-item': 1,
  'delete-item': 1,
  'pay-invoice': 4,
  'undo-payment': 2,
  'move-payment': 2,
  'edit-credit': 1,
  'insert-credit': 1,
  'delete-credit': 1,
  'touch-all': 1,
  'clear-column': 1,
  // Without a new modification time of the record.
  'silent-amount': 2,
  'silent-reopen': 2,
  'silent-field': 3,
  'silent-line-amount': 2,
  'silent-line-text': 2,
  'silent-line-added': 2,
  'silent-line-removed': 2,
  'line-time': 2,
  'insert-old': 2,
  // With a modification time up to an hour old, as in the hour that a clock change repeats.
  restamp: 2,
  'delete-unlisted': 2,
  'delete-many': 1,
  'delete-many-unlisted': 1,
  'delete-all': 0.6,
  'restore-deleted': 3,
} as const;
/** Of a record of a type that the connector doesn't know by name; planned by themselves, see `plan.ts`. */
export const genericEdits = [
  'edit-generic',
  'insert-generic',
  'delete-generic',
  'delete-generic-unlisted',
] as const;
export type DrawnEditKind = keyof typeof editWeights;
export type EditKind = DrawnEditKind | (typeof genericEdits)[number];
export const editKinds = Object.keys(editWeights) as DrawnEditKind[];

/** Faults that meet single requests. */
export const requestFaults = ['429', '500', 'cut', 'slow', 'html'] as const;
export type RequestFault = (typeof requestFaults)[number];

type Traits = {
  /** Record types that it can be about; all of them by default. */
  readonly fits?: readonly RecordTypeName[];
  /** It begins only while no run is in progress. */
  readonly betweenRuns?: true;
  /** It meets lists of several pages, which full runs read. */
  readonly needsPages?: true;
};
const withItemLines = ['invoice', 'creditMemo', 'purchaseOrder', 'journalEntry'] as const;
const withLines = [...withItemLines, 'customerPayment'] as const;
const spoilable = ['customer', 'invoice'] as const;

/** Faults that last for a round or two. */
export const faultTraits = {
  'hidden-table': {},
  'hidden-deletions': {},
  'locked-record': {},
  'bad-column': {},
  'bad-value': { fits: spoilable, betweenRuns: true },
  // A year that neither PostgreSQL nor RFC 3339 has.
  'bad-time': { fits: spoilable, betweenRuns: true },
  // A role that sees fewer rows, of any number, or fewer fields.
  'narrow-role': {},
  'hidden-lines': { fits: withLines },
  'hidden-line-column': { fits: withItemLines },
  'revoked-permission': {},
  // Answers that lie.
  'dropped-lines': { fits: withLines },
  'dropped-rows': {},
  'false-line-total': { fits: withItemLines },
  'repeated-page': { needsPages: true },
  'stale-page': {},
  'false-has-more': { needsPages: true },
  'wrong-count': {},
  'null-column': {},
  'null-line-column': { fits: withItemLines },
  'duplicate-rows': {},
  'broken-answers': {},
  // Custom fields.
  'field-added': {},
  'field-removed': {},
  'field-retyped': {},
  'field-returned': {},
  'field-relabelled': {},
  // Access.
  'revoked-sign-in': {},
  'used-concurrency': {},
  // The service's own database.
  deadlock: {},
  'lock-timeout': {},
  'statement-timeout': {},
} as const satisfies Readonly<Record<string, Traits>>;
export type StateFault = keyof typeof faultTraits;
export const stateFaults = Object.keys(faultTraits) as StateFault[];
export const getTraits = (fault: StateFault): Traits => faultTraits[fault];
