// Answers with a provider's model: asks it, runs the tools that it calls, and asks again with what they said, within the limits. The
// loop is ours so that tokens, time and each tool's output are bounded over all steps; the library speaks the providers' formats.
import { jsonSchema, type ModelMessage as LibraryMessage, streamText, type ToolSet, tool } from 'ai';
import type { Clock } from '../../core/clock.ts';
import { callerLeft, type Model, ModelError, type ModelEvent, type ModelRequest, type ModelUsage, tookTooLong } from './model.ts';
import { cutOff, emptyAnswer, providerError } from './provider-errors.ts';
import { openProviderFetch } from './provider-fetch.ts';
import type { Provider } from './providers.ts';
import { runTool } from './run-tool.ts';

type Call = { readonly id: string; readonly name: string; readonly input: unknown; readonly problem: string | undefined };
type Step = { readonly calls: readonly Call[]; readonly reason: 'complete' | 'declined'; readonly messages: readonly LibraryMessage[] };
type Turn = {
  readonly request: ModelRequest;
  readonly provider: Provider;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  readonly tools: ToolSet;
  readonly messages: LibraryMessage[];
  usage: ModelUsage;
  /** Of the step that is running. */
  stepText: string;
  text: string;
};

/** What counts as a token where nobody counts. */
const charactersPerToken = 4;
/** More text for a token than any language has: whoever sends more ignores the limit. */
const mostCharactersPerToken = 40;

globalThis.AI_SDK_LOG_WARNINGS = false;

const estimated = (characters: number): number => Math.ceil(characters / charactersPerToken);
const plus = (a: ModelUsage, b: ModelUsage): ModelUsage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
});

/** Without `run`: this file runs them, so that their answers are bounded and told. */
const toolSetOf = ({ tools }: ModelRequest): ToolSet =>
  Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [name, tool({ description, inputSchema: jsonSchema(inputSchema) })]),
  );

const promptUsage = ({ request, messages, stepText }: Turn): ModelUsage => ({
  inputTokens: estimated(JSON.stringify([request.instructions, messages, request.tools]).length),
  outputTokens: estimated(stepText.length),
});

const limitReached = (message: string): ModelError => new ModelError('limit-reached', message);

/** The tokens that the next step may write. Throws when nothing is left. */
function tokensLeft({ request: { limits }, usage }: Turn): number {
  if (limits.inputTokens !== undefined && usage.inputTokens >= limits.inputTokens)
    throw limitReached(`The answer needed more than ${limits.inputTokens} tokens of reading`);
  const left = limits.outputTokens - usage.outputTokens;
  if (left < 1) throw tooMuchWritten(limits);
  return left;
}

const tooMuchWritten = (limits: ModelRequest['limits']): ModelError =>
  limitReached(`The answer is longer than its limit of ${limits.outputTokens} tokens`);

/** One call of the model. Throws ModelErrors and whatever the library throws. */
async function* ask(turn: Turn): AsyncGenerator<ModelEvent, Step, undefined> {
  const { request, messages, provider, signal, tools } = turn;
  const maxOutputTokens = tokensLeft(turn);
  turn.stepText = '';
  const result = streamText({
    model: provider.languageModel(turn.fetch),
    system: request.instructions,
    messages,
    tools,
    maxOutputTokens,
    maxRetries: 0,
    abortSignal: signal,
    onError: () => undefined,
  });
  const calls: Call[] = [];
  let ended: { reason: string; said: boolean } | undefined;
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw signal.reason;
    if (part.type === 'text-delta' && part.text !== '') {
      turn.stepText += part.text;
      if (turn.stepText.length > maxOutputTokens * mostCharactersPerToken) throw tooMuchWritten(request.limits);
      yield { type: 'text', text: part.text };
    } else if (part.type === 'tool-call') {
      calls.push({
        id: part.toolCallId,
        name: part.toolName,
        input: part.input,
        problem:
          part.invalid === true ? 'The call could not be read: its input must be JSON that fits the schema of a known tool' : undefined,
      });
    } else if (part.type === 'finish-step') {
      const counted = promptUsage(turn);
      turn.usage = plus(turn.usage, {
        inputTokens: part.usage.inputTokens ?? counted.inputTokens,
        outputTokens: part.usage.outputTokens ?? counted.outputTokens,
      });
      ended = { reason: part.finishReason, said: part.rawFinishReason !== undefined };
      turn.text += turn.stepText;
      turn.stepText = '';
    }
  }
  if (ended === undefined || !ended.said) throw cutOff();
  if (ended.reason === 'length') throw tooMuchWritten(request.limits);
  const said = (await result.response).messages.filter(({ role }) => role === 'assistant');
  return { calls, messages: said, reason: ended.reason === 'content-filter' ? 'declined' : 'complete' };
}

