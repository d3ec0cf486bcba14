// What the ways to answer a read have in common: the request on its way, what it was found to ask for, and the 304 that needs
// no look at the records.
import type { IncomingMessage } from 'node:http';
import type { Principal, TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { NoteServed } from '../core/served.ts';
import type { FoundApiKey } from '../identity/api-key.store.ts';
import type { CompiledEndpoint } from './compile.ts';
import { chooseMediaType } from './negotiate.ts';
import type { PageBodies, PageBody } from './page-bodies.ts';
import { currentFreshness, type Freshness, heldFreshness, type Reader } from './read.ts';
import { addFreshness, heldTag, type Identity, type Reply, sendBody, sendNotModified, writeBody } from './response.ts';

/** A request on its way, and where it may say who called. */
export type Exchange = Reply & {
  readonly baseUrl: string;
  /** The value of the session's cookie; it opens descriptions, never records. */
  session(): string | undefined;
  /** Rejects with 503 when the key's organization has its share of this process already. */
  onCaller(key: FoundApiKey): Promise<never> | undefined;
  /** Once it is known that there is such a version, and with `resource` not empty, such a resource of it. */
  onTarget(version: string, resource: string): void;
  onMember(member: Principal): void;
  onServed: NoteServed;
};

/** A read of one endpoint by a caller who may. */
export type ReadContext = {
  readonly exchange: Exchange;
  readonly tenant: TenantCtx;
  /** Of the key: what it may read. */
  readonly scopes: string;
  readonly version: string;
  readonly endpoint: CompiledEndpoint;
  readonly reader: Reader;
  readonly bodies: PageBodies;
};

export type Representation = 'list' | 'record' | 'changes' | 'application/x-ndjson' | 'text/csv';

/** The media type to answer with, of those offered, the usual one first. Throws 406. */
export function acceptedType<T extends string>(req: IncomingMessage, offered: readonly [T, ...T[]]): T {
  const chosen = chooseMediaType(req.headers, offered);
  if (chosen !== undefined) return chosen;
  const message = `This address answers ${offered.join(', ')}`;
  throw new AppError('BAD_REQUEST', message, { status: 406, details: [{ path: 'Accept', code: 'not_acceptable', message }] });
}

export const identityOf = (
  { reader, scopes, version, endpoint }: ReadContext,
  kind: Representation,
  normalized: string,
  { epoch, generation }: Freshness,
): Identity => [reader.organizationId, scopes, version, endpoint.name, kind, normalized, epoch, generation];

export const freshnessFor = ({ reader, endpoint }: ReadContext): Freshness | Promise<Freshness> =>
  heldFreshness(reader, endpoint.recordType) ?? currentFreshness(reader, endpoint.recordType);

/** Answers 304 from what may be trusted, without a look at the records. */
export async function answerHeld(read: ReadContext, kind: Representation, normalized: string): Promise<boolean> {
  if (read.exchange.req.headers['if-none-match'] === undefined) return false;
  const freshness = await freshnessFor(read);
  return sentNotModified(read, freshness, identityOf(read, kind, normalized, freshness));
}

function sentNotModified({ exchange }: ReadContext, freshness: Freshness, identity: Identity): boolean {
  const tag = heldTag(exchange.req, identity);
  if (tag === undefined) return false;
  addFreshness(exchange, freshness);
  sendNotModified(exchange, tag);
  return true;
}

/** `records` is the part of the text that PostgreSQL wrote; all else is ASCII. `links` is the Link header, empty for none. */
export type Page = { readonly text: string; readonly records: string; readonly links: string; readonly freshness: Freshness };

/** Answers a page: 304 or as it is kept, both from what may be trusted now, or else as it is read now. */
export async function answerPage(read: ReadContext, kind: Representation, normalized: string, make: () => Promise<Page>): Promise<void> {
  const { exchange, bodies } = read;
  const known = freshnessFor(read);
  const trusted = known instanceof Promise ? await known : known;
  const identity = identityOf(read, kind, normalized, trusted);
  if (sentNotModified(read, trusted, identity)) return;
  const kept = bodies.find(exchange.req, identity);
  if (kept !== undefined) return sendPage(exchange, trusted, kept);
  const { text, records, links, freshness } = await make();
  const body = { ...(await writeBody(exchange.req, identityOf(read, kind, normalized, freshness), text, records)), links };
  bodies.keep(body);
  sendPage(exchange, freshness, body);
}

function sendPage(exchange: Exchange, freshness: Freshness, body: PageBody): void {
  addFreshness(exchange, freshness);
  if (body.links !== '') exchange.headers.push('Link', body.links);
  sendBody(exchange, body);
}
