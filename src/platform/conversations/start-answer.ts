// Accepts a message: in one transaction, stores question and answer row and reserves the credits that the
// answer may cost, before the model is called. An agent that can no longer work is set to `failed` here.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { ModelMessage } from '../../gateways/model/model.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { findConfigurationProblem } from '../agents/agent-readiness.ts';
import { nextState } from '../agents/agent-state.ts';
import { type AgentRow, findAgent, updateAgentState } from '../agents/agents.store.ts';
import {
  type ConversationOwner,
  type ConversationRow,
  findConversation,
  recordMessageTime,
} from './conversations.store.ts';
import {
  failLostAnswers,
  lockCredits,
  type RunningAnswer,
  readBalance,
  reserveCredits,
} from './credits.store.ts';
import {
  findLatestMessages,
  findMessage,
  insertMessage,
  type MessageRow,
  maskAnswer,
} from './messages.store.ts';
import { maxCredits } from './price.ts';
import { buildHistory, deriveTitle } from './prompt.ts';

/** Upper bound of rows to read; more never fit into a model's history. */
const maxHistoryMessages = 200;

export type StartedAnswer = {
  readonly agent: AgentRow;
  readonly running: RunningAnswer;
  readonly question: MessageRow;
  readonly message: MessageRow;
  readonly history: readonly ModelMessage[];
};

const notRunning = ({ status, status_reason: reason }: Pick<AgentRow, 'status' | 'status_reason'>) => {
  const message = reason === null ? `The agent is ${status}` : `The agent has failed: ${reason}`;
  return invalid(message, [{ path: '', code: 'agent_not_running', message }]);
};

const answerRunning = (): AppError =>
  invalid('A message of this conversation is being answered', [
    { path: '', code: 'answer_running', message: 'Wait until the running answer is complete' },
  ]);

function creditsExhausted(reserved: number, resetsAt: Date): AppError {
  const [code, message] =
    reserved > 0
      ? [
          'credits_held',
          'The remaining credits are reserved by running answers; unused ones are released when these complete',
        ]
      : ['credits_exhausted', `New credits are granted at ${instant(resetsAt)}`];
  return new AppError('FORBIDDEN', 'Agent credits exhausted', { details: [{ path: '', code, message }] });
}

/** An answer's maximum cost, or what is left of the month's credits if less. Throws 403 when none is left. */
async function readCreditsToReserve(
  tx: Tx,
  ctx: RequestCtx,
  agent: AgentRow,
): Promise<Pick<RunningAnswer, 'month' | 'credits'>> {
  await lockCredits(tx, ctx.organizationId);
  const { month, used, reserved, resetsAt } = await readBalance(tx, ctx.organizationId);
  const left = ctx.settings.agentCreditsPerMonth - used - reserved;
  if (left < 1) throw creditsExhausted(reserved, resetsAt);
  return { month, credits: Math.min(left, maxCredits(agent.model, ctx.settings.agents)) };
}

async function insertTurn(
  tx: Tx,
  ctx: RequestCtx,
  conversationId: string,
  content: string,
): Promise<Pick<StartedAnswer, 'question' | 'message'>> {
  const [questionId, messageId] = [createId(), createId()];
  const row = { conversation_id: conversationId };
  await insertMessage(tx, ctx.organizationId, {
    ...row,
    id: questionId,
    role: 'user',
    content,
    status: 'complete',
  });
  await insertMessage(tx, ctx.organizationId, {
    ...row,
    id: messageId,
    role: 'assistant',
    content: '',
    status: 'running',
  });
  const question = await findMessage(tx, ctx.organizationId, questionId);
  const message = await findMessage(tx, ctx.organizationId, messageId);
  if (question === undefined || message === undefined) throw new Error('a message was not stored');
  return { question, message };
}

async function storeQuestion(
  tx: Tx,
  ctx: RequestCtx,
  owner: ConversationOwner,
  conversation: ConversationRow,
  agent: AgentRow,
  content: string,
): Promise<StartedAnswer> {
  const { id: conversationId } = conversation;
  const latest = await findLatestMessages(tx, ctx.organizationId, conversationId, maxHistoryMessages);
  const before = latest.map((row) => maskAnswer(row, ctx.principal.reads));
  const turn = await insertTurn(tx, ctx, conversationId, content);
  const reserved = await readCreditsToReserve(tx, ctx, agent);
  const running = { messageId: turn.message.id, conversationId, agentId: agent.id, ...reserved };
  await reserveCredits(tx, ctx.organizationId, running, ctx.settings.agents.leaseMs);
  await recordMessageTime(tx, owner, conversationId, deriveTitle(content));
  const changes = { messageId: turn.message.id, agentId: agent.id };
  await writeAudit(tx, ctx, 'conversation.ask', ['conversation', conversationId], changes);
  return { agent, running, ...turn, history: buildHistory(before, ctx.settings.agents.historyTokens) };
}

/**
 * Throws 404 for an unknown conversation, 422 `agent_not_running`, 422 `answer_running` while another message
 * is being answered, and 403 `credits_exhausted` or `credits_held`.
 */
export async function startAnswer(ctx: RequestCtx, conversationId: string, content: string) {
  await failLostAnswers(ctx);
  const owner = { organizationId: ctx.organizationId, ownerId: ctx.principal.user.id };
  const started = await inTransaction(ctx, async (tx) => {
    const conversation = await findConversation(tx, owner, conversationId);
    const agent =
      conversation === undefined ? undefined : await findAgent(tx, ctx.organizationId, conversation.agent_id);
    if (conversation === undefined || agent === undefined) throw notFound('Conversation');
    if (agent.status !== 'running') throw notRunning(agent);
    const problem = await findConfigurationProblem(tx, ctx, agent);
    if (problem === null) return storeQuestion(tx, ctx, owner, conversation, agent, content);
    const to = nextState(agent.status, 'fail');
    if (to !== undefined) await updateAgentState(tx, ctx.organizationId, agent, to, problem);
    return problem;
  }).catch((error: unknown) => {
    throw violatesConstraint(error, 'one_answer_at_a_time') ? answerRunning() : error;
  });
  if (typeof started === 'string') throw notRunning({ status: 'failed', status_reason: started });
  return started;
}
