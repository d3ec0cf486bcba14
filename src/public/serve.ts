// One public request from its address to its answer. The checks stand in the order in which the interface promises them:
// 401 · 400 tenant · 403 tenant · 403 scopes · 404 · 410 · 400 parameters, and only then 304 or a read.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import type { Served } from '../core/served.ts';
import { inTransaction } from '../db/transaction.ts';
import type { FoundApiKey } from '../identity/api-key.store.ts';
import { type LookUp, openLookUp, openPlaces, type Places, strangers } from './admission.ts';
import {
  type Authenticate,
  assertPermission,
  assertScopes,
  assertTenant,
  identifyMember,
  openAuthenticate,
  scopesOf,
} from './authorize.ts';
import { readAvailable } from './available.ts';
import { bindDocument } from './bind.ts';
import { serveChanges } from './change-feed.ts';
import type { CompiledEndpoint, CompiledSchema } from './compile.ts';
import { type Engine, openEngine } from './engine.ts';
import { acceptedType, answerHeld, answerPage, type Exchange, identityOf, type ReadContext } from './exchange.ts';
import { exportTypes, serveExport } from './export.ts';
import { describeVersion } from './openapi.ts';
import { openPageBodies, type PageBodies } from './page-bodies.ts';
import { planRecord, type RecordPlan } from './plan.ts';
import { assertNotRetired, assertPublished, findPublished, nothingHere, versionKey } from './published.ts';
import { readList, readRecord } from './read.ts';
import { parameterProblem, queryTextOf, type ReadTarget, readQuery, readTarget, refuseParameters } from './request.ts';
import { addCacheHeaders, addDeprecation, addFreshness, listBody, pageLinks, recordBody, sendJson } from './response.ts';
import { openUnderstandList, type UnderstandList } from './understood.ts';
import { isRecordId } from './values.ts';
import { findDraft, findPredecessor, isVersionLabel, type VersionState } from './versions.store.ts';

/** Many proxies and clients refuse answers with more than 4 to 8 KiB of headers; a long query would be repeated four times. */
const longestLink = 3_000;

/** What one process remembers between requests. */
export type PublicService = {
  /** Its `control` is what the public interface has for itself. */
  readonly ctx: Ctx;
  readonly places: Places;
  readonly lookUp: LookUp;
  readonly authenticate: Authenticate;
  readonly bodies: PageBodies;
  readonly engine: Engine;
  readonly understand: UnderstandList;
  readonly callerOf: (key: FoundApiKey) => Caller;
};

/** What follows from a key alone. */
type Caller = Pick<ReadContext, 'tenant' | 'scopes' | 'reader'>;

export function openPublicService(shared: Ctx): PublicService {
  const { cacheBytes, publicLoad } = shared.settings;
  const engine = openEngine(shared);
  const ctx: Ctx = { ...shared, db: { ...shared.db, control: shared.db.lookups } };
  const lookUp = openLookUp(ctx);
  /** A key that is trusted is the same object until it is read again. */
  const callers = new WeakMap<FoundApiKey, Caller>();
  return {
    ctx,
    places: openPlaces(publicLoad.requests),
    lookUp,
    authenticate: openAuthenticate(ctx, lookUp, engine.tallies.keys),
    bodies: openPageBodies(cacheBytes.bodies, engine.tallies.bodies),
    engine,
    understand: openUnderstandList(cacheBytes.statements, engine.tallies.queries),
    callerOf: (key) => {
      const held = callers.get(key);
      if (held !== undefined) return held;
      const organizationId = key.organization.id;
      const caller = { tenant: { ...ctx, organizationId }, scopes: scopesOf(key), reader: engine.readerOf(organizationId) };
      callers.set(key, caller);
      return caller;
    },
  };
}

const list = '/api/public/{version}/{resource}';
/** What each kind of request is called in the log and in counts. */
const served = {
  list: { route: list, kind: 'list' },
  export: { route: list, kind: 'export' },
  record: { route: `${list}/{id}`, kind: 'record' },
  changes: { route: `${list}/changes`, kind: 'changes' },
  description: { route: '/api/public/openapi/{version}', kind: 'description' },
} as const satisfies Record<string, Served>;

export async function answer(service: PublicService, exchange: Exchange): Promise<void> {
  const { req } = exchange;
  const { lookUp } = service;
  const target = readTarget(req.url ?? '');
  if (target.kind !== 'nothing') exchange.onServed(served[target.kind]);
  const session = target.kind === 'description' && req.headers.authorization === undefined ? exchange.session() : undefined;
  if (session !== undefined) return describeToMember(service, exchange, session, target.version);
  const found = service.authenticate(req.headers);
  const key = found instanceof Promise ? await found : found;
  const refused = exchange.onCaller(key);
  if (refused !== undefined) await refused;
  const organizationId = key.organization.id;
  assertTenant(key, req.headers);
  if (target.version === '') throw nothingHere();
  assertScopes(key, target.version, target.resource === '' ? null : target.resource);
  addCacheHeaders(exchange);
  const caller = service.callerOf(key);
  if (target.kind === 'description') return lookUp(organizationId, () => describe(service, exchange, caller.tenant, key, target.version));
  const { tenant } = caller;
  const { versions, content } = service.engine;
  const state =
    versions.held(versionKey(tenant, target.version)) ??
    (await lookUp(organizationId, () => findPublished(service.engine, tenant, target.version)));
  assertPublished(state);
  exchange.onTarget(state.version, '');
  const schema = content.held(state.id) ?? (await lookUp(organizationId, () => content.compiled(tenant, state.id)));
  const endpoint = findEndpoint(exchange, state, schema, target);
  addDeprecation(exchange, state, exchange.baseUrl, endpoint.name);
  const { scopes, reader } = caller;
  const read: ReadContext = { exchange, tenant, scopes, reader, version: state.version, endpoint, bodies: service.bodies };
  if (target.kind === 'list') await serveList(service, read);
  else await (target.kind === 'changes' ? serveChanges(read) : serveRecord(read, target.id));
}

