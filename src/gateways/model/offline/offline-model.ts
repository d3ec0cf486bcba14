// The built-in model: no network, no provider, no tokens. It understands a documented set of question forms (docs/offline-model.md),
// calls the same tools as any other model, and says nothing that they didn't. Instructions and earlier messages don't sway it.
import type { Ctx } from '../../../core/ctx.ts';
import { callerLeft, type Model, ModelError, type ModelEvent, type ModelRequest, type ModelUsage, tookTooLong } from '../model.ts';
import { runTool } from '../run-tool.ts';
import { type CallTool, openData, ToolRefused } from './data.ts';
import { type Reply, replyTo } from './reply.ts';

const noUsage: ModelUsage = { inputTokens: 0, outputTokens: 0 };
/** Many short calls instead of few long ones; its tools bound what they answer. */
const mostCalls = 60;

type Line = { put(event: ModelEvent): void; end(): void; events(): AsyncGenerator<ModelEvent, void, undefined> };

/** Events that happen somewhere below, for whoever reads them one by one. */
function openLine(): Line {
  const waiting: ModelEvent[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  return {
    put: (event) => {
      waiting.push(event);
      wake.resolve();
    },
    end: () => {
      isOver = true;
      wake.resolve();
    },
    async *events() {
      for (;;) {
        for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) yield event;
        if (isOver) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
  };
}

function callerOf({ tools, limits }: ModelRequest, signal: AbortSignal, line: Line): CallTool {
  let calls = 0;
  return async (name, input) => {
    signal.throwIfAborted();
    calls += 1;
    if (calls > mostCalls) throw new ModelError('limit-reached', `The answer needed more than ${mostCalls} looks at the data`);
    const id = `call-${calls}`;
    line.put({ type: 'tool-started', id, name, input });
    const { ok, output } = await runTool(tools, { name, input }, Number.POSITIVE_INFINITY, signal);
    const shown = output.length > limits.toolOutputBytes ? `${output.slice(0, limits.toolOutputBytes)}…` : output;
    line.put({ type: 'tool-ended', id, name, ok, output: shown });
    signal.throwIfAborted();
    if (!ok) throw new ToolRefused(output);
    return output;
  };
}

async function reply(request: ModelRequest, call: CallTool, today: string): Promise<Reply> {
  const question = request.messages.at(-1)?.content ?? '';
  try {
    return await replyTo(openData(call), question, today);
  } catch (error) {
    if (error instanceof ToolRefused) return { text: `The data could not be read: ${error.message}`, isAnswer: false };
    throw error;
  }
}

function errorOf(error: unknown, request: ModelRequest, late: AbortSignal): ModelError {
  if (error instanceof ModelError) return error;
  if (request.signal.aborted) return callerLeft();
  if (late.aborted) return tookTooLong(request.limits);
  return new ModelError('unavailable', 'The built-in model failed on this question', { cause: error });
}

export function openOfflineModel({ clock }: Pick<Ctx, 'clock'>): Model {
  async function* answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const left = new AbortController();
    const late = AbortSignal.timeout(request.limits.timeMs);
    const signal = AbortSignal.any([request.signal, late, left.signal]);
    const line = openLine();
    const today = clock.now().toISOString().slice(0, 10);
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    const told = Promise.race([reply(request, callerOf(request, signal, line), today), stopped]);
    told.catch(() => undefined).finally(line.end);
    try {
      yield* line.events();
      const { text, isAnswer } = await told;
      yield { type: 'text', text };
      yield { type: 'finished', reason: isAnswer ? 'complete' : 'declined', text, usage: noUsage };
    } catch (error) {
      throw errorOf(error, request, late);
    } finally {
      left.abort();
    }
  }
  return { name: 'offline', answer, check: async () => undefined };
}
