// Rows of conversations. Each is seen by its maker alone; that is a condition of every query here.
import type { Knex } from 'knex';
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type ConversationRow = { id: string; agent_id: string; title: string; created_at: Date; last_message_at: Date | null };

/** Who looks, in which organization. */
export type Maker = { readonly organizationId: string; readonly ownerId: string };
const own = ({ organizationId, ownerId }: Maker) => ({ organization_id: organizationId, owner_id: ownerId });

const select = (tx: Tx, maker: Maker): Knex.QueryBuilder =>
  tx('conversations').where(own(maker)).select('id', 'agent_id', 'title', 'created_at', 'last_message_at');

export type ConversationFilters = { readonly q?: string | undefined; readonly agentId?: string | undefined };

export function listConversations(tx: Tx, maker: Maker, page: PageQuery, { q, agentId }: ConversationFilters) {
  const query = select(tx, maker).orderBy([
    { column: 'created_at', order: 'desc' },
    { column: 'id', order: 'desc' },
  ]);
  if (q !== undefined) query.whereRaw('strpos(lower(title), lower(?)) > 0', [q]);
  if (agentId !== undefined) query.where('agent_id', agentId);
  return readPage<ConversationRow>(query, page);
}

export const findConversation = async (tx: Tx, maker: Maker, id: string): Promise<ConversationRow | undefined> =>
  (await select(tx, maker).where({ id }).first()) as ConversationRow | undefined;

export const insertConversation = (tx: Tx, maker: Maker, row: Pick<ConversationRow, 'id' | 'agent_id' | 'title'>) =>
  tx('conversations').insert({ ...row, ...own(maker) });
export const updateTitle = (tx: Tx, maker: Maker, id: string, title: string): Promise<number> =>
  tx('conversations')
    .where({ ...own(maker), id })
    .update({ title });
export const deleteConversation = (tx: Tx, maker: Maker, id: string): Promise<number> =>
  tx('conversations')
    .where({ ...own(maker), id })
    .delete();

/** Notes when it was last written to, and a title where it has none yet. */
export const noteMessage = (tx: Tx, maker: Maker, id: string, title: string): Promise<number> =>
  tx('conversations')
    .where({ ...own(maker), id })
    .update({ last_message_at: tx.raw('clock_timestamp()'), title: tx.raw("case when title = '' then ? else title end", [title]) });