function findEndpoint(exchange: Exchange, state: VersionState, { endpoints }: CompiledSchema, target: ReadTarget): CompiledEndpoint {
  const endpoint = endpoints.get(target.resource);
  if (endpoint === undefined || target.kind === 'nothing') throw nothingHere();
  exchange.onTarget(state.version, endpoint.name);
  if (target.kind === 'record' && !isRecordId(endpoint.idType, target.id)) throw nothingHere();
  assertNotRetired(state);
  return endpoint;
}

const assertAcceptsJson = (req: IncomingMessage): unknown => acceptedType(req, ['application/json']);

async function serveList(service: PublicService, read: ReadContext): Promise<void> {
  const { req } = read.exchange;
  const mediaType = acceptedType(req, ['application/json', ...exportTypes]);
  if (mediaType !== 'application/json') {
    read.exchange.onServed(served.export);
    return serveExport(service.engine.exports, read, mediaType);
  }
  const plan = service.understand(read.endpoint, queryTextOf(req.url ?? ''));
  const path = `${read.exchange.baseUrl}/${read.version}/${read.endpoint.name}`;
  await answerPage(read, 'list', plan.normalized, async () => {
    const { records, total, freshness } = await readList(read.reader, plan);
    const links = pageLinks(path, plan, total);
    return { text: listBody(records, total, plan), records, links: links.length <= longestLink ? links : '', freshness };
  });
}

async function serveRecord(read: ReadContext, id: string): Promise<void> {
  const plan = await planExisting(read, id);
  if (await answerHeld(read, 'record', plan.normalized)) return;
  const { record, freshness } = await readRecord(read.reader, plan);
  if (record === null) throw nothingHere();
  addFreshness(read.exchange, freshness);
  await sendJson(read.exchange, identityOf(read, 'record', plan.normalized, freshness), recordBody(record));
}

/** A record that is not there is 404 even when the parameters are wrong too. */
async function planExisting(read: ReadContext, id: string): Promise<RecordPlan> {
  const { req } = read.exchange;
  try {
    assertAcceptsJson(req);
    return planRecord(read.endpoint, id, readQuery(queryTextOf(req.url ?? '')));
  } catch (error) {
    const { record } = await readRecord(read.reader, { endpoint: read.endpoint, id, fields: [], normalized: '' });
    if (record === null) throw nothingHere();
    throw error;
  }
}

/** For the reference page of someone who is signed in at the management interface. */
async function describeToMember(service: PublicService, exchange: Exchange, session: string, version: string): Promise<void> {
  const { ctx, lookUp } = service;
  const member = await lookUp(strangers, () => identifyMember(ctx, session, exchange.req.headers));
  exchange.onMember(member);
  if (version === '') throw nothingHere();
  addCacheHeaders(exchange);
  const organizationId = member.organization.id;
  await lookUp(organizationId, () => describe(service, exchange, { ...ctx, organizationId }, null, version));
}

/** `key` is null for a member, whose permission has been looked at. */
async function describe(
  service: PublicService,
  exchange: Exchange,
  tenant: TenantCtx,
  key: FoundApiKey | null,
  version: string,
): Promise<void> {
  const { req, headers, baseUrl } = exchange;
  const scopes = key === null ? '' : scopesOf(key);
  headers.push('Vary', 'Cookie');
  if (asksForDraft(queryTextOf(req.url ?? ''))) {
    if (key !== null) assertPermission(key, 'api-schema:read');
    const text = await describeDraft(tenant, version);
    assertDescriptionParameters(req);
    return sendJson(
      exchange,
      [tenant.organizationId, scopes, 'draft', version, createHash('sha256').update(text).digest('base64url')],
      text,
    );
  }
  const state = await findPublished(service.engine, tenant, version);
  exchange.onTarget(state.version, '');
  assertNotRetired(state);
  addDeprecation(exchange, state, baseUrl, null);
  assertDescriptionParameters(req);
  await sendJson(
    exchange,
    [tenant.organizationId, scopes, 'description', state.id],
    await service.engine.content.description(tenant, state.id),
  );
}

/** However it is spelled; what can't be read is refused afterwards. */
const asksForDraft = (query: string): boolean => new URLSearchParams(query).getAll('draft').includes('true');

async function describeDraft(tenant: TenantCtx, version: string): Promise<string> {
  const draft = isVersionLabel(version) ? await findDraft(tenant, version) : undefined;
  if (draft === undefined) throw nothingHere();
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
  const query = readQuery(queryTextOf(req.url ?? ''));
  const draft = query.get('draft');
  if (draft !== undefined && (draft.length > 1 || (draft[0] !== 'true' && draft[0] !== 'false'))) {
    throw refuseParameters([parameterProblem('draft', 'invalid_value', '"draft" must be true or false')]);
  }
  const unknown = [...query.keys()].filter((name) => name !== 'draft').slice(0, 20);
  if (unknown.length > 0) {
    throw refuseParameters(unknown.map((name) => parameterProblem(name, 'unknown_parameter', 'The only parameter here is "draft"')));
  }
}
