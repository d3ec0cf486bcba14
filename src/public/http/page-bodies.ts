// Caches response bodies of lists and change pages, compressed ones as sent. The key is the entity tag, a
// hash of everything that decides the bytes: organization, scope of the key, version, resource, query, epoch,
// generation and coding. Callers must derive the identity from a freshness that is still within its TTL.
import type { IncomingMessage } from 'node:http';
import { createCache } from '../../core/work/cache.ts';
import { createHitCounter, type HitCounter } from '../../core/work/hit-counter.ts';
import { acceptsGzip } from './negotiate.ts';
import { type Body, computeEtag, type Identity, isServableTo } from './response.ts';

/** `links` is the Link header sent with it, empty for none; written by the first request for this page. */
export type PageBody = Body & { readonly links: string };

export type PageBodyCache = {
  /** The cached body in the coding that this client would get. */
  find(req: IncomingMessage, identity: Identity): PageBody | undefined;
  /** Keeps no large body: it would take the place of many others. */
  put(body: PageBody): void;
};

/** Bounded by `maxBytes`; 0 disables the cache. */
export function createPageBodyCache(
  maxBytes: number,
  counter: HitCounter = createHitCounter(),
): PageBodyCache {
  const bodies = createCache<PageBody>({
    maxBytes,
    countBytes: ({ length, links }) => 2 * length + links.length,
  });
  const find = (req: IncomingMessage, identity: Identity): PageBody | undefined => {
    const gzipped = acceptsGzip(req.headers) ? bodies.findAny(computeEtag(identity, 'gzip')) : undefined;
    if (gzipped !== undefined) return gzipped;
    const plain = bodies.findAny(computeEtag(identity, 'identity'));
    return plain !== undefined && isServableTo(req, plain) ? plain : undefined;
  };
  return {
    find(req, identity) {
      if (maxBytes === 0) return undefined;
      const found = find(req, identity);
      if (found === undefined) counter.misses += 1;
      else counter.hits += 1;
      return found;
    },
    put: (body) => {
      const { content } = body;
      // Copied, because small buffers are slices of larger blocks, which live as long as any of their slices.
      if (maxBytes > 0 && !Array.isArray(content))
        bodies.put(body.tag, { ...body, content: Buffer.from(content as Buffer | string) });
    },
  };
}
