// Writes responses: envelope, entity tag, freshness headers, content coding. The records are JSON text from
// PostgreSQL and are copied, never parsed. Uses the plain Node response and no framework.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { AppError } from '../../core/errors.ts';
import { allowsVersion, type RecordAccess } from '../../core/record-access.ts';
import type { Freshness } from '../read/connection/reader.ts';
import type { ListPlan } from '../read/plan/plan.ts';
import type { RecordsText } from '../read/result/rows.ts';
import {
  type Embedded,
  freshnessOfFields,
  freshnessWithRelated,
  noneEmbedded,
} from '../read/result/stale-fields.ts';
import type { CompiledEndpoint } from '../version/compile.ts';
import type { VersionState } from '../version/versions.store.ts';
import { acceptsGzip, knownTags, requiredTags } from './negotiate.ts';

/** Increase whenever the same data would be rendered differently: it is part of every entity tag. */
export const rendererRevision = 1;
const minGzipBytes = 1_024;
// Level 4 takes half the time of the default level 6 on JSON; the result is within a few percent of its size.
export const gzipLevel = 4;
const compress = promisify(gzip);

export const vary = 'Authorization, x-tenant-id, Accept, Accept-Encoding';
export const exposedHeaders =
  'ETag, Link, X-Request-Id, X-Total-Count, X-Data-Generation, X-Data-Synced-At, X-Data-Stale-Fields, Deprecation, Sunset, Retry-After';

/** Everything that decides the bytes of a response, except its coding. */
export type Identity = readonly (string | number)[];
type Coding = 'identity' | 'gzip';

export const computeEtag = (identity: Identity, coding: Coding): string =>
  `"${hash('sha256', JSON.stringify([rendererRevision, coding, ...identity]), 'base64url').slice(0, 27)}"`;

/** A request and its response's headers so far: names and values alternate, written with the status. */
export type PendingResponse = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly headers: string[];
};

/** A response body as sent, in pieces when it is large; `length` in bytes. */
export type Body = {
  readonly tag: string;
  readonly coding: Coding;
  readonly content: Buffer | string | readonly Buffer[];
  readonly length: number;
};

/** A body before it is coded: the text that PostgreSQL wrote, between two texts in ASCII. */
export type BodyParts = { readonly before: string; readonly records: RecordsText; readonly after: string };

/**
 * The tag of this representation that the client already has, in a coding that it accepts; undefined when the
 * body must be sent.
 */
export function matchingTag(req: IncomingMessage, identity: Identity): string | undefined {
  const known = knownTags(req.headers);
  if (known.length === 0) return undefined;
  const plain = computeEtag(identity, 'identity');
  if (known.includes(plain)) return plain;
  if (!acceptsGzip(req.headers)) return undefined;
  const gzipped = computeEtag(identity, 'gzip');
  return known.includes(gzipped) ? gzipped : undefined;
}

/** Throws 412 unless If-Match is absent or names this representation, in either coding (RFC 9110 13.1.1). */
export function assertMatch({ headers }: IncomingMessage, identity: Identity): void {
  const required = requiredTags(headers);
  if (required === undefined || required.includes('*')) return;
  if (
    required.includes(computeEtag(identity, 'identity')) ||
    required.includes(computeEtag(identity, 'gzip'))
  )
    return;
  const message = 'If-Match names no current entity tag of this resource';
  throw new AppError('BAD_REQUEST', message, {
    status: 412,
    details: [{ path: 'If-Match', code: 'precondition_failed', message }],
  });
}

export function sendNotModified({ res, headers }: PendingResponse, tag: string): void {
  headers.push('ETag', tag);
  res.writeHead(304, headers);
  res.end();
}

/** Compresses bodies above 1 KiB for clients that accept gzip. */
export async function writeBody(
  req: IncomingMessage,
  identity: Identity,
  { before, records, after }: BodyParts,
): Promise<Body> {
  if (typeof records !== 'string')
    return writeLargeBody(req, identity, [Buffer.from(before), ...records, Buffer.from(after)]);
  // Counting only the bytes of `records` avoids flattening the concatenated text twice.
  const length = Buffer.byteLength(records) + before.length + after.length;
  const text = before + records + after;
  if (length <= minGzipBytes || !acceptsGzip(req.headers))
    return { tag: computeEtag(identity, 'identity'), coding: 'identity', content: text, length };
  const content = await compress(text, { level: gzipLevel });
  return { tag: computeEtag(identity, 'gzip'), coding: 'gzip', content, length: content.length };
}

const sumLengths = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** Piece by piece, so that the event loop is never held for the whole body. */
async function writeLargeBody(
  req: IncomingMessage,
  identity: Identity,
  pieces: readonly Buffer[],
): Promise<Body> {
  if (!acceptsGzip(req.headers))
    return {
      tag: computeEtag(identity, 'identity'),
      coding: 'identity',
      content: pieces,
      length: sumLengths(pieces),
    };
  const content: Buffer[] = [];
  for await (const piece of Readable.from(pieces).pipe(createGzip({ level: gzipLevel })))
    content.push(piece as Buffer);
  return { tag: computeEtag(identity, 'gzip'), coding: 'gzip', content, length: sumLengths(content) };
}

