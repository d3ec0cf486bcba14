// The HTTP server under the application. What Node refuses by itself, before there is a request to answer, gets the same error body and
// request id as everything else.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type Connections, type Exchange, lingerMs, type TakeLimits, watchAnswers } from './connections.ts';
import { errorBody } from './errors.ts';
import type { Messages } from './messages.ts';

/** Times in milliseconds. */
export type ServerLimits = TakeLimits & {
  readonly maxConnections: number;
  /** How long a connection may rest between requests. */
  readonly keepAliveTimeout: number;
  /** How long the first line and the headers may take, from the connection or the end of the request before. */
  readonly headersTimeout: number;
  /** How long a whole request may take to come in. */
  readonly requestTimeout: number;
  /** How often it is looked for those who took longer. */
  readonly connectionsCheckingInterval: number;
  /** Bytes of the first line and the headers together. */
  readonly maxHeaderSize: number;
};

const usual: ServerLimits = {
  maxConnections: 10_000,
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16_384,
  lookEveryMs: 5_000,
  takeMs: 60_000,
  slowestBytesPerSecond: 16_384,
};
/** Requests of one connection that are sent before the answers to those before are there: Node.js begins with all that have come in. */
const mostUnanswered = 100;
/** The system asks connections that say nothing whether anyone is there, so that those whose caller vanished end. */
const askQuiet = { keepAlive: true, keepAliveInitialDelay: 60_000 };

const refuse = (message: string, code: string, status?: 408 | 413 | 431): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: '', code, message }], ...(status !== undefined && { status }) });

/** By Node's and its parser's codes. */
const refusals: Readonly<Record<string, AppError>> = {
  HPE_HEADER_OVERFLOW: refuse('The address and the headers are too large together', 'headers_too_large', 431),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refuse('The chunk extensions of the body are too large', 'too_large', 413),
  ERR_HTTP_REQUEST_TIMEOUT: refuse('The request did not arrive in time', 'request_timeout', 408),
};
const unreadable = refuse("The request can't be read as HTTP", 'malformed_request');

/** The whole answer, after which the connection ends: nobody knows where the next request would begin. */
function answerText(error: AppError, requestId: string): string {
  const body = JSON.stringify(errorBody(error, requestId));
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** What is known of the open connections of a server. */
const connectionsOf = new WeakMap<Server, Connections>();

/** Not listening yet, and answering nothing until `serveBy`. */
export function openServer(log: Log, messages: Partial<Messages> = {}, given: Partial<ServerLimits> = {}): Server {
  const { lookEveryMs, takeMs, slowestBytesPerSecond, maxConnections, ...times } = { ...usual, ...given };
  // Host is asked for by the application, which answers as it does everything.
  const server = createServer({ ...messages, ...times, ...askQuiet, requireHostHeader: false });
  server.maxConnections = maxConnections;
  const connections: Connections = new Map();
  connectionsOf.set(server, connections);
  watchAnswers(server, connections, log, { lookEveryMs, takeMs, slowestBytesPerSecond });
  const refused = new WeakSet<Duplex>();
  server.on('connection', (socket) => {
    connections.set(socket, { last: undefined, unanswered: 0, looksLeft: undefined });
    socket.once('close', () => connections.delete(socket));
  });
  // What each request adds to it is kept by its connection: a collection of all answers cost each of them some 40 µs of collecting garbage.
  const note = (req: IncomingMessage, res: ServerResponse): void => {
    const connection = connections.get(req.socket);
    if (connection === undefined) return;
    const exchange = { req, res };
    connection.last = exchange;
    connection.unanswered += 1;
    if (connection.unanswered > mostUnanswered && !req.socket.destroyed) {
      log.info({ requests: connection.unanswered }, 'a connection was closed: too many requests at once');
      req.socket.destroy();
    }
    res.once('close', () => {
      connection.unanswered -= 1;
      connection.looksLeft = undefined;
      if (connection.last === exchange) connection.last = undefined;
    });
  };
  server.on('request', note);
  server.on('checkExpectation', note);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    // What else comes on such a connection can be read no better, and must not cost its caller the answer that is on its way.
    if (refused.has(socket)) return;
    if (!socket.writable) return void socket.destroy();
    refused.add(socket);
    const before = connections.get(socket)?.last;
    const refuseRest = (requestId: string = randomUUID()): void => {
      if (!socket.writable) return;
      const shown = refusals[error.code ?? ''] ?? unreadable;
      log.info({ requestId, status: shown.status, reason: error.code }, 'a request could not be read');
      socket.end(answerText(shown, requestId));
      const ending = setTimeout(() => socket.destroy(), lingerMs);
      socket.once('close', () => clearTimeout(ending));
    };
    if (before === undefined) return refuseRest();
    // An earlier request is still being answered: what is wrong came after it, and is told after it.
    if (before.req.complete) return void before.res.once('close', () => refuseRest());
    // It is that request's own body that can't be read: one answer, or none when another one has begun or stands before it.
    if (before.res.headersSent || before.res.socket !== socket) return void socket.destroy();
    refuseRest(String(before.res.getHeader('X-Request-Id') ?? randomUUID()));
  });
  return server;
}

/** What proxies may send before the path. Express answers by itself, in HTML, what it can't read there as a host. */
const beforePath = /^[a-z]+:\/\/[^/?#]*/i;

/** The path and the query of an address, which may be a whole one. */
function pathOf(url: string): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(beforePath, '');
  return path.startsWith('/') || path === '*' ? path : `/${path}`;
}

/** From now on the application answers, also whoever expects what no server of ours does. */
export function serveBy(server: Server, app: RequestListener): void {
  const serve: RequestListener = (req, res) => {
    req.url = pathOf(req.url ?? '/');
    // Of a piece that came in before its connection was closed the rest is read all the same.
    if (!req.socket.destroyed) app(req, res);
  };
  server.on('request', serve);
  server.on('checkExpectation', serve);
}

const sweepEveryMs = 50;
/** A request whose headers are still on their way has so long to arrive. */
const arrivalMs = 1_000;

/**
 * Takes nothing new and answers what is under way, as the last on its connection. Connections on which nothing is asked are closed,
 * whether or not their callers meant to use them again; at the deadline all are. Resolves when none is left, with how many requests
 * were cut.
 */
export async function closeServer(server: Server, deadline: AbortSignal): Promise<{ readonly cut: number }> {
  const connections: Connections = connectionsOf.get(server) ?? new Map();
  const waiting = (): Exchange[] => [...connections.values()].flatMap(({ last }) => last ?? []);
  const last = (_req: IncomingMessage, res: ServerResponse): void => {
    res.shouldKeepAlive = false;
  };
  server.prependListener('request', last);
  server.prependListener('checkExpectation', last);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const { res } of waiting()) if (!res.headersSent) res.shouldKeepAlive = false;
  const sweep = setInterval(() => server.closeIdleConnections(), sweepEveryMs);
  const silent = setTimeout(() => {
    for (const [socket, { last: asked }] of connections) if (asked === undefined) socket.destroy();
  }, arrivalMs);
  let cut = 0;
  const cutOff = (): void => {
    cut = waiting().length;
    server.closeAllConnections();
  };
  if (deadline.aborted) cutOff();
  else deadline.addEventListener('abort', cutOff, { once: true });
  await closed;
  clearInterval(sweep);
  clearTimeout(silent);
  return { cut };
}
