// A plain HTTP client: the bytes of an answer as they came; of a stream, those up to its first event.
import { Agent, request } from 'node:http';
import { bodyText } from './random.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The names and values of all headers, as sent. */
  readonly head: string;
  readonly raw: Buffer;
  readonly text: string;
  /** False when the connection broke after the headers: `raw` is what came before. */
  readonly isWhole: boolean;
};
export type Sent = {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'DELETE' | 'PATCH' | 'PUT';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};
export type Call = (sent: Sent) => Promise<Answer>;

/** Calls the server at this origin; `close` ends its connections. */
export function createCaller(origin: string): { readonly call: Call; close(): void } {
  const agent = new Agent({ keepAlive: true });
  const call: Call = ({ method = 'GET', path, headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const sent = request(`${origin}${path}`, {
        method,
        agent,
        headers: {
          ...headers,
          ...(text !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          }),
        },
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          // It goes on until the client leaves.
          if (isStream && chunk.includes('\n\n')) response.destroy();
        });
        response.on('error', () => undefined);
        response.on('close', () => {
          const raw = Buffer.concat(chunks);
          const known = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(known),
            head: response.rawHeaders.join('\n'),
            raw,
            text: response.complete ? bodyText(raw, response.headers['content-encoding']) : raw.toString(),
            isWhole: response.complete,
          });
        });
      });
      sent.end(text);
    });
  return { call, close: () => agent.destroy() };
}
