// Handles one request of the public interface. The checks run in this order: 401 · 503 when the organization
// is at its limit · 400 tenant · 403 tenant · 403 scopes · 404 · 410 · 406 · 400 parameters, and only then
// 304 or a read. A lookup or a read may also end with 503.

import type { RecordAccess } from '../../core/record-access.ts';
import type { ServedRoute } from '../../core/served-route.ts';
import { toQueryText } from '../../core/text/query-text.ts';
import type { FoundApiKey } from '../../identity/api-key.store.ts';
import { unauthorized } from '../../identity/principal.ts';
import { serveChanges } from '../changes/change-feed.ts';
import { asksForStream, serveChangeStream } from '../changes/change-stream.ts';
import { serveDocument } from '../document/serve-document.ts';
import { type ExportForm, exportTypes, serveExport } from '../export/serve-export.ts';
import {
  negotiateMediaType,
  type PublicExchange,
  type ReadContext,
  readerFor,
  sendNotModifiedIfFresh,
  sendPageOrNotModified,
  toIdentity,
} from '../http/exchange.ts';
import { acceptsMark, workbookType } from '../http/negotiate.ts';
import {
  addCacheHeaders,
  addDeprecation,
  addFreshness,
  listBody,
  paginationLinks,
  recordBody,
  sendJsonText,
} from '../http/response.ts';
import { chosenFormat, chosenRecordFormat, type Format } from '../read/plan/format.ts';
import { planRecord, type RecordPlan } from '../read/plan/plan.ts';
import { parseQuery, parseTarget, type RequestTarget } from '../read/plan/request.ts';
import { readListPage } from '../read/result/list.ts';
import { readSingleRecord } from '../read/result/rows.ts';
import type { CompiledDocument, CompiledEndpoint, CompiledSchema } from '../version/compile.ts';
import { narrowEndpoint } from '../version/narrow.ts';
import {
  assertNotRetired,
  assertPublished,
  getPublishedVersion,
  notFoundError,
  reportNamedTarget,
  versionKey,
} from '../version/published.ts';
import { assertScopes } from '../version/scopes.ts';
import { isRecordId } from '../version/values.ts';
import type { VersionState } from '../version/versions.store.ts';
import { assertTenant } from './authorize.ts';
import { serveDescription, serveDescriptionToMember } from './serve-description.ts';
import { serveDiscovery } from './serve-discovery.ts';
import { serveSummary } from './serve-summary.ts';
import type { Caller, PublicService } from './service.ts';

/**
 * Many proxies and clients reject responses with more than 4 to 8 KiB of headers; a long query would be
 * repeated four times in Link.
 */
const maxLinkLength = 3_000;

const listPath = '/api/public/{version}/{resource}';
/** Route template and kind of each request, for the log and the metrics. */
const served = {
  list: { route: listPath, kind: 'list' },
  export: { route: listPath, kind: 'export' },
  record: { route: `${listPath}/{id}`, kind: 'record' },
  summary: { route: `${listPath}/summary`, kind: 'summary' },
  changes: { route: `${listPath}/changes`, kind: 'changes' },
  stream: { route: `${listPath}/changes`, kind: 'stream' },
  description: { route: '/api/public/openapi/{version}', kind: 'description' },
  discovery: { route: '/api/public', kind: 'discovery' },
} as const satisfies Record<string, ServedRoute>;

/**
 * Rejects with 401, 400, 403, 404, 410 or 406 in the order above, and with 503 when the process or the
 * organization is at its limit, nothing is synced, or the database is unavailable.
 */
