import { z } from 'zod';
import { Id, Instant, longText, shortText } from '../../http/fields.ts';

const title = shortText(120);
export const NewConversation = z.strictObject({
  title: title.optional().describe('Defaults to the beginning of the first message'),
});
export const ConversationPatch = z.strictObject({ title: title.optional() });

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
  content: longText(16_000).refine(
    (text) => /[^\p{Cf}\p{Mn}\p{Z}\p{Cc}]/u.test(text),
    'must contain visible characters',
  ),
});

export const messageStatuses = ['running', 'complete', 'failed', 'canceled'] as const;
export const ToolCall = z
  .object({
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    ok: z.boolean().nullable().describe('Null when the call did not complete'),
    output: z.string().describe('The beginning of the output of the tool'),
  })
  .meta({
    id: 'ToolCall',
    example: { id: 'call-1', name: 'describe', input: {}, ok: true, output: '{"version":"v1"}' },
  });

export const Message = z
  .object({
    id: Id,
    role: z.enum(['user', 'assistant']),
    content: z.string().describe('For a failed or canceled answer, the text generated until then'),
    toolCalls: z.array(ToolCall),
    usage: z
      .object({ inputTokens: z.int(), outputTokens: z.int() })
      .describe('Sum over all steps of the answer'),
    credits: z.int().describe('1 per started 1,000 tokens, at most the reserved credits'),
    status: z.enum(messageStatuses),
    error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .describe('Why the answer failed or was canceled'),
    createdAt: Instant,
    finishedAt: Instant.nullable(),
  })
  .meta({ id: 'Message' });
export const AnsweredMessage = z.object({ message: Message });

/** Of an answer stream: `started` first and `message` last; text and tool events between, in any order. */
export const answerEvents = {
  started: z.object({ question: Message, message: Message }).describe('Question and answer are stored'),
  text: z.object({ text: z.string() }),
  'tool-started': z.object({ id: z.string(), name: z.string(), input: z.unknown() }),
  'tool-ended': z.object({ id: z.string(), name: z.string(), ok: z.boolean(), output: z.string() }),
  message: AnsweredMessage,
};

export type Message = z.input<typeof Message>;
export type ToolCall = z.input<typeof ToolCall>;
export type Conversation = z.input<typeof Conversation>;