/** Whether the body has the coding that this client would get. */
export const isServableTo = (req: IncomingMessage, { coding, length }: Body): boolean =>
  (coding === 'gzip') === ((coding === 'gzip' || length > minGzipBytes) && acceptsGzip(req.headers));

/** Sends the body, or 304 when the client already has it. */
export function sendBody(
  reply: PendingResponse,
  { tag, coding, content, length }: Body,
  contentType = 'application/json; charset=utf-8',
): void {
  const { req, res, headers } = reply;
  const known = knownTags(req.headers);
  if (known.includes(tag) || known.includes('*')) {
    sendNotModified(reply, tag);
    return;
  }
  headers.push('ETag', tag, 'Content-Type', contentType);
  if (coding === 'gzip') headers.push('Content-Encoding', 'gzip');
  headers.push('Content-Length', String(length));
  res.writeHead(200, headers);
  if (req.method === 'HEAD') res.end();
  // As many bytes as characters means ASCII, which is sent in one write with the headers.
  else if (typeof content === 'string') res.end(content, length === content.length ? 'latin1' : 'utf8');
  else if (Buffer.isBuffer(content)) res.end(content);
  else {
    for (const piece of content) res.write(piece);
    res.end();
  }
}

/** Sends JSON text, or text of another type, or 304 when the client already has it in any coding. */
export async function sendJsonText(
  reply: PendingResponse,
  identity: Identity,
  parts: BodyParts,
  contentType?: string,
): Promise<void> {
  assertMatch(reply.req, identity);
  const tag = matchingTag(reply.req, identity);
  if (tag !== undefined) return sendNotModified(reply, tag);
  sendBody(reply, await writeBody(reply.req, identity, parts), contentType);
}

/** Headers of every response, 304 included. */
export function addCacheHeaders({ headers }: PendingResponse): void {
  headers.push('Cache-Control', 'private, no-cache');
}

/** The freshness of the fields that endpoint and embedded records show; no part of the entity tag. */
export function addFreshness(
  { headers }: PendingResponse,
  freshness: Freshness,
  { fields }: Pick<CompiledEndpoint, 'fields'>,
  { expansions, related }: Embedded = noneEmbedded,
): void {
  headers.push('X-Data-Generation', freshness.generation);
  const own = freshness.stale === null ? undefined : freshnessOfFields(freshness, fields);
  const shown = related.length === 0 ? own : freshnessWithRelated(freshness, fields, expansions, related);
  const { syncedAt } = shown ?? freshness;
  if (syncedAt !== null) headers.push('X-Data-Synced-At', syncedAt);
  if (shown !== undefined && shown.header !== '') headers.push('X-Data-Stale-Fields', shown.header);
}

/**
 * Adds Deprecation (RFC 9745), Sunset (RFC 8594) and the link to the successor, if the caller may read it;
 * nothing when the version is not deprecated.
 */
export function addDeprecation(
  { headers, baseUrl }: PendingResponse & { readonly baseUrl: string },
  state: VersionState,
  access: RecordAccess,
  resource: string | null,
): void {
  if (state.status !== 'deprecated' || state.deprecatedAt === null) return;
  headers.push('Deprecation', `@${Math.floor(state.deprecatedAt.getTime() / 1000)}`);
  if (state.sunsetAt !== null) headers.push('Sunset', state.sunsetAt.toUTCString());
  if (state.successor === null || !allowsVersion(access, state.successor.version)) return;
  const { version, resources } = state.successor;
  const target =
    resource !== null && resources.includes(resource) ? `${version}/${resource}` : `openapi/${version}`;
  headers.push('Link', `<${baseUrl}/${target}>; rel="successor-version"`);
}

export const listBody = (records: RecordsText, total: number, { page, pageSize }: ListPlan): BodyParts => ({
  before: '{"data":[',
  records,
  after: `],"pagination":{"total":${total},"page":${page},"pageSize":${pageSize},"totalPages":${Math.ceil(total / pageSize)}}}`,
});

export const summaryBody = (rows: RecordsText, total: number): BodyParts => ({
  before: '{"data":[',
  records: rows,
  after: `],"total":${total}}`,
});

export const textBody = (text: string): BodyParts => ({ before: '', records: text, after: '' });

export const recordBody = (record: RecordsText): BodyParts => ({
  before: '{"data":',
  records: record,
  after: '}',
});

/** The Link header for the other pages of this query. `path` is the path of the list. */
export function paginationLinks(path: string, { linkQuery, page, pageSize }: ListPlan, total: number) {
  const last = Math.max(1, Math.ceil(total / pageSize));
  const link = (to: number, rel: string) => `<${path}?${linkQuery}page=${to}>; rel="${rel}"`;
  const previous = page > 1 ? `, ${link(Math.min(page - 1, last), 'prev')}` : '';
  const next = page < last ? `, ${link(page + 1, 'next')}` : '';
  return `${link(1, 'first')}${previous}${next}, ${link(last, 'last')}`;
}
