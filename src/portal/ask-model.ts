// What the page of questions shows: plain values, as in view-model.ts.

/** `at`: when one can go on; RFC 3339. */
export type AskProblem = {
  readonly code: 'empty' | 'too_long' | 'limit' | 'running' | 'credits' | 'busy' | 'unavailable';
  readonly at: string | null;
};
export type AskFailure = 'access' | 'incomplete' | 'declined' | 'busy' | 'too_much' | 'failed';

/** A question with what is known of its answer. */
export type AskTurn = {
  readonly question: string;
  readonly askedAt: string;
  /** Made from Markdown, and safe; empty where nothing is said yet. */
  readonly html: string;
  readonly sources: readonly { readonly label: string; readonly href: string }[];
  readonly isRunning: boolean;
  readonly failure: AskFailure | null;
};

export type AskPage = {
  readonly kind: 'ask';
  readonly address: string;
  /** Oldest first. */
  readonly turns: readonly AskTurn[];
  /** Server-sent events, while the newest question is being answered. */
  readonly events: string | null;
  readonly typed: string;
  readonly maxLength: number;
  readonly problem: AskProblem | null;
  /** How many more questions can be asked today. */
  readonly left: number;
  readonly canAsk: boolean;
};
