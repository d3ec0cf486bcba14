// Which host a request names, where that matters on the person's own machine: there one service has several
// names (localhost, 127.0.0.1), but cookies and sign-in belong to that of PUBLIC_URL alone.
import type { Request, RequestHandler } from 'express';
import { isLoopbackHttp, isLoopbackName } from '../core/network/loopback.ts';

const parseHost = ({ headers: { host } }: Request): URL | null =>
  host === undefined ? null : URL.parse(`http://${host}`);

/**
 * Whether the Host header is a loopback name or address. A foreign name that resolves to this machine (DNS
 * rebinding) is none.
 */
export function isLoopbackHost(req: Request): boolean {
  const named = parseHost(req);
  return named !== null && named.host === req.headers.host?.toLowerCase() && isLoopbackName(named.hostname);
}

/** Redirects pages at another loopback name to that of PUBLIC_URL, where sign-in works. */
export function redirectToOwnHost(publicUrl: string): RequestHandler {
  const own = new URL(publicUrl);
  const isLocal = isLoopbackHttp(publicUrl);
  return (req, res, next) => {
    const named = parseHost(req);
    const isAlias =
      isLocal && isLoopbackHost(req) && named?.hostname !== own.hostname && named?.port === own.port;
    if (!isAlias || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    res.setHeader('Cache-Control', 'no-store');
    res.redirect(302, `${own.origin}${req.originalUrl}`);
  };
}
