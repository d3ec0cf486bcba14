import { z } from 'zod';
import { Id, Instant, longText, shortText } from '../../http/fields.ts';

const title = shortText(120);
export const NewConversation = z.strictObject({ title: title.optional().describe('Taken from the first message unless given') });
export const ConversationChange = z.strictObject({ title: title.optional() });

export const Conversation = z
  .object({
    id: Id,
    agentId: Id,
    title: z.string().describe('Empty until the first message'),
    createdAt: Instant,
    lastMessageAt: Instant.nullable(),
  })
  .meta({ id: 'Conversation' });

export const NewMessage = z.strictObject({
  content: longText(16_000).refine((text) => /[^\p{Cf}\p{Mn}\p{Z}\p{Cc}]/u.test(text), 'must show something'),
});

export const messageStatuses = ['running', 'complete', 'failed', 'canceled'] as const;
export const ToolCall = z
  .object({
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    ok: z.boolean().nullable().describe('Null: it did not end'),
    output: z.string().describe('The beginning of what the tool answered'),
  })
  .meta({ id: 'ToolCall', example: { id: 'call-1', name: 'describe', input: {}, ok: true, output: '{"version":"v1"}' } });

export const Message = z
  .object({
    id: Id,
    role: z.enum(['user', 'assistant']),
    content: z.string().describe('Of an answer that failed or was canceled: what came until then'),
    toolCalls: z.array(ToolCall),
    usage: z.object({ inputTokens: z.int(), outputTokens: z.int() }).describe('Over all steps of the answer'),
    credits: z.int().describe('1 per started 1,000 tokens, never more than was held for it'),
    status: z.enum(messageStatuses),
    error: z.object({ code: z.string(), message: z.string() }).nullable().describe('Why it failed or was canceled'),
    createdAt: Instant,
    finishedAt: Instant.nullable(),
  })
  .meta({ id: 'Message' });
export const Answered = z.object({ message: Message });

/** What a stream of an answer tells, in this order but for the two in the middle, which take turns. */
export const answerEvents = {
  started: z.object({ question: Message, message: Message }).describe('Both are stored'),
  text: z.object({ text: z.string() }),
  'tool-started': z.object({ id: z.string(), name: z.string(), input: z.unknown() }),
  'tool-ended': z.object({ id: z.string(), name: z.string(), ok: z.boolean(), output: z.string() }),
  message: Answered,
};

export type MessageShown = z.input<typeof Message>;
export type ToolCallShown = z.input<typeof ToolCall>;
export type ConversationShown = z.input<typeof Conversation>;
