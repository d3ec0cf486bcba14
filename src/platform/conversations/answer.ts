// Answers one accepted message: calls the model, reports its events as they come, and saves the outcome.
// Every outcome is saved in the message's row, in the transaction that charges the spent credits and releases
// the rest; if the process dies, the lease expires.
import { AppError } from '../../core/errors.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { type Recurring, startRecurring } from '../../core/work/recurring.ts';
import { inTransaction } from '../../db/transaction.ts';
import { createModel, offlineModelName } from '../../gateways/model/create-model.ts';
import {
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelUsage,
} from '../../gateways/model/model.ts';
import { createVersionTools, findLivingMasks, getRecordTools } from '../../public/index.ts';
import type { AnswerCtx, Asker } from './asker.ts';
import type { ToolCall } from './conversations.schemas.ts';
import { chargeCredits, renewAnswerLease } from './credits.store.ts';
import { findMessage, finishMessage, type MessageRow } from './messages.store.ts';
import { creditsToCharge, limitsForCredits, maxCredits } from './price.ts';
import { buildInstructions } from './prompt.ts';
import type { StartedAnswer } from './start-answer.ts';

export type AnswerEvent = Exclude<ModelEvent, { type: 'finished' }>;
/** `content`: the whole text until now. */
type OnEvent = (event: AnswerEvent, content: string) => Promise<void>;

/** The built-in model parses tool outputs and therefore needs them complete. */
const maxOfflineCharacters = 1_000_000;
/** Limits for tool inputs and outputs as stored in the message and shown to people. */
const maxInputCharacters = 2_000;
const maxOutputCharacters = 500;

/** Removes characters that PostgreSQL text cannot store: NUL and lone surrogates. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed();
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storable(key), storable(item)]));
}
const shownInput = (input: unknown): unknown => {
  const text = JSON.stringify(input) ?? 'null';
  return text.length <= maxInputCharacters
    ? storable(input)
    : `${text.slice(0, maxInputCharacters).toWellFormed()}…`;
};
const shownOutput = (output: string): string =>
  output.length <= maxOutputCharacters
    ? String(storable(output))
    : `${String(storable(output.slice(0, maxOutputCharacters)))}…`;

function truncateForDisplay(event: AnswerEvent): AnswerEvent {
  if (event.type === 'tool-started') return { ...event, input: shownInput(event.input) };
  return event.type === 'tool-ended' ? { ...event, output: shownOutput(event.output) } : event;
}

type Outcome = {
  readonly status: 'complete' | 'failed' | 'canceled';
  readonly error: MessageRow['error'];
  readonly usage: ModelUsage;
};
/** What ends an answer early. */
type Ends = {
  readonly gone: AbortSignal;
  readonly stopping: AbortSignal;
  /** Another process took the answer over. */
  readonly lost: AbortController;
  /** The asker may no longer read records, or it isn't known which. The reason is the error to save. */
  readonly denied: AbortController;
  /** Any of them. */
  readonly signal: AbortSignal;
};
type Draft = { content: string; readonly calls: ToolCall[] };

function applyEvent(draft: Draft, event: AnswerEvent): void {
  if (event.type === 'text') draft.content += String(storable(event.text));
  else if (event.type === 'tool-started')
    draft.calls.push({ id: event.id, name: event.name, input: event.input, ok: null, output: '' });
  else {
    const at = draft.calls.findIndex(({ id, ok }) => id === event.id && ok === null);
    const call = draft.calls[at];
    if (call !== undefined) draft.calls[at] = { ...call, ok: event.ok, output: event.output };
  }
}

/** Codes of errors that say that it isn't known at the moment which records the asker may read. */
const unknownAccess = ['scope_field_stale', 'people_unknown'];
const isUnknownAccess = (error: unknown): boolean =>
  error instanceof AppError && error.details.some(({ code }) => unknownAccess.includes(code));

/**
 * The tools of the agent's version, each call of which reads what the asker may read at that time. Aborts
 * `denied` when that is nothing any more, or isn't known.
 */
