// What all reads have in common: the request context, the target that was found, and the 304 that needs no
// read of the records.
import type { IncomingMessage } from 'node:http';
import type { Principal, TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { RecordServedRoute } from '../../core/served-route.ts';
import type { FoundApiKey } from '../../identity/api-key.store.ts';
import {
  cachedFreshness,
  currentFreshness,
  type Freshness,
  type Reader,
  type ReadStates,
} from '../read/connection/reader.ts';
import { type Expansion, noExpansions, readExpansions } from '../read/plan/expand.ts';
import { assertScopeFresh } from '../read/result/stale-fields.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { chooseMediaType, type workbookType } from './negotiate.ts';
import type { PageBody, PageBodyCache } from './page-bodies.ts';
import {
  addFreshness,
  assertMatch,
  type BodyParts,
  type Identity,
  matchingTag,
  type PendingResponse,
  sendBody,
  sendNotModified,
  writeBody,
} from './response.ts';

/** At the domain of an organization only its own keys and tokens are accepted. */
export type OwnDomain = { readonly organizationId: string; readonly origin: string };

/** A request in progress, with callbacks that admit the caller and report what was served. */
export type PublicExchange = PendingResponse & {
  readonly baseUrl: string;
  /** Undefined at the address of the service. */
  readonly domain: OwnDomain | undefined;
  /** Values of the session cookie; it grants access to descriptions, never to records. */
  sessions(): readonly string[];
  /** Counts the request against its organization. Rejects with 503 at that one's share of this process. */
  admitCaller(key: FoundApiKey): Promise<never> | undefined;
  /** Called once the version exists and, with a non-empty `resource`, once that resource of it exists. */
  onTarget(version: string, resource: string): void;
  onMember(member: Principal): void;
  /** Called when the response becomes a stream: from then on it is no request in progress. */
  onStream(): void;
  onServed: RecordServedRoute;
};

/** An authorized read of one endpoint. */
export type ReadContext = {
  readonly exchange: PublicExchange;
  readonly tenant: TenantCtx;
  /** Equal for keys that may read the same; part of entity tags. */
  readonly scopeKey: string;
  readonly version: string;
  readonly endpoint: ReadableEndpoint;
  readonly reader: Reader;
  readonly bodies: PageBodyCache;
};

export type Representation =
  | 'list'
  | 'record'
  | 'application/pdf'
  | 'summary'
  | 'changes'
  | 'application/x-ndjson'
  | 'text/csv'
  | typeof workbookType
  | 'summary/x-ndjson';

/** The response media type among those offered, the default first. Throws 406 when none is accepted. */
export function negotiateMediaType<T extends string>(req: IncomingMessage, offered: readonly [T, ...T[]]): T {
  const chosen = chooseMediaType(req.headers, offered);
  if (chosen !== undefined) return chosen;
  const message = `Not acceptable. Available media types: ${offered.join(', ')}`;
  throw new AppError('BAD_REQUEST', message, {
    status: 406,
    details: [{ path: 'Accept', code: 'not_acceptable', message }],
  });
}

/**
 * Everything that decides the bytes of a representation, for its entity tag. `related`: the states of the
 * records that it embeds.
 */
export const toIdentity = (
  { reader, scopeKey, endpoint }: ReadContext,
  kind: Representation,
  normalized: string,
  { epoch, generation }: Freshness,
  related: readonly Freshness[] = noneRelated,
): Identity => [
  reader.organizationId,
  scopeKey,
  endpoint.key,
  ...(endpoint.reach === '' ? [] : [endpoint.reach]),
  kind,
  normalized,
  epoch,
  generation,
  ...related.flatMap((state) => [state.epoch, state.generation]),
];
const noneRelated: readonly Freshness[] = [];

/**
 * The state of the resource, synchronously when it is cached. Rejects with 503 when nothing is synced, and
 * throws it or rejects with it when a field of the row scope is stale.
 */
export function freshnessFor({
  reader,
  endpoint,
}: Pick<ReadContext, 'reader' | 'endpoint'>): Freshness | Promise<Freshness> {
  const cached = cachedFreshness(reader, endpoint.recordType);
  if (cached !== undefined) return assertScopeFresh(endpoint, cached);
  return currentFreshness(reader, endpoint.recordType).then((current) => assertScopeFresh(endpoint, current));
}

/** As `freshnessFor`, with the states of the related resources. */
function statesFor(read: ReadContext, expansions: readonly Expansion[]): ReadStates | Promise<ReadStates> {
  if (expansions.length > 0) return loadStates(read, expansions);
  const own = freshnessFor(read);
  return own instanceof Promise ? own.then(withoutRelated) : withoutRelated(own);
}
async function loadStates(read: ReadContext, expansions: readonly Expansion[]): Promise<ReadStates> {
  const freshness = await freshnessFor(read);
  const others = readExpansions(expansions).map(async ({ endpoint }) =>
    freshnessFor({ reader: read.reader, endpoint }),
  );
  return { freshness, related: await Promise.all(others) };
}
const withoutRelated = (freshness: Freshness): ReadStates => ({ freshness, related: noneRelated });

/** Whether If-Match asks for one state: what is cached may be a second older than what would be read. */
const asksForOneState = ({ req }: PublicExchange): boolean => req.headers['if-match'] !== undefined;

/** Sends 304 when the cached freshness shows the client up to date. Rejects with 503 if nothing is synced. */
export async function sendNotModifiedIfFresh(
  read: ReadContext,
  kind: Representation,
  normalized: string,
  expansions: readonly Expansion[] = noExpansions,
): Promise<boolean> {
  if (read.exchange.req.headers['if-none-match'] === undefined || asksForOneState(read.exchange))
    return false;
  const states = await statesFor(read, expansions);
  return sendIfNotModified(
    read,
    states,
    expansions,
    toIdentity(read, kind, normalized, states.freshness, states.related),
  );
}

function sendIfNotModified(
  { exchange, endpoint }: ReadContext,
  { freshness, related }: ReadStates,
  expansions: readonly Expansion[],
  identity: Identity,
): boolean {
  const tag = matchingTag(exchange.req, identity);
  if (tag === undefined) return false;
  addFreshness(exchange, freshness, endpoint, { expansions, related });
  sendNotModified(exchange, tag);
  return true;
}

/** The request's reader, which keeps the permit of a large read until the response ends. */
export const readerFor = ({ reader, exchange: { res } }: ReadContext): Reader => ({
  ...reader,
  holdLarge: (permit) => {
    permit.sendWith(res);
    if (res.closed) permit.release();
    else res.once('close', permit.release);
  },
});

/** `links` is the Link header, empty for none. `related`: the states of the records that the page embeds. */
export type RenderedPage = {
  readonly body: BodyParts;
  readonly links: string;
  readonly freshness: Freshness;
  readonly related?: readonly Freshness[];
};

/**
 * Sends a page: 304 or a cached body when the cached freshness allows it, otherwise the page from `render`.
 * Rejects with 503 when nothing is synced.
 */
export async function sendPageOrNotModified(
  read: ReadContext,
  kind: Representation,
  normalized: string,
  render: () => Promise<RenderedPage>,
  expansions: readonly Expansion[] = noExpansions,
): Promise<void> {
  const { exchange, bodies } = read;
  const known = statesFor(read, expansions);
  const current = known instanceof Promise ? await known : known;
  if (!asksForOneState(exchange)) {
    const identity = toIdentity(read, kind, normalized, current.freshness, current.related);
    if (sendIfNotModified(read, current, expansions, identity)) return;
    const cached = bodies.find(exchange.req, identity);
    if (cached !== undefined) return sendPage(read, current, expansions, cached);
  }
  const { body: parts, links, freshness, related = noneRelated } = await render();
  const identity = toIdentity(read, kind, normalized, freshness, related);
  assertMatch(exchange.req, identity);
  const body = { ...(await writeBody(exchange.req, identity, parts)), links };
  bodies.put(body);
  sendPage(read, { freshness, related }, expansions, body);
}

function sendPage(
  { exchange, endpoint }: ReadContext,
  { freshness, related }: ReadStates,
  expansions: readonly Expansion[],
  body: PageBody,
): void {
  addFreshness(exchange, freshness, endpoint, { expansions, related });
  if (body.links !== '') exchange.headers.push('Link', body.links);
  sendBody(exchange, body);
}
