// Which route served a request, recorded in its response for the log and the metrics. A request that ended
// before it reached a route is classified by the prefix of its path.
import type { Response } from 'express';
import type { ServedRoute } from '../core/served-route.ts';

export type OnServed = (served: ServedRoute, method: string, status: string, seconds: number) => void;

export const platformBase = '/api/platform/v1';

/** Longer prefixes first. */
const prefixes: readonly (readonly [string, ServedRoute])[] = [
  [`${platformBase}/`, { route: `${platformBase}/*`, kind: 'platform' }],
  ['/api/public/', { route: '/api/public/*', kind: 'public' }],
  ['/mcp', { route: '/mcp', kind: 'mcp' }],
  ['/auth/', { route: '/auth/*', kind: 'page' }],
  ['/invitations/', { route: '/invitations/*', kind: 'page' }],
  ['/docs', { route: '/docs/*', kind: 'page' }],
  ['/client.tgz', { route: '/client.tgz', kind: 'page' }],
  ['/assets/', { route: '/assets/*', kind: 'page' }],
  ['/unsubscribe', { route: '/unsubscribe', kind: 'page' }],
  ['/links/', { route: '/links/*', kind: 'export' }],
  ['/.well-known/', { route: '/.well-known/*', kind: 'other' }],
];
const unknownServed: ServedRoute = { route: '*', kind: 'other' };

export function recordServed(res: Response, served: ServedRoute): void {
  res.locals['served'] = served;
}

export const getServedRoute = (res: Response, path: string): ServedRoute =>
  (res.locals['served'] as ServedRoute | undefined) ??
  prefixes.find(([prefix]) => path.startsWith(prefix))?.[1] ??
  unknownServed;

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
export const knownMethod = (method: string): string => (methods.has(method) ? method : 'other');
