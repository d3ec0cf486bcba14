// Reads server-sent events one by one, as a client would, over a connection of its own.
import { createServer } from 'node:http';
import type { Express } from 'express';
import { listenLocally } from './sockets.ts';

export type StreamEvent = { readonly event: string; readonly id: string | undefined; readonly data: unknown };
export type OpenStream = {
  readonly response: Response;
  /** The body of a response that isn't a stream. */
  readonly errorBody: string;
  /** The comments received so far, which are heartbeats. */
  readonly comments: string[];
  /** Undefined when the stream has ended. */
  next(): Promise<StreamEvent | undefined>;
  /**
   * All events up to and including the first one that fits. Rejects with an Error when the stream ends
   * before.
   */
  until(fits: (event: StreamEvent) => boolean): Promise<StreamEvent[]>;
  rest(): Promise<StreamEvent[]>;
  close(): void;
};

function parseEvent(block: string, comments: string[]): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === 0) comments.push(line.slice(1).trim());
    else fields.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const event = fields.get('event');
  return event === undefined
    ? undefined
    : { event, id: fields.get('id'), data: JSON.parse(fields.get('data') ?? 'null') };
}

/** Sends a GET request, or with a body a POST request with JSON. */
export async function openStream(
  url: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<OpenStream> {
  const abort = new AbortController();
  const posted = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(url, {
    ...posted,
    headers: { accept: 'text/event-stream', ...type, ...headers },
    signal: abort.signal,
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const refused = isStream ? '' : await response.text();
  const reader = !isStream ? undefined : response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const comments: string[] = [];
  let text = '';
  const next = async (): Promise<StreamEvent | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const event = parseEvent(text.slice(0, end), comments);
        text = text.slice(end + 2);
        if (event !== undefined) return event;
        continue;
      }
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return undefined;
      text += chunk.value;
    }
  };
  const until = async (fits: (event: StreamEvent) => boolean): Promise<StreamEvent[]> => {
    const seen: StreamEvent[] = [];
    for (;;) {
      const event = await next();
      if (event === undefined) throw new Error(`the stream ended after ${JSON.stringify(seen)}`);
      seen.push(event);
      if (fits(event)) return seen;
    }
  };
  const rest = async (): Promise<StreamEvent[]> => {
    const seen: StreamEvent[] = [];
    for (let event = await next(); event !== undefined; event = await next()) seen.push(event);
    return seen;
  };
  return { response, errorBody: refused, comments, next, until, rest, close: () => abort.abort() };
}

type Served = {
  readonly url: string;
  readonly port: number;
  /** Number of connections that are open on the server. */
  open(): Promise<number>;
  stop(): Promise<void>;
};

export async function serve(app: Express): Promise<Served> {
  const server = createServer({ keepAliveTimeout: 0 }, app);
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    open: () => new Promise((resolve) => server.getConnections((_problem, count) => resolve(count))),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
