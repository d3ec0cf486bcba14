// What a document consists of, its limits, and what the thread answers. Shared by service and thread.

export const pdfLimits = {
  /** Rows of all tables: 5,000 of a statement, and its balances. */
  maxRows: 5_100,
  maxTextBytes: 2_000_000,
  maxLogoBytes: 262_144,
  /** Wall-clock time after which the thread is terminated, counted from when it started on the document. */
  deadlineMs: 15_000,
  /** Heap of the thread. */
  maxHeapMb: 96,
  /** Documents that wait for the thread; more are refused. */
  maxWaiting: 50,
  /** Of one organization, so that the others' don't wait behind them. */
  maxWaitingPerOwner: 10,
} as const;

/** All texts are worded and formatted in the reader's language; nothing in them is markup. */
export type PdfDocument = {
  /** BCP 47, for the metadata. */
  readonly language: string;
  readonly title: string;
  readonly brand: {
    readonly name: string;
    /** `#rrggbb` */
    readonly accent: string;
    readonly logo: PdfLogo | null;
  };
  /** Lines of the company's address; may be empty. */
  readonly from: readonly string[];
  /** Lines of the customer's address; may be empty. */
  readonly to: readonly string[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly tables: readonly PdfTable[];
  /** Paragraphs below the tables. */
  readonly notes: readonly string[];
  /** `Page {page} of {pages}` */
  readonly pageOf: string;
};

export type PdfLogo = {
  readonly type: 'image/png' | 'image/svg+xml' | 'image/webp';
  readonly bytes: Uint8Array;
};

export type PdfTable = {
  readonly title: string | null;
  /** A `wide` column takes what is left. */
  readonly columns: readonly {
    readonly label: string;
    readonly numeric: boolean;
    readonly wide?: boolean;
  }[];
  readonly rows: readonly (readonly string[])[];
  /** Below the table, right-aligned: subtotal, tax, total. */
  readonly totals: readonly { readonly label: string; readonly value: string; readonly strong?: boolean }[];
};

/** `cannotSet`: the first characters that fonts or layout can't set, at most 20 distinct ones. */
export type PdfResult = { readonly bytes: Uint8Array } | { readonly cannotSet: string };
