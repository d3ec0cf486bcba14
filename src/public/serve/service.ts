// What the requests of one process share, besides the read engine: who is admitted, who calls, and the
// responses that are kept.

import type { Ctx, ReadEngine, ReadingCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { type Cache, createCache } from '../../core/work/cache.ts';
import { isReaderCurrent } from '../../db/former-warehouse.ts';
import type { FoundApiKey } from '../../identity/api-key.store.ts';
import { createPdfWriter } from '../../pdf/index.ts';
import { type ChangeStreams, createChangeStreams } from '../changes/change-stream.ts';
import type { DocumentSources } from '../document/serve-document.ts';
import type { ReadContext } from '../http/exchange.ts';
import { createPageBodyCache, type PageBodyCache } from '../http/page-bodies.ts';
import {
  type ConcurrencyLimit,
  createConcurrencyLimit,
  createDocumentQueue,
  createLookupQueue,
  type RunLookup,
} from '../load/admission.ts';
import { createPlanCaches, type PlanCache, type SummaryPlanCache } from '../read/plan/plan-cache.ts';
import type { SummaryRead } from '../read/result/summary.ts';
import { type Authenticate, createAuthenticator, toScopeKey } from './authorize.ts';

/** The state that one process shares between requests. */
export type PublicService = {
  /** Its `db.control` is the connection pool reserved for lookups of the public interface. */
  readonly ctx: Ctx;
  readonly concurrency: ConcurrencyLimit;
  readonly runLookup: RunLookup;
  readonly authenticate: Authenticate;
  readonly bodies: PageBodyCache;
  readonly engine: ReadEngine;
  readonly loadPlan: PlanCache;
  readonly loadSummaryPlan: SummaryPlanCache;
  /** Those being read; undefined for large ones. Their bodies are kept in `bodies`. */
  readonly summaries: Cache<SummaryRead | undefined>;
  readonly loadCaller: (key: FoundApiKey) => Caller;
  readonly documents: DocumentSources;
  readonly changeStreams: ChangeStreams;
};

/** Of an organization. */
type Context = Pick<ReadContext, 'tenant' | 'reader'>;
/** About the memory of a context. */
const contextBytes = 1_000;
/** Derived from the key alone. */
export type Caller = Context & Pick<ReadContext, 'scopeKey'> & { readonly access: RecordAccess };

/** A cached key is the same object until it is read again. */
function createCallers(loadContext: (organizationId: string) => Context): PublicService['loadCaller'] {
  const callers = new WeakMap<FoundApiKey, Caller>();
  return (key) => {
    const cached = callers.get(key);
    if (cached !== undefined && isReaderCurrent(cached.reader)) return cached;
    const caller = { ...loadContext(key.organization.id), access: key.access, scopeKey: toScopeKey(key) };
    callers.set(key, caller);
    return caller;
  };
}

export function createPublicService(
  shared: ReadingCtx,
  readBrand: DocumentSources['readBrand'],
  stopping: AbortSignal = new AbortController().signal,
): PublicService {
  const { cacheBytes, publicLoad } = shared.settings;
  const engine = shared.reads;
  const ctx: Ctx = { ...shared, db: { ...shared.db, control: shared.db.lookups } };
  const runLookup = createLookupQueue(ctx);
  const plans = createPlanCaches(cacheBytes.statements, engine.cacheCounters.queries);
  const contexts = createCache<Context>({ maxBytes: cacheBytes.lookups, countBytes: () => contextBytes });
  const loadContext = (organizationId: string): Context => {
    const cached = contexts.findAny(organizationId);
    // An organization that was moved since is read on another server.
    if (cached !== undefined && isReaderCurrent(cached.reader)) return cached;
    const context = { tenant: { ...ctx, organizationId }, reader: engine.getReader(organizationId) };
    contexts.put(organizationId, context);
    return context;
  };
  return {
    ctx,
    concurrency: createConcurrencyLimit(publicLoad.maxRequests),
    runLookup,
    authenticate: createAuthenticator(ctx, runLookup, engine.outageTrust, engine.cacheCounters.keys),
    bodies: createPageBodyCache(cacheBytes.bodies, engine.cacheCounters.bodies),
    engine,
    loadPlan: plans.list,
    loadSummaryPlan: plans.summary,
    summaries: createCache({ maxBytes: 0 }),
    changeStreams: createChangeStreams(ctx, engine.getReader, stopping),
    documents: { writer: createPdfWriter(), queue: createDocumentQueue(ctx), runLookup, readBrand },
    loadCaller: createCallers(loadContext),
  };
}
