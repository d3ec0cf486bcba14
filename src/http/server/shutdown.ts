// Graceful shutdown of the HTTP server.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { closeAfter } from '../driver/connection-end.ts';
import type { HttpExchange } from './connections.ts';
import type { HttpServer } from './server.ts';

const sweepEveryMs = 50;
/** During shutdown: how long a request whose headers are still arriving may take. */
const arrivalMs = 1_000;

/**
 * Accepts no new connections and finishes the requests in progress, each as the last on its connection. Idle
 * connections are closed at once, and every connection at the deadline. Resolves when none is left, with the
 * number of requests that were cut off.
 */
export async function closeServer(
  { server, connections }: HttpServer,
  deadline: AbortSignal,
): Promise<{ readonly cut: number }> {
  const waiting = (): HttpExchange[] => [...connections.values()].flatMap(({ last }) => last ?? []);
  const markLast = (_req: IncomingMessage, res: ServerResponse): void => closeAfter(res);
  server.prependListener('request', markLast);
  server.prependListener('checkExpectation', markLast);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const { res } of waiting()) if (!res.headersSent) closeAfter(res);
  const sweep = setInterval(() => server.closeIdleConnections(), sweepEveryMs);
  const arrival = setTimeout(() => {
    for (const [socket, { last }] of connections) if (last === undefined) socket.destroy();
  }, arrivalMs);
  let cut = 0;
  const cutOff = (): void => {
    const unfinished = waiting();
    cut = unfinished.length;
    for (const { res } of unfinished) res.destroy();
    server.closeAllConnections();
  };
  if (deadline.aborted) cutOff();
  else deadline.addEventListener('abort', cutOff, { once: true });
  await closed;
  clearInterval(sweep);
  clearTimeout(arrival);
  return { cut };
}
