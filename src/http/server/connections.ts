// Closes the connections of clients that don't read their response. An unread response holds memory, so it is
// kept for a limited time only. Event streams have their own timeout while they are open.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../../core/log.ts';

export type SlowClientLimits = {
  readonly checkEveryMs: number;
  /** How long a completed response may stay unread, however short it is. */
  readonly readTimeoutMs: number;
  /** Longer responses get more time: as much as a client that reads at this rate needs. */
  readonly minBytesPerSecond: number;
};

export type HttpExchange = { readonly req: IncomingMessage; readonly res: ServerResponse };

type Connection = {
  /** The last request, until its response is complete. */
  last: HttpExchange | undefined;
  unanswered: number;
  /** Checks until a client that reads nothing is cut off; counted, so that a late check does no harm. */
  checksLeft: number | undefined;
};
/** The open connections. */
export type Connections = Map<Duplex, Connection>;

/**
 * Closes connections whose client doesn't read its response, and logs how many connections were refused at
 * the limit. With pipelined requests, reading one response restarts the time.
 */
export function closeSlowClients(
  server: Server,
  connections: Connections,
  log: Log,
  limits: SlowClientLimits,
): void {
  let dropped = 0;
  const checksFor = (bytes: number): number =>
    Math.ceil((limits.readTimeoutMs + (bytes * 1000) / limits.minBytesPerSecond) / limits.checkEveryMs);
  const check = (): void => {
    if (dropped > 0) log.warn({ connections: dropped }, 'connections refused: too many are open');
    dropped = 0;
    for (const [socket, connection] of connections) {
      if (connection.last?.res.writableEnded !== true) continue;
      const checks = connection.checksLeft ?? checksFor(socket.writableLength);
      if (checks > 0) connection.checksLeft = checks - 1;
      else {
        log.info({ bytes: socket.writableLength }, 'connection closed: the client did not read its response');
        connection.last.res.destroy();
      }
    }
  };
  const checking = setInterval(check, limits.checkEveryMs);
  checking.unref();
  server.once('close', () => clearInterval(checking));
  server.on('drop', () => {
    dropped += 1;
  });
}
