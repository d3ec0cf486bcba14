// One request of a signed-in visitor: the session, the customers that the ERP names for them now, the customer that
// they chose, and the reader of that customer's records. All of it is looked up again for each request.
import type { Request } from 'express';
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { RecordAccess } from '../core/record-access.ts';
import { inTransaction } from '../db/transaction.ts';
import { listCookieValues } from '../http/cookies.ts';
import { rateLimitExceeded } from '../http/rate-limit.ts';
import {
  accessOfFamily,
  findPayOffer,
  findPersonOf,
  findPortal,
  findVisit,
  findVisitorAgent,
  listFamily,
  type PayOffer,
  type Person,
  type Portal,
  type PortalCtx,
  type PortalReader,
  type readEndpoints,
  readPortal,
  type ShownContent,
  type VisitorAgent,
  type VisitorEntry,
  type VisitorSession,
} from '../platform/index.ts';
import { recordActivity, recordUse } from './sessions.store.ts';
import type { Site } from './sites.ts';

export type Endpoints = Awaited<ReturnType<typeof readEndpoints>>;

export type SignedIn = {
  readonly ctx: PortalCtx;
  readonly site: Site;
  readonly portal: Portal;
  readonly session: VisitorSession;
  readonly content: ShownContent;
  /** The address as the ERP or a member wrote it, for mails; empty where neither did. */
  readonly writtenAs: string;
  /** Ids of the visitor's customers, in order. */
  readonly customers: readonly string[];
  /** The one that was chosen, as long as it is one of them; or the only one. */
  readonly customer: string | undefined;
};

export type Visit = SignedIn & {
  readonly customer: string;
  /** The customer, and those below it whose records the visitor sees too. */
  readonly family: readonly string[];
  readonly reads: RecordAccess;
  readonly reader: PortalReader;
  /** For access that leaves less than `reads`. What any of them reads is counted. */
  readonly openReader: (access: RecordAccess) => PortalReader;
  readonly endpoints: Endpoints;
  /** Looked up once. */
  readonly findPayOffer: () => Promise<PayOffer | undefined>;
  /** Looked up once. Undefined where none answers visitors. */
  readonly findAgent: () => Promise<VisitorAgent | undefined>;
  /** The record types of which the request has read something. */
  readonly readTypes: Set<string>;
  /** `YYYY-MM-DD` in UTC. */
  readonly today: string;
};

/** Throws 403 for a member who sees the portal as a visitor would. */
export function assertVisitor({ session }: Pick<SignedIn, 'session'>): void {
  if (session.viewer_id === null) return;
  throw new AppError('FORBIDDEN', 'Only the visitor can do this', {
    details: [
      { path: '', code: 'view_as_only_reads', message: 'What a visitor would see can be looked at only' },
    ],
  });
}

export const notFoundHere = (): AppError => new AppError('NOT_FOUND', 'There is nothing at this address');

/** Throws 404 while the portal is off. */
export async function getPortal(ctx: TenantCtx): Promise<Portal> {
  const portal = await findPortal(ctx);
  if (portal === undefined) throw notFoundHere();
  return portal;
}

/** Notes the use of the session at most once a minute. */
const noteUse = (ctx: PortalCtx, { organizationId }: Site, session: VisitorSession): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await recordUse(tx, organizationId, session);
    if (session.viewer_id === null) await recordActivity(tx, organizationId, session.email);
  });

/** Someone who opens pages asks more often than a program for records. */
const requestsOfPages = 2;

/**
 * Undefined when the request has no valid session. Throws 404 while the portal is off, 429 when the visitor has sent
 * too many requests, and rejects as `findPerson` does.
 */
export async function findSignedIn(ctx: PortalCtx, site: Site, req: Request): Promise<SignedIn | undefined> {
  // A member who looks at the portal as a visitor may be signed in as one too.
  const viewing = listCookieValues(req, site.cookie.viewAs);
  const tokens = viewing.length > 0 ? viewing : listCookieValues(req, site.cookie.session);
  const visit = await findVisit(ctx, site, tokens);
  if (visit === undefined) return undefined;
  const { session, portal, content, entry } = visit;
  if (portal === undefined) throw notFoundHere();
  if (session.hits > requestsOfPages * ctx.settings.rateLimitPerMinute)
    throw rateLimitExceeded(session.seconds_left);
  const [found] = await Promise.all([
    findVisitor(ctx, portal, session, entry),
    session.is_fresh ? undefined : noteUse(ctx, site, session),
  ]);
  const customers = [...found.customers].sort(byLength);
  const chosen = customers.find((id) => id === session.customer);
  const customer = chosen ?? (customers.length === 1 ? customers[0] : undefined);
  return { ctx, site, portal, session, content, customers, customer, writtenAs: found.writtenAs };
}

/** Of a member who looks at the portal as any visitor of one customer, that customer. */
async function findVisitor(
  ctx: PortalCtx,
  portal: Portal,
  { email, viewer_id: viewer, customer }: VisitorSession,
  entry: VisitorEntry | undefined,
): Promise<Person> {
  if (viewer !== null && email === '')
    return { customers: customer === null ? [] : [customer], writtenAs: '' };
  return findPersonOf(ctx, portal, email, entry);
}

/** Numbers as numbers, so that the order is that of the ERP. */
const byLength = (one: string, other: string): number =>
  one.length - other.length || (one < other ? -1 : Number(one > other));

export type VisitSources = {
  readonly loadEndpoints: (ctx: PortalCtx, portal: Portal) => Promise<Endpoints>;
  /** By which what is due is late. */
  readonly now: () => Date;
};

/** What pages read. Rejects as `listFamily` does. */
export async function openVisit(
  signedIn: SignedIn & { readonly customer: string },
  { loadEndpoints, now }: VisitSources,
): Promise<Visit> {
  const { ctx, portal, customer } = signedIn;
  const [family, endpoints] = await Promise.all([
    listFamily(ctx, portal, customer),
    loadEndpoints(ctx, portal),
  ]);
  const reads = accessOfFamily(portal, family);
  const today = now().toISOString().slice(0, 10);
  const readTypes = new Set<string>();
  const noteRead = (resource: string): void => {
    const recordType = endpoints.get(resource)?.recordType;
    if (recordType !== undefined) readTypes.add(recordType);
  };
  const openReader = (access: RecordAccess) => readPortal(ctx, portal, access, noteRead);
  let offer: Promise<PayOffer | undefined> | undefined;
  const findOffer = () => (offer ??= findPayOffer(ctx));
  let agent: Promise<VisitorAgent | undefined> | undefined;
  const findAgent = () => (agent ??= findVisitorAgent(ctx, portal.settings));
  return {
    ...signedIn,
    findPayOffer: findOffer,
    findAgent,
    family,
    reads,
    openReader,
    reader: openReader(reads),
    endpoints,
    readTypes,
    today,
  };
}