export async function serveRequest(service: PublicService, exchange: PublicExchange): Promise<void> {
  const { req } = exchange;
  const { runLookup } = service;
  const target = parseTarget(req.url ?? '');
  if (target.kind !== 'nothing') exchange.onServed(served[target.kind]);
  const sessions =
    target.kind === 'description' && req.headers.authorization === undefined ? exchange.sessions() : [];
  if (sessions.length > 0) return serveDescriptionToMember(service, exchange, sessions, target.version);
  const found = service.authenticate(req.headers);
  const key = found instanceof Promise ? await found : found;
  const { domain } = exchange;
  if (domain !== undefined && domain.organizationId !== key.organization.id) throw unauthorized();
  const refused = exchange.admitCaller(key);
  if (refused !== undefined) await refused;
  const organizationId = key.organization.id;
  const caller = service.loadCaller(key);
  try {
    assertTenant(key, req.headers, key.tokenSubject === undefined ? 'key' : 'token');
    if (target.kind !== 'discovery') assertTarget(target, caller.access);
  } catch (refusal) {
    const report = () => reportNamedTarget(service.engine, caller.tenant, target, exchange.onTarget);
    await runLookup(organizationId, report).catch(() => undefined);
    throw refusal;
  }
  addCacheHeaders(exchange);
  if (target.kind === 'discovery') return serveDiscovery(service, exchange, caller);
  if (target.kind === 'description')
    return runLookup(organizationId, () =>
      serveDescription(service, exchange, caller.tenant, key, target.version),
    );
  if (target.kind === 'changes' && asksForStream(req)) return serveStream(service, exchange, target, key);
  return serveResource(service, exchange, caller, target);
}

/** The endpoint of the target as the caller may read it, and the version that has it. */
async function openRead(
  service: PublicService,
  exchange: PublicExchange,
  { tenant, access, scopeKey, reader }: Caller,
  target: RequestTarget,
): Promise<{ readonly read: ReadContext; readonly state: VersionState }> {
  const { runLookup } = service;
  const { organizationId } = tenant;
  const { versions, content, outageTrust } = service.engine;
  const findKnown = () => versions.findFresh(versionKey(tenant, target.version));
  const lookUpVersion = () =>
    runLookup(organizationId, () => getPublishedVersion(service.engine, tenant, target.version));
  const state = findKnown() ?? (await outageTrust.lookUp(lookUpVersion, findKnown));
  assertPublished(state);
  exchange.onTarget(state.version, '');
  const schema =
    content.findCompiled(state) ??
    (await runLookup(organizationId, () => content.loadCompiled(tenant, state)));
  const endpoint = narrowEndpoint(findEndpoint(exchange, state, schema, target), access);
  const { bodies } = service;
  return { read: { exchange, tenant, scopeKey, reader, version: state.version, endpoint, bodies }, state };
}

/** Events instead of a page of changes, for a caller who was authorized and admitted. */
async function serveStream(
  service: PublicService,
  exchange: PublicExchange,
  target: RequestTarget,
  { id, tokenSubject = '' }: FoundApiKey,
): Promise<void> {
  exchange.onServed(served.stream);
  const reopen = async () => {
    const key = await service.authenticate(exchange.req.headers);
    const caller = service.loadCaller(key);
    assertTarget(target, caller.access);
    return { ...(await openRead(service, exchange, caller, target)), access: caller.access };
  };
  const { read, state, access } = await reopen();
  addDeprecation(exchange, state, access, read.endpoint.name);
  await serveChangeStream(service.changeStreams, read, {
    credential: `${id} ${tokenSubject}`,
    reopen: async () => (await reopen()).read,
  });
}

async function serveResource(
  service: PublicService,
  exchange: PublicExchange,
  caller: Caller,
  target: RequestTarget,
): Promise<void> {
  const { read, state } = await openRead(service, exchange, caller, target);
  const { endpoint } = read;
  addDeprecation(exchange, state, caller.access, endpoint.name);
  if (target.kind === 'list') await serveList(service, read);
  else if (isSummary(endpoint, target)) {
    exchange.onServed(served.summary);
    await serveSummary(service, read);
  } else await (target.kind === 'changes' ? serveChanges(read) : serveRecord(service, read, target.id));
}

/** Throws 404 when no version is named, and 403 outside the scopes. */
function assertTarget({ version, resource }: RequestTarget, access: RecordAccess): void {
  if (version === '') throw notFoundError();
  assertScopes(access, version, resource === '' ? null : resource);
}

/** A version that declares no summary has a record of this id, if any. */
const isSummary = ({ summary }: CompiledEndpoint, { kind, id }: RequestTarget): boolean =>
  kind === 'record' && id === 'summary' && summary !== null;

