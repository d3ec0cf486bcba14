// Rows of conversations. Every query filters by owner, because a conversation is visible to its owner only.
import type { Knex } from 'knex';
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type ConversationRow = {
  id: string;
  agent_id: string;
  title: string;
  created_at: Date;
  last_message_at: Date | null;
};

/** The person whose conversations are read, in their organization. */
export type ConversationOwner = { readonly organizationId: string; readonly ownerId: string };
const own = ({ organizationId, ownerId }: ConversationOwner) => ({
  organization_id: organizationId,
  owner_id: ownerId,
});

const select = (tx: Tx, owner: ConversationOwner): Knex.QueryBuilder =>
  tx('conversations').where(own(owner)).select('id', 'agent_id', 'title', 'created_at', 'last_message_at');

export type ConversationFilters = { readonly q?: string | undefined; readonly agentId?: string | undefined };

export function listConversations(
  tx: Tx,
  owner: ConversationOwner,
  page: PageQuery,
  { q, agentId }: ConversationFilters,
) {
  const query = select(tx, owner).orderBy(newestFirst('created_at', 'id'));
  if (q !== undefined) query.whereRaw(containsSql('title'), [q]);
  if (agentId !== undefined) query.where('agent_id', agentId);
  return readPage<ConversationRow>(query, page);
}

export const findConversation = async (tx: Tx, owner: ConversationOwner, id: string) =>
  (await select(tx, owner).where({ id }).first()) as ConversationRow | undefined;

export const insertConversation = (
  tx: Tx,
  owner: ConversationOwner,
  row: Pick<ConversationRow, 'id' | 'agent_id' | 'title'>,
) => tx('conversations').insert({ ...row, ...own(owner) });
export const updateTitle = (tx: Tx, owner: ConversationOwner, id: string, title: string): Promise<number> =>
  tx('conversations')
    .where({ ...own(owner), id })
    .update({ title });
export const deleteConversation = (tx: Tx, owner: ConversationOwner, id: string): Promise<number> =>
  tx('conversations')
    .where({ ...own(owner), id })
    .delete();

/** Sets the time of the last message, and the title when there is none yet. */
export const recordMessageTime = async (tx: Tx, owner: ConversationOwner, id: string, title: string) =>
  tx('conversations')
    .where({ ...own(owner), id })
    .update({
      last_message_at: tx.raw('clock_timestamp()'),
      title: tx.raw("case when title = '' then ? else title end", [title]),
    });