function currentTools(
  ctx: AnswerCtx,
  { reads: asked, findAccess, onRead }: Asker,
  version: string,
  maxCharacters: number,
  denied: AbortController,
): ModelRequest['tools'] {
  const toolsFor = (reads: RecordAccess) =>
    createVersionTools(getRecordTools(ctx), ctx, { version, reads, maxCharacters });
  return toolsFor(asked).map((tool, index) => ({
    ...tool,
    run: async (input) => {
      try {
        const reads = await findAccess();
        const current = reads && toolsFor(reads)[index];
        if (current === undefined) {
          denied.abort(accessLost);
          throw new AppError('FORBIDDEN', accessLost.message);
        }
        const output = await current.run(input);
        onRead?.(input, output);
        return output;
      } catch (error) {
        if (isUnknownAccess(error)) denied.abort(accessUnknown);
        throw error;
      }
    },
  }));
}

function createModelRequest(
  ctx: AnswerCtx,
  asker: Asker,
  { agent, running, question, history }: StartedAnswer,
  { signal, denied }: Ends,
): ModelRequest {
  const { steps, toolOutputBytes, timeMs } = ctx.settings.agents;
  const maxCharacters = agent.model === offlineModelName ? maxOfflineCharacters : toolOutputBytes;
  return {
    instructions: buildInstructions({
      version: agent.api_version,
      instructions: agent.instructions,
      today: ctx.clock.now().toISOString().slice(0, 10),
      isCustomer: asker.isCustomer === true,
    }),
    messages: [...history, { role: 'user', content: question.content }],
    tools: currentTools(ctx, asker, agent.api_version, maxCharacters, denied),
    limits: { steps, toolOutputBytes, timeMs, ...limitsForCredits(ctx.settings.agents, running.credits) },
    signal,
  };
}

const accessLost = {
  code: 'access_lost',
  message: 'You may no longer read records with agents, so the answer was stopped',
};
const accessUnknown = {
  code: 'access_unknown',
  message: 'The ERP does not deliver at the moment what decides which records may be read',
};
/** What `denied` was aborted with. */
const denialOf = ({ denied }: Pick<Ends, 'denied'>): MessageRow['error'] => denied.signal.reason;
const refused = { code: 'refused', message: 'The model declined to answer this message' };
const noUsage: ModelUsage = { inputTokens: 0, outputTokens: 0 };

async function runModel(
  model: Model,
  request: ModelRequest,
  draft: Draft,
  ends: Pick<Ends, 'denied'>,
  onEvent: OnEvent,
): Promise<Outcome> {
  for await (const event of model.answer(request)) {
    if (event.type === 'finished') {
      if (ends.denied.signal.aborted) return { status: 'failed', error: denialOf(ends), usage: event.usage };
      const isEmpty = draft.content.trim() === '';
      return { status: isEmpty ? 'failed' : 'complete', error: isEmpty ? refused : null, usage: event.usage };
    }
    const shown = truncateForDisplay(event);
    applyEvent(draft, shown);
    // The client has disconnected: the signal stops the model, which then reports the tokens used until then.
    await onEvent(shown, draft.content).catch((error: unknown) => {
      if (!request.signal.aborted) throw error;
    });
  }
  throw new ModelError('cut-off', "The model's answer was cut off");
}

const explainFailure = (
  error: ModelError,
  { gone, stopping, denied }: Ends,
): Pick<Outcome, 'status' | 'error'> => {
  if (denied.signal.aborted) return { status: 'failed', error: denialOf({ denied }) };
  if (stopping.aborted)
    return {
      status: 'failed',
      error: {
        code: 'interrupted',
        message: 'The service was stopped while it was answering. Send the message again.',
      },
    };
  if (gone.aborted)
    return {
      status: 'canceled',
      error: { code: 'canceled', message: 'The client disconnected before the answer was complete' },
    };
  return { status: 'failed', error: { code: error.kind, message: error.message } };
};

