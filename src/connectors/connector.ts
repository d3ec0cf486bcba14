// The contract between the service and an ERP, without a word of any particular ERP. Each ERP implements it
// in a folder next to this file. docs/adding-an-erp.md walks through a whole implementation.
//
// Values cross this border as exact text, never as floating-point numbers: see source-records.ts.
//
// Errors, for every method that takes a signal unless its own docstring says otherwise:
// - It rejects with `ErpError` for anything the ERP or the network did. The engine decides by `ErpError.kind`
//   whether to retry.
// - It rejects with the signal's reason, and with nothing else, once its signal is aborted.
// - It rejects with any other error only for a programming error (such as too many ids).
// Connectors don't retry: the engine retries with backoff.
import type { Ctx } from '../core/ctx.ts';
import type {
  AccountFacts,
  QuerySource,
  ReadEstimate,
  Reading,
  RecordFamily,
  RecordFilter,
  RecordTypeHead,
} from './discovery.ts';
import type { PaymentWriter } from './payment-writer.ts';
import type {
  Deletions,
  LineTotals,
  ListedRecord,
  RecordRejection,
  ReportedChanges,
  ScannedRecord,
  SourceRecord,
} from './source-records.ts';

/**
 * `lines` is a table within the record, such as the items of an invoice. `reference`, `list` and
 * `multiselect` (several entries of a list) have a display text as well (a label).
 */
export type FieldType =
  | 'text'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'date'
  | 'time'
  | 'reference'
  | 'list'
  | 'multiselect'
  | 'lines';

export type FieldMetadata = {
  /**
   * The ERP's own name, lower case. A field that the connector derives from others has a camelCase name,
   * which no ERP field can have.
   */
  readonly name: string;
  readonly label: string;
  readonly type: FieldType;
  readonly custom: boolean;
  /** False for a field that must not or can't be read; `reason` says why. */
  readonly syncable: boolean;
  /**
   * The value changes in the ERP without the record's modification time moving. Volatile `lines` are not part
   * of a scan: see `scan`.
   */
  readonly volatile: boolean;
  readonly reason: string | null;
  /** Why the type may be wrong, such as one that follows from values alone; absent where it is certain. */
  readonly warning?: string;
  /**
   * Only for a text whose type nothing but its values names: it had none (`empty`), or none that contradicts
   * (`values`). Such a text may turn out to be of another type: see `TypeChecks`.
   */
  readonly unconfirmed?: 'empty' | 'values';
  /** Only for a reference: the record type whose records it names, where that is known. */
  readonly target?: string;
  /** Only for a multiselect: the connector's name of what its entries are in, if their names can be read. */
  readonly entries?: string;
  /**
   * Only for an amount of money: the reference field of the same record whose display text names its
   * currency, or null where none does.
   */
  readonly currency?: string | null;
  /** Only for `lines`: the fields of one line, in reading order. */
  readonly fields?: readonly FieldMetadata[];
};

export type RecordTypeMetadata = {
  readonly name: string;
  readonly label: string;
  /** The ERP's table that holds it. */
  readonly table: string;
  /** Where the description came from, such as "catalogue+probe". */
  readonly source: string;
  /** `integer` ids are ordered as numbers, `text` ids by their UTF-8 bytes. Never changes for a type. */
  readonly idType: 'integer' | 'text';
  /**
   * `server`: pages and ranges of ids are in an order that only the ERP knows, such as that of its database's
   * collation; the engine never compares these ids, and `readByIds` returns all of them at once. Absent: the
   * order of `idType`.
   */
  readonly keyOrder?: 'server';
  readonly fields: readonly FieldMetadata[];
  readonly openWhen: OpenWhen;
  /** The `time` field of the last modification; null without one: only full runs find changes then. */
  readonly modifiedField: string | null;
  /** A line's own `time` field of last modification; null without lines, or where lines have none. */
  readonly linesModifiedField: string | null;
  /** By which header fields people recognize a record (by the label where there is one). Null: none. */
  readonly shownAs: ShownAs;
  /** The reference field that names the currency of a record. Null or absent where there is none. */
  readonly currencyField?: string | null;
  /** Absent in metadata that an earlier version stored, as are `custom` and `reading`. */
  readonly family?: RecordFamily;
  readonly custom?: boolean;
  readonly reading?: Reading;
  /** Why none of its fields can be read; null or absent where some can. */
  readonly reason?: string | null;
  /**
   * The connector's own description of how to read it: JSON that the engine stores and returns unread. Absent
   * where the name suffices.
   */
  readonly definition?: unknown;
  /**
   * What `TypeChecks.compare` compares with: stored by the engine and returned unchanged. Absent in metadata
   * that an earlier version stored.
   */
  readonly listedTypes?: Readonly<Record<string, string>> | null;
  /** Set by the engine from the sync configuration: every method then sees only the records that pass. */
  readonly filter?: RecordFilter;
};