function findEndpoint(
  exchange: PublicExchange,
  state: VersionState,
  { endpoints }: CompiledSchema,
  target: RequestTarget,
): CompiledEndpoint {
  const endpoint = endpoints.get(target.resource);
  if (endpoint === undefined || target.kind === 'nothing') throw notFoundError();
  exchange.onTarget(state.version, endpoint.name);
  if (target.kind === 'record' && !isSummary(endpoint, target) && !isRecordId(endpoint.idType, target.id))
    throw notFoundError();
  assertNotRetired(state);
  return endpoint;
}

const formatTypes: Readonly<Record<Exclude<Format, 'json'>, ExportForm['type']>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  xlsx: workbookType,
};

/** The form of an export; undefined for a page. Throws 406 when the client accepts neither. */
function chooseForm({ endpoint, exchange: { req } }: ReadContext, queryText: string): ExportForm | undefined {
  const chosen = chosenFormat(endpoint, queryText);
  if (chosen !== undefined)
    return chosen.format === 'json'
      ? undefined
      : { type: formatTypes[chosen.format], withMark: chosen.withMark, named: true };
  const type = negotiateMediaType(
    req,
    endpoint.takesFormat
      ? ['application/json', ...exportTypes, workbookType]
      : ['application/json', ...exportTypes],
  );
  if (type === 'application/json') return undefined;
  return { type, withMark: type === 'text/csv' && acceptsMark(req.headers), named: false };
}

async function serveList(service: PublicService, read: ReadContext): Promise<void> {
  const { req } = read.exchange;
  const queryText = toQueryText(req.url ?? '');
  const form = chooseForm(read, queryText);
  if (form !== undefined) {
    read.exchange.onServed(served.export);
    return serveExport(service.engine.exports, read, form);
  }
  const plan = service.loadPlan(read.endpoint, queryText);
  const path = `${read.exchange.baseUrl}/${read.version}/${read.endpoint.name}`;
  const render = async () => {
    const { records, total, freshness, related } = await readListPage(readerFor(read), plan);
    const links = paginationLinks(path, plan, total);
    return {
      body: listBody(records, total, plan),
      links: links.length <= maxLinkLength ? links : '',
      freshness,
      related,
    };
  };
  await sendPageOrNotModified(read, 'list', plan.normalized, render, plan.expansions);
}

async function serveRecord({ documents }: PublicService, read: ReadContext, id: string): Promise<void> {
  const { plan, document } = await planExisting(read, id);
  if (document !== null) return serveDocument(documents, read, plan, document);
  const { expansions, normalized } = plan;
  if (await sendNotModifiedIfFresh(read, 'record', normalized, expansions)) return;
  const { record, freshness, related } = await readSingleRecord(readerFor(read), plan);
  if (record === null) throw notFoundError();
  addFreshness(read.exchange, freshness, read.endpoint, { expansions, related });
  await sendJsonText(
    read.exchange,
    toIdentity(read, 'record', normalized, freshness, related),
    recordBody(record),
  );
}

/** How the record is set as PDF; null for JSON. Throws 406 when the client accepts neither. */
function chooseDocument({ endpoint, exchange: { req } }: ReadContext, queryText: string) {
  const { document } = endpoint;
  const format = chosenRecordFormat(endpoint, queryText);
  if (format !== undefined) return format === 'pdf' ? document : null;
  const type = negotiateMediaType(
    req,
    document === null ? ['application/json'] : ['application/json', 'application/pdf'],
  );
  return type === 'application/pdf' ? document : null;
}

/** An absent record is a 404 even when the parameters are invalid too. */
async function planExisting(
  read: ReadContext,
  id: string,
): Promise<{ readonly plan: RecordPlan; readonly document: CompiledDocument | null }> {
  const { req } = read.exchange;
  try {
    const queryText = toQueryText(req.url ?? '');
    const document = chooseDocument(read, queryText);
    const plan = planRecord(read.endpoint, id, parseQuery(queryText), { expands: document === null });
    return { plan, document };
  } catch (error) {
    const { record } = await readSingleRecord(read.reader, {
      endpoint: read.endpoint,
      id,
      fields: [],
      expansions: [],
      normalized: '',
    });
    if (record === null) throw notFoundError();
    throw error;
  }
}
