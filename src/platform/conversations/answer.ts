// Answers one message that was taken in: asks the model, tells what comes as it comes, and settles. Whatever happens ends in the
// message's row, or in its lease running out; what was held for it is given back in the same transaction.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { keepLease } from '../../core/lease.ts';
import { openTrackedWork } from '../../core/tracked-work.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type Model, ModelError, type ModelEvent, type ModelRequest, type ModelUsage } from '../../gateways/model/model.ts';
import { offlineName, openModel } from '../../gateways/model/open-model.ts';
import { openVersionTools } from '../../public/index.ts';
import type { BegunAnswer } from './begin-answer.ts';
import type { ToolCallShown } from './conversations.schemas.ts';
import { renewLease, settleCredits } from './credits.store.ts';
import { endMessage, findMessage, type MessageRow } from './messages.store.ts';
import { creditsSpent, limitsWithin, mostCredits } from './price.ts';
import { estimatedTokens, frameOf } from './prompt.ts';

export type AnswerEvent = Exclude<ModelEvent, { type: 'finished' }>;
type Tell = (event: AnswerEvent) => Promise<void>;

/** The built-in model reads its tools' answers whole. */
const offlineCharacters = 1_000_000;
/** Of each tool's input and answer as people see it again. */
const longestInput = 2_000;
const longestOutput = 500;

const work = openTrackedWork();
/** Ends them all: each message has failed as interrupted, with what came until then. */
export const stopAnswers = work.stop;
export const answersSettled = work.settled;

/** Texts as a database column holds them. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed();
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [storable(key), storable(held)]));
}
const shownInput = (input: unknown): unknown => {
  const text = JSON.stringify(input) ?? 'null';
  return text.length <= longestInput ? storable(input) : `${text.slice(0, longestInput).toWellFormed()}…`;
};
const shownOutput = (output: string): string =>
  output.length <= longestOutput ? String(storable(output)) : `${String(storable(output.slice(0, longestOutput)))}…`;

function asShown(event: AnswerEvent): AnswerEvent {
  if (event.type === 'tool-started') return { ...event, input: shownInput(event.input) };
  return event.type === 'tool-ended' ? { ...event, output: shownOutput(event.output) } : event;
}

type Outcome = { readonly status: 'complete' | 'failed' | 'canceled'; readonly error: MessageRow['error']; readonly usage: ModelUsage };
type Draft = { content: string; readonly calls: ToolCallShown[] };

function note(draft: Draft, event: AnswerEvent): void {
  if (event.type === 'text') draft.content += String(storable(event.text));
  else if (event.type === 'tool-started') draft.calls.push({ id: event.id, name: event.name, input: event.input, ok: null, output: '' });
  else {
    const at = draft.calls.findIndex(({ id, ok }) => id === event.id && ok === null);
    const call = draft.calls[at];
    if (call !== undefined) draft.calls[at] = { ...call, ok: event.ok, output: event.output };
  }
}

function requestOf(ctx: TenantCtx, { agent, running, question, history }: BegunAnswer, signal: AbortSignal): ModelRequest {
  const { steps, toolOutputBytes, timeMs } = ctx.settings.agents;
  const mostCharacters = agent.model === offlineName ? offlineCharacters : toolOutputBytes;
  return {
    instructions: frameOf({
      version: agent.api_version,
      instructions: agent.instructions,
      today: ctx.clock.now().toISOString().slice(0, 10),
    }),
    messages: [...history, { role: 'user', content: question.content }],
    tools: openVersionTools(ctx)(ctx, { version: agent.api_version, resources: [], mostCharacters }),
    limits: { steps, toolOutputBytes, timeMs, ...limitsWithin(ctx.settings.agents, running.credits) },
    signal,
  };
}

const refused = { code: 'refused', message: 'The model declined to answer this' };
const noUsage: ModelUsage = { inputTokens: 0, outputTokens: 0 };

async function ask(model: Model, request: ModelRequest, draft: Draft, tell: Tell): Promise<Outcome> {
  for await (const event of model.answer(request)) {
    if (event.type === 'finished') {
      const isEmpty = draft.content.trim() === '';
      return { status: isEmpty ? 'failed' : 'complete', error: isEmpty ? refused : null, usage: event.usage };
    }
    const shown = asShown(event);
    note(draft, shown);
    // Nobody listens any more: the model is told by the signal, and says what it used until then.
    await tell(shown).catch((error: unknown) => {
      if (!request.signal.aborted) throw error;
    });
  }
  throw new ModelError('cut-off', "The model's answer was cut off on its way");
}

type Signals = { readonly gone: AbortSignal; readonly stopping: AbortSignal };

const why = (error: ModelError, { gone, stopping }: Signals): Pick<Outcome, 'status' | 'error'> => {
  if (stopping.aborted)
    return { status: 'failed', error: { code: 'interrupted', message: 'The service was stopped while it answered; ask again' } };
  if (gone.aborted) return { status: 'canceled', error: { code: 'canceled', message: 'Whoever asked left before the answer was there' } };
  return { status: 'failed', error: { code: error.kind, message: error.message } };
};

/** Whoever leaves before a provider has counted has asked all the same. */
function usageOf(error: ModelError, request: ModelRequest, agent: BegunAnswer['agent'], { gone }: Signals): ModelUsage {
  if (!gone.aborted || error.usage.inputTokens > 0 || agent.model === offlineName) return error.usage;
  const texts = [request.instructions, JSON.stringify(request.tools), ...request.messages.map(({ content }) => content)];
  return { ...error.usage, inputTokens: estimatedTokens(...texts) };
}

