// Takes a message in, in one transaction: it is stored, its answer's row is there, and what the answer may cost is held, before any
// model is asked. An agent that can't work any more fails here and says why.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { ModelMessage } from '../../gateways/model/model.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { nextState } from '../agents/agent-state.ts';
import { type AgentRow, findAgent, moveAgent } from '../agents/agents.store.ts';
import { configuredProblem } from '../agents/fitness.ts';
import { type ConversationRow, findConversation, type Maker, noteMessage } from './conversations.store.ts';
import { endLostAnswers, holdCredits, lockCredits, type RunningAnswer, readBalance } from './credits.store.ts';
import { findMessage, insertMessage, latestMessages, type MessageRow } from './messages.store.ts';
import { mostCredits } from './price.ts';
import { historyOf, titleOf } from './prompt.ts';

/** More never fit into a model's history. */
const mostTurns = 200;

export type BegunAnswer = {
  readonly agent: AgentRow;
  readonly running: RunningAnswer;
  readonly question: MessageRow;
  readonly message: MessageRow;
  readonly history: readonly ModelMessage[];
};

const notRunning = ({ status, status_reason: reason }: Pick<AgentRow, 'status' | 'status_reason'>): AppError => {
  const message = reason === null ? `The agent is ${status}` : `The agent has failed: ${reason}`;
  return invalid(message, [{ path: '', code: 'agent_not_running', message }]);
};

const busy = (): AppError =>
  invalid('A message of this conversation is being answered', [
    { path: '', code: 'answer_running', message: 'One message at a time: wait until it is answered' },
  ]);

function exhausted(held: number, resetsAt: Date): AppError {
  const [code, message] =
    held > 0
      ? ['credits_held', 'The rest is held by messages that are being answered; what they leave is free again when they are']
      : ['credits_exhausted', `The next are granted at ${instant(resetsAt)}`];
  return new AppError('FORBIDDEN', 'Agent credits exhausted', { details: [{ path: '', code, message }] });
}

/** As much as the answer may cost, or the rest of the month's credits. Throws 403 without any. */
async function takeCredits(tx: Tx, ctx: RequestCtx, agent: AgentRow): Promise<Pick<RunningAnswer, 'month' | 'credits'>> {
  await lockCredits(tx, ctx.organizationId);
  const { month, used, held, resetsAt } = await readBalance(tx, ctx.organizationId);
  const left = ctx.settings.agentCreditsPerMonth - used - held;
  if (left < 1) throw exhausted(held, resetsAt);
  return { month, credits: Math.min(left, mostCredits(agent.model, ctx.settings.agents)) };
}

async function insertTurn(
  tx: Tx,
  ctx: RequestCtx,
  conversationId: string,
  content: string,
): Promise<Pick<BegunAnswer, 'question' | 'message'>> {
  const [questionId, messageId] = [newId(), newId()];
  const row = { conversation_id: conversationId };
  await insertMessage(tx, ctx.organizationId, { ...row, id: questionId, role: 'user', content, status: 'complete' });
  await insertMessage(tx, ctx.organizationId, { ...row, id: messageId, role: 'assistant', content: '', status: 'running' });
  const question = await findMessage(tx, ctx.organizationId, questionId);
  const message = await findMessage(tx, ctx.organizationId, messageId);
  if (question === undefined || message === undefined) throw new Error('a message was not stored');
  return { question, message };
}

async function store(
  tx: Tx,
  ctx: RequestCtx,
  maker: Maker,
  conversation: ConversationRow,
  agent: AgentRow,
  content: string,
): Promise<BegunAnswer> {
  const { id: conversationId } = conversation;
  const before = await latestMessages(tx, ctx.organizationId, conversationId, mostTurns);
  const turn = await insertTurn(tx, ctx, conversationId, content);
  const taken = await takeCredits(tx, ctx, agent);
  const running = { messageId: turn.message.id, conversationId, agentId: agent.id, ...taken };
  await holdCredits(tx, ctx.organizationId, running, ctx.settings.agents.leaseMs);
  await noteMessage(tx, maker, conversationId, titleOf(content));
  const changes = { messageId: turn.message.id, agentId: agent.id };
  await writeAudit(tx, ctx, { action: 'conversation.ask', target: { type: 'conversation', id: conversationId }, changes });
  return { agent, running, ...turn, history: historyOf(before, ctx.settings.agents.historyTokens) };
}

/** Throws 404, 422 where the agent doesn't run or answers already, and 403 without credits. */
export async function beginAnswer(ctx: RequestCtx, conversationId: string, content: string): Promise<BegunAnswer> {
  await endLostAnswers(ctx);
  const maker = { organizationId: ctx.organizationId, ownerId: ctx.principal.user.id };
  const begun = await inTransaction(ctx, async (tx) => {
    const conversation = await findConversation(tx, maker, conversationId);
    const agent = conversation === undefined ? undefined : await findAgent(tx, ctx.organizationId, conversation.agent_id);
    if (conversation === undefined || agent === undefined) throw notFound('Conversation');
    if (agent.status !== 'running') throw notRunning(agent);
    const problem = await configuredProblem(tx, ctx, agent);
    if (problem === null) return store(tx, ctx, maker, conversation, agent, content);
    const to = nextState(agent.status, 'fail');
    if (to !== undefined) await moveAgent(tx, ctx.organizationId, agent, to, problem);
    return problem;
  }).catch((error: unknown) => {
    throw violates(error, 'one_answer_at_a_time') ? busy() : error;
  });
  if (typeof begun === 'string') throw notRunning({ status: 'failed', status_reason: begun });
  return begun;
}
