// The built-in model: no network, no provider, no tokens. It understands a documented set of question forms (docs/offline-model.md), calls
// the same tools as any other model, and reports only what they return. It ignores instructions and earlier messages.
import type { Ctx } from '../../../core/ctx.ts';
import { answerAborted, answerTimedOut, type Model, ModelError, type ModelEvent, type ModelRequest, type ModelUsage } from '../model.ts';
import { runTool } from '../run-tool.ts';
import { type CallTool, createDataTools, ToolFailed } from './data.ts';
import { type OfflineReply, replyTo } from './reply.ts';

const noUsage: ModelUsage = { inputTokens: 0, outputTokens: 0 };
/** Higher than other models' limits: this model makes many short calls instead of a few long ones. Tools limit their own output. */
const maxToolCalls = 60;

type EventChannel = { report(event: ModelEvent): void; end(): void; events(): AsyncGenerator<ModelEvent, void, undefined> };

/** A queue from the code that reports events to the generator that yields them. */
function createEventChannel(): EventChannel {
  const waiting: ModelEvent[] = [];
  let isEnded = false;
  let wake = Promise.withResolvers<void>();
  return {
    report: (event) => {
      waiting.push(event);
      wake.resolve();
    },
    end: () => {
      isEnded = true;
      wake.resolve();
    },
    async *events() {
      for (;;) {
        for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) yield event;
        if (isEnded) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
  };
}

function createToolCaller({ tools, limits }: ModelRequest, signal: AbortSignal, channel: EventChannel): CallTool {
  let calls = 0;
  return async (name, input) => {
    signal.throwIfAborted();
    calls += 1;
    if (calls > maxToolCalls) throw new ModelError('limit-reached', `The answer needed more than ${maxToolCalls} tool calls`);
    const id = `call-${calls}`;
    channel.report({ type: 'tool-started', id, name, input });
    const { ok, output } = await runTool(tools, { name, input }, Number.POSITIVE_INFINITY, signal);
    const shown = output.length > limits.toolOutputBytes ? `${output.slice(0, limits.toolOutputBytes)}…` : output;
    channel.report({ type: 'tool-ended', id, name, ok, output: shown });
    signal.throwIfAborted();
    if (!ok) throw new ToolFailed(output);
    return output;
  };
}

async function reply(request: ModelRequest, call: CallTool, today: string): Promise<OfflineReply> {
  const question = request.messages.at(-1)?.content ?? '';
  try {
    return await replyTo(createDataTools(call), question, today);
  } catch (error) {
    if (error instanceof ToolFailed) return { text: `The data could not be read: ${error.message}`, isAnswer: false };
    throw error;
  }
}

function errorOf(error: unknown, request: ModelRequest, timeout: AbortSignal): ModelError {
  if (error instanceof ModelError) return error;
  if (request.signal.aborted) return answerAborted();
  if (timeout.aborted) return answerTimedOut(request.limits);
  return new ModelError('unavailable', 'The built-in model failed to answer this question', { cause: error });
}

/** `answer` throws only ModelErrors; `check` always succeeds. */
export function createOfflineModel({ clock }: Pick<Ctx, 'clock'>): Model {
  async function* answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const abandoned = new AbortController();
    const timeout = AbortSignal.timeout(request.limits.timeMs);
    const signal = AbortSignal.any([request.signal, timeout, abandoned.signal]);
    const channel = createEventChannel();
    const today = clock.now().toISOString().slice(0, 10);
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    const replied = Promise.race([reply(request, createToolCaller(request, signal, channel), today), stopped]);
    replied.catch(() => undefined).finally(channel.end);
    try {
      yield* channel.events();
      const { text, isAnswer } = await replied;
      yield { type: 'text', text };
      yield { type: 'finished', reason: isAnswer ? 'complete' : 'declined', text, usage: noUsage };
    } catch (error) {
      throw errorOf(error, request, timeout);
    } finally {
      abandoned.abort();
    }
  }
  return { name: 'offline', answer, check: async () => undefined };
}
