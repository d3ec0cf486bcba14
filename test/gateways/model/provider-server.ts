// A fake model provider: responds to each request as the test says, in the wire format of Anthropic's
// Messages or OpenAI's chat completions, and records what it received and when a caller disconnected.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { listenLocally } from '../../setup/sockets.ts';

export type Asked = {
  readonly headers: IncomingMessage['headers'];
  readonly url: string;
  readonly body: Record<string, unknown>;
};
export type Answer = (res: ServerResponse, asked: Asked) => void | Promise<void>;

export type ProviderServer = {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** The responses to the next requests, one each; any further request gets a 418. */
  script(...answers: readonly Answer[]): void;
  stop(): Promise<void>;
};

export async function startProvider(): Promise<ProviderServer> {
  const asked: Asked[] = [];
  let answers: Answer[] = [];
  const server: Server = createServer(async (req, res) => {
    let text = '';
    try {
      for await (const chunk of req) text += chunk;
    } catch {
      return; // the caller disconnected before the end of the response
    }
    const request = {
      headers: req.headers,
      url: req.url ?? '',
      body: JSON.parse(text) as Record<string, unknown>,
    };
    asked.push(request);
    const answer = answers.shift() ?? ((other) => void other.writeHead(418).end());
    await answer(res, request);
  });
  return {
    url: `http://127.0.0.1:${await listenLocally(server)}/v1`,
    asked,
    script: (...next) => {
      asked.length = 0;
      answers = [...next];
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export type ToolCall = { readonly id: string; readonly name: string; readonly input: unknown };
export type Part = { readonly text: string } | { readonly call: ToolCall; readonly json?: string };

/** How a provider writes a response. */
export type Dialect = {
  readonly provider: 'anthropic' | 'openai-compatible';
  readonly path: string;
  readonly key: (headers: IncomingMessage['headers']) => string | undefined;
  /** Events before the parts, of the parts, and after them, with `reason` and the token usage. */
  open(inputTokens: number): string;
  part(part: Part, index: number): string;
  close(reason: 'stop' | 'calls' | 'length', outputTokens: number, inputTokens: number): string;
  /** The provider's own error in the middle of an answer. */
  error(words: string): string;
};

const event = (data: { type: string } & Record<string, unknown>): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const chunk = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const choice = (delta: unknown, finish: string | null = null) =>
  chunk({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

export const anthropicDialect: Dialect = {
  provider: 'anthropic',
  path: '/v1/messages',
  key: (headers) => headers['x-api-key']?.toString(),
  open: (inputTokens) =>
    event({
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'm',
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: inputTokens, output_tokens: 1 },
      },
    }),
  part: (part, index) => {
    const block =
      'text' in part
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: part.call.id, name: part.call.name, input: {} };
    const delta =
      'text' in part
        ? { type: 'text_delta', text: part.text }
        : { type: 'input_json_delta', partial_json: part.json ?? JSON.stringify(part.call.input) };
    return [
      event({ type: 'content_block_start', index, content_block: block }),
      event({ type: 'content_block_delta', index, delta }),
      event({ type: 'content_block_stop', index }),
    ].join('');
  },
  close: (reason, outputTokens) => {
    const words = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' }[reason];
    return [
      event({
        type: 'message_delta',
        delta: { stop_reason: words, stop_sequence: null },
        usage: { output_tokens: outputTokens },
      }),
      event({ type: 'message_stop' }),
    ].join('');
  },
  error: (words) => event({ type: 'error', error: { type: words, message: words } }),
};

export const openAiDialect: Dialect = {
  provider: 'openai-compatible',
  path: '/v1/chat/completions',
  key: (headers) => headers.authorization?.replace('Bearer ', ''),
  open: () => choice({ role: 'assistant', content: '' }),
  part: (part, index) => {
    if ('text' in part) return choice({ content: part.text });
    const { id, name, input } = part.call;
    const json = part.json ?? JSON.stringify(input);
    const [front, back] = [json.slice(0, 3), json.slice(3)];
    return [
      choice({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: front } }] }),
      choice({ tool_calls: [{ index, function: { arguments: back } }] }),
    ].join('');
  },
  close: (reason, outputTokens, inputTokens) =>
    [
      choice({}, { stop: 'stop', calls: 'tool_calls', length: 'length' }[reason]),
      chunk({
        id: 'c1',
        choices: [],
        usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: 0 },
      }),
      'data: [DONE]\n\n',
    ].join(''),
  error: (words) => chunk({ error: { message: words, type: words } }),
};

export const begin = (res: ServerResponse): void => {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.flushHeaders();
};

/** A complete answer: 100 input tokens, 10 output tokens. */
export const whole =
  (dialect: Dialect, parts: readonly Part[], reason: 'stop' | 'calls' | 'length' = 'stop'): Answer =>
  (res) => {
    begin(res);
    res.end(
      dialect.open(100) +
        parts.map((part, index) => dialect.part(part, index)).join('') +
        dialect.close(reason, 10, 100),
    );
  };

export const status =
  (
    code: number,
    headers: Record<string, string> = {},
    body: unknown = { error: { type: 'e', message: 'no' } },
  ): Answer =>
  (res) =>
    void res.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
