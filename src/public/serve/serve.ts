// Handles one request of the public interface. The checks run in this order: 401 · 503 when the organization is at its limit · 400 tenant ·
// 403 tenant · 403 scopes · 404 · 410 · 406 · 400 parameters, and only then 304 or a read. A lookup or a read may also end with 503.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import type { ServedRoute } from '../core/served-route.ts';
import { inTransaction } from '../db/transaction.ts';
import type { FoundApiKey } from '../identity/api-key.store.ts';
import { type ConcurrencyLimit, createConcurrencyLimit, createLookupQueue, type RunLookup, unauthenticated } from './admission.ts';
import {
  type Authenticate,
  assertMayReadDraft,
  assertScopes,
  assertTenant,
  authenticateMember,
  createAuthenticator,
  scopeKeyOf,
} from './authorize.ts';
import { readAvailable } from './available.ts';
import { bindDocument } from './bind.ts';
import { serveChanges } from './change-feed.ts';
import type { CompiledEndpoint, CompiledSchema } from './compile.ts';
import { createEngine, type Engine } from './engine.ts';
import {
  identityOf,
  negotiateMediaType,
  type PublicExchange,
  type ReadContext,
  sendNotModifiedIfFresh,
  sendPageOrNotModified,
} from './exchange.ts';
import { exportTypes, serveExport } from './export.ts';
import { describeVersion } from './openapi.ts';
import { createPageBodyCache, type PageBodyCache } from './page-bodies.ts';
import { planRecord, type RecordPlan } from './plan.ts';
import { createPlanCache, type PlanCache } from './plan-cache.ts';
import { assertNotRetired, assertPublished, getPublishedVersion, notFoundError, versionKey } from './published.ts';
import { readListPage, readSingleRecord } from './read.ts';
import { parameterError, parameterProblem, parseQuery, parseTarget, queryTextOf, type RequestTarget } from './request.ts';
import { addCacheHeaders, addDeprecation, addFreshness, listBody, paginationLinks, recordBody, sendJsonText } from './response.ts';
import { isRecordId } from './values.ts';
import { findDraft, findPredecessor, isVersionLabel, type VersionState } from './versions.store.ts';

/** Many proxies and clients reject responses with more than 4 to 8 KiB of headers; a long query would be repeated four times in Link. */
const maxLinkLength = 3_000;

/** The state that one process shares between requests. */
export type PublicService = {
  /** Its `db.control` is the connection pool reserved for lookups of the public interface. */
  readonly ctx: Ctx;
  readonly concurrency: ConcurrencyLimit;
  readonly runLookup: RunLookup;
  readonly authenticate: Authenticate;
  readonly bodies: PageBodyCache;
  readonly engine: Engine;
  readonly loadPlan: PlanCache;
  readonly callerOf: (key: FoundApiKey) => Caller;
};

/** Derived from the key alone. */
type Caller = Pick<ReadContext, 'tenant' | 'scopeKey' | 'reader'>;

export function createPublicService(shared: Ctx): PublicService {
  const { cacheBytes, publicLoad } = shared.settings;
  const engine = createEngine(shared);
  const ctx: Ctx = { ...shared, db: { ...shared.db, control: shared.db.lookups } };
  const runLookup = createLookupQueue(ctx);
  /** A cached key is the same object until it is read again. */
  const callers = new WeakMap<FoundApiKey, Caller>();
  return {
    ctx,
    concurrency: createConcurrencyLimit(publicLoad.maxRequests),
    runLookup,
    authenticate: createAuthenticator(ctx, runLookup, engine.cacheCounters.keys),
    bodies: createPageBodyCache(cacheBytes.bodies, engine.cacheCounters.bodies),
    engine,
    loadPlan: createPlanCache(cacheBytes.statements, engine.cacheCounters.queries),
    callerOf: (key) => {
      const cached = callers.get(key);
      if (cached !== undefined) return cached;
      const organizationId = key.organization.id;
      const caller = { tenant: { ...ctx, organizationId }, scopeKey: scopeKeyOf(key), reader: engine.readerOf(organizationId) };
      callers.set(key, caller);
      return caller;
    },
  };
}

