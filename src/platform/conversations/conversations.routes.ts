import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { createPageSchema, PageQuery, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import {
  AnsweredMessage,
  answerEvents,
  Conversation,
  ConversationPatch,
  Message,
  NewConversation,
  NewMessage,
} from './conversations.schemas.ts';
import * as service from './conversations.service.ts';

const own = 'Conversations are visible only to the person who started them, regardless of roles.';

export const conversationRoutes = inGroup('Agents', [
  defineRoute('listAgentConversations', 'GET /agents/{id}/conversations', {
    permission: 'conversation:read',
    summary: 'List conversations with an agent',
    description: `Newest first. ${own}`,
    params: IdParams,
    query: PageQuery,
    response: createPageSchema(Conversation),
    handler: (ctx, { params, query }) => service.listAgentConversations(ctx, params.id, query),
  }),
  defineRoute('createConversation', 'POST /agents/{id}/conversations', {
    permission: 'conversation:create',
    summary: 'Start a conversation with an agent',
    description: own,
    params: IdParams,
    body: NewConversation,
    example: { title: 'Open invoices' },
    response: Conversation,
    status: 201,
    handler: (ctx, { params, body }) => service.createConversation(ctx, params.id, body.title),
  }),
  defineRoute('listConversations', 'GET /conversations', {
    permission: 'conversation:read',
    summary: 'List conversations',
    description: `Newest first, with all agents. ${own} \`q\` searches in titles.`,
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      agentId: Id.optional(),
    }),
    response: createPageSchema(Conversation),
    handler: (ctx, { query: { q, agentId, ...page } }) =>
      service.listConversations(ctx, page, { q, agentId }),
  }),
  defineRoute('getConversation', 'GET /conversations/{id}', {
    permission: 'conversation:read',
    summary: 'Retrieve a conversation',
    description: own,
    params: IdParams,
    response: Conversation,
    handler: (ctx, { params }) => service.getConversation(ctx, params.id),
  }),
  defineRoute('updateConversation', 'PATCH /conversations/{id}', {
    permission: 'conversation:update',
    summary: 'Rename a conversation',
    description: 'Nothing changes when the title is omitted.',
    params: IdParams,
    body: ConversationPatch,
    example: { title: 'Invoices of August' },
    response: Conversation,
    handler: (ctx, { params, body }) => service.updateConversation(ctx, params.id, body.title),
  }),
  defineRoute('deleteConversation', 'DELETE /conversations/{id}', {
    permission: 'conversation:delete',
    summary: 'Delete a conversation with its messages',
    description: 'Credits already used still count.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteConversation(ctx, params.id),
  }),
  defineRoute('listMessages', 'GET /conversations/{id}/messages', {
    permission: 'conversation:read',
    readsRecords: true,
    summary: 'List messages of a conversation',
    description:
      'Questions and answers, oldest first. An answer in progress has the status `running` and no content yet, and one that may show values ' +
      'that are masked for the caller has the error `field_masked` instead of content.',
    params: IdParams,
    query: PageQuery,
    response: createPageSchema(Message),
    handler: (ctx, { params, query }) => service.listMessages(ctx, params.id, query),
  }),
  defineRoute('createMessage', 'POST /conversations/{id}/messages', {
    permission: 'conversation:create',
    readsRecords: true,
    summary: 'Send a message',
    description:
      'Stores the question, then answers it; the answer is the `message`. When answering fails, its status is `failed` and `error` gives ' +
      'the reason; disconnecting before the end cancels the answer, and so does losing access to the records. A conversation answers one message at a time. The maximum cost of ' +
      'the answer is reserved while it runs; without credits the response is 403 `Agent credits exhausted`.',
    params: IdParams,
    body: NewMessage,
    example: { content: 'How many invoices are open?' },
    response: AnsweredMessage,
    status: 201,
    stream: {
      description:
        'The answer as it is generated. A repeated request with the same `Idempotency-Key` streams only the last event.',
      events: answerEvents,
      resultEvent: 'message',
      run: (ctx, { params, body }, channel) => service.streamMessage(ctx, params.id, body.content, channel),
    },
    handler: (ctx, { params, body }) => service.createMessage(ctx, params.id, body.content),
  }),
]);
