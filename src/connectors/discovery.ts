// What an ERP account offers beyond the record types that its connector knows by name: the contract's types
// for finding, choosing and reading any record type of an account.

/**
 * - list: lists and set-up records, such as accounts and locations
 * - link: rows between or below other records that have a table of their own, such as addresses, prices and
 *   stock by location
 * - posting: lines of the general ledger
 * - query: defined by the customer's own query
 */
export const recordFamilies = [
  'transaction',
  'entity',
  'item',
  'list',
  'customRecord',
  'customList',
  'customTransaction',
  'link',
  'posting',
  'query',
] as const;
export type RecordFamily = (typeof recordFamilies)[number];

/** A record type that the account lists, before its fields were read. */
export type RecordTypeHead = {
  /**
   * As `RecordTypeMetadata.name`: letters, digits and `_`, at most 63, the first a letter. Names don't differ
   * in case alone.
   */
  readonly name: string;
  readonly label: string;
  readonly family: RecordFamily;
  readonly custom: boolean;
  /** Null until its fields are read. */
  readonly table: string | null;
  /** Where it was found, such as "catalogue". */
  readonly source: string;
  /**
   * Null until its fields are read: whether it can be synced isn't known. False for what is known to be
   * impossible, with the reason.
   */
  readonly syncable: boolean | null;
  readonly reason: string | null;
};

/** How a record type is read, and so what its runs prove. */
export type Reading = {
  /** Whether it is known by name, with its volatile fields, open records and names of deletions. */
  readonly curated: boolean;
  /**
   * How changes are found: by the record's modification time, by that of the record it belongs to, in the
   * ERP's own report of changes, or by reading all of it each time.
   */
  readonly changes: 'modified' | 'parent' | 'tracked' | 'full';
  /** How deletions are found: in the ERP's list of deletions as well, or only by comparing ids. */
  readonly deletions: 'listed' | 'compared';
  /** One sentence for each thing that a run can't prove, and how often a full read covers it. */
  readonly notes: readonly string[];
};

/** Only records of these subsidiaries, by id. A record that leaves them counts as deleted. */
export type RecordFilter = { readonly subsidiaries: readonly string[] };

export const maxQueryCharacters = 10_000;

/** A record type that is defined by the customer's own query in the ERP's query language. */
export type QuerySource = {
  readonly name: string;
  readonly label: string;
  /** One SELECT statement of at most `maxQueryCharacters`. */
  readonly query: string;
  /** The column with each row's own integer. */
  readonly keyColumn: string;
  /** The column with the time of a row's last change; null: each run reads all rows. */
  readonly modifiedColumn: string | null;
};

/**
 * Codes of the `ErpError` of kind `query` by which `describeQuery` refuses a source, by the part of it that
 * isn't suitable.
 */
export const querySourceRefusals = {
  query: 'QUERY_UNSUITABLE',
  keyColumn: 'KEY_COLUMN_UNSUITABLE',
  modifiedColumn: 'MODIFIED_COLUMN_UNSUITABLE',
} as const;

/** What reading all records page by page takes: exact counts, and about how many requests the pages take. */
export type ReadEstimate = { readonly records: number; readonly pages: number; readonly requests: number };

/** What the account as a whole has; null where this role can't find out. */
export type AccountFacts = {
  readonly hasSubsidiaries: boolean | null;
  readonly hasCurrencies: boolean | null;
  /** ISO 4217, of the account or of its root subsidiary. */
  readonly baseCurrency: string | null;
  readonly accountingBooks:
    | readonly { readonly id: string; readonly name: string; readonly isPrimary: boolean }[]
    | null;
  /** Minutes by which the time zone of the account's dates is ahead of UTC now; negative west of it. */
  readonly utcOffsetMinutes: number | null;
};
