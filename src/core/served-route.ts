// What a request turned out to ask for, in words that no caller chooses: for the log and for counting. There are as many of them as
// there are lines of code that name one.

export type Served = {
  /** As described, with its parameters in braces. */
  readonly route: string;
  /** Requests of one kind take about as long. */
  readonly kind: ServedKind;
};

export type ServedKind =
  | 'list'
  | 'record'
  | 'changes'
  | 'export'
  | 'description'
  | 'public'
  | 'platform'
  | 'stream'
  | 'mcp'
  | 'page'
  | 'other';

/** Takes the place of what was noted before. */
export type NoteServed = (served: Served) => void;