const listPath = '/api/public/{version}/{resource}';
/** Route template and kind of each request, for the log and the metrics. */
const served = {
  list: { route: listPath, kind: 'list' },
  export: { route: listPath, kind: 'export' },
  record: { route: `${listPath}/{id}`, kind: 'record' },
  changes: { route: `${listPath}/changes`, kind: 'changes' },
  description: { route: '/api/public/openapi/{version}', kind: 'description' },
} as const satisfies Record<string, ServedRoute>;

/**
 * Rejects with 401, 400, 403, 404, 410 or 406 in the order above, and with 503 when the process or the organization is at its limit,
 * nothing is synced, or the database is unavailable.
 */
export async function serveRequest(service: PublicService, exchange: PublicExchange): Promise<void> {
  const { req } = exchange;
  const { runLookup } = service;
  const target = parseTarget(req.url ?? '');
  if (target.kind !== 'nothing') exchange.onServed(served[target.kind]);
  const session = target.kind === 'description' && req.headers.authorization === undefined ? exchange.session() : undefined;
  if (session !== undefined) return describeToMember(service, exchange, session, target.version);
  const found = service.authenticate(req.headers);
  const key = found instanceof Promise ? await found : found;
  const refused = exchange.admitCaller(key);
  if (refused !== undefined) await refused;
  const organizationId = key.organization.id;
  assertTenant(key, req.headers);
  if (target.version === '') throw notFoundError();
  assertScopes(key, target.version, target.resource === '' ? null : target.resource);
  addCacheHeaders(exchange);
  const caller = service.callerOf(key);
  if (target.kind === 'description')
    return runLookup(organizationId, () => describe(service, exchange, caller.tenant, key, target.version));
  const { tenant } = caller;
  const { versions, content } = service.engine;
  const state =
    versions.findFresh(versionKey(tenant, target.version)) ??
    (await runLookup(organizationId, () => getPublishedVersion(service.engine, tenant, target.version)));
  assertPublished(state);
  exchange.onTarget(state.version, '');
  const schema = content.findCompiled(state.id) ?? (await runLookup(organizationId, () => content.loadCompiled(tenant, state.id)));
  const endpoint = findEndpoint(exchange, state, schema, target);
  addDeprecation(exchange, state, exchange.baseUrl, endpoint.name);
  const { scopeKey, reader } = caller;
  const read: ReadContext = { exchange, tenant, scopeKey, reader, version: state.version, endpoint, bodies: service.bodies };
  if (target.kind === 'list') await serveList(service, read);
  else await (target.kind === 'changes' ? serveChanges(read) : serveRecord(read, target.id));
}

function findEndpoint(
  exchange: PublicExchange,
  state: VersionState,
  { endpoints }: CompiledSchema,
  target: RequestTarget,
): CompiledEndpoint {
  const endpoint = endpoints.get(target.resource);
  if (endpoint === undefined || target.kind === 'nothing') throw notFoundError();
  exchange.onTarget(state.version, endpoint.name);
  if (target.kind === 'record' && !isRecordId(endpoint.idType, target.id)) throw notFoundError();
  assertNotRetired(state);
  return endpoint;
}

const assertAcceptsJson = (req: IncomingMessage): unknown => negotiateMediaType(req, ['application/json']);

async function serveList(service: PublicService, read: ReadContext): Promise<void> {
  const { req } = read.exchange;
  const mediaType = negotiateMediaType(req, ['application/json', ...exportTypes]);
  if (mediaType !== 'application/json') {
    read.exchange.onServed(served.export);
    return serveExport(service.engine.exports, read, mediaType);
  }
  const plan = service.loadPlan(read.endpoint, queryTextOf(req.url ?? ''));
  const path = `${read.exchange.baseUrl}/${read.version}/${read.endpoint.name}`;
  await sendPageOrNotModified(read, 'list', plan.normalized, async () => {
    const { records, total, freshness } = await readListPage(read.reader, plan);
    const links = paginationLinks(path, plan, total);
    return { text: listBody(records, total, plan), records, links: links.length <= maxLinkLength ? links : '', freshness };
  });
}

