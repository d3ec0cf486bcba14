// How Node.js ends a connection after a response, which its interface doesn't let a program decide.
// test/http/driver.test.ts fails when a new version of Node.js changes it.
import type { IncomingMessage, ServerResponse } from 'node:http';

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
