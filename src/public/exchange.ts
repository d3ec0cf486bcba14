// What the ways to answer a read have in common: the request on its way, what it was found to ask for, and the 304 that needs
// no look at the records.
import type { IncomingMessage } from 'node:http';
import type { Principal, TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { NoteServed } from '../core/served.ts';
import type { FoundApiKey } from '../identity/api-key.store.ts';
import type { CompiledEndpoint } from './compile.ts';
import type { ListBodies } from './list-bodies.ts';
import { chooseMediaType } from './negotiate.ts';
import { currentFreshness, type Freshness, heldFreshness, type Reader } from './read.ts';
import { addFreshness, heldTag, type Identity, type Reply, sendNotModified } from './response.ts';

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
  readonly bodies: ListBodies;
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
  const { req } = read.exchange;
  if (req.headers['if-none-match'] === undefined) return false;
  const freshness = await freshnessFor(read);
  const tag = heldTag(req, identityOf(read, kind, normalized, freshness));
  if (tag === undefined) return false;
  addFreshness(read.exchange, freshness);
  sendNotModified(read.exchange, tag);
  return true;
}
