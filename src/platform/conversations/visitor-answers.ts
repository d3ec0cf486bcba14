// Visitors of the portal ask an agent. Their conversations are theirs alone; what an answer costs is the organization's.
import { AppError, notFound } from '../../core/errors.ts';
import { notifyTopic } from '../../db/topic-notifications.ts';
import { inTransaction } from '../../db/transaction.ts';
import { findAgent } from '../agents/agents.store.ts';
import { answerMessage } from './answer.ts';
import type { AnswerCtx, Asker } from './asker.ts';
import { failLostAnswers } from './credits.store.ts';
import {
  answerRunning,
  findProblemOfRunning,
  type StartedAnswer,
  storeInTransaction,
  storeQuestion,
} from './start-answer.ts';
import * as store from './visitor-conversations.store.ts';

export type { VisitorMessage } from './visitor-conversations.store.ts';

/** Who asks, about which customer, and which agent. */
export type VisitorAsker = Omit<store.ConversationVisitor, 'organizationId'>;

const maxShownMessages = 40;
/** A visitor's page loads itself again as often, while an answer becomes longer. */
const saveEveryMs = 2_000;

const dailyLimit = (secondsLeft: number): AppError =>
  new AppError('RATE_LIMIT_EXCEEDED', 'The visitor has asked as often as they may today', {
    headers: { 'Retry-After': String(Math.ceil(secondsLeft)) },
    details: [{ path: '', code: 'daily_limit', message: 'Ask again tomorrow' }],
  });

const ownerOf = ({ organizationId }: AnswerCtx, asker: VisitorAsker): store.ConversationVisitor => ({
  ...asker,
  organizationId,
});

/**
 * Stores the question of a visitor and counts it. Throws 429 `daily_limit`, 422 `answer_running` while another question
 * of the visitor is being answered, 422 `agent_not_running`, and 403 `credits_exhausted` or `credits_held`.
 */
export async function startVisitorAnswer(
  ctx: AnswerCtx,
  asker: VisitorAsker,
  { content, perDay }: { readonly content: string; readonly perDay: number },
): Promise<StartedAnswer> {
  await failLostAnswers(ctx);
  const { organizationId } = ctx;
  return storeInTransaction(ctx, async (tx) => {
    const agent = await findAgent(tx, organizationId, asker.agentId);
    if (agent === undefined) throw notFound('Agent');
    const problem = await findProblemOfRunning(tx, ctx, agent);
    if (problem !== null) return problem;
    // What follows is exact: others of the visitor wait here.
    const { asked, secondsLeft } = await store.countQuestion(tx, organizationId, asker.visitor);
    if (asked > perDay) throw dailyLimit(secondsLeft);
    if (await store.isBeingAnswered(tx, organizationId, asker.visitor)) throw answerRunning();
    const conversationId = await store.continueConversation(tx, ownerOf(ctx, asker));
    return storeQuestion(tx, ctx, { conversationId, agent, content, reads: { unmasked: false } });
  });
}

/** Notified when an answer of the conversation has become longer or ended. */
export const visitorAnswerTopic = (conversationId: string): string => `visitor-answer:${conversationId}`;

/** Answers it, whether or not anyone waits; what comes is saved now and then. Resolves once the outcome is saved. */
export async function answerVisitor(ctx: AnswerCtx, asker: Asker, started: StartedAnswer): Promise<void> {
  const { messageId, conversationId } = started.running;
  const save = (content: string | undefined) =>
    inTransaction(ctx, async (tx) => {
      if (content !== undefined) await store.saveContentSoFar(tx, ctx.organizationId, messageId, content);
      await notifyTopic(tx, visitorAnswerTopic(conversationId));
    });
  let savedAt = ctx.clock.monotonicMs();
  await answerMessage(ctx, asker, started, new AbortController().signal, async ({ type }, content) => {
    const now = ctx.clock.monotonicMs();
    if (type !== 'text' || now - savedAt < saveEveryMs) return;
    savedAt = now;
    await save(content);
  });
  await save(undefined);
}

export type VisitorConversation = {
  /** Null before the first question. */
  readonly id: string | null;
  /** The latest, oldest first. */
  readonly messages: readonly store.VisitorMessage[];
  /** On this day (UTC), about all customers. */
  readonly asked: number;
};

export const readVisitorConversation = (ctx: AnswerCtx, asker: VisitorAsker): Promise<VisitorConversation> =>
  inTransaction(ctx, async (tx) => {
    const id = await store.findVisitorConversation(tx, ownerOf(ctx, asker));
    const today = await store.readAskedToday(tx, ctx.organizationId, asker.visitor);
    return {
      id: id ?? null,
      messages: id === undefined ? [] : await store.listLatestMessages(tx, ctx, id, maxShownMessages),
      asked: today?.asked ?? 0,
    };
  });
