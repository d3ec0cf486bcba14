// What the service knows of a language model, whoever provides it: words in, events out, and one kind of error. Models reach data
// through the tools that the caller hands in and in no other way.

export type ModelMessage =
  | { readonly role: 'user'; readonly content: string }
  /** Earlier answers, as they were given. What their tools answered then is not repeated. */
  | { readonly role: 'assistant'; readonly content: string };

export type ModelTool = {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The answer as text. Checks its input itself; an AppError's message goes to the model, any other error says only that it failed. */
  run(input: unknown, signal: AbortSignal): Promise<string>;
};

export type ModelLimits = {
  /** Calls of the model; each but the last may call tools. */
  readonly steps: number;
  /** Over all steps. */
  readonly outputTokens: number;
  /** Over all steps, as the provider counts them; looked at before each step. */
  readonly inputTokens?: number;
  /** Of one tool's answer, in UTF-8; what is longer is cut, and the model is told so. */
  readonly toolOutputBytes: number;
  /** For everything, waiting for a busy provider included. */
  readonly timeMs: number;
};

export type ModelRequest = {
  readonly instructions: string;
  /** The last one is the user's. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly limits: ModelLimits;
  /** Whoever leaves aborts it; the provider's call then ends too. */
  readonly signal: AbortSignal;
};

/** In tokens. Estimated from the number of characters where a provider doesn't count or a call was interrupted. */
export type ModelUsage = { readonly inputTokens: number; readonly outputTokens: number };

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool-started'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly type: 'tool-ended'; readonly id: string; readonly name: string; readonly ok: boolean; readonly output: string }
  /** Always the last one; `text` is all text of the answer. `declined`: it would not answer, or asked back. */
  | { readonly type: 'finished'; readonly reason: 'complete' | 'declined'; readonly text: string; readonly usage: ModelUsage };

export type Model = {
  readonly name: string;
  /**
   * Ends with `finished` or throws a ModelError: an answer that was cut off never ends as if it were whole. Whoever stops reading
   * ends the call. Throws nothing but ModelErrors.
   */
  answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined>;
  /** One real, tiny round trip with a tool in it. Throws a ModelError. */
  check(signal: AbortSignal): Promise<void>;
};

export type ModelErrorKind =
  /** The provider is busy or the budget there is used up, and waiting would take longer than the time limit. */
  | 'rate-limited'
  | 'refused-credentials'
  /** The provider doesn't take the request: an unknown model, or one without tools. */
  | 'rejected'
  | 'unavailable'
  | 'malformed-answer'
  | 'cut-off'
  /** The conversation is longer than the model takes. */
  | 'too-long'
  /** The request's signal. */
  | 'aborted'
  /** One of the request's own limits. */
  | 'limit-reached';

/** `message` is a plain sentence for people, without secrets; `cause` is for the log. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  /** What had been used by then. */
  readonly usage: ModelUsage;

  constructor(kind: ModelErrorKind, message: string, options: { usage?: ModelUsage; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.usage = options.usage ?? { inputTokens: 0, outputTokens: 0 };
  }
}

/** What ends an answer from this side; the same words whichever model gave it. */
export const callerLeft = (): ModelError => new ModelError('aborted', 'The answer was broken off because nobody waited for it any more');
export const tookTooLong = ({ timeMs }: ModelLimits): ModelError =>
  new ModelError('limit-reached', `The answer took longer than its limit of ${Math.ceil(timeMs / 1_000)} seconds`);
