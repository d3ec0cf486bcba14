// Conversations with agents and their messages. A conversation belongs to the person who started it; for
// everyone else, regardless of permissions, it does not exist.
import type { RequestCtx } from '../../core/ctx.ts';
import { notFound, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import type { EventChannel } from '../../http/route/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { getAgentRow } from '../agents/agents.service.ts';
import { assertQuota } from '../quotas.ts';
import { answerMessage } from './answer.ts';
import type { Asker } from './asker.ts';
import type { Conversation, Message } from './conversations.schemas.ts';
import * as store from './conversations.store.ts';
import { findCurrentAccess } from './current-access.ts';
import { listMessageRows as listRows, type MessageRow, maskAnswer } from './messages.store.ts';
import { startAnswer } from './start-answer.ts';

const toOwner = ({ organizationId, principal }: RequestCtx): store.ConversationOwner => ({
  organizationId,
  ownerId: principal.user.id,
});

const toAsker = (ctx: RequestCtx): Asker => ({
  reads: ctx.principal.reads,
  findAccess: () => findCurrentAccess(ctx),
});

const conversationView = (row: store.ConversationRow): Conversation => ({
  id: row.id,
  agentId: row.agent_id,
  title: row.title,
  createdAt: instant(row.created_at),
  lastMessageAt: instantOrNull(row.last_message_at),
});

const messageView = (row: MessageRow): Message => ({
  id: row.id,
  role: row.role,
  content: row.content,
  toolCalls: row.tool_calls,
  usage: { inputTokens: row.input_tokens, outputTokens: row.output_tokens },
  credits: row.credits,
  status: row.status,
  error: row.error,
  createdAt: instant(row.created_at),
  finishedAt: instantOrNull(row.finished_at),
});

async function getOwnConversation(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ConversationRow> {
  return orNotFound(await store.findConversation(tx, toOwner(ctx), id), 'Conversation');
}

export const listConversations = (ctx: RequestCtx, page: PageQuery, filters: store.ConversationFilters) =>
  inTransaction(ctx, async (tx) =>
    viewPage(await store.listConversations(tx, toOwner(ctx), page, filters), page, conversationView),
  );

/** Throws 404 for an unknown agent. */
export const listAgentConversations = (ctx: RequestCtx, agentId: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getAgentRow(tx, ctx, agentId);
    const listed = await store.listConversations(tx, toOwner(ctx), page, { agentId });
    return viewPage(listed, page, conversationView);
  });

/** Throws 404 unless the caller started the conversation. */
export const getConversation = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => conversationView(await getOwnConversation(tx, ctx, id)));

/** Throws 404 for an unknown agent, 422 `limit_reached` at the quota. */
export const createConversation = (ctx: RequestCtx, agentId: string, title = '') =>
  inTransaction(ctx, async (tx) => {
    await getAgentRow(tx, ctx, agentId);
    const id = createId();
    await assertQuota(tx, ctx, 'conversations');
    await store.insertConversation(tx, toOwner(ctx), { id, agent_id: agentId, title });
    await writeAudit(tx, ctx, 'conversation.create', ['conversation', id], { agentId });
    return conversationView(await getOwnConversation(tx, ctx, id));
  });

/** Throws 404 unless the caller started the conversation. */
export const updateConversation = (ctx: RequestCtx, id: string, title: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    await getOwnConversation(tx, ctx, id);
    if (title !== undefined) await store.updateTitle(tx, toOwner(ctx), id, title);
    // More people can read the audit log than the conversation, so it does not name the title.
    await writeAudit(tx, ctx, 'conversation.update', ['conversation', id]);
    return conversationView(await getOwnConversation(tx, ctx, id));
  });

/** Throws 404 unless the caller started the conversation. */
export const deleteConversation = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await store.deleteConversation(tx, toOwner(ctx), id)) === 0) throw notFound('Conversation');
    await writeAudit(tx, ctx, 'conversation.delete', ['conversation', id]);
  });

/** Throws 404 unless the caller started the conversation. */
export const listMessages = (ctx: RequestCtx, id: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getOwnConversation(tx, ctx, id);
    return viewPage(await listRows(tx, ctx.organizationId, id, page), page, (row) =>
      messageView(maskAnswer(row, ctx.principal.reads)),
    );
  });

/** Throws 404 when the conversation was deleted while it was being answered. */
function answeredView(row: MessageRow | undefined): { message: Message } {
  if (row === undefined) throw notFound('Conversation');
  return { message: messageView(row) };
}

/** Waits for the answer. Throws as `startAnswer`, and 404 when the conversation is deleted meanwhile. */
export async function createMessage(ctx: RequestCtx, id: string, content: string) {
  const started = await startAnswer(ctx, id, content);
  return answeredView(
    await answerMessage(ctx, toAsker(ctx), started, ctx.disconnected, async () => undefined),
  );
}

/**
 * Like `createMessage`, sending events while the answer is generated. Returns the answer even when the client
 * disconnected. Throws as `createMessage`.
 */
export async function streamMessage(ctx: RequestCtx, id: string, content: string, channel: EventChannel) {
  const started = await startAnswer(ctx, id, content);
  const ignoreDisconnect = (sent: Promise<void>): Promise<void> =>
    sent.catch((error: unknown) => {
      if (!channel.signal.aborted) throw error;
    });
  await ignoreDisconnect(
    channel.send({
      event: 'started',
      data: { question: messageView(started.question), message: messageView(started.message) },
    }),
  );
  const row = await answerMessage(ctx, toAsker(ctx), started, channel.signal, ({ type, ...data }) =>
    channel.send({ event: type, data }),
  );
  const answer = answeredView(row);
  await ignoreDisconnect(channel.send({ event: 'message', data: answer }));
  return answer;
}