async function serveRecord(read: ReadContext, id: string): Promise<void> {
  const plan = await planExisting(read, id);
  if (await sendNotModifiedIfFresh(read, 'record', plan.normalized)) return;
  const { record, freshness } = await readSingleRecord(read.reader, plan);
  if (record === null) throw notFoundError();
  addFreshness(read.exchange, freshness);
  await sendJsonText(read.exchange, identityOf(read, 'record', plan.normalized, freshness), recordBody(record));
}

/** An absent record is a 404 even when the parameters are invalid too. */
async function planExisting(read: ReadContext, id: string): Promise<RecordPlan> {
  const { req } = read.exchange;
  try {
    assertAcceptsJson(req);
    return planRecord(read.endpoint, id, parseQuery(queryTextOf(req.url ?? '')));
  } catch (error) {
    const { record } = await readSingleRecord(read.reader, { endpoint: read.endpoint, id, fields: [], normalized: '' });
    if (record === null) throw notFoundError();
    throw error;
  }
}

/** For the reference page, used by a member who is signed in at the management interface. */
async function describeToMember(service: PublicService, exchange: PublicExchange, session: string, version: string): Promise<void> {
  const { ctx, runLookup } = service;
  const member = await runLookup(unauthenticated, () => authenticateMember(ctx, session, exchange.req.headers));
  exchange.onMember(member);
  if (version === '') throw notFoundError();
  addCacheHeaders(exchange);
  const organizationId = member.organization.id;
  await runLookup(organizationId, () => describe(service, exchange, { ...ctx, organizationId }, null, version));
}

/** `key` is null for a member, whose permission was already checked. */
async function describe(
  service: PublicService,
  exchange: PublicExchange,
  tenant: TenantCtx,
  key: FoundApiKey | null,
  version: string,
): Promise<void> {
  const { req, headers, baseUrl } = exchange;
  const scopeKey = key === null ? '' : scopeKeyOf(key);
  headers.push('Vary', 'Cookie');
  if (asksForDraft(queryTextOf(req.url ?? ''))) {
    if (key !== null) assertMayReadDraft(key);
    const text = await describeDraft(tenant, version);
    assertDescriptionParameters(req);
    return sendJsonText(
      exchange,
      [tenant.organizationId, scopeKey, 'draft', version, createHash('sha256').update(text).digest('base64url')],
      text,
    );
  }
  const state = await getPublishedVersion(service.engine, tenant, version);
  exchange.onTarget(state.version, '');
  assertNotRetired(state);
  addDeprecation(exchange, state, baseUrl, null);
  assertDescriptionParameters(req);
  await sendJsonText(
    exchange,
    [tenant.organizationId, scopeKey, 'description', state.id],
    await service.engine.content.loadDescription(tenant, state.id),
  );
}

/** In whatever encoding; an invalid value is rejected later. */
const asksForDraft = (query: string): boolean => new URLSearchParams(query).getAll('draft').includes('true');

async function describeDraft(tenant: TenantCtx, version: string): Promise<string> {
  const draft = isVersionLabel(version) ? await findDraft(tenant, version) : undefined;
  if (draft === undefined) throw notFoundError();
  const bindings = bindDocument(draft, await readAvailable(tenant));
  return describeVersion({
    version,
    name: draft.name,
    notes: draft.notes,
    endpoints: draft.endpoints,
    bindings,
    draft: true,
    previous: (await inTransaction(tenant, (tx) => findPredecessor(tx, tenant.organizationId, version))) ?? null,
  });
}

function assertDescriptionParameters(req: IncomingMessage): void {
  assertAcceptsJson(req);
  const query = parseQuery(queryTextOf(req.url ?? ''));
  const draft = query.get('draft');
  if (draft !== undefined && (draft.length > 1 || (draft[0] !== 'true' && draft[0] !== 'false'))) {
    throw parameterError([parameterProblem('draft', 'invalid_value', '"draft" must be true or false')]);
  }
  const unknown = [...query.keys()].filter((name) => name !== 'draft').slice(0, 20);
  if (unknown.length > 0) {
    throw parameterError(
      unknown.map((name) =>
        parameterProblem(name, 'unknown_parameter', `Unknown parameter "${name.slice(0, 80)}". The only parameter is "draft".`),
      ),
    );
  }
}
