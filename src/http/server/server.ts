// The HTTP server below the application. Requests that Node.js rejects itself, before the application sees them, get the same error body
// and request id as every other error.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type Connections, closeSlowClients, type HttpExchange, lingerMs, type SlowClientLimits } from './connections.ts';
import { errorBody } from './errors.ts';
import type { MessageClasses } from './message-classes.ts';

/** Times in milliseconds. */
export type ServerLimits = SlowClientLimits & {
  readonly maxConnections: number;
  /** How long a connection may stay idle between requests. */
  readonly keepAliveTimeout: number;
  /** How long the request line and the headers may take, from connecting or from the end of the previous request. */
  readonly headersTimeout: number;
  /** How long a complete request may take to arrive. */
  readonly requestTimeout: number;
  /** How often these two timeouts are checked. */
  readonly connectionsCheckingInterval: number;
  /** Bytes of the request line and the headers together. */
  readonly maxHeaderSize: number;
};

const defaultLimits: ServerLimits = {
  maxConnections: 10_000,
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16_384,
  checkEveryMs: 5_000,
  readTimeoutMs: 60_000,
  minBytesPerSecond: 16_384,
};
/** Pipelined requests of one connection that have no response yet. Node.js starts each as soon as it arrives. */
const maxUnanswered = 100;
/** TCP keep-alive: the operating system probes idle connections, so those of vanished clients are closed. */
const keepAliveProbes = { keepAlive: true, keepAliveInitialDelay: 60_000 };

const requestError = (message: string, code: string, status?: 408 | 413 | 431): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: '', code, message }], ...(status !== undefined && { status }) });

/** By the error codes of Node.js and its HTTP parser. */
const refusals: Readonly<Record<string, AppError>> = {
  HPE_HEADER_OVERFLOW: requestError('The request line and the headers are too large', 'headers_too_large', 431),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: requestError('The chunk extensions of the body are too large', 'too_large', 413),
  ERR_HTTP_REQUEST_TIMEOUT: requestError('The request did not arrive in time', 'request_timeout', 408),
};
const unreadable = requestError("The request can't be read as HTTP", 'malformed_request');

/** The complete response. The connection is closed after it, since the start of a next request can't be determined. */
function responseText(error: AppError, requestId: string): string {
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

/** The open connections of each server. */
const connectionsOf = new WeakMap<Server, Connections>();

/** Creates a server that doesn't listen yet and serves no request before `attachApp`. */
export function createHttpServer(log: Log, messages: Partial<MessageClasses> = {}, given: Partial<ServerLimits> = {}): Server {
  const {
    checkEveryMs: lookEveryMs,
    readTimeoutMs: takeMs,
    minBytesPerSecond: slowestBytesPerSecond,
    maxConnections,
    ...times
  } = { ...defaultLimits, ...given };
  // The application checks the Host header, so that a missing one gets the usual error body.
  const server = createServer({ ...messages, ...times, ...keepAliveProbes, requireHostHeader: false });
  server.maxConnections = maxConnections;
  const connections: Connections = new Map();
  connectionsOf.set(server, connections);
  closeSlowClients(server, connections, log, {
    checkEveryMs: lookEveryMs,
    readTimeoutMs: takeMs,
    minBytesPerSecond: slowestBytesPerSecond,
  });
  const rejected = new WeakSet<Duplex>();
  server.on('connection', (socket) => {
    connections.set(socket, { last: undefined, unanswered: 0, checksLeft: undefined });
    socket.once('close', () => connections.delete(socket));
  });
  // Requests are tracked per connection: one collection of all responses cost each of them some 40 µs of garbage collection.
  const track = (req: IncomingMessage, res: ServerResponse): void => {
    const connection = connections.get(req.socket);
    if (connection === undefined) return;
    const exchange = { req, res };
    connection.last = exchange;
    connection.unanswered += 1;
    if (connection.unanswered > maxUnanswered && !req.socket.destroyed) {
      log.info({ requests: connection.unanswered }, 'connection closed: too many pipelined requests');
      req.socket.destroy();
    }
    res.once('close', () => {
      connection.unanswered -= 1;
      connection.checksLeft = undefined;
      if (connection.last === exchange) connection.last = undefined;
    });
  };
  server.on('request', track);
  server.on('checkExpectation', track);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    // More input on such a connection can't be parsed either, and must not cost the client the error response that is being sent.
    if (rejected.has(socket)) return;
    if (!socket.writable) return void socket.destroy();
    rejected.add(socket);
    const before = connections.get(socket)?.last;
    const rejectRest = (requestId: string = randomUUID()): void => {
      if (!socket.writable) return;
      const shown = refusals[error.code ?? ''] ?? unreadable;
      log.info({ requestId, status: shown.status, reason: error.code }, 'a request could not be parsed');
      socket.end(responseText(shown, requestId));
      const ending = setTimeout(() => socket.destroy(), lingerMs);
      socket.once('close', () => clearTimeout(ending));
    };
    if (before === undefined) return rejectRest();
    // An earlier request is still being served: the malformed input came after it, so the error response follows that response.
    if (before.req.complete) return void before.res.once('close', () => rejectRest());
    // That request's own body can't be parsed: send one error response, or none when its response, or one before it, has started.
    if (before.res.headersSent || before.res.socket !== socket) return void socket.destroy();
    rejectRest(String(before.res.getHeader('X-Request-Id') ?? randomUUID()));
  });
  return server;
}

/** The scheme and host of an absolute-form request target, as proxies send it. Express would answer an invalid host itself, in HTML. */
const beforePath = /^[a-z]+:\/\/[^/?#]*/i;

/** The path and query of a request target in origin form or absolute form. */
function pathOf(url: string): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(beforePath, '');
  return path.startsWith('/') || path === '*' ? path : `/${path}`;
}

/** From now on the application serves every request, including those with an Expect header. */
export function attachApp(server: Server, app: RequestListener): void {
  const serve: RequestListener = (req, res) => {
    req.url = pathOf(req.url ?? '/');
    // Node.js still parses the rest of a chunk that arrived before its connection was closed.
    if (!req.socket.destroyed) app(req, res);
  };
  server.on('request', serve);
  server.on('checkExpectation', serve);
}

const sweepEveryMs = 50;
/** During shutdown: how long a request whose headers are still arriving may take. */
const arrivalMs = 1_000;

/**
 * Graceful shutdown: accepts no new connections and finishes the requests in progress, each as the last on its connection. Idle
 * connections are closed at once, and every connection at the deadline. Resolves when none is left, with the number of requests that
 * were cut off.
 */
export async function closeServer(server: Server, deadline: AbortSignal): Promise<{ readonly cut: number }> {
  const connections: Connections = connectionsOf.get(server) ?? new Map();
  const waiting = (): HttpExchange[] => [...connections.values()].flatMap(({ last }) => last ?? []);
  const markLast = (_req: IncomingMessage, res: ServerResponse): void => {
    res.shouldKeepAlive = false;
  };
  server.prependListener('request', markLast);
  server.prependListener('checkExpectation', markLast);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const { res } of waiting()) if (!res.headersSent) res.shouldKeepAlive = false;
  const sweep = setInterval(() => server.closeIdleConnections(), sweepEveryMs);
  const arrival = setTimeout(() => {
    for (const [socket, { last }] of connections) if (last === undefined) socket.destroy();
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
  clearTimeout(arrival);
  return { cut };
}