async function runToOutcome(
  ctx: AnswerCtx,
  asker: Asker,
  started: StartedAnswer,
  draft: Draft,
  ends: Ends,
  onEvent: OnEvent,
): Promise<Outcome> {
  const { agent, running } = started;
  const request = createModelRequest(ctx, asker, started, ends);
  try {
    return await runModel(await createModel(ctx, agent.model), request, draft, ends, onEvent);
  } catch (error) {
    if (!(error instanceof ModelError)) {
      ctx.log.error({ err: error, messageId: running.messageId }, 'answering a message failed unexpectedly');
      return {
        status: 'failed',
        error: {
          code: 'internal',
          message: 'An internal error occurred while answering. Send the message again.',
        },
        usage: noUsage,
      };
    }
    ctx.log.warn(
      { err: error, kind: error.kind, messageId: running.messageId },
      'a message was not answered',
    );
    const { status, error: reason } = explainFailure(error, ends);
    const isShort =
      error.kind === 'limit-reached' && running.credits < maxCredits(agent.model, ctx.settings.agents);
    const message = `${reason?.message ?? ''}${isShort ? `; only ${running.credits} credits were left this month` : ''}`;
    return { status, error: { code: reason?.code ?? '', message }, usage: error.usage };
  }
}

/** True as well when it can't be looked up: the answer must be saved in any case. */
const hasMasks = (ctx: AnswerCtx): Promise<boolean> =>
  findLivingMasks(ctx).then(
    ({ size }) => size > 0,
    () => true,
  );

/** Undefined for a deleted conversation. No change when the message has failed: its lease had expired. */
async function saveOutcome(
  ctx: AnswerCtx,
  { reads, findSources }: Asker,
  { running }: StartedAnswer,
  draft: Draft,
  { status, error, usage }: Outcome,
): Promise<MessageRow | undefined> {
  const credits = creditsToCharge(usage, running.credits);
  const unmasked = reads.unmasked && (await hasMasks(ctx));
  return inTransaction(ctx, async (tx) => {
    if (await chargeCredits(tx, ctx.organizationId, running, { credits, ...usage })) {
      await finishMessage(tx, ctx.organizationId, running.messageId, {
        content: draft.content,
        tool_calls: draft.calls,
        status,
        error,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        credits,
        unmasked,
        ...(findSources && { sources: findSources(draft.content) }),
      });
    }
    return findMessage(tx, ctx.organizationId, running.messageId);
  });
}

/** Renews the lease. Aborts `lost` when another process owns it, `denied` when the asker may not read now. */
const keepAnswerLease = (
  ctx: AnswerCtx,
  { findAccess }: Asker,
  messageId: string,
  { lost, denied }: Ends,
): Recurring =>
  startRecurring(
    ctx.settings.agents.leaseMs / 3,
    async () => {
      const isHeld = await inTransaction(ctx, (tx) =>
        renewAnswerLease(tx, ctx.organizationId, messageId, ctx.settings.agents.leaseMs),
      );
      if (!isHeld) lost.abort();
      if ((await findAccess()) === undefined) denied.abort(accessLost);
    },
    (error) => ctx.log.warn({ err: error }, 'the lease of an answer could not be renewed'),
  );

/**
 * `gone` is aborted when the client disconnects; `onEvent` receives events as they come. When the service
 * stops, the message is saved as failed (`interrupted`) with the text generated until then; so it is
 * (`access_lost`, `access_unknown`) when the asker may no longer read records, or it isn't known which. Resolves with the message as it was saved,
 * undefined when the conversation was deleted meanwhile.
 */
export const answerMessage = (
  ctx: AnswerCtx,
  asker: Asker,
  started: StartedAnswer,
  gone: AbortSignal,
  onEvent: OnEvent,
) =>
  ctx.work.track('answers', async (stopping) => {
    const draft: Draft = { content: '', calls: [] };
    const [lost, denied] = [new AbortController(), new AbortController()];
    const ends = {
      gone,
      stopping,
      lost,
      denied,
      signal: AbortSignal.any([gone, stopping, lost.signal, denied.signal]),
    };
    const renewal = keepAnswerLease(ctx, asker, started.running.messageId, ends);
    try {
      const outcome = await runToOutcome(ctx, asker, started, draft, ends, onEvent);
      return await saveOutcome(ctx, asker, started, draft, outcome);
    } finally {
      void renewal.stop();
    }
  });