export type ShownAs = {
  readonly number: string | null;
  readonly name: string | null;
  readonly date: string | null;
  readonly amount: string | null;
};

/**
 * Which records are still open, that is, whose volatile fields may change without their modification time
 * moving. Evaluated over the values of the last read:
 * - null: none, because no field is volatile, or because the daily scan alone compares those that are
 * - 'always': every record
 * - otherwise: records whose `field` has none of the values in `isNoneOf`. An empty value is none of them.
 *   Number fields are compared as numbers, all others as text.
 *
 * `closedOn` is the `date` field with the day on which a record was closed, null where there is none.
 * Volatile fields of a record that was closed recently may still change, so it is compared like an open one.
 * Changes of records that were closed earlier, and of labels, are found by a scan of all records.
 */
export type OpenWhen =
  | null
  | 'always'
  | { readonly field: string; readonly isNoneOf: readonly string[]; readonly closedOn: string | null };

/** Whether the field has a display text, which changes when the referenced record or entry is renamed. */
export const hasLabel = ({ type }: Pick<FieldMetadata, 'type'>): boolean =>
  type === 'reference' || type === 'list' || type === 'multiselect';

/** The header fields that a scan covers: value or label change without moving the modification time. */
export const scannedFields = ({ fields }: Pick<RecordTypeMetadata, 'fields'>): readonly FieldMetadata[] =>
  fields.filter((field) => field.syncable && field.type !== 'lines' && (field.volatile || hasLabel(field)));

export type PageRequest = {
  readonly recordType: RecordTypeMetadata;
  /** Names of the requested fields; `lines` among them brings the lines with all of their syncable fields. */
  readonly fields: readonly string[];
  /** Last id of the previous page; null for the first page. */
  readonly afterId: string | null;
  /** Only records changed at or after this instant; null for all. */
  readonly changedSince: Date | null;
  /**
   * Maximum number of records. A page with lines ends earlier when its records have many of them; only
   * `hasMore` marks the last page.
   */
  readonly limit: number;
  /**
   * A read of all records from which changes are tracked: where the ERP can, its last page has a
   * `changeToken`. Its pages may be in another order than those of other reads where `keyOrder` is `server`.
   */
  readonly tracksChanges?: boolean;
  readonly signal: AbortSignal;
};

export type RecordPage = {
  readonly records: readonly SourceRecord[];
  readonly rejected: readonly RecordRejection[];
  /**
   * The cursor for the next page. Ids ascend over pages, in `idType`'s order or that of `keyOrder`. Null only
   * for empty pages.
   */
  readonly lastId: string | null;
  readonly hasMore: boolean;
  /**
   * Only on the last page of a read that `tracksChanges`: from it, `ChangeTracking` reports every change since
   * the read began. Absent where it can't be had, also after a read that was resumed.
   */
  readonly changeToken?: string;
  /**
   * Pages in no order of ids: where records were deleted meanwhile, others may have moved past the page, so the
   * engine compares the ids of all records, not only their number. A record may be on several pages.
   */
  readonly isUnordered?: true;
};

/**
 * What changed since a token, part by part, where the ERP keeps track of it. Rejects with kind `query` and code
 * `CHANGES_EXPIRED` where the ERP no longer knows the token: the engine then reads all records again.
 */
export type ChangeTracking = {
  list(
    request: Pick<PageRequest, 'recordType' | 'signal'> & { readonly token: string },
  ): Promise<ReportedChanges>;
};

type ScanSelection =
  | { readonly afterId: string | null; readonly limit: number; readonly ids?: undefined }
  | { readonly ids: readonly string[]; readonly afterId?: undefined };
/** Either a page by key (`afterId`, `limit`) or at most 1,000 `ids`. */
export type ScanRequest = Pick<PageRequest, 'recordType' | 'fields' | 'signal'> & ScanSelection;
export type ScanPage = Omit<RecordPage, 'records'> & { readonly records: readonly ScannedRecord[] };

/**
 * Ids behind `afterId` (null: from the first one) up to and including `upTo` (null: to the last one), in the
 * order of `idType`, or of the ERP where `keyOrder` says so.
 */
export type IdRange = { readonly afterId: string | null; readonly upTo: string | null };

/**
 * Questions about lines that the ERP answers without sending the lines. Record types without lines reject
 * with a RangeError.
 */
