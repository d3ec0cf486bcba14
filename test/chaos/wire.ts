// A proxy between the service and the account, in this process: it counts requests, triggers an action before
// a chosen one, and removes locked records from responses: they are listed and counted but can't be read.
// Texts may be replaced, too. Everything else passes unchanged.
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { listenLocally } from '../setup/sockets.ts';

export type Wire = {
  readonly url: string;
  readonly host: string;
  /** Requests since `begin`. */
  count(): number;
  /**
   * `onRequest` is called before each request is passed on, with its body, or with its path when it has none.
   */
  begin(onRequest: (count: number, question: string) => Promise<void>): void;
  /** This record is removed from every response that has more than its id; null: no record is locked. */
  lock(record: Lock | null): void;
  /** This text is replaced in every response; null: none is. */
  replace(texts: Replaced | null): void;
  /** Calls `look` after each response, until the returned function is called. */
  watch(look: (exchange: Exchange) => void): () => void;
  close(): Promise<void>;
};

const readBody = async (message: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
};

/**
 * `question` is the body of the request, which of queries holds the SQL. A response that was cut has no text.
 */
export type Exchange = {
  readonly question: string;
  readonly path: string;
  readonly status: number;
  readonly text: string;
};
export type Lock = { readonly table: string; readonly id: string; onTaken(): void };
export type Replaced = { readonly text: string; readonly by: string };
type Answer = { items?: Record<string, unknown>[]; count?: number; totalResults?: number };

/** Null when there is nothing to remove. */
function withoutLocked(question: string, text: string, lock: Lock): string | null {
  const [selected = ''] = question.split(' FROM ', 1);
  if (!question.includes(`FROM ${lock.table} t`) || !selected.includes('lastmodified')) return null;
  const answer = JSON.parse(text) as Answer;
  const items = answer.items?.filter(({ id }) => id !== lock.id);
  if (items === undefined || items.length === answer.items?.length) return null;
  return JSON.stringify({
    ...answer,
    items,
    count: items.length,
    totalResults: Math.max(items.length, (answer.totalResults ?? 1) - 1),
  });
}

type Asked = { readonly question: string; readonly path: string };
type Watched = {
  readonly locked: Lock | null;
  readonly replaced: Replaced | null;
  readonly watchers: ReadonlySet<(exchange: Exchange) => void>;
};

async function give(
  answer: IncomingMessage,
  asked: Asked,
  response: ServerResponse,
  { locked, replaced, watchers }: Watched,
): Promise<void> {
  const status = answer.statusCode ?? 502;
  const sent = await readBody(answer).catch(() => null);
  const whole =
    sent === null || replaced === null
      ? sent
      : Buffer.from(sent.toString().replaceAll(replaced.text, replaced.by));
  for (const look of watchers) look({ ...asked, status, text: whole?.toString() ?? '' });
  if (whole === null) {
    // The account cut its response: cut this one too, after the head and a few bytes.
    response.writeHead(status, answer.headers);
    response.write('{', () => response.destroy());
    return;
  }
  // A login or maintenance page comes with status 200 too.
  const isJson = answer.headers['content-type']?.includes('json') === true;
  const changed =
    locked === null || status !== 200 || !isJson
      ? null
      : withoutLocked(asked.question, whole.toString(), locked);
  if (changed !== null) locked?.onTaken();
  const text = changed === null ? whole : Buffer.from(changed);
  response.writeHead(status, { ...answer.headers, 'content-length': String(text.length) });
  response.end(text);
}

export async function openWire(target: string): Promise<Wire> {
  const { hostname, port } = new URL(target);
  let counted = 0;
  let before: (count: number, question: string) => Promise<void> = async () => undefined;
  let locked: Lock | null = null;
  let replaced: Replaced | null = null;
  const watchers = new Set<(exchange: Exchange) => void>();

  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    counted += 1;
    await before(counted, body.length > 0 ? body.toString() : (request.url ?? ''));
    const { 'accept-encoding': _coding, ...headers } = request.headers; // so that response bodies can be read
    const upstream = send(
      { hostname, port, path: request.url, method: request.method, headers },
      (answer) => {
        void give(answer, { question: body.toString(), path: request.url ?? '' }, response, {
          locked,
          replaced,
          watchers,
        });
      },
    );
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    upstream.end(body);
  };
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    pass(request, response).catch(() => response.destroy());
  });
  const host = `127.0.0.1:${await listenLocally(server)}`;
  return {
    url: `http://${host}`,
    host,
    count: () => counted,
    begin(onRequest) {
      counted = 0;
      before = onRequest;
    },
    lock(record) {
      locked = record;
    },
    replace(texts) {
      replaced = texts;
    },
    watch(look) {
      watchers.add(look);
      return () => watchers.delete(look);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
