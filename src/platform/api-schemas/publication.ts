// Publishing: the content is locked, the indexes are built without blocking anyone, the reads are tried on the real data, then the
// version goes live in one transaction. Who works on a publication holds it under a lease; one that was left is taken up by any process.
import type { Ctx, RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { notFound } from '../../core/errors.ts';
import { keepLease } from '../../core/lease.ts';
import { type Recurring, recurring } from '../../core/recurring.ts';
import { openTrackedWork } from '../../core/tracked-work.ts';
import { isNotNow } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type Available,
  bindDocument,
  compareVersions,
  describeVersion,
  findPredecessor,
  indexesOf,
  type Problem,
  type Proof,
  proveVersion,
  readAvailable,
  SchemaDocument,
  validateDocument,
} from '../../public/index.ts';
import { buildWantedIndexes, indexesToBuild, rememberWantedIndexes } from '../../sync/index.ts';
import type { Publication } from './api-schemas.schemas.ts';
import { checkRevision, getDraft, getRow, notReady, view } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';
import { refusalsOf, slowestFirst, summaryOf } from './proof-report.ts';
import { tendIndexes } from './tend-indexes.ts';

const leaseMs = 15_000;
const lookEveryMs = 5_000;

const documentOf = (row: store.ApiSchemaRow): SchemaDocument => SchemaDocument.parse({ endpoints: row.endpoints });

/** What publishing would build now, for `validate`. */
export async function plannedIndexes(ctx: TenantCtx, row: store.ApiSchemaRow, available: Available) {
  const document = documentOf(row);
  if (validateDocument(document, available).length > 0) return [];
  const planned: { recordType: string; method: string; expression: string }[] = [];
  for (const [recordType, specs] of indexesOf(document, bindDocument(document, available))) {
    for (const spec of await indexesToBuild(ctx, recordType, specs))
      planned.push({ recordType, method: spec.method, expression: spec.expression });
  }
  return planned;
}

const running = (step: string, done: number, total: number): Publication => ({
  status: 'running',
  progress: { step, done, total },
  problems: [],
  proof: null,
});
const failed = (step: string, problems: Problem[], proof: Publication['proof']): Publication => ({
  status: 'failed',
  progress: { step, done: 0, total: 1 },
  problems,
  proof,
});

/** Locks the draft and starts the work behind the answer. */
export async function startPublication(ctx: RequestCtx, id: string, revision: number) {
  const available = await readAvailable(ctx);
  const started = await inTransaction(ctx, async (tx) => {
    const row = await getDraft(tx, ctx, id);
    checkRevision(row, revision);
    const problems = validateDocument(documentOf(row), available);
    if (problems.length > 0) throw notReady(problems);
    await store.setPublication(tx, ctx.organizationId, id, revision, running('starting', 0, 1));
    await store.holdPublication(tx, ctx.organizationId, id, leaseMs);
    await store.deleteReport(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, {
      action: 'api-schema.publish',
      target: { type: 'api-schema', id },
      changes: { version: row.version, revision },
    });
    return view(await getRow(tx, ctx, id));
  });
  finishInBackground(ctx, id, ctx.principal.user.id);
  return started;
}

/** The whole of what the last attempt to publish has shown. Throws NOT_FOUND when there was none since the draft last changed. */
export const getPublication = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const { publication, revision } = view(await getRow(tx, ctx, id));
    if (publication === null) throw notFound('Publication');
    const report = await store.findReport(tx, ctx.organizationId, id, revision);
    return {
      ...publication,
      proof: report?.proof ?? publication.proof,
      madeAt: report === undefined ? null : instant(report.made_at),
      against: report?.against ?? null,
      changes: [...(report?.changes ?? [])],
      records: [...(report?.records ?? [])],
      pairs: slowestFirst(report?.pairs ?? []).map((pair) => ({ ...pair, trials: [...pair.trials] })),
    };
  });

/** Publications of this process and what else goes on behind an answer, so that stopping can end them and wait. */
const work = openTrackedWork();
export const track = work.track;
export const publicationsSettled = work.settled;
/** Leaves them as running at the next step; whoever looks next takes them up. */
export const stopPublications = work.stop;

/** What has ended, by whomever, is not gone on with: its draft may be changed, and nobody asked for that to be published. */
const isRunning = ({ status, publication }: store.ApiSchemaRow): boolean => status === 'draft' && publication?.status === 'running';

async function goLive(ctx: TenantCtx, row: store.ApiSchemaRow, publishedBy: string | null, proof: Proof): Promise<void> {
  const { id, revision } = row;
  const available = await readAvailable(ctx);
  await inTransaction(ctx, async (tx) => {
    const now = await getRow(tx, ctx, id, true);
    if (!isRunning(now) || now.revision !== revision) return;
    const document = documentOf(row);
    const summary = summaryOf(proof, row.endpoints, ctx.settings.proof.warnMs);
    const tooSlow = refusalsOf(proof, row.endpoints, ctx.settings.readTimeoutMs);
    const unready = validateDocument(document, available);
    const bindings = bindDocument(document, available);
    const previous = (await findPredecessor(tx, ctx.organizationId, row.version)) ?? null;
    const changes = previous === null || unready.length > 0 ? [] : compareVersions(previous, { ...document, bindings });
    const { pairs, records } = proof;
    const against = previous?.version ?? null;
    await store.saveReport(tx, ctx.organizationId, id, { revision, against, changes, pairs, records, proof: summary });
    const problems = [...unready, ...tooSlow];
    if (problems.length > 0) {
      const step = unready.length > 0 ? 'checking' : 'trying its reads';
      await store.notePublication(tx, ctx.organizationId, id, revision, failed(step, problems, summary));
      return;
    }
    const { version, name, notes } = row;
    const openapi = describeVersion({ version, name, notes, draft: false, endpoints: document.endpoints, bindings, previous });
    const publication: Publication = { status: 'succeeded', progress: { step: 'live', done: 1, total: 1 }, problems: [], proof: summary };
    await store.goLive(tx, ctx.organizationId, id, { bindings, openapi, publication, published_by: publishedBy });
  });
}