async function outcomeOf(
  ctx: TenantCtx,
  begun: BegunAnswer,
  draft: Draft,
  signals: Signals,
  lost: AbortSignal,
  tell: Tell,
): Promise<Outcome> {
  const { agent, running } = begun;
  const request = requestOf(ctx, begun, AbortSignal.any([signals.gone, signals.stopping, lost]));
  try {
    return await ask(await openModel(ctx, agent.model), request, draft, tell);
  } catch (error) {
    if (!(error instanceof ModelError)) {
      ctx.log.error({ err: error, messageId: running.messageId }, 'a message could not be answered');
      return { status: 'failed', error: { code: 'internal', message: 'The service failed while it answered; ask again' }, usage: noUsage };
    }
    ctx.log.warn({ err: error, kind: error.kind, messageId: running.messageId }, 'a message was not answered');
    const { status, error: reason } = why(error, signals);
    const isShort = error.kind === 'limit-reached' && running.credits < mostCredits(agent.model, ctx.settings.agents);
    const message = `${reason?.message ?? ''}${isShort ? `; only ${running.credits} credits were left for it this month` : ''}`;
    return { status, error: { code: reason?.code ?? '', message }, usage: usageOf(error, request, agent, signals) };
  }
}

/** Undefined when the conversation is gone, or the message was taken for lost. */
function settle(
  ctx: TenantCtx,
  { running }: BegunAnswer,
  draft: Draft,
  { status, error, usage }: Outcome,
): Promise<MessageRow | undefined> {
  const credits = creditsSpent(usage, running.credits);
  return inTransaction(ctx, async (tx) => {
    if (await settleCredits(tx, ctx.organizationId, running, { credits, ...usage })) {
      await endMessage(tx, ctx.organizationId, running.messageId, {
        content: draft.content,
        tool_calls: draft.calls,
        status,
        error,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        credits,
      });
    }
    return findMessage(tx, ctx.organizationId, running.messageId);
  });
}

/** Aborts `lost` when the message no longer belongs to this process. */
const keepMessage = (ctx: TenantCtx, messageId: string, lost: AbortController): (() => void) =>
  keepLease(
    ctx.settings.agents.leaseMs,
    async () => {
      const isHeld = await inTransaction(ctx, (tx) => renewLease(tx, ctx.organizationId, messageId, ctx.settings.agents.leaseMs));
      if (!isHeld) lost.abort();
    },
    (error) => ctx.log.warn({ err: error }, 'the lease of an answer could not be renewed'),
  );

/** `gone` is aborted when nobody waits any more; `tell` gets what comes. Gives the message as it ended. */
export const answerMessage = (ctx: RequestCtx, begun: BegunAnswer, gone: AbortSignal, tell: Tell): Promise<MessageRow | undefined> =>
  work.track(ctx, async (stopping) => {
    const draft: Draft = { content: '', calls: [] };
    const lost = new AbortController();
    const letGo = keepMessage(ctx, begun.running.messageId, lost);
    try {
      return await settle(ctx, begun, draft, await outcomeOf(ctx, begun, draft, { gone, stopping }, lost.signal, tell));
    } finally {
      letGo();
    }
  });
