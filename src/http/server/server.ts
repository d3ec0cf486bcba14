// The HTTP server below the application: its limits, and which requests are in progress on which connection.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Log } from '../../core/log.ts';
import type { MessageClasses } from '../driver/message-classes.ts';
import { type Connections, closeSlowClients, type SlowClientLimits } from './connections.ts';
import { rejectUnreadableRequests } from './unreadable-requests.ts';

/** Times in milliseconds. */
export type ServerLimits = SlowClientLimits & {
  readonly maxConnections: number;
  /** How long a connection may stay idle between requests. */
  readonly keepAliveTimeout: number;
  /** How long request line and headers may take, from connecting or the end of the previous request. */
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
/** Pipelined requests of a connection without a response yet. Node.js starts each as soon as it arrives. */
const maxUnanswered = 100;
/** TCP keep-alive: the operating system probes idle connections, so those of vanished clients are closed. */
const keepAliveProbes = { keepAlive: true, keepAliveInitialDelay: 60_000 };

export type HttpServer = { readonly server: Server; readonly connections: Connections };

/** Creates a server that doesn't listen yet and serves no request before `attachApp`. */
export function createHttpServer(
  log: Log,
  messages: Partial<MessageClasses> = {},
  given: Partial<ServerLimits> = {},
): HttpServer {
  const { checkEveryMs, readTimeoutMs, minBytesPerSecond, maxConnections, ...times } = {
    ...defaultLimits,
    ...given,
  };
  // The application checks the Host header, so that a missing one gets the usual error body.
  const server = createServer({
    ...{ ...messages, ...times, ...keepAliveProbes, requireHostHeader: false },
    // A request without a body costs 5 µs less without the events of its end.
    optimizeEmptyRequests: true,
  });
  server.maxConnections = maxConnections;
  // In a child of a service with several processes, Node.js would otherwise offer the connection to the next one
  // for as long as all are full.
  Object.assign(server, { dropMaxConnection: true });
  const connections = trackConnections(server, log);
  closeSlowClients(server, connections, log, { checkEveryMs, readTimeoutMs, minBytesPerSecond });
  rejectUnreadableRequests(server, connections, log);
  return { server, connections };
}

/** Tracked per connection: one collection of all responses cost each some 40 µs of garbage collection. */
function trackConnections(server: Server, log: Log): Connections {
  const connections: Connections = new Map();
  server.on('connection', (socket) => {
    connections.set(socket, { last: undefined, unanswered: 0, checksLeft: undefined });
    socket.once('close', () => connections.delete(socket));
  });
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
  return connections;
}

/**
 * The scheme and host of an absolute-form request target, as proxies send it. Express would answer an invalid
 * host itself, in HTML.
 */
const beforePath = /^[a-z]+:\/\/[^/?#]*/i;

/** The path and query of a request target in origin form or absolute form. */
function toPath(url: string): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(beforePath, '');
  return path.startsWith('/') || path === '*' ? path : `/${path}`;
}

/** From now on the application serves every request, including those with an Expect header. */
export function attachApp(server: Server, app: RequestListener): void {
  const serve: RequestListener = (req, res) => {
    req.url = toPath(req.url ?? '/');
    // Node.js still parses the rest of a chunk that arrived before its connection was closed.
    if (!req.socket.destroyed) app(req, res);
  };
  server.on('request', serve);
  server.on('checkExpectation', serve);
}
