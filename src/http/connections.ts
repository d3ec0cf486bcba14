// How a connection ends where its caller doesn't do its part: one that goes on sending what nobody wants, and one that doesn't take
// its answer. An answer that lies ready holds memory, so it does so only for a time; streams keep their own time while they last.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../core/log.ts';

/** Of a request's body. */
export const maxBodyBytes = 1024 * 1024;
/** How long a refused caller may go on sending: a connection that is closed on unread bytes is reset, and the answer lost with it. */
export const lingerMs = 1_000;

/** Once the answer is sent, the connection is closed for writing alone, and wholly a moment later. The answer must close it. */
export function closeSoftly({ socket }: Pick<IncomingMessage, 'socket'>): void {
  socket.destroySoon = () => {
    socket.end();
    const ending = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(ending));
  };
}

export type TakeLimits = {
  readonly lookEveryMs: number;
  /** How long a whole answer may lie ready, however short. */
  readonly takeMs: number;
  /** Longer ones have time enough for a caller who takes this much. */
  readonly slowestBytesPerSecond: number;
};

export type Exchange = { readonly req: IncomingMessage; readonly res: ServerResponse };

type Connection = {
  /** The last request, for as long as it is not answered. */
  last: Exchange | undefined;
  unanswered: number;
  /** Looks that are left to a caller who takes nothing of what is ready; the time that a look is late is the caller's. */
  looksLeft: number | undefined;
};
/** Those that are open. */
export type Connections = Map<Duplex, Connection>;

/**
 * Cuts off callers who don't take what is ready, and tells the log of connections beyond the most there may be. Where requests came ahead
 * of their answers, one answer that is taken is enough to go on.
 */
export function watchAnswers(server: Server, connections: Connections, log: Log, limits: TakeLimits): void {
  let dropped = 0;
  const looksFor = (bytes: number): number =>
    Math.ceil((limits.takeMs + (bytes * 1000) / limits.slowestBytesPerSecond) / limits.lookEveryMs);
  const look = (): void => {
    if (dropped > 0) log.warn({ connections: dropped }, 'connections were closed at once: too many are open');
    dropped = 0;
    for (const [socket, connection] of connections) {
      if (connection.last?.res.writableEnded !== true) continue;
      const looks = connection.looksLeft ?? looksFor(socket.writableLength);
      if (looks > 0) connection.looksLeft = looks - 1;
      else {
        log.info({ bytes: socket.writableLength }, 'a caller did not take its answer');
        socket.destroy();
      }
    }
  };
  const looking = setInterval(look, limits.lookEveryMs);
  looking.unref();
  server.once('close', () => clearInterval(looking));
  server.on('drop', () => {
    dropped += 1;
  });
}
