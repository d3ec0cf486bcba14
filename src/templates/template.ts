// What a template is, what bounds it, and what can be wrong with it. The same words are spoken on both sides of the thread.

export const templateLimits = {
  /** Characters of one text of a template. */
  sourceLength: 65_536,
  /** Characters that one rendering puts out, all its texts together. */
  outputLength: 1_048_576,
  /** Characters and list items that filters, loops and captures of one text may make while it is rendered. */
  work: 4_000_000,
  /** Bytes of the data as JSON. */
  dataBytes: 4_194_304,
  /** After so much processor time a text stops by itself. */
  renderMs: 1_000,
  /** After so long, counted from when its turn came, the thread is ended, whatever it does. */
  deadlineMs: 5_000,
  /** Heap of the thread. */
  heapMb: 96,
  /** Renderings that wait for their turn; more are refused. */
  waiting: 100,
  /** Problems named at once. */
  problems: 50,
} as const;

/**
 * One text of a template. `html`: what data put in is escaped. `text`: nothing is escaped. `line`: as `text`, and it becomes one
 * line without control characters, as a mail's subject must be.
 */
export type TemplatePart = { readonly source: string; readonly as: 'html' | 'text' | 'line' };

/** `column` counts from 1; both are null where a problem has no place. */
export type TemplateProblem = {
  /** Name of the part. */
  readonly part: string;
  readonly code:
    | 'syntax'
    | 'undefined_variable'
    | 'failed'
    | 'too_long'
    | 'too_slow'
    | 'too_much_work'
    | 'too_much_output'
    | 'too_much_data';
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
};

export type TemplateParts<Name extends string = string> = Readonly<Record<Name, TemplatePart>>;

/** What the thread is asked. */
export type Task = { readonly kind: 'check'; readonly parts: TemplateParts } | RenderTask;
export type RenderTask = {
  readonly kind: 'render';
  readonly parts: TemplateParts;
  /** JSON of an object: whatever crosses over is plain data. */
  readonly data: string;
  /** RFC 3339. What `now` and `today` mean, and the variable `now`. */
  readonly now: string;
  /** IANA name of the zone in which instants are written. */
  readonly timeZone: string;
  /** Whether variables that are missing are told as problems; they are empty either way. */
  readonly tellMissing: boolean;
};

export type Done = { readonly texts: Readonly<Record<string, string>>; readonly problems: readonly TemplateProblem[] };
