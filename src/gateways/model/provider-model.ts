// Answers with a provider's model: calls it, runs the tools that it requests, and calls it again with their
// results, within the limits. The loop is our own so that tokens, time and each tool's output are limited
// over all steps; the library handles the providers' formats.
import {
  jsonSchema,
  type ModelMessage as LibraryMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
  type TypedToolCall,
  tool,
} from 'ai';
import type { Clock } from '../../core/clock.ts';
import {
  answerAborted,
  answerTimedOut,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelUsage,
} from './model.ts';
import { answerCutOff, emptyAnswer, providerError } from './provider-errors.ts';
import { createProviderFetch } from './provider-fetch.ts';
import type { Provider } from './providers.ts';
import { runTool } from './run-tool.ts';
import {
  addUsage,
  estimateUsage,
  maxBytesPerToken,
  responseLimit,
  type Traffic,
  usableUsage,
} from './usage.ts';

type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly problem: string | undefined;
};
type Step = {
  readonly calls: readonly ToolCall[];
  readonly reason: 'complete' | 'declined';
  readonly messages: readonly LibraryMessage[];
};
type AnswerState = {
  readonly request: ModelRequest;
  readonly provider: Provider;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  readonly tools: ToolSet;
  readonly messages: LibraryMessage[];
  /** Of all completed steps. */
  usage: ModelUsage;
  /** The text of all steps. */
  text: string;
  /** The call of the model in progress. `isAnswered`: the provider has begun to answer it. */
  call: (Traffic & { receivedBytes: number; isAnswered: boolean }) | undefined;
};

/** Of one step. Each further call gets an error that the model can read. */
const maxToolCalls = 16;
/** A step with more ends the answer: each call, run or not, is reported, stored, and sent again. */
const maxListedCalls = 400;
const tooManyToolCalls = `Not run: a step may call at most ${maxToolCalls} tools. Call it again in the next step if it is still needed`;

globalThis.AI_SDK_LOG_WARNINGS = false;

/** Tools without `execute`: this file runs them, so that their output is limited and reported as events. */
const toToolSet = ({ tools }: ModelRequest): ToolSet =>
  Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema) }),
    ]),
  );

const sentBytes = ({ request, messages }: AnswerState): number =>
  Buffer.byteLength(JSON.stringify([request.instructions, messages, request.tools]));

/** The bytes that a part of a response adds to what the model has written. */
function writtenBytes(part: TextStreamPart<ToolSet>): number {
  if (part.type === 'text-delta' || part.type === 'reasoning-delta') return Buffer.byteLength(part.text);
  if (part.type === 'tool-input-start') return Buffer.byteLength(part.id + part.toolName);
  return part.type === 'tool-input-delta' ? Buffer.byteLength(part.delta) : 0;
}

const limitReached = (message: string): ModelError => new ModelError('limit-reached', message);

/** How many tokens the next step may write. Throws a ModelError when none are left. */
function tokensLeft({ request: { limits }, usage }: AnswerState): number {
  if (limits.inputTokens !== undefined && usage.inputTokens >= limits.inputTokens)
    throw limitReached(`The answer exceeded its limit of ${limits.inputTokens} input tokens`);
  const left = limits.outputTokens - usage.outputTokens;
  if (left < 1) throw outputLimitReached(limits);
  return left;
}

const outputLimitReached = (limits: ModelRequest['limits']): ModelError =>
  limitReached(`The answer exceeded its limit of ${limits.outputTokens} output tokens`);

const toToolCall = ({ toolCallId, toolName, input, invalid }: TypedToolCall<ToolSet>): ToolCall => ({
  id: toolCallId,
  name: toolName,
  input,
  problem:
    invalid === true
      ? 'Invalid tool call: the tool must exist, and its input must be JSON that matches its schema'
      : undefined,
});

const fetchForCall = async (
  state: AnswerState,
  call: { isAnswered: boolean },
  ...request: Parameters<AnswerState['fetch']>
): Promise<Response> => {
  const response = await state.fetch(...request);
  call.isAnswered = response.ok;
  return response;
};

/** One call of the model. Throws ModelErrors and whatever the library throws. */
async function* runStep(state: AnswerState): AsyncGenerator<ModelEvent, Step, undefined> {
  const { request, messages, provider, signal, tools } = state;
  const maxOutputTokens = tokensLeft(state);
  const call = { sentBytes: sentBytes(state), receivedBytes: 0, maxOutputTokens, isAnswered: false };
  state.call = call;
  const result = streamText({
    model: provider.languageModel((input, init) => fetchForCall(state, call, input, init)),
    system: request.instructions,
    messages,
    tools,
    maxOutputTokens,
    maxRetries: 0,
    abortSignal: signal,
    onError: () => undefined,
  });
  const calls: ToolCall[] = [];
  let ended: { reason: string; hasReason: boolean } | undefined;
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw signal.reason;
    call.receivedBytes += writtenBytes(part);
    if (call.receivedBytes > maxOutputTokens * maxBytesPerToken) throw outputLimitReached(request.limits);
    if (part.type === 'text-delta' && part.text !== '') {
      state.text += part.text;
      yield { type: 'text', text: part.text };
    } else if (part.type === 'tool-call') {
      if (calls.length === maxListedCalls)
        throw limitReached(`The model called more than ${maxListedCalls} tools in one step`);
      calls.push(toToolCall(part));
    } else if (part.type === 'finish-step') {
      state.usage = addUsage(state.usage, usableUsage(part.usage, call));
      state.call = undefined;
      ended = { reason: part.finishReason, hasReason: part.rawFinishReason !== undefined };
    }
  }
  if (ended === undefined || !ended.hasReason) throw answerCutOff();
  if (ended.reason === 'length') throw outputLimitReached(request.limits);
  const assistantMessages = (await result.response).messages.filter(({ role }) => role === 'assistant');
  const reason = ended.reason === 'content-filter' ? 'declined' : 'complete';
  return { calls, messages: assistantMessages, reason };
}

