// Which web pages may read the public interface: none, unless the operator names their origins.
import { exposedHeaders, type Reply, vary } from './response.ts';

export const methods = 'GET, HEAD, OPTIONS';

/** Adds the headers of cross-origin requests to the answer, whatever it will be. */
export function allowOrigin({ req, headers }: Pick<Reply, 'req' | 'headers'>, origins: readonly string[]): void {
  headers.push('Vary', origins.length === 0 ? vary : `${vary}, Origin`);
  const { origin } = req.headers;
  if (origin === undefined || !origins.includes(origin)) return;
  headers.push('Access-Control-Allow-Origin', origin);
  headers.push('Access-Control-Expose-Headers', exposedHeaders);
  if (req.method !== 'OPTIONS') return;
  headers.push('Access-Control-Allow-Methods', methods);
  headers.push('Access-Control-Allow-Headers', 'Authorization, x-tenant-id, Accept, If-None-Match, X-Request-Id');
  headers.push('Access-Control-Max-Age', '600');
}
