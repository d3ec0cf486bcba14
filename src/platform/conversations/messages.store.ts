// Rows of messages, ordered by creation.
import type { Knex } from 'knex';
import type { RecordAccess } from '../../core/record-access.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { Source } from './asker.ts';
import type { Message, ToolCall } from './conversations.schemas.ts';

export type MessageRow = {
  id: string;
  role: Message['role'];
  content: string;
  tool_calls: ToolCall[];
  status: Message['status'];
  error: { code: string; message: string } | null;
  input_tokens: number;
  output_tokens: number;
  credits: number;
  /** Answered for a reader of unmasked values, while a version masked fields. */
  unmasked: boolean;
  created_at: Date;
  finished_at: Date | null;
};

const select = (tx: Tx, organizationId: string): Knex.QueryBuilder =>
  tx('conversation_messages')
    .where({ organization_id: organizationId })
    .select(
      'id',
      'role',
      'content',
      'tool_calls',
      'status',
      'error',
      'input_tokens',
      'output_tokens',
      'credits',
      'unmasked',
      'created_at',
      'finished_at',
    );

const maskedAnswer = { code: 'field_masked', message: 'This answer may show values that are masked for you' };

/** An answer with unmasked values has no content for readers who see fields masked. */
export const maskAnswer = (row: MessageRow, { unmasked }: Pick<RecordAccess, 'unmasked'>): MessageRow =>
  unmasked || !row.unmasked ? row : { ...row, content: '', tool_calls: [], error: maskedAnswer };

export const listMessageRows = (tx: Tx, organizationId: string, conversationId: string, page: PageQuery) =>
  readPage<MessageRow>(
    select(tx, organizationId).where({ conversation_id: conversationId }).orderBy(['created_at', 'id']),
    page,
  );

/** Newest first. */
export const findLatestMessages = async (
  tx: Tx,
  organizationId: string,
  conversationId: string,
  limit: number,
): Promise<MessageRow[]> =>
  (await select(tx, organizationId)
    .where({ conversation_id: conversationId })
    .orderBy(newestFirst('created_at', 'id'))
    .limit(limit)) as MessageRow[];

export const findMessage = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where({ id }).first()) as MessageRow | undefined;

type NewMessage = Pick<MessageRow, 'id' | 'role' | 'content' | 'status'> & {
  readonly conversation_id: string;
};
export const insertMessage = (tx: Tx, organizationId: string, row: NewMessage) =>
  tx('conversation_messages').insert({
    ...row,
    organization_id: organizationId,
    ...(row.status === 'complete' && { finished_at: tx.raw('clock_timestamp()') }),
  });

export type FinishedMessage = Pick<
  MessageRow,
  'content' | 'tool_calls' | 'status' | 'error' | 'input_tokens' | 'output_tokens' | 'credits' | 'unmasked'
> & { readonly sources?: readonly Source[] };
export const finishMessage = (
  tx: Tx,
  organizationId: string,
  id: string,
  { tool_calls: calls, error, sources, ...ending }: FinishedMessage,
): Promise<number> =>
  tx('conversation_messages')
    .where({ organization_id: organizationId, id })
    .update({
      ...ending,
      tool_calls: JSON.stringify(calls),
      ...(sources && { sources: JSON.stringify(sources) }),
      error: error === null ? null : JSON.stringify(error),
      finished_at: tx.raw('clock_timestamp()'),
    });
