// What the service asks of an ERP, in words that any ERP could answer. One folder beside this file per ERP implements it.
// Values cross this border as exact text, never as binary floats: see SourceValue.
import type { Ctx } from '../core/ctx.ts';

export type FieldType = 'text' | 'number' | 'integer' | 'boolean' | 'date' | 'time' | 'reference' | 'list' | 'lines';

export type FieldMetadata = {
  /** The ERP's own name, lower case. */
  readonly name: string;
  readonly label: string;
  readonly type: FieldType;
  readonly custom: boolean;
  /** False for what must not or can't be read; `reason` says why. */
  readonly syncable: boolean;
  /** Changes in the ERP without the record's modification time moving. Volatile `lines` are not part of a scan: see `scan`. */
  readonly volatile: boolean;
  readonly reason: string | null;
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
  readonly idType: 'integer' | 'text';
  readonly fields: readonly FieldMetadata[];
  readonly openWhen: OpenWhen;
  /** The `time` field that says when a record was changed last; null where there is none, so that only full runs find changes. */
  readonly modifiedField: string | null;
};

/**
 * Which records are still open: their volatile fields may change without their modification time moving. Told over the values
 * that were last read: null: of none, as no field is volatile · 'always': of every record · else of those whose `field` has
 * none of these values. An empty value is none of them. Number fields compare as numbers, all others as text. What was closed
 * may still be reopened behind our back, and labels change on closed records as well: a scan of all records finds both.
 */
export type OpenWhen = null | 'always' | { readonly field: string; readonly isNoneOf: readonly string[] };

/**
 * text, reference, list: as is · number: decimal digits · integer: digits · boolean: 'true' or 'false' · date: YYYY-MM-DD ·
 * time: YYYY-MM-DDTHH:MM:SSZ · null: the ERP has no value. A reference or list field also has its label, if the ERP gives one.
 */
export type SourceValue = string | null;
export type SourceLine = Readonly<Record<string, SourceValue>>;

export type SourceRecord = {
  readonly id: string;
  /** When the ERP last changed it, as a `time`; null where the ERP doesn't say. */
  readonly modifiedAt: string | null;
  readonly values: Readonly<Record<string, SourceValue>>;
  /** Display text of reference and list fields, by field name. */
  readonly labels: Readonly<Record<string, SourceValue>>;
  /** In line order; null for record types without lines. Line references carry `<field>.name` beside `<field>`. */
  readonly lines: readonly SourceLine[] | null;
};

/** Has the display text of what it names, which changes when that is renamed. */
export const hasLabel = (field: Pick<FieldMetadata, 'type'>): boolean => field.type === 'reference' || field.type === 'list';

/** The header fields that a scan is for: their value or their label changes without the modification time moving. */
export const scannedFields = ({ fields }: Pick<RecordTypeMetadata, 'fields'>): readonly FieldMetadata[] =>
  fields.filter((field) => field.syncable && field.type !== 'lines' && (field.volatile || hasLabel(field)));

/** A record that was read but can't be stored as it is. */
export type RejectedRecord = { readonly id: string; readonly code: string; readonly message: string };

export type PageRequest = {
  readonly recordType: RecordTypeMetadata;
  /** Names of the fields wanted; `lines` among them brings the lines with all of their syncable fields. */
  readonly fields: readonly string[];
  /** Last id of the page before; null for the first page. */
  readonly afterId: string | null;
  /** Only records changed at or after this instant; null for all. */
  readonly changedSince: Date | null;
  /** At most so many records. With lines a page ends earlier when it holds many of them; only `hasMore` says that it was the last. */
  readonly limit: number;
  readonly signal: AbortSignal;
};

