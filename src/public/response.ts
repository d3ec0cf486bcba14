// Turns what was read into an HTTP answer: envelope, entity tag, freshness headers, coding. The records are JSON text from
// PostgreSQL and are copied, never parsed. Writes to the plain HTTP response and knows no framework.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip, knownTags } from './negotiate.ts';
import type { ListPlan } from './plan.ts';
import type { Freshness, ListRead } from './read.ts';
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

/** An answer as it goes out. */
export type Body = { readonly tag: string; readonly coding: Coding; readonly bytes: Buffer };

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

export function sendNotModified(res: ServerResponse, tag: string): void {
  res.setHeader('ETag', tag);
  res.statusCode = 304;
  res.end();
}

/** Packs what is worth it, for who takes it. */
export async function writeBody(req: IncomingMessage, identity: Identity, text: string): Promise<Body> {
  const plain = Buffer.from(text);
  if (plain.length <= smallestGzip || !acceptsGzip(req.headers))
    return { tag: tagOf(identity, 'identity'), coding: 'identity', bytes: plain };
  return { tag: tagOf(identity, 'gzip'), coding: 'gzip', bytes: await compress(plain, { level: gzipLevel }) };
}

/** Whether the body is in the form in which this caller would get it. */
export const suits = (req: IncomingMessage, { coding, bytes }: Body): boolean =>
  (coding === 'gzip') === ((coding === 'gzip' || bytes.length > smallestGzip) && acceptsGzip(req.headers));

/** Sends a body, or 304 when the caller turns out to hold it. */
export function sendBody(req: IncomingMessage, res: ServerResponse, { tag, coding, bytes }: Body): void {
  const known = knownTags(req.headers);
  if (known.includes(tag) || known.includes('*')) {
    sendNotModified(res, tag);
    return;
  }
  res.setHeader('ETag', tag);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (coding === 'gzip') res.setHeader('Content-Encoding', 'gzip');
  res.setHeader('Content-Length', bytes.length);
  res.statusCode = 200;
  if (req.method === 'HEAD') res.end();
  else res.end(bytes);
}

/** Sends JSON text, or 304 when the caller turns out to hold it in any form. */
export async function sendJson(req: IncomingMessage, res: ServerResponse, identity: Identity, text: string): Promise<void> {
  const held = heldTag(req, identity);
  if (held !== undefined) return sendNotModified(res, held);
  sendBody(req, res, await writeBody(req, identity, text));
}

/** The headers of every answer, 304 included. */
export function setCacheHeaders(res: ServerResponse): void {
  res.setHeader('Cache-Control', 'private, no-cache');
}

export function setFreshness(res: ServerResponse, freshness: Freshness): void {
  res.setHeader('X-Data-Generation', freshness.generation);
  if (freshness.syncedAt !== null) res.setHeader('X-Data-Synced-At', freshness.syncedAt);
}

/** Deprecation (RFC 9745), Sunset (RFC 8594) and the way to the successor; nothing for a version in good standing. */
export function setDeprecation(res: ServerResponse, state: VersionState, baseUrl: string, resource: string | null): void {
  if (state.status !== 'deprecated' || state.deprecatedAt === null) return;
  res.setHeader('Deprecation', `@${Math.floor(state.deprecatedAt.getTime() / 1000)}`);
  if (state.sunsetAt !== null) res.setHeader('Sunset', state.sunsetAt.toUTCString());
  if (state.successor === null) return;
  const { version, resources } = state.successor;
  const target = resource !== null && resources.includes(resource) ? `${version}/${resource}` : `openapi/${version}`;
  res.appendHeader('Link', `<${baseUrl}/${target}>; rel="successor-version"`);
}

export const listBody = ({ records, total }: ListRead, { page, pageSize }: ListPlan): string =>
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
