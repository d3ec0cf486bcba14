// Rows of conversations of visitors of the portal: one for each customer of a visitor, with an agent. Members have none of
// them, since every query for members names its owner. Every query here names the visitor and the customer.
import { createId } from '../../core/id.ts';
import { newestFirst } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { Source } from './asker.ts';
import type { MessageRow } from './messages.store.ts';

/** `visitor`: an address as `normalizeEmail` writes it. */
export type ConversationVisitor = {
  readonly organizationId: string;
  readonly visitor: string;
  readonly customer: string;
  readonly agentId: string;
};

const own = ({ organizationId, visitor, customer, agentId }: ConversationVisitor) => ({
  ...{ organization_id: organizationId, visitor, customer, agent_id: agentId },
});

/** Begins the conversation unless there is one, and notes that it goes on. Resolves to its id. */
export async function continueConversation(tx: Tx, visitor: ConversationVisitor): Promise<string> {
  const { rows } = await tx.raw<{ rows: { id: string }[] }>(
    `insert into conversations (id, organization_id, visitor, customer, agent_id, last_message_at)
     values (:id, :organization_id, :visitor, :customer, :agent_id, clock_timestamp())
     on conflict (organization_id, visitor, customer, agent_id) where visitor is not null
     do update set last_message_at = excluded.last_message_at
     returning id`,
    { ...own(visitor), id: createId() },
  );
  return rows[0]?.id ?? '';
}

export const findVisitorConversation = async (tx: Tx, visitor: ConversationVisitor) =>
  (await tx('conversations').where(own(visitor)).first<{ id: string } | undefined>('id'))?.id;

export type VisitorMessage = Pick<
  MessageRow,
  'id' | 'role' | 'content' | 'status' | 'error' | 'created_at'
> & {
  readonly sources: readonly Source[];
};

/** The latest messages, oldest first. */
export async function listLatestMessages(
  tx: Tx,
  { organizationId }: Pick<ConversationVisitor, 'organizationId'>,
  conversationId: string,
  limit: number,
): Promise<VisitorMessage[]> {
  const rows = await tx('conversation_messages')
    .where({ organization_id: organizationId, conversation_id: conversationId })
    .orderBy(newestFirst('created_at', 'id'))
    .limit(limit)
    .select<VisitorMessage[]>('id', 'role', 'content', 'status', 'error', 'sources', 'created_at');
  return rows.reverse();
}

/** Of an answer that isn't complete. */
export const saveContentSoFar = (tx: Tx, organizationId: string, id: string, content: string) =>
  tx('conversation_messages')
    .where({ organization_id: organizationId, id, status: 'running' })
    .update({ content });

/** Whether a question of the visitor is being answered, about any customer. */
export const isBeingAnswered = async (tx: Tx, organizationId: string, visitor: string): Promise<boolean> =>
  (await tx('running_answers as r')
    .join('conversations as c', {
      'c.organization_id': 'r.organization_id',
      'c.id': 'r.conversation_id',
    })
    .where({ 'r.organization_id': organizationId, 'c.visitor': visitor })
    .first('r.message_id')) !== undefined;

export const deleteConversationsOf = (tx: Tx, organizationId: string, visitor: string): Promise<number> =>
  tx('conversations').where({ organization_id: organizationId, visitor }).delete();

/** Of the day, by UTC and the database's clock. */
export type AskedToday = { readonly asked: number; readonly secondsLeft: number };

const keyOf = (organizationId: string, visitor: string): string =>
  `visitor-questions:${organizationId}:${visitor}`;
const nextDay =
  "(date_trunc('day', clock_timestamp() at time zone 'UTC') + interval '1 day') at time zone 'UTC'";
const secondsLeft = 'extract(epoch from resets_at - clock_timestamp())::float8 as "secondsLeft"';

/** Counts a question. Others of the visitor wait for the end of the transaction. Throws only if PostgreSQL returns no row. */
export async function countQuestion(tx: Tx, organizationId: string, visitor: string): Promise<AskedToday> {
  const { rows } = await tx.raw<{ rows: AskedToday[] }>(
    `insert into rate_limits as former (key, hits, resets_at) values (?, 1, ${nextDay})
     on conflict (key) do update set
       hits = case when former.resets_at <= clock_timestamp() then 1 else former.hits + 1 end,
       resets_at = excluded.resets_at
     returning hits as asked, ${secondsLeft}`,
    [keyOf(organizationId, visitor)],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a question was not counted');
  return row;
}

export const readAskedToday = (tx: Tx, organizationId: string, visitor: string) =>
  tx('rate_limits')
    .where('key', keyOf(organizationId, visitor))
    .whereRaw('resets_at > clock_timestamp()')
    .first<AskedToday | undefined>('hits as asked', tx.raw(secondsLeft));
