// How Node.js ends a connection after a response, which its interface doesn't let a program decide.
// test/http/driver.test.ts fails when a new version of Node.js changes it.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';

/**
 * How long a refused client may keep sending: closing a connection that has unread bytes resets it, and the
 * response is lost.
 */
export const lingerMs = 1_000;

/** After the response, which must close it, ends writing at once and the connection after `lingerMs`. */
export function lingeringClose({ socket }: Pick<IncomingMessage, 'socket'>): void {
  socket.destroySoon = () => {
    socket.end();
    const ending = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(ending));
  };
}

/** Makes this response the last one on its connection. Has no effect once its headers are sent. */
export function closeAfter(res: ServerResponse): void {
  res.shouldKeepAlive = false;
}

/**
 * Accepts no new connections, and resolves when all have ended. `close` of an HTTP server would also close the
 * idle ones, whose clients may be sending a request at this moment.
 */
export const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
