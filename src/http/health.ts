// Answers probes before anything else looks at a request: who asks whether the service lives must not wait for what keeps it busy.
// Open to everyone, so it says nothing that helps a stranger, and writes no line unless the log is told to.
import type { RequestListener, ServerResponse } from 'node:http';
import type { Log } from '../core/log.ts';

/** `checks` by name: `ok`, or in few words why not. */
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
 * `/healthz`: 200 as long as the process turns its event loop. `/readyz`: 200, or 503 with the checks that failed. Everything else is
 * the application's.
 */
export function answerProbes(readiness: () => Promise<Readiness>, log: Log, app: RequestListener): RequestListener {
  return (req, res) => {
    const { url, method } = req;
    if (url !== '/healthz' && url !== '/readyz') return app(req, res);
    const answered = (status: number, body: object): void => {
      send(res, status, body);
      log.debug({ method, path: url, status }, 'probe');
    };
    if (method !== 'GET' && method !== 'HEAD') return answered(405, { status: 'only GET is allowed here' });
    if (url === '/healthz') return answered(200, { status: 'alive' });
    readiness().then(
      ({ ready, checks }) => answered(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', checks }),
      (error: unknown) => {
        log.error({ err: error }, 'readiness could not be told');
        answered(503, { status: 'not ready', checks: {} });
      },
    );
  };
}
