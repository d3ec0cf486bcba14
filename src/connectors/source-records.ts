// The records, lines and lists of ids that an ERP returns, without a word of any particular ERP.

/**
 * One value as exact text:
 * - text, reference, list, multiselect: unchanged
 * - number: decimal digits, such as `-10.50`
 * - integer: digits
 * - boolean: `true` or `false`
 * - date: YYYY-MM-DD
 * - time: YYYY-MM-DDTHH:MM:SSZ
 * - null: the ERP has no value
 *
 * A reference, list or multiselect field also has a label if the ERP has a display text for it.
 */
export type SourceValue = string | null;
export type SourceLine = Readonly<Record<string, SourceValue>>;

export type SourceRecord = {
  readonly id: string;
  /** When the ERP last changed it, as a `time`; null where the ERP doesn't say. */
  readonly modifiedAt: string | null;
  /** By field name. */
  readonly values: Readonly<Record<string, SourceValue>>;
  /** Display text of reference, list and multiselect fields, by field name. */
  readonly labels: Readonly<Record<string, SourceValue>>;
  /**
   * The entries of multiselect fields as JSON arrays, both in the order of the value: `<field>.ids` has
   * integers, `<field>.names` a text for each, or null where the list doesn't have the entry. The names are
   * only those of fields with `entries`. Absent without such fields.
   */
  readonly lists?: Readonly<Record<string, SourceValue>>;
  /**
   * In line order; null for record types without lines. The label of a line's reference field is in
   * `<field>.name`, the entries of a multiselect in `<field>.ids` and `<field>.names`.
   */
  readonly lines: readonly SourceLine[] | null;
};

/** What `SourceRecord.lists` and lines call the entries of a multiselect field. */
export const idsKey = (field: string): string => `${field}.ids`;
export const namesKey = (field: string): string => `${field}.names`;

/**
 * A record that exists but can't be stored as it is. `code` is stable and upper case, `message` names the
 * field and the problem.
 */
export type RecordRejection = {
  readonly id: string;
  readonly code: string;
  readonly message: string;
  /** Those of its newest values that can be read, by field name; absent when none can. */
  readonly values?: Readonly<Record<string, SourceValue>>;
};

/** A record without its lines; `values` has the requested fields, the id and any modification time. */
export type ScannedRecord = Omit<SourceRecord, 'lines'>;

export type DeletedRecord = {
  readonly id: string;
  /**
   * When it was deleted: a `time`, or a `date` in the ERP's own time zone if it has no time of day, or null
   * if it has neither.
   */
  readonly deletedAt: string | null;
};
/**
 * The ERP's own list of deletions; `available: false` where this role may not read it. The list is a hint and
 * no proof of deletion: confirm each id with `readByIds`.
 */
export type Deletions =
  | { readonly available: true; readonly deleted: readonly DeletedRecord[] }
  | { readonly available: false; readonly reason: string; readonly fix: string };

/** A record in a list of ids. `modifiedAt`: as in `SourceRecord`; null unless `changedSince` narrows it. */
export type ListedRecord = { readonly id: string; readonly modifiedAt: string | null };

/**
 * The ERP's own aggregates over the lines of one record, by which lines that were read are proved complete.
 * `sums` are exact decimals by line field; the connector chooses number fields that can be read, such as
 * quantity and amount. A field that is empty in all lines sums to "0".
 */
export type LineTotals = {
  readonly id: string;
  readonly lines: number;
  readonly sums: Readonly<Record<string, string>>;
  /** The latest `linesModifiedField`, a `time`; null where lines have none. */
  readonly modifiedAt: string | null;
  /** The number of lines with `linesModifiedField` at or after `changedSince`; absent unless it was given. */
  readonly changed?: number;
};

/**
 * Ids may be there several times, and in both lists: what holds is what the ERP then returns for them. `token`
 * follows these changes.
 */
export type ReportedChanges = {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly token: string;
  readonly hasMore: boolean;
};
