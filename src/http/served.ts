// Whoever answers a request notes in its response what was asked for. Where nobody came so far, the beginning of the address says what
// it would have been.
import type { Response } from 'express';
import type { Served } from '../core/served.ts';

export type OnServed = (served: Served, method: string, status: string, seconds: number) => void;

export const platformBase = '/api/platform/v1';

/** The longer ones first. */
const beginnings: readonly (readonly [string, Served])[] = [
  [`${platformBase}/`, { route: `${platformBase}/*`, kind: 'platform' }],
  ['/api/public/', { route: '/api/public/*', kind: 'public' }],
  ['/mcp', { route: '/mcp', kind: 'mcp' }],
  ['/auth/', { route: '/auth/*', kind: 'page' }],
  ['/invitations/', { route: '/invitations/*', kind: 'page' }],
  ['/invitation-assets/', { route: '/invitation-assets/*', kind: 'page' }],
  ['/reference-assets/', { route: '/reference-assets/*', kind: 'page' }],
  ['/unsubscribe', { route: '/unsubscribe', kind: 'page' }],
  ['/.well-known/', { route: '/.well-known/*', kind: 'other' }],
];
const unknown: Served = { route: '*', kind: 'other' };

export function noteServed(res: Response, served: Served): void {
  res.locals['served'] = served;
}

export const servedOf = (res: Response, path: string): Served =>
  (res.locals['served'] as Served | undefined) ?? beginnings.find(([beginning]) => path.startsWith(beginning))?.[1] ?? unknown;

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
export const knownMethod = (method: string): string => (methods.has(method) ? method : 'other');
