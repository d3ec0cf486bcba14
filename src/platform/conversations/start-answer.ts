// Accepts a message: in one transaction, stores question and answer row and reserves the credits that the
// answer may cost, before the model is called. An agent that can no longer work is set to `failed` here.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { ModelMessage } from '../../gateways/model/model.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { findConfigurationProblem } from '../agents/agent-readiness.ts';
import { nextState } from '../agents/agent-state.ts';
import { type AgentRow, findAgent, updateAgentState } from '../agents/agents.store.ts';
import { findConversation, recordMessageTime } from './conversations.store.ts';
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

export const answerRunning = (): AppError =>
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
  ctx: TenantCtx,
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
  ctx: TenantCtx,
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

type Question = {
  readonly conversationId: string;
  readonly agent: AgentRow;
  readonly content: string;
  /** Of who asks. */
  readonly reads: Pick<RecordAccess, 'unmasked'>;
};

/** Stores the question, and reserves what its answer may cost. Rejects as `startAnswer` does. */
export async function storeQuestion(
  tx: Tx,
  ctx: TenantCtx,
  { conversationId, agent, content, reads }: Question,
): Promise<StartedAnswer> {
  const latest = await findLatestMessages(tx, ctx.organizationId, conversationId, maxHistoryMessages);
  const before = latest.map((row) => maskAnswer(row, reads));
  const turn = await insertTurn(tx, ctx, conversationId, content);
  const reserved = await readCreditsToReserve(tx, ctx, agent);
  const running = { messageId: turn.message.id, conversationId, agentId: agent.id, ...reserved };
  await reserveCredits(tx, ctx.organizationId, running, ctx.settings.agents.leaseMs);
  return { agent, running, ...turn, history: buildHistory(before, ctx.settings.agents.historyTokens) };
}

/**
 * Why the agent can't work, after which its state is `failed`; null when it can. Throws 422 `agent_not_running` for one
 * that doesn't run.
 */
export async function findProblemOfRunning(tx: Tx, ctx: TenantCtx, agent: AgentRow): Promise<string | null> {
  if (agent.status !== 'running') throw notRunning(agent);
  const problem = await findConfigurationProblem(tx, ctx, agent);
  const to = problem === null ? undefined : nextState(agent.status, 'fail');
  if (to !== undefined) await updateAgentState(tx, ctx.organizationId, agent, to, problem);
  return problem;
}

/**
 * Runs the transaction that stores a question; the text is why its agent can't work. Throws 422 `agent_not_running` for
 * it, and 422 `answer_running` while another message of the conversation is being answered.
 */
export async function storeInTransaction(
  ctx: TenantCtx,
  work: (tx: Tx) => Promise<StartedAnswer | string>,
): Promise<StartedAnswer> {
  const started = await inTransaction(ctx, work).catch((error: unknown) => {
    throw violatesConstraint(error, 'one_answer_at_a_time') ? answerRunning() : error;
  });
  if (typeof started === 'string') throw notRunning({ status: 'failed', status_reason: started });
  return started;
}

/**
 * Throws 404 for an unknown conversation, 422 `agent_not_running`, 422 `answer_running` while another message
 * is being answered, and 403 `credits_exhausted` or `credits_held`.
 */
export async function startAnswer(ctx: RequestCtx, conversationId: string, content: string) {
  await failLostAnswers(ctx);
  const { organizationId, principal } = ctx;
  const owner = { organizationId, ownerId: principal.user.id };
  return storeInTransaction(ctx, async (tx) => {
    const conversation = await findConversation(tx, owner, conversationId);
    const agent =
      conversation === undefined ? undefined : await findAgent(tx, organizationId, conversation.agent_id);
    if (agent === undefined) throw notFound('Conversation');
    const problem = await findProblemOfRunning(tx, ctx, agent);
    if (problem !== null) return problem;
    const { reads } = principal;
    const started = await storeQuestion(tx, ctx, { conversationId, agent, content, reads });
    await recordMessageTime(tx, owner, conversationId, deriveTitle(content));
    const changes = { messageId: started.message.id, agentId: agent.id };
    await writeAudit(tx, ctx, 'conversation.ask', ['conversation', conversationId], changes);
    return started;
  });
}