/** Runs a step's tool calls concurrently; reports and passes on the results in the order of the calls. */
async function* runToolCalls(
  { request, signal, messages }: AnswerState,
  calls: readonly ToolCall[],
): AsyncGenerator<ModelEvent, void, undefined> {
  const running = calls.map(async ({ name, input, problem }, index) => {
    const refusal = index < maxToolCalls ? problem : tooManyToolCalls;
    return refusal === undefined
      ? runTool(request.tools, { name, input }, request.limits.toolOutputBytes, signal)
      : { ok: false, output: refusal };
  });
  for (const { id, name, input } of calls) yield { type: 'tool-started', id, name, input };
  for (const [index, { id, name }] of calls.entries()) {
    const { ok, output } = (await abortable(running[index], signal)) ?? { ok: false, output: '' };
    yield { type: 'tool-ended', id, name, ok, output };
    messages.push({
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: id,
          toolName: name,
          output: { type: ok ? 'text' : 'error-text', value: output },
        },
      ],
    });
  }
}

/** Rejects as soon as the signal is aborted, even if the tool ignores it. */
function abortable<T>(work: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', stop));
}

async function* runSteps(state: AnswerState): AsyncGenerator<ModelEvent, void, undefined> {
  for (let step = 1; step <= state.request.limits.steps; step += 1) {
    const { calls, reason, messages } = yield* runStep(state);
    if (calls.length === 0) {
      if (state.text.trim() === '' && reason === 'complete') throw emptyAnswer();
      return yield { type: 'finished', reason, text: state.text, usage: state.usage };
    }
    state.messages.push(...messages);
    yield* runToolCalls(state, calls);
  }
  throw limitReached(`The answer exceeded its limit of ${state.request.limits.steps} steps`);
}

/** `answer` throws, and `check` rejects with, ModelErrors only. `name` is `<provider>/<model>`. */
export function createProviderModel(
  { clock }: { readonly clock: Clock },
  name: string,
  provider: Provider,
): Model {
  async function* answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const abandoned = new AbortController();
    const timeout = AbortSignal.timeout(request.limits.timeMs);
    const state: AnswerState = {
      request,
      provider,
      fetch: createProviderFetch(
        clock,
        clock.monotonicMs() + request.limits.timeMs,
        responseLimit(request.limits.outputTokens),
      ),
      signal: AbortSignal.any([request.signal, timeout, abandoned.signal]),
      tools: toToolSet(request),
      messages: request.messages.map(({ role, content }) => ({ role, content })),
      usage: { inputTokens: 0, outputTokens: 0 },
      text: '',
      call: undefined,
    };
    try {
      yield* runSteps(state);
    } catch (error) {
      throw withUsage(
        state,
        request.signal.aborted ? answerAborted() : timeout.aborted ? answerTimedOut(request.limits) : error,
      );
    } finally {
      abandoned.abort();
    }
  }
  return { name, answer, check: (signal) => check(answer, signal) };
}

/**
 * Adds the usage so far. That of an interrupted call is estimated; one that the provider refused or never
 * received cost nothing.
 */
function withUsage({ provider, signal, usage, call }: AnswerState, error: unknown): ModelError {
  const failure = error instanceof ModelError ? error : providerError(error, provider.secrets);
  const isCharged = call !== undefined && (call.isAnswered || signal.aborted);
  return new ModelError(failure.kind, failure.message, {
    usage: isCharged ? addUsage(usage, estimateUsage(call)) : usage,
    cause: failure.cause,
  });
}

const probe: Omit<ModelRequest, 'signal'> = {
  instructions: 'This is a test of the connection. Answer with the word ok.',
  messages: [{ role: 'user', content: 'Say ok.' }],
  // Agents need tools. A model that can't call them rejects a request that includes one.
  tools: [
    {
      name: 'describe',
      description: 'Describes the data. Not needed for this test.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      run: async () => 'Nothing to describe.',
    },
  ],
  limits: { steps: 2, outputTokens: 256, toolOutputBytes: 1_000, timeMs: 30_000 },
};

async function check(answer: Model['answer'], signal: AbortSignal): Promise<void> {
  try {
    for await (const _event of answer({ ...probe, signal }));
  } catch (error) {
    // A model that reached the output limit works; only a timeout without output is a failure.
    const wrote =
      error instanceof ModelError && error.kind === 'limit-reached' && error.usage.outputTokens > 0;
    if (!wrote) throw error;
  }
}
