// Health checks, answered before any middleware runs so that a probe doesn't wait for what keeps the service
// busy. They need no credential, so they reveal nothing that would help an attacker, and are logged at debug
// level only.
import type { RequestListener, ServerResponse } from 'node:http';
import type { Log } from '../core/log.ts';

/** `checks` by name: `ok`, or a short reason. */
export type Readiness = { readonly ready: boolean; readonly checks: Readonly<Record<string, string>> };

function send(res: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  res.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(status === 503 && { 'Retry-After': '2' }),
    ...(status === 405 && { Allow: 'GET, HEAD' }),
  });
  res.end(text);
}

/**
 * `/healthz`: 200 as long as the event loop runs. `/readyz`: 200, or 503 with the state of every check. `app`
 * handles every other request.
 */
export function serveProbes(
  readiness: () => Promise<Readiness>,
  log: Log,
  app: RequestListener,
): RequestListener {
  return (req, res) => {
    const { url, method } = req;
    if (url !== '/healthz' && url !== '/readyz') return app(req, res);
    const respond = (status: number, body: object): void => {
      send(res, status, body);
      log.debug({ method, path: url, status }, 'probe');
    };
    if (method !== 'GET' && method !== 'HEAD') return respond(405, { status: 'only GET is allowed here' });
    if (url === '/healthz') return respond(200, { status: 'alive' });
    readiness().then(
      ({ ready, checks }) => respond(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', checks }),
      (error: unknown) => {
        log.error({ err: error }, 'readiness check failed');
        respond(503, { status: 'not ready', checks: {} });
      },
    );
  };
}
