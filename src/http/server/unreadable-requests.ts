// Answers what Node.js can't read as HTTP, with the same error body and request id as every other error.
import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { lingerMs } from '../driver/connection-end.ts';
import { errorBody } from '../errors.ts';
import type { Connections } from './connections.ts';

const requestError = (message: string, code: string, status?: 408 | 413 | 431): AppError =>
  new AppError('BAD_REQUEST', message, {
    details: [{ path: '', code, message }],
    ...(status !== undefined && { status }),
  });

/** By the error codes of Node.js and its HTTP parser. */
const refusals: Readonly<Record<string, AppError>> = {
  HPE_HEADER_OVERFLOW: requestError(
    'The request line and the headers are too large',
    'headers_too_large',
    431,
  ),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: requestError(
    'The chunk extensions of the body are too large',
    'too_large',
    413,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: requestError('The request did not arrive in time', 'request_timeout', 408),
};
const unreadable = requestError("The request can't be read as HTTP", 'malformed_request');

/** The complete response. It closes the connection, since the next request's start can't be determined. */
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

function reject(socket: Duplex, code: string | undefined, requestId: string, log: Log): void {
  if (!socket.writable) return;
  const shown = refusals[code ?? ''] ?? unreadable;
  log.info({ requestId, status: shown.status, reason: code }, 'a request could not be parsed');
  socket.end(responseText(shown, requestId));
  const ending = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(ending));
}

/** Sends one error response per connection, after the responses to the requests before it. */
export function rejectUnreadableRequests(server: Server, connections: Connections, log: Log): void {
  const rejected = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    // More input on such a connection can't be parsed either, and must not cost the client the error response
    // that is being sent.
    if (rejected.has(socket)) return;
    if (!socket.writable) return void socket.destroy();
    rejected.add(socket);
    const before = connections.get(socket)?.last;
    if (before === undefined) return reject(socket, error.code, randomUUID(), log);
    // An earlier request is still being served: the malformed input came after it, so the error response
    // follows that response.
    if (before.req.complete)
      return void before.res.once('close', () => reject(socket, error.code, randomUUID(), log));
    // That request's own body can't be parsed: send one error response, or none when its response, or one
    // before it, has started.
    if (before.res.headersSent || before.res.socket !== socket) return void socket.destroy();
    reject(socket, error.code, String(before.res.getHeader('X-Request-Id') ?? randomUUID()), log);
  });
}
