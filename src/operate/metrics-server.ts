// The HTTP server for the operator's programs, on a port of its own: metrics for Prometheus, and whether a
// proxy may obtain a certificate. Not reachable for API clients, and open until the end of a shutdown.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Log } from '../core/log.ts';
import type { Metrics } from './metrics.ts';
import type { createTlsCheck } from './tls-allowed.ts';

type Answer = { readonly status: number; readonly type: string; readonly body: string };
type Parts = Pick<Metrics, 'text' | 'contentType'> & {
  readonly checkTls: ReturnType<typeof createTlsCheck>;
};

const plain = (status: number, body: string): Answer => ({ status, type: 'text/plain', body });

async function respond({ url = '', method }: IncomingMessage, { text, contentType, checkTls }: Parts) {
  const asked = method === 'GET' || method === 'HEAD' ? URL.parse(url, 'http://localhost') : null;
  if (asked?.pathname === '/metrics' && asked.search === '')
    return { status: 200, type: contentType, body: await text() };
  if (asked?.pathname === '/tls-allowed') {
    const { status, text: body } = await checkTls(asked.searchParams.getAll('domain'));
    return plain(status, body);
  }
  return plain(404, 'GET /metrics\nGET /tls-allowed?domain=\n');
}

/** Creates the server without listening. At most 32 connections. */
export function createMetricsServer(parts: Parts, log: Log): Server {
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 5_000, requestTimeout: 5_000 },
    async (req, res) => {
      const { status, type, body } = await respond(req, parts).catch((error: unknown) => {
        log.error({ err: error }, 'the metrics could not be collected');
        return plain(500, 'The metrics could not be collected.\n');
      });
      res.writeHead(status, {
        'Content-Type': type,
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
      });
      res.end(body);
    },
  );
  server.maxConnections = 32;
  return server;
}
