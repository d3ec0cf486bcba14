// The interface of a language model, independent of its provider: messages in, events out, and one kind of
// error. Models reach data only through the tools in the request.

export type ModelMessage =
  | { readonly role: 'user'; readonly content: string }
  /** An earlier answer, verbatim. The results of its tool calls are not repeated. */
  | { readonly role: 'assistant'; readonly content: string };

export type ModelTool = {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /**
   * Resolves to the result as text. Validates its input itself. The message of an AppError goes to the model;
   * any other error is reported only as a failure.
   */
  run(input: unknown, signal: AbortSignal): Promise<string>;
};

export type ModelLimits = {
  /** Maximum number of calls of the model; each but the last may call tools, a limited number at once. */
  readonly steps: number;
  /** Maximum over all steps. */
  readonly outputTokens: number;
  /** Maximum over all steps, as the provider counts them; checked before each step. */
  readonly inputTokens?: number;
  /** Maximum size of one tool result in UTF-8. Longer ones are truncated with a note to the model. */
  readonly toolOutputBytes: number;
  /** Time limit of the whole answer, including waits for a busy provider. */
  readonly timeMs: number;
};

export type ModelRequest = {
  readonly instructions: string;
  /** The last message is the user's. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly limits: ModelLimits;
  /** Aborted when the caller goes away; the call of the provider is then cancelled too. */
  readonly signal: AbortSignal;
};

/**
 * In tokens: whole numbers, never negative. Estimated when the provider's count is missing or impossible or
 * the call was interrupted.
 */
export type ModelUsage = { readonly inputTokens: number; readonly outputTokens: number };

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool-started'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly type: 'tool-ended';
      readonly id: string;
      readonly name: string;
      readonly ok: boolean;
      readonly output: string;
    }
  /**
   * Always the last event; `text` is the whole answer. `declined`: the model refused to answer, or asked for
   * clarification.
   */
  | {
      readonly type: 'finished';
      readonly reason: 'complete' | 'declined';
      readonly text: string;
      readonly usage: ModelUsage;
    };

export type Model = {
  readonly name: string;
  /**
   * Ends with `finished` or throws a ModelError, and nothing else: a truncated answer never ends as if it
   * were complete. A consumer that stops reading cancels the call.
   */
  answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined>;
  /** Tests the model with one small request that includes a tool. Rejects with a ModelError. */
  check(signal: AbortSignal): Promise<void>;
};

export type ModelErrorKind =
  /** The provider is busy or its quota is used up, and waiting would exceed the time limit. */
  | 'rate-limited'
  | 'refused-credentials'
  /** The provider rejects the request: an unknown model, or one without tools. */
  | 'rejected'
  | 'unavailable'
  | 'malformed-answer'
  | 'cut-off'
  /** The conversation exceeds the model's context. */
  | 'too-long'
  /** The request's signal was aborted. */
  | 'aborted'
  /** One of the request's own limits was reached. */
  | 'limit-reached';

/** `message` is a sentence for people, without secrets; `cause` is for the log. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  /** Usage up to the failure. */
  readonly usage: ModelUsage;

  constructor(kind: ModelErrorKind, message: string, options: { usage?: ModelUsage; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.usage = options.usage ?? { inputTokens: 0, outputTokens: 0 };
  }
}

/** Errors for answers that this side ends, the same for every model. */
export const answerAborted = (): ModelError =>
  new ModelError('aborted', 'The answer was cancelled because the client disconnected');
export const answerTimedOut = ({ timeMs }: ModelLimits): ModelError =>
  new ModelError(
    'limit-reached',
    `The answer took longer than its limit of ${Math.ceil(timeMs / 1_000)} seconds`,
  );