export type LineReader = {
  /**
   * One request to the ERP for at most 1,000 ids; throws a RangeError for more. Records without lines are
   * absent from the result. Which lines belong to a record is decided as by `readPage`.
   */
  totals(
    request: LineRequest & { readonly ids: readonly string[]; readonly changedSince?: Date },
  ): Promise<readonly LineTotals[]>;
  /**
   * Ids, ascending and each once, of records with a line that changed at or after `since`, by the line's own
   * modification time. One request per page. Rejects with kind `query` and `FIELD_NOT_SYNCABLE` where
   * `linesModifiedField` is null.
   */
  listChanged(
    request: LineRequest & { readonly since: Date; readonly afterId: string | null; readonly limit: number },
  ): Promise<{ readonly ids: readonly string[]; readonly hasMore: boolean }>;
};
type LineRequest = Pick<PageRequest, 'recordType' | 'signal'>;

/** How a run finds out that a field is no longer of the type that it is read as. */
export type TypeChecks = {
  /**
   * Compares the fields of the record type with the ERP's own list of fields, in few requests: `changed`
   * where a field has another type than when it was described, or was created again; `unknown` where the
   * description or the list can't tell, but another description could.
   */
  compare(recordType: RecordTypeMetadata, signal: AbortSignal): Promise<'same' | 'changed' | 'unknown'>;
  /** Whether a text may be a value of another type, in a form that the ERP shows people, such as a date. */
  isDoubtful(text: string): boolean;
};

/** How many records changed, and how many by a line's own modification time (null where lines have none). */
export type ChangeCounts = { readonly records: number; readonly withChangedLines: number | null };

/** `code` is stable and upper case; `fix` is one sentence for the person who set up the connection. */
export type ConnectionProblem = {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** The record types that can't be read because of it; absent if it concerns the whole connection. */
  readonly recordTypes?: readonly string[];
  /**
   * Only these fields of the record types can't be read, such as `lines`; absent where the whole record types
   * can't be read.
   */
  readonly fields?: readonly string[];
};
export type ConnectionReport = {
  /** Signed in, and a record type can be read; `problems` may name others that this role can't see. */
  readonly ok: boolean;
  readonly latencyMs: number;
  readonly account: string;
  readonly problems: readonly ConnectionProblem[];
};