export type Page = {
  readonly records: readonly SourceRecord[];
  readonly rejected: readonly RejectedRecord[];
  /** Ids ascend over pages, integers as numbers, texts by their bytes. Null only when the page is empty. */
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

type ScanSelection =
  | { readonly afterId: string | null; readonly limit: number; readonly ids?: undefined }
  | { readonly ids: readonly string[]; readonly afterId?: undefined };
export type ScanRequest = Pick<PageRequest, 'recordType' | 'fields' | 'signal'> & ScanSelection;
/** A record without its lines; `values` has the fields that were asked for, the id, and the modification time if there is one. */
export type ScannedRecord = Omit<SourceRecord, 'lines'>;
export type ScanPage = Omit<Page, 'records'> & { readonly records: readonly ScannedRecord[] };

export type DeletedRecord = {
  readonly id: string;
  /** When it was deleted: a `time`, or a `date` in the ERP's own zone where that is all it tells, or null where it tells nothing. */
  readonly deletedAt: string | null;
};
/** What the ERP's own list of deletions says; `available: false` where this role may not read it. Not proof: ask for the ids. */
export type Deletions =
  | { readonly available: true; readonly deleted: readonly DeletedRecord[] }
  | { readonly available: false; readonly reason: string; readonly fix: string };

export type ConnectionProblem = { readonly code: string; readonly message: string; readonly fix: string };
export type ConnectionReport = {
  /** It can be synced from; `problems` may still name what this role does not see. */
  readonly ok: boolean;
  readonly latencyMs: number;
  readonly account: string;
  readonly problems: readonly ConnectionProblem[];
};

/** How much of a payment goes to one invoice: decimal digits, in the payment's currency. */
export type Application = { readonly invoiceId: string; readonly amount: string };
export type PaymentOrder = {
  /** No two payments in the ERP have the same. */
  readonly externalId: string;
  readonly customerId: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly amount: string;
  /** What they leave of the amount stays unapplied. */
  readonly applications: readonly Application[];
  readonly memo: string;
  /** Where the money lies, as the ERP names its accounts; null for where it keeps money that is not at the bank yet. */
  readonly account: string | null;
};
export type PaymentRecord = {
  readonly id: string;
  readonly customerId: string;
  /** ISO 4217; null where the ERP does not say. */
  readonly currency: string | null;
  readonly amount: string;
  readonly applications: readonly Application[];
  /** Neither applied to an invoice nor given back. */
  readonly unapplied: string;
};
export type RefundOrder = Omit<PaymentOrder, 'applications'> & {
  /** The ERP's id of the payment of which this is given back; so much of it must be unapplied. */
  readonly paymentId: string;
  /** How it is given back, as the ERP names its methods; null for what it takes by itself. */
  readonly method: string | null;
};
export type RefundRecord = {
  readonly id: string;
  readonly customerId: string;
  readonly of: readonly { readonly paymentId: string; readonly amount: string }[];
};

/**
 * Puts payments and refunds into the ERP's books. What it refuses by its own rules is an ErpError of kind `query`, whose `fix` says what
 * a person can do; a call that ends otherwise may have had its effect all the same, so whoever calls again looks it up before.
 */
export type PaymentWriter = {
  /** What each invoice still takes of a payment. Absent: there is no such invoice. */
  dueOn(invoiceIds: readonly string[], signal: AbortSignal): Promise<readonly { readonly invoiceId: string; readonly due: string }[]>;
  /** By external id; null when the ERP has none, or shows none. */
  findPayment(externalId: string, signal: AbortSignal): Promise<PaymentRecord | null>;
  /** By the ERP's own id; null when it is not there any more. */
  readPayment(id: string, signal: AbortSignal): Promise<PaymentRecord | null>;
  /** Gives the ERP's id. All of it or nothing. */
  createPayment(order: PaymentOrder, signal: AbortSignal): Promise<string>;
  /** Makes these the amounts that the payment has on these invoices, "0" for nothing; others stay. */
  changeApplications(paymentId: string, applications: readonly Application[], signal: AbortSignal): Promise<void>;
  findRefund(externalId: string, signal: AbortSignal): Promise<RefundRecord | null>;
  createRefund(order: RefundOrder, signal: AbortSignal): Promise<string>;
};

export type Connector = {
  /** A real round trip: credentials, clock, one row. Never throws for what the ERP answers. */
  test(signal: AbortSignal): Promise<ConnectionReport>;
  /** The ERP's own clock. */
  now(signal: AbortSignal): Promise<Date>;
  /** Every record type that the account lets us read, with each column probed. */
  metadata(signal: AbortSignal): Promise<readonly RecordTypeMetadata[]>;
  count(recordType: RecordTypeMetadata, signal: AbortSignal): Promise<number>;
  readPage(request: PageRequest): Promise<Page>;
  /**
   * Records by id, at most 1,000 ids; ids that the ERP does not know are absent from the answer. All of them come at once, so ask
   * for fewer where records have many lines.
   */
  readByIds(request: Pick<PageRequest, 'recordType' | 'fields' | 'signal'> & { ids: readonly string[] }): Promise<Page>;
  /**
   * Ids alone, ascending, each as often as it is counted: the cheap scan behind proofs and deletions, complete unless
   * `changedSince` narrows it.
   */
  listIds(
    request: Pick<PageRequest, 'recordType' | 'afterId' | 'limit' | 'signal'> & Partial<Pick<PageRequest, 'changedSince'>>,
  ): Promise<{ ids: readonly string[]; hasMore: boolean }>;
  /**
   * Header fields without lines, one question to the ERP per page: by id, or for at most 1,000 ids, of which absent ones are absent
   * from the answer. For `scannedFields`; where lines are volatile, read the open records with `readByIds` instead.
   */
  scan(request: ScanRequest): Promise<ScanPage>;
  /**
   * Ids that the ERP lists as deleted at or after this instant, each once. May name some that were deleted up to three days earlier,
   * that are of another record type, or that exist: remove only what `readByIds` no longer finds.
   */
  deletedSince(request: Pick<PageRequest, 'recordType' | 'signal'> & { readonly since: Date }): Promise<Deletions>;
  /** Absent where the ERP takes no payments from outside. */
  readonly payments?: PaymentWriter;
};

/** Why a call to the ERP failed, and so what may be done about it. */
export type ErpErrorKind =
  | 'credentials' // refused: do not retry, pause and tell a person
  | 'forbidden' // this role may not read that
  | 'throttled' // slow down and try again
  | 'down' // no answer, a 5xx, a cut connection: try again later
  | 'query' // the ERP refuses the question or the write itself: retrying can't help
  | 'answer'; // the answer breaks the ERP's own rules: don't trust it

export class ErpError extends Error {
  readonly kind: ErpErrorKind;
  /** Stable and upper case, such as TOKEN_REFUSED. */
  readonly code: string;
  /** What a person can do about it, in one sentence. */
  readonly fix: string;
  readonly retryAfterMs: number | null;
  constructor(kind: ErpErrorKind, code: string, message: string, options: { fix: string; retryAfterMs?: number; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'ErpError';
    this.kind = kind;
    this.code = code;
    this.fix = options.fix;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** What each ERP's folder offers: how to open a connection from its stored settings and secrets. */
export type ConnectorKind<Settings, Secrets> = {
  open(ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>, settings: Settings, secrets: Secrets): Connector;
};
