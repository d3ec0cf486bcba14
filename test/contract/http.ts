// Sends requests to one listening server over kept-alive sockets, exactly as given: no client library
// normalizes them.
import { Agent, createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Express } from 'express';
import type { Response } from 'supertest';
import { listenLocally } from '../setup/sockets.ts';

/**
 * The body may hold anything, as it does in the other tests' client; the walk checks it against the
 * description.
 */
export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Response['body'];
};
export type Exchange = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
};
export type Server = {
  readonly url: string;
  send(exchange: Exchange): Promise<Answer>;
  stop(): Promise<void>;
};

export async function listen(app: Express): Promise<Server> {
  // Idle sockets stay open: a socket that the server closes just as it is reused would be a false failure.
  const server = createServer({ keepAliveTimeout: 0 }, app);
  const port = await listenLocally(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  return {
    url: `http://127.0.0.1:${port}`,
    send: ({ method, path, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
        const request = httpRequest(
          { host: '127.0.0.1', port, agent, method, path, headers: { ...length, ...headers } },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            response.on('end', () => {
              const text = Buffer.concat(chunks).toString('utf8');
              const isJson =
                response.headers['content-type']?.startsWith('application/json') === true && text !== '';
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                text,
                body: isJson ? JSON.parse(text) : undefined,
              });
            });
          },
        );
        request.on('error', reject);
        request.end(body);
      }),
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