/** One connection to one account of an ERP. What its methods reject with: see the top of this file. */
export type Connector = {
  /**
   * Tests the connection with real requests: credentials, clock, one row of each table. An `ErpError` becomes
   * a problem of the report; it rejects only with the signal's reason, or for a programming error.
   */
  test(signal: AbortSignal): Promise<ConnectionReport>;
  /** The ERP's own clock. High-water marks follow it, not this machine's. */
  now(signal: AbortSignal): Promise<Date>;
  /** The ERP's calendar day now, YYYY-MM-DD in the account's time zone. */
  today(signal: AbortSignal): Promise<string>;
  /**
   * The record types with every field: those that the connector knows by name, or those that `only` names,
   * which may be any that `discover` lists; others may be returned as well, and names that the account
   * doesn't have are absent. Fields that this role can't read are listed with `syncable: false` and the
   * reason, so that a missing permission is visible. `last`: as they were described before, for an ERP that
   * shows some of its fields only while records have values of them.
   */
  metadata(
    signal: AbortSignal,
    only?: readonly string[],
    last?: readonly RecordTypeMetadata[],
  ): Promise<readonly RecordTypeMetadata[]>;
  /**
   * Every record type that the account lists, without its fields, in few requests, whatever their number.
   * Absent where `metadata` returns all there are.
   */
  discover?(signal: AbortSignal): Promise<readonly RecordTypeHead[]>;
  /**
   * About how many records each of these types has, before it is described, by name; those that can't be
   * counted are absent. At most one request each. Absent where `metadata` returns all there are.
   */
  countListed?(heads: readonly RecordTypeHead[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** What the account as a whole has. Absent where the ERP has none of it. */
  account?(signal: AbortSignal): Promise<AccountFacts>;
  /**
   * The record type that a customer's query defines. `last`: as the same query was described before, whose
   * types stay while they hold all values. Rejects with kind `query` and a code of `querySourceRefusals`
   * where the ERP refuses the query or a column isn't suitable; the message says why. Absent where the ERP
   * has no query language.
   */
  describeQuery?(
    source: QuerySource,
    signal: AbortSignal,
    last?: RecordTypeMetadata | null,
  ): Promise<RecordTypeMetadata>;
  /**
   * How many records there are, of all ids or of a range, by the ERP's own count. Proofs rest on it: never
   * count what was read.
   */
  count(recordType: RecordTypeMetadata, signal: AbortSignal, range?: IdRange): Promise<number>;
  /** What reading every page takes, in one request. Absent where the ERP can't tell more than `count`. */
  estimateRead?(
    request: Pick<PageRequest, 'recordType' | 'fields' | 'limit' | 'signal'>,
  ): Promise<ReadEstimate>;
  /**
   * The ERP's own counts of what `listIds` and `lines.listChanged` list since that instant, of all ids or of
   * a range, in one request: never count what was listed. Absent where the ERP can't count changes; then the
   * lists are not proved. Rejects as they do.
   */
  countChanged?(
    request: Pick<PageRequest, 'recordType' | 'signal'> & { readonly since: Date; readonly range?: IdRange },
  ): Promise<ChangeCounts>;
  /**
   * One page of records by key, never by offset. Rejects with kind `query` and code `FIELD_NOT_SYNCABLE` for
   * a field that the metadata doesn't list as syncable, and for `changedSince` where the record type has no
   * `modifiedField`; with `COLUMN_UNKNOWN` for a field that the account no longer has. After either code the
   * engine reads the metadata again and retries.
   */
  readPage(request: PageRequest): Promise<RecordPage>;
  /**
   * Records by id, at most 1,000 ids; ids that don't exist are absent from the result. The page may end early
   * where records are large: then `hasMore` is true, and the ids behind `lastId` were not read. Request few
   * where records have many lines. Throws a RangeError for more than 1,000 ids; otherwise as `readPage`.
   */
  readByIds(
    request: Pick<PageRequest, 'recordType' | 'fields' | 'signal'> & { ids: readonly string[] },
  ): Promise<RecordPage>;
  /**
   * Ids without records, ascending, each as often as `count` counts it. The cheap listing behind proofs and
   * deletions; complete unless `changedSince` narrows it.
   */
  listIds(
    request: Pick<PageRequest, 'recordType' | 'afterId' | 'limit' | 'signal'> &
      Partial<Pick<PageRequest, 'changedSince'>>,
  ): Promise<{ readonly listed: readonly ListedRecord[]; readonly hasMore: boolean }>;
  /**
   * Header fields without lines, one request to the ERP per page: by key, or for at most 1,000 ids, of which
   * those that don't exist are absent from the result. For `scannedFields`; where lines are volatile, read
   * the open records with `readByIds` instead. Rejects with kind `query` and `FIELD_NOT_SYNCABLE` when
   * `lines` are requested, with a RangeError for more than 1,000 ids; otherwise as `readPage`.
   */
  scan(request: ScanRequest): Promise<ScanPage>;
  /**
   * Ids that the ERP lists as deleted at or after this instant, each once. May include ids that were deleted
   * up to three days earlier, that belong to another record type, or that still exist: delete only what
   * `readByIds` no longer finds. Resolves to `available: false`, and doesn't reject, where the ERP hides the
   * list from this role. Absent where the ERP has none.
   */
  deletedSince?(
    request: Pick<PageRequest, 'recordType' | 'signal'> & { readonly since: Date },
  ): Promise<Deletions>;
  /**
   * Those of at most 1,000 ids that exist under another record type, in one request: their type was changed,
   * and the id stayed. Absent where records of different types may have the same id. Rejects as `readByIds`.
   */
  filterMoved?(
    request: Pick<PageRequest, 'recordType' | 'signal'> & { readonly ids: readonly string[] },
  ): Promise<readonly string[]>;
  /**
   * Absent where the ERP's fields never change their type, or where a value of another type can't be taken
   * for a text.
   */
  readonly types?: TypeChecks;
  /** Absent where no record type has lines. */
  readonly lines?: LineReader;
  /** Absent where the ERP keeps no track of changes. */
  readonly changeTracking?: ChangeTracking;
  /** Absent where the ERP accepts no payments from outside. */
  readonly payments?: PaymentWriter;
};

/** Why a call to the ERP failed, and so how the service reacts. */
export type ErpErrorKind =
  | 'credentials' // the ERP refused the login: not retried; the sync is paused and a person notified
  | 'forbidden' // this role may not read that: not retried
  | 'throttled' // too many requests: retried with backoff
  | 'down' // no response, a 5xx, a broken connection: retried with backoff
  | 'query' // the ERP refuses the query or the write itself: retrying the same can't help
  | 'answer'; // the response breaks the ERP's own rules and is not trusted: retried with backoff

export class ErpError extends Error {
  readonly kind: ErpErrorKind;
  /** Stable and upper case, such as TOKEN_REFUSED. */
  readonly code: string;
  /** What a person can do about it, in one sentence. */
  readonly fix: string;
  /** The minimum time before the next attempt, if the ERP asked for one. */
  readonly retryAfterMs: number | null;
  constructor(
    kind: ErpErrorKind,
    code: string,
    message: string,
    options: { fix: string; retryAfterMs?: number; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = 'ErpError';
    this.kind = kind;
    this.code = code;
    this.fix = options.fix;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

export type ConnectorCtx = Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings' | 'erpLimits'>;

/** What each ERP's folder exports. */
export type ConnectorKind<Settings, Secrets> = {
  /**
   * Creates a connector from the stored settings and secrets, already parsed. Makes no request and doesn't
   * throw: unusable credentials show as an `ErpError` of kind `credentials` with the first request.
   */
  create(ctx: ConnectorCtx, settings: Settings, secrets: Secrets): Connector;
};
