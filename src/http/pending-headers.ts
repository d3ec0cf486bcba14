// The headers that every response has, and when they are set. Setting thirty headers one by one costs Node.js
// several times as much as writing them all at once, so a request starts with a list of pending headers. The
// public interface adds its own and writes the list at once; for everything else it is applied header by
// header before routing, and before an error response.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';
import type { Settings } from '../core/settings.ts';

/** Names and values alternate, as `writeHead` takes them. */
export type HeaderList = string[];

const policy = {
  useDefaults: false,
  directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
};

/** No page of this service uses these. */
const permissionsPolicy = ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'usb']
  .map((name) => `${name}=()`)
  .join(', ');

/**
 * The security headers that helmet sets, and what browsers must not offer to pages. They are the same for
 * every response, so helmet runs once, when the application is created. A page with its own scripts replaces
 * the Content-Security-Policy later. Throws when helmet fails or sets fewer headers than expected.
 */
export function createSecurityHeaders({ publicUrl }: Pick<Settings, 'publicUrl'>): readonly string[] {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  // Browsers ignore HSTS over http, and a host without https must not promise it.
  const strictTransportSecurity = publicUrl.startsWith('https:');
  helmet({ contentSecurityPolicy: policy, strictTransportSecurity })(req, res, (problem) => {
    if (problem !== undefined) throw problem;
  });
  const headers = Object.entries(res.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
  if (headers.length < 18) throw new Error('helmet set fewer headers than expected');
  return [...headers, 'Permissions-Policy', permissionsPolicy];
}

export function setPendingHeaders(res: Response, headers: HeaderList): void {
  res.locals['headers'] = headers;
}

/** The list, for code that writes it itself; empty once it has been applied. */
export const pendingHeaders = (res: Response): HeaderList =>
  (res.locals['headers'] as HeaderList | undefined) ?? [];

export function applyPendingHeaders(res: Response): void {
  const headers = pendingHeaders(res);
  res.locals['headers'] = undefined;
  if (res.headersSent) return;
  for (let index = 0; index < headers.length; index += 2)
    res.appendHeader(headers[index] ?? '', headers[index + 1] ?? '');
}

export const pendingHeadersMiddleware: RequestHandler = (_req, res, next) => {
  applyPendingHeaders(res);
  next();
};
