// Pages of lists and of changes as they were sent, packed ones as such. A page is kept under its entity tag, which is a hash of everything that
// decides its bytes: organization, what the key may read, version, resource, query, epoch, generation, coding. Whoever asks with
// an identity must have made it from a state that may be trusted now.
import type { IncomingMessage } from 'node:http';
import { openTally, type Tally } from '../core/tally.ts';
import { openByteCache } from './byte-cache.ts';
import { acceptsGzip } from './negotiate.ts';
import { type Body, type Identity, suits, tagOf } from './response.ts';

/** `links` is the Link header that goes with it, empty for none: as the first wrote who asked for this page. */
export type PageBody = Body & { readonly links: string };

export type PageBodies = {
  /** In the very form in which this caller would get it. */
  find(req: IncomingMessage, identity: Identity): PageBody | undefined;
  keep(body: PageBody): void;
};

export function openPageBodies(maxBytes: number, tally: Tally = openTally()): PageBodies {
  // Small buffers share larger blocks of memory, which live as long as any of them.
  const bodies = openByteCache<PageBody>(maxBytes, ({ length, links }) => 2 * length + links.length);
  const find = (req: IncomingMessage, identity: Identity): PageBody | undefined => {
    const packed = acceptsGzip(req.headers) ? bodies.get(tagOf(identity, 'gzip')) : undefined;
    if (packed !== undefined) return packed;
    const plain = bodies.get(tagOf(identity, 'identity'));
    return plain !== undefined && suits(req, plain) ? plain : undefined;
  };
  return {
    find(req, identity) {
      if (maxBytes === 0) return undefined;
      const found = find(req, identity);
      if (found === undefined) tally.misses += 1;
      else tally.hits += 1;
      return found;
    },
    keep: (body) => {
      if (maxBytes > 0) bodies.set(body.tag, { ...body, content: Buffer.from(body.content) });
    },
  };
}
