// Graceful shutdown of the HTTP server.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { closeAfter, stopListening } from '../driver/connection-end.ts';
import type { HttpExchange } from './connections.ts';
import type { HttpServer } from './server.ts';

const sweepEveryMs = 50;
/** During shutdown: how long a request whose headers are still arriving may take. */
const arrivalMs = 1_000;

/**
 * Accepts no new connections and finishes the requests in progress, each as the last on its connection. Idle
 * connections are closed after `idleMs`, in which their clients may still send a request, and every connection
 * at the deadline. Resolves when none is left, with the number of requests that were cut off.
 */
export async function closeServer(
  { server, connections }: HttpServer,
  deadline: AbortSignal,
  idleMs = 0,
): Promise<{ readonly cut: number }> {
  const waiting = (): HttpExchange[] => [...connections.values()].flatMap(({ last }) => last ?? []);
  const markLast = (_req: IncomingMessage, res: ServerResponse): void => closeAfter(res);
  server.prependListener('request', markLast);
  server.prependListener('checkExpectation', markLast);
  const closed = stopListening(server);
  for (const { res } of waiting()) if (!res.headersSent) closeAfter(res);
  let sweep: NodeJS.Timeout | undefined;
  const closeIdle = (): void => {
    server.closeIdleConnections();
    sweep = setInterval(() => server.closeIdleConnections(), sweepEveryMs);
  };
  const idle = idleMs > 0 ? setTimeout(closeIdle, idleMs) : closeIdle();
  const arrival = setTimeout(() => {
    for (const [socket, { last }] of connections) if (last === undefined) socket.destroy();
  }, idleMs + arrivalMs);
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
  if (idle !== undefined) clearTimeout(idle);
  clearInterval(sweep);
  clearTimeout(arrival);
  return { cut };
}
