// The HTTP server for Prometheus, on a port of its own: not reachable for API clients, and open until the end
// of a shutdown.
import { createServer, type Server } from 'node:http';
import type { Log } from '../core/log.ts';
import type { Metrics } from './metrics.ts';

/** Creates the server without listening. At most 32 connections. */
export function createMetricsServer(
  { text, contentType }: Pick<Metrics, 'text' | 'contentType'>,
  log: Log,
): Server {
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 5_000, requestTimeout: 5_000 },
    (req, res) => {
      const end = (status: number, type: string, body: string): void => {
        res.writeHead(status, {
          'Content-Type': type,
          'Cache-Control': 'no-store',
          'X-Content-Type-Options': 'nosniff',
        });
        res.end(body);
      };
      if (req.url !== '/metrics' || (req.method !== 'GET' && req.method !== 'HEAD'))
        return end(404, 'text/plain', 'GET /metrics\n');
      text().then(
        (body) => end(200, contentType, body),
        (error: unknown) => {
          log.error({ err: error }, 'the metrics could not be collected');
          end(500, 'text/plain', 'The metrics could not be collected.\n');
        },
      );
    },
  );
  server.maxConnections = 32;
  return server;
}