type Note = (publication: Publication) => Promise<unknown>;

async function buildIndexes(ctx: TenantCtx, row: store.ApiSchemaRow, note: Note, signal: AbortSignal): Promise<void> {
  const document = documentOf(row);
  const wanted = indexesOf(document, bindDocument(document, await readAvailable(ctx)));
  let done = 0;
  for (const [recordType, specs] of wanted) {
    signal.throwIfAborted();
    await rememberWantedIndexes(ctx, recordType, specs);
    const onBuilt = async (built: number, of: number) => {
      signal.throwIfAborted();
      await note(running(`building indexes of ${recordType}`, done + built, done + of));
      if (built === of) done += of;
    };
    await buildWantedIndexes(ctx, recordType, onBuilt, signal);
  }
}

const noteEveryMs = 1_000;

async function tryReads(ctx: TenantCtx, row: store.ApiSchemaRow, note: Note, signal: AbortSignal): Promise<Proof> {
  const document = documentOf(row);
  let notedMs = ctx.clock.monotonicMs();
  return proveVersion(ctx, document, bindDocument(document, await readAvailable(ctx)), {
    ...ctx.settings.proof,
    signal,
    onProgress: async (done, total) => {
      if (ctx.clock.monotonicMs() - notedMs < noteEveryMs) return;
      notedMs = ctx.clock.monotonicMs();
      await note(running('trying its reads', done, total));
    },
  });
}

const unfinished = {
  path: '',
  code: 'publication_failed',
  message: 'The publication could not be finished; try again',
  blocks: 'publish' as const,
};

/**
 * May be repeated after a crash at any point, and at the same time by another process that has just started: whatever either
 * notes or publishes is the revision that it began with.
 */
async function finishPublication(ctx: TenantCtx, id: string, publishedBy: string | null, signal: AbortSignal): Promise<void> {
  const row = await inTransaction(ctx, (tx) => getRow(tx, ctx, id));
  if (!isRunning(row)) return;
  const note: Note = (publication) =>
    inTransaction(ctx, (tx) => store.notePublication(tx, ctx.organizationId, id, row.revision, publication));
  try {
    await buildIndexes(ctx, row, note, signal);
    const proof = await tryReads(ctx, row, note, signal);
    await goLive(ctx, row, publishedBy, proof);
  } catch (error) {
    if (signal.aborted) return;
    // Nothing is wrong with the version: it goes on when the lease has run out.
    if (isNotNow(error)) throw error;
    ctx.log.error({ err: error, apiSchemaId: id }, 'a publication failed');
    await note(failed('failed', [unfinished], null));
  }
}

async function finishHeld(ctx: TenantCtx, id: string, publishedBy: string | null, signal: AbortSignal): Promise<void> {
  const hold = (forMs: number | null) => inTransaction(ctx, (tx) => store.holdPublication(tx, ctx.organizationId, id, forMs));
  const release = keepLease(
    leaseMs,
    () => hold(leaseMs),
    (error) => ctx.log.warn({ err: error }, 'the lease of a publication could not be renewed'),
  );
  try {
    await finishPublication(ctx, id, publishedBy, signal);
  } finally {
    release();
  }
  if (signal.aborted) await hold(null);
}

const finishInBackground = (ctx: TenantCtx, id: string, publishedBy: string | null): Promise<void> =>
  track(ctx, (signal) =>
    finishHeld(ctx, id, publishedBy, signal).catch((error: unknown) =>
      ctx.log.error({ err: error, apiSchemaId: id }, 'a publication could not be ended; it is taken up again'),
    ),
  );

/** Behind the answer: a version that came back has its indexes again. Should that be cut short, the hourly look goes on. */
export const tendSoon = (ctx: TenantCtx): Promise<void> =>
  track(ctx, (signal) =>
    tendIndexes(ctx, signal).catch((error: unknown) => {
      if (!signal.aborted) ctx.log.warn({ err: error, organizationId: ctx.organizationId }, 'indexes are looked after again in an hour');
    }),
  );

/** Takes up what a stopped or lost process left unfinished. */
export async function resumePublications(ctx: Ctx): Promise<void> {
  for (const { organizationId, id } of await store.claimPublications(ctx, leaseMs))
    finishInBackground({ ...ctx, organizationId }, id, null);
}

/** Looks now and every few seconds. */
export function startPublications(ctx: Ctx): Recurring {
  const looking = recurring(
    lookEveryMs,
    () => resumePublications(ctx),
    (error) => ctx.log.warn({ err: error }, 'publications could not be looked for'),
  );
  void looking.tick();
  return {
    tick: looking.tick,
    stop: async () => {
      await looking.stop();
      await stopPublications(ctx);
    },
  };
}
