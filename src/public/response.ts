// Turns what was read into an HTTP answer: envelope, entity tag, freshness headers, coding. The records are JSON text from
// PostgreSQL and are copied, never parsed. Writes to the plain HTTP response and knows no framework.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip, knownTags } from './negotiate.ts';
import type { ListPlan } from './plan.ts';
import type { Freshness } from './read.ts';
import type { VersionState } from './versions.store.ts';

/** To be raised whenever the same data would be written differently. */
const rendererRevision = 1;
const smallestGzip = 1_024;
// Level 4 costs half the time of the default 6 on JSON and is within a few per cent of its size.
export const gzipLevel = 4;
const compress = promisify(gzip);

export const vary = 'Authorization, x-tenant-id, Accept, Accept-Encoding';
export const exposedHeaders =
  'ETag, Link, X-Request-Id, X-Total-Count, X-Data-Generation, X-Data-Synced-At, Deprecation, Sunset, Retry-After';

/** Everything that decides the bytes of an answer but for its coding. */
export type Identity = readonly (string | number)[];
type Coding = 'identity' | 'gzip';

export const tagOf = (identity: Identity, coding: Coding): string =>
  `"${hash('sha256', JSON.stringify([rendererRevision, coding, ...identity]), 'base64url').slice(0, 27)}"`;

/** A request and what its answer's head will be: names and values in turns, written all at once with the status. */
export type Reply = { readonly req: IncomingMessage; readonly res: ServerResponse; readonly headers: string[] };

/** An answer as it goes out; `length` in bytes. */
export type Body = { readonly tag: string; readonly coding: Coding; readonly content: Buffer | string; readonly length: number };

/** The tag that the caller holds of this very answer, in a coding that it accepts; undefined when it must be sent. */
export function heldTag(req: IncomingMessage, identity: Identity): string | undefined {
  const known = knownTags(req.headers);
  if (known.length === 0) return undefined;
  const plain = tagOf(identity, 'identity');
  if (known.includes(plain)) return plain;
  if (!acceptsGzip(req.headers)) return undefined;
  const packed = tagOf(identity, 'gzip');
  return known.includes(packed) ? packed : undefined;
}

export function sendNotModified({ res, headers }: Reply, tag: string): void {
  headers.push('ETag', tag);
  res.writeHead(304, headers);
  res.end();
}

/**
 * Packs what is worth it, for who takes it. `records`, where given, is the part of the text that PostgreSQL wrote; all else is ASCII.
 * Counting its bytes alone spares putting the pieces of the text together twice.
 */
export async function writeBody(req: IncomingMessage, identity: Identity, text: string, records = text): Promise<Body> {
  const length = Buffer.byteLength(records) + text.length - records.length;
  if (length <= smallestGzip || !acceptsGzip(req.headers))
    return { tag: tagOf(identity, 'identity'), coding: 'identity', content: text, length };
  const content = await compress(text, { level: gzipLevel });
  return { tag: tagOf(identity, 'gzip'), coding: 'gzip', content, length: content.length };
}

/** Whether the body is in the form in which this caller would get it. */
export const suits = (req: IncomingMessage, { coding, length }: Body): boolean =>
  (coding === 'gzip') === ((coding === 'gzip' || length > smallestGzip) && acceptsGzip(req.headers));

/** Sends a body, or 304 when the caller turns out to hold it. */
export function sendBody(reply: Reply, { tag, coding, content, length }: Body): void {
  const { req, res, headers } = reply;
  const known = knownTags(req.headers);
  if (known.includes(tag) || known.includes('*')) {
    sendNotModified(reply, tag);
    return;
  }
  headers.push('ETag', tag, 'Content-Type', 'application/json; charset=utf-8');
  if (coding === 'gzip') headers.push('Content-Encoding', 'gzip');
  headers.push('Content-Length', String(length));
  res.writeHead(200, headers);
  if (req.method === 'HEAD') res.end();
  // As many bytes as characters: it is ASCII, which goes out with the head in one piece, as it is.
  else if (typeof content === 'string') res.end(content, length === content.length ? 'latin1' : 'utf8');
  else res.end(content);
}

/** Sends JSON text, or 304 when the caller turns out to hold it in any form. */
export async function sendJson(reply: Reply, identity: Identity, text: string): Promise<void> {
  const held = heldTag(reply.req, identity);
  if (held !== undefined) return sendNotModified(reply, held);
  sendBody(reply, await writeBody(reply.req, identity, text));
}

/** The headers of every answer, 304 included. */
export function addCacheHeaders({ headers }: Reply): void {
  headers.push('Cache-Control', 'private, no-cache');
}

export function addFreshness({ headers }: Reply, freshness: Freshness): void {
  headers.push('X-Data-Generation', freshness.generation);
  if (freshness.syncedAt !== null) headers.push('X-Data-Synced-At', freshness.syncedAt);
}

/** Deprecation (RFC 9745), Sunset (RFC 8594) and the way to the successor; nothing for a version in good standing. */
export function addDeprecation({ headers }: Reply, state: VersionState, baseUrl: string, resource: string | null): void {
  if (state.status !== 'deprecated' || state.deprecatedAt === null) return;
  headers.push('Deprecation', `@${Math.floor(state.deprecatedAt.getTime() / 1000)}`);
  if (state.sunsetAt !== null) headers.push('Sunset', state.sunsetAt.toUTCString());
  if (state.successor === null) return;
  const { version, resources } = state.successor;
  const target = resource !== null && resources.includes(resource) ? `${version}/${resource}` : `openapi/${version}`;
  headers.push('Link', `<${baseUrl}/${target}>; rel="successor-version"`);
}

export const listBody = (records: string, total: number, { page, pageSize }: ListPlan): string =>
  `{"data":[${records}],"pagination":{"total":${total},"page":${page},"pageSize":${pageSize},"totalPages":${Math.ceil(total / pageSize)}}}`;

export const recordBody = (record: string): string => `{"data":${record}}`;

/** The neighbours of a page, for this very query. `path` is the list's own address. */
export function pageLinks(path: string, { linkQuery, page, pageSize }: ListPlan, total: number): string {
  const last = Math.max(1, Math.ceil(total / pageSize));
  const link = (to: number, rel: string) => `<${path}?${linkQuery}page=${to}>; rel="${rel}"`;
  const previous = page > 1 ? `, ${link(Math.min(page - 1, last), 'prev')}` : '';
  const next = page < last ? `, ${link(page + 1, 'next')}` : '';
  return `${link(1, 'first')}${previous}${next}, ${link(last, 'last')}`;
}
