// A receiver of webhooks on this machine: it keeps what it got, and answers as the test wants.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Answer as AnyJson } from '../../setup/api.ts';
import { listenLocally } from '../../setup/sockets.ts';

export type Received = {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** When it arrived, by the monotonic clock. */
  readonly atMs: number;
  readonly event: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: AnyJson['body'];
  };
};
/** The status of the answer, or what to do instead of answering 204. */
type Answer = number | ((response: ServerResponse) => unknown);

export async function startReceiver() {
  const received: Received[] = [];
  const receiver = {
    url: '',
    received,
    /** For each message. */
    answer: ((): Answer => 204) as (message: Received) => Answer,
    /** What has arrived since the last call. */
    take: (): Received[] => received.splice(0),
    stop: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { headers } = request;
    const message: Received = {
      ...{ id: String(headers['webhook-id']), headers, body },
      ...{ atMs: performance.now(), event: JSON.parse(body) },
    };
    received.push(message);
    const answer = receiver.answer(message);
    if (typeof answer === 'number') response.writeHead(answer).end('as the test wants');
    else await answer(response);
  });
  receiver.url = `http://127.0.0.1:${await listenLocally(server)}`;
  return receiver;
}
