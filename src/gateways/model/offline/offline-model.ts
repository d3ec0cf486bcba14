// The built-in model: no network, no provider, no tokens. It understands a documented set of question forms
// (docs/offline-model.md), calls the same tools as any other model, and reports only what they return. It
// ignores instructions and earlier messages.
import type { Ctx } from '../../../core/ctx.ts';
import {
  answerAborted,
  answerTimedOut,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
} from '../model.ts';
import { runTool } from '../run-tool.ts';
import { Unclear } from './readings.ts';
import { type OfflineReply, replyTo } from './reply.ts';
import { createTools, ToolFailed, type Tools } from './tools.ts';

/**
 * Higher than other models' limits: this model makes many short calls instead of a few long ones. Tools limit
 * their own output.
 */
const maxToolCalls = 150;

function createModelTools(
  { tools, limits }: ModelRequest,
  signal: AbortSignal,
  report: (event: ModelEvent) => void,
): Tools {
  const results = new Map<string, Promise<string>>();
  const run = async (name: string, input: unknown): Promise<string> => {
    signal.throwIfAborted();
    if (results.size >= maxToolCalls)
      throw new ModelError('limit-reached', `The answer needed more than ${maxToolCalls} tool calls`);
    const id = `call-${results.size + 1}`;
    report({ type: 'tool-started', id, name, input });
    const { ok, output } = await runTool(tools, { name, input }, Number.POSITIVE_INFINITY, signal);
    const shown =
      output.length > limits.toolOutputBytes ? `${output.slice(0, limits.toolOutputBytes)}…` : output;
    report({ type: 'tool-ended', id, name, ok, output: shown });
    if (!ok) throw new ToolFailed(output);
    return output;
  };
  // Different readings of a question look up the same values.
  return createTools((name, input) => {
    const key = JSON.stringify([name, input]);
    const result = results.get(key) ?? run(name, input);
    results.set(key, result);
    return result;
  });
}

/** `answer` throws only ModelErrors; `check` always succeeds. */
export function createOfflineModel({ clock }: Pick<Ctx, 'clock'>): Model {
  async function* answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.limits.timeMs)]);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', reject);
    const events: ModelEvent[] = [];
    const tools = createModelTools(request, signal, (event) => events.push(event));
    const declined = (error: unknown): OfflineReply => {
      if (signal.aborted) throw request.signal.aborted ? answerAborted() : answerTimedOut(request.limits);
      if (error instanceof Unclear) return { text: error.message, isAnswer: false };
      if (error instanceof ToolFailed)
        return { text: `The data could not be read: ${error.message}`, isAnswer: false };
      throw error instanceof ModelError
        ? error
        : new ModelError('unavailable', 'The built-in model failed to answer', { cause: error });
    };
    const question = request.messages.at(-1)?.content ?? '';
    const reply = replyTo(tools, question, clock.now().toISOString().slice(0, 10));
    try {
      const { text, isAnswer } = await Promise.race([reply, aborted]).catch(declined);
      const usage = { inputTokens: 0, outputTokens: 0 };
      events.push(
        { type: 'text', text },
        { type: 'finished', reason: isAnswer ? 'complete' : 'declined', text, usage },
      );
    } finally {
      yield* events;
    }
  }
  return { name: 'offline', answer, check: async () => undefined };
}
