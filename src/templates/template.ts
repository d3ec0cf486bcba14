// Types shared by service and template thread: templates, limits, problems, and tasks of the thread.

export const templateLimits = {
  /** Characters of one text of a template. */
  maxSourceLength: 65_536,
  /** Characters that one rendering outputs, all its texts together. */
  maxOutputLength: 1_048_576,
  /** Characters and list items that filters, loops and captures of one text may produce in a rendering. */
  maxWork: 4_000_000,
  /** Bytes of the data as JSON. */
  maxDataBytes: 4_194_304,
  /** CPU time after which the rendering of one text stops by itself. */
  maxCpuMs: 1_000,
  /** Wall-clock time after which the thread is terminated, counted from when it started on the task. */
  deadlineMs: 5_000,
  /** Heap of the thread. */
  maxHeapMb: 96,
  /** Tasks that wait for the thread; more are refused. */
  maxWaiting: 100,
  /** Problems reported at once. */
  maxProblems: 50,
} as const;

/**
 * One text of a template. `html`: values from data are escaped. `text`: nothing is escaped. `line`: as
 * `text`, and the result becomes one line without control characters, as a mail's subject must be.
 */
export type TemplatePart = { readonly source: string; readonly as: 'html' | 'text' | 'line' };

/** `line` and `column` count from 1; both are null where a problem has no position. */
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

/** A task for the thread. */
export type TemplateTask = { readonly kind: 'check'; readonly parts: TemplateParts } | RenderTask;
export type RenderTask = {
  readonly kind: 'render';
  readonly parts: TemplateParts;
  /** JSON of an object, so that only plain data reaches the thread. */
  readonly data: string;
  /** RFC 3339. The value of the variable `now`, and of `now` and `today` in the date filter. */
  readonly now: string;
  /** IANA name of the time zone in which instants are formatted. */
  readonly timeZone: string;
  /** Whether missing variables are reported as problems; they render as empty either way. */
  readonly reportMissing: boolean;
};

export type TaskResult = {
  readonly texts: Readonly<Record<string, string>>;
  readonly problems: readonly TemplateProblem[];
};
