// Decides which web origins may read the public interface: none, unless the operator lists them.
import { exposedHeaders, type PendingResponse, vary } from './response.ts';

export const allowedMethods = 'GET, HEAD, OPTIONS';

/** Adds the CORS headers to the response, whatever its status will be. */
export function allowOrigin(
  { req, headers }: Pick<PendingResponse, 'req' | 'headers'>,
  origins: readonly string[],
): void {
  headers.push('Vary', origins.length === 0 ? vary : `${vary}, Origin`);
  const { origin } = req.headers;
  if (origin === undefined || !origins.includes(origin)) return;
  headers.push('Access-Control-Allow-Origin', origin);
  headers.push('Access-Control-Expose-Headers', exposedHeaders);
  if (req.method !== 'OPTIONS') return;
  headers.push('Access-Control-Allow-Methods', allowedMethods);
  headers.push(
    'Access-Control-Allow-Headers',
    'Authorization, x-tenant-id, Accept, If-Match, If-None-Match, X-Request-Id',
  );
  headers.push('Access-Control-Max-Age', '600');
}
