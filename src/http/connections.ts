// How a connection ends where its caller doesn't do its part: one that goes on sending what nobody wants, and one that doesn't take
// its answer. An answer that lies ready holds memory, so it does so only for a time; streams keep their own time while they last.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
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

export type Answers = {
  begun(res: ServerResponse): void;
  closed(res: ServerResponse): void;
};

/** Cuts off callers who don't take what is ready, and tells the log of connections beyond the most there may be. */
export function watchAnswers(server: Server, log: Log, limits: TakeLimits): Answers {
  const open = new Set<ServerResponse>();
  /** Looks that are left to those found ready; the time that a look is late is the caller's. */
  const left = new WeakMap<ServerResponse, number>();
  let dropped = 0;
  const looksFor = (bytes: number): number =>
    Math.ceil((limits.takeMs + (bytes * 1000) / limits.slowestBytesPerSecond) / limits.lookEveryMs);
  const look = (): void => {
    if (dropped > 0) log.warn({ connections: dropped }, 'connections were closed at once: too many are open');
    dropped = 0;
    for (const res of open) {
      const { socket } = res;
      // One that waits for its turn behind another on the same connection has no socket yet.
      if (!res.writableEnded || socket === null) continue;
      const looks = left.get(res) ?? looksFor(socket.writableLength);
      if (looks > 0) left.set(res, looks - 1);
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
  return {
    begun: (res) => void open.add(res),
    closed: (res) => void open.delete(res),
  };
}
