// Conversations with agents, and the messages in them. A conversation belongs to the person who began it: to everybody else, whatever
// they may do, it is not there.
import type { RequestCtx } from '../../core/ctx.ts';
import { notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import type { EventChannel } from '../../http/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { getAgentRow } from '../agents/agents.service.ts';
import { makeRoom } from '../room.ts';
import { answerMessage } from './answer.ts';
import { beginAnswer } from './begin-answer.ts';
import type { ConversationShown, MessageShown } from './conversations.schemas.ts';
import * as store from './conversations.store.ts';
import { listMessages as listRows, type MessageRow } from './messages.store.ts';

const makerOf = ({ organizationId, principal }: RequestCtx): store.Maker => ({ organizationId, ownerId: principal.user.id });

const shown = (row: store.ConversationRow): ConversationShown => ({
  id: row.id,
  agentId: row.agent_id,
  title: row.title,
  createdAt: instant(row.created_at),
  lastMessageAt: instantOrNull(row.last_message_at),
});

const shownMessage = (row: MessageRow): MessageShown => ({
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

async function getOwn(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ConversationRow> {
  const row = await store.findConversation(tx, makerOf(ctx), id);
  if (row === undefined) throw notFound('Conversation');
  return row;
}

export const listConversations = (ctx: RequestCtx, page: PageQuery, filters: store.ConversationFilters) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listConversations(tx, makerOf(ctx), page, filters);
    return toPage(rows.map(shown), total, page);
  });

export const listConversationsOf = (ctx: RequestCtx, agentId: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getAgentRow(tx, ctx, agentId);
    const { rows, total } = await store.listConversations(tx, makerOf(ctx), page, { agentId });
    return toPage(rows.map(shown), total, page);
  });

export const getConversation = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => shown(await getOwn(tx, ctx, id)));

export const createConversation = (ctx: RequestCtx, agentId: string, title = '') =>
  inTransaction(ctx, async (tx) => {
    await getAgentRow(tx, ctx, agentId);
    const id = newId();
    await makeRoom(tx, ctx, 'conversations');
    await store.insertConversation(tx, makerOf(ctx), { id, agent_id: agentId, title });
    await writeAudit(tx, ctx, { action: 'conversation.create', target: { type: 'conversation', id }, changes: { agentId } });
    return shown(await getOwn(tx, ctx, id));
  });

export const changeConversation = (ctx: RequestCtx, id: string, title: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    await getOwn(tx, ctx, id);
    if (title !== undefined) await store.updateTitle(tx, makerOf(ctx), id, title);
    // The audit log is read by more people than the conversation: it names no title.
    await writeAudit(tx, ctx, { action: 'conversation.update', target: { type: 'conversation', id } });
    return shown(await getOwn(tx, ctx, id));
  });

export const deleteConversation = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await store.deleteConversation(tx, makerOf(ctx), id)) === 0) throw notFound('Conversation');
    await writeAudit(tx, ctx, { action: 'conversation.delete', target: { type: 'conversation', id } });
  });

export const listMessages = (ctx: RequestCtx, id: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getOwn(tx, ctx, id);
    const { rows, total } = await listRows(tx, ctx.organizationId, id, page);
    return toPage(rows.map(shownMessage), total, page);
  });

/** The conversation may have been deleted while the answer was on its way. */
function answered(row: MessageRow | undefined): { message: MessageShown } {
  if (row === undefined) throw notFound('Conversation');
  return { message: shownMessage(row) };
}

export async function ask(ctx: RequestCtx, id: string, content: string): Promise<{ message: MessageShown }> {
  const begun = await beginAnswer(ctx, id, content);
  return answered(await answerMessage(ctx, begun, ctx.gone, async () => undefined));
}

/** The same, told as it comes. Gives the answer also when nobody read it to its end. */
export async function askAndFollow(
  ctx: RequestCtx,
  id: string,
  content: string,
  channel: EventChannel,
): Promise<{ message: MessageShown }> {
  const begun = await beginAnswer(ctx, id, content);
  const unlessGone = (sent: Promise<void>): Promise<void> =>
    sent.catch((error: unknown) => {
      if (!channel.signal.aborted) throw error;
    });
  await unlessGone(
    channel.send({ event: 'started', data: { question: shownMessage(begun.question), message: shownMessage(begun.message) } }),
  );
  const row = await answerMessage(ctx, begun, channel.signal, ({ type, ...data }) => channel.send({ event: type, data }));
  const answer = answered(row);
  await unlessGone(channel.send({ event: 'message', data: answer }));
  return answer;
}
