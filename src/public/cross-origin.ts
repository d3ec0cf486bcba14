// Which web pages may read the public interface: none, unless the operator names their origins.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exposedHeaders, vary } from './response.ts';

export const methods = 'GET, HEAD, OPTIONS';

/** Sets the headers of cross-origin requests on the answer, whatever it will be. */
export function allowOrigin(req: IncomingMessage, res: ServerResponse, origins: readonly string[]): void {
  res.setHeader('Vary', origins.length === 0 ? vary : `${vary}, Origin`);
  const { origin } = req.headers;
  if (origin === undefined || !origins.includes(origin)) return;
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', exposedHeaders);
  if (req.method !== 'OPTIONS') return;
  res.setHeader('Access-Control-Allow-Methods', methods);
  res.setHeader('Access-Control-Allow-Headers', 'Authorization, x-tenant-id, Accept, If-None-Match, X-Request-Id');
  res.setHeader('Access-Control-Max-Age', '600');
}