/** All calls of a step at once; their answers are told and handed back in the order of the calls. */
async function* runCalls({ request, signal, messages }: Turn, calls: readonly Call[]): AsyncGenerator<ModelEvent, void, undefined> {
  const running = calls.map(async ({ name, input, problem }) =>
    problem === undefined
      ? runTool(request.tools, { name, input }, request.limits.toolOutputBytes, signal)
      : { ok: false, output: problem },
  );
  for (const { id, name, input } of calls) yield { type: 'tool-started', id, name, input };
  for (const [index, { id, name }] of calls.entries()) {
    const { ok, output } = (await within(running[index], signal)) ?? { ok: false, output: '' };
    yield { type: 'tool-ended', id, name, ok, output };
    messages.push({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: id, toolName: name, output: { type: ok ? 'text' : 'error-text', value: output } }],
    });
  }
}

/** A tool that doesn't look at its signal doesn't hold up the end. */
function within<T>(work: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', stop));
}

async function* steps(turn: Turn): AsyncGenerator<ModelEvent, void, undefined> {
  for (let step = 1; step <= turn.request.limits.steps; step += 1) {
    const { calls, reason, messages } = yield* ask(turn);
    if (calls.length === 0) {
      if (turn.text.trim() === '' && reason === 'complete') throw emptyAnswer();
      return yield { type: 'finished', reason, text: turn.text, usage: turn.usage };
    }
    turn.messages.push(...messages);
    yield* runCalls(turn, calls);
  }
  throw limitReached(`The answer needed more than ${turn.request.limits.steps} steps`);
}

export function openProviderModel({ clock }: { readonly clock: Clock }, name: string, provider: Provider): Model {
  async function* answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const left = new AbortController();
    const late = AbortSignal.timeout(request.limits.timeMs);
    const turn: Turn = {
      request,
      provider,
      fetch: openProviderFetch(clock, clock.monotonicMs() + request.limits.timeMs),
      signal: AbortSignal.any([request.signal, late, left.signal]),
      tools: toolSetOf(request),
      messages: request.messages.map(({ role, content }) => ({ role, content })),
      usage: { inputTokens: 0, outputTokens: 0 },
      stepText: '',
      text: '',
    };
    try {
      yield* steps(turn);
    } catch (error) {
      throw withUsage(turn, request.signal.aborted ? callerLeft() : late.aborted ? tookTooLong(request.limits) : error);
    } finally {
      left.abort();
    }
  }
  return { name, answer, check: (signal) => check(answer, signal) };
}

/** What was used until then, the broken step by estimate. */
function withUsage(turn: Turn, error: unknown): ModelError {
  const told = error instanceof ModelError ? error : providerError(error, turn.provider.secrets);
  const began = turn.stepText === '' ? { inputTokens: 0, outputTokens: 0 } : promptUsage(turn);
  return new ModelError(told.kind, told.message, { usage: plus(turn.usage, began), cause: told.cause });
}

const probe: Omit<ModelRequest, 'signal'> = {
  instructions: 'This is a test of the connection. Answer with the word ok.',
  messages: [{ role: 'user', content: 'Say ok.' }],
  // A model that can't call tools is no use to an agent, and says so when it is offered one.
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
    // Whoever reaches a limit was there and wrote; only waiting too long is a failure here.
    const wrote = error instanceof ModelError && error.kind === 'limit-reached' && error.usage.outputTokens > 0;
    if (!wrote) throw error;
  }
}
