// Publishes drafts in the background: lock the draft, build its indexes without blocking other work, measure
// its reads on the real data, then publish it in one transaction. A publication is worked on under a lease;
// any process resumes one whose lease has expired.
import type { Ctx, RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { isOnFormerServer } from '../../db/former-warehouse.ts';
import { type JobWorker, startJobWorker, workUnderLease } from '../../db/job-worker.ts';
import { cancelJob, enqueueJob, finishJob, type Job, releaseJob, takeJob } from '../../db/jobs.ts';
import { isTransientError } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type Available,
  type Bindings,
  bindDocument,
  compareVersions,
  type DefinitionProblem,
  describeVersion,
  ensureMaskSecret,
  findPredecessor,
  isVersionLabel,
  type Proof,
  readAvailable,
  type SchemaDocument,
  sampleExamples,
  validateDocument,
} from '../../public/index.ts';
import { TablesPending } from '../../warehouse/tables-pending.ts';
import { announce } from '../../webhooks/index.ts';
import type { Publication } from './api-schemas.schemas.ts';
import { apiSchemaView, assertRevision, getApiSchemaRow, getDraft, notReady } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';
import { maintainIndexes } from './maintain-indexes.ts';
import { findTooSlowReads, sortSlowestFirst, summarizeProof } from './proof-report.ts';
import {
  buildIndexes,
  parseDocument,
  planSteps,
  proveReads,
  type ReportProgress,
  running,
} from './publication-steps.ts';
import { enterVersions } from './shown-columns.ts';
import { warnOfTaggedFields } from './tagged-fields.ts';

const leaseMs = 15_000;
const pollMs = 5_000;
/** Publications that this process resumes at once, besides those that it began. */
const concurrency = 4;

const endedAs = (
  status: 'failed' | 'cancelled',
  step: string,
  problems: DefinitionProblem[] = [],
  proof: Publication['proof'] = null,
): Publication => ({
  status,
  progress: { step, done: 0, total: 1, estimatedSecondsLeft: null },
  problems,
  proof,
  warnings: [],
});

/**
 * Marks the draft as being published and starts the background work. Throws 404, 422 when the version is no
 * draft, is already being published, is at another revision, or has problems.
 */
export async function startPublication(ctx: RequestCtx, id: string, revision: number) {
  const available = await readAvailable(ctx);
  const started = await inTransaction(ctx, async (tx) => {
    const row = await getDraft(tx, ctx, id);
    assertRevision(row, revision);
    const problems = validateDocument(parseDocument(row), available);
    if (problems.length > 0) throw notReady(problems);
    const job = await begin(tx, ctx, id, revision);
    await store.deleteReport(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'api-schema.publish', ['api-schema', id], { version: row.version, revision });
    return { job, view: apiSchemaView(await getApiSchemaRow(tx, ctx, id)) };
  });
  void continueInBackground(ctx, started.job);
  return started.view;
}

/** This process works on it, unless it dies. */
async function begin(tx: Tx, ctx: RequestCtx, id: string, revision: number): Promise<Job> {
  const { organizationId } = ctx;
  await store.setPublication(tx, organizationId, id, revision, running('starting', 0, 1));
  const key = store.publicationJob(organizationId, id);
  await enqueueJob(tx, key, { payload: { publishedBy: ctx.principal.user.id } });
  return takeJob(tx, key, leaseMs);
}

/**
 * Works on a publication that has begun; on a former server, the worker does once the organization has been moved.
 * Resolves when this process has ended its work on it.
 */
export async function continueInBackground(ctx: TenantCtx, job: Job): Promise<void> {
  if (isOnFormerServer(ctx.db, ctx.organizationId)) return;
  await ctx.work.track('publications', (signal) =>
    workUnderLease(ctx, job, leaseMs, signal, (held, stopping) =>
      finishUnderLease(ctx, held, stopping),
    ).catch((error: unknown) =>
      ctx.log.error(
        { err: error, apiSchemaId: job.key },
        'a publication could not be completed; it will be resumed',
      ),
    ),
  );
}

/** Begins to publish a document of the portal; call `continueInBackground` after the commit. */
export async function beginDocument(
  tx: Tx,
  ctx: RequestCtx,
  { label, endpoints }: { readonly label: string; readonly endpoints: SchemaDocument['endpoints'] },
): Promise<Job> {
  const id = createId();
  const row = { id, version: label, name: '', notes: '', endpoints, created_by: ctx.principal.user.id };
  await store.insertSchema(tx, ctx.organizationId, row);
  return begin(tx, ctx, id, 1);
}

/**
 * The draft can be edited again at once; what works on its publication ends within seconds, and its indexes
 * are dropped. Throws 404, 422 `not_publishing` when it is not being published, also when it is live already.
 */
export const cancelPublication = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    // The lock waits for a publication that is about to commit.
    const row = await getApiSchemaRow(tx, ctx, id, true);
    if (!isRunning(row)) {
      const message = row.status === 'draft' ? 'There is nothing to cancel' : `${row.version} is published`;
      throw invalid('The version is not being published', [{ path: '', code: 'not_publishing', message }]);
    }
    const { organizationId } = ctx;
    await store.setPublication(tx, organizationId, id, row.revision, endedAs('cancelled', 'cancelled'));
    await cancelJob(tx, store.publicationJob(organizationId, id));
    await writeAudit(tx, ctx, 'api-schema.cancel-publication', ['api-schema', id], {
      version: row.version,
      revision: row.revision,
    });
    return apiSchemaView(await getApiSchemaRow(tx, ctx, id));
  });

/** Report of the last publication attempt. Throws 404 when there was none since the draft last changed. */
export const getPublication = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const { publication, revision } = apiSchemaView(await getApiSchemaRow(tx, ctx, id));
    if (publication === null) throw notFound('Publication');
    const report = await store.findReport(tx, ctx.organizationId, id, revision);
    return {
      ...publication,
      proof: report?.proof ?? publication.proof,
      madeAt: report === undefined ? null : instant(report.made_at),
      against: report?.against ?? null,
      changes: [...(report?.changes ?? [])],
      records: [...(report?.records ?? [])],
      pairs: sortSlowestFirst(report?.pairs ?? []).map((pair) => ({ ...pair, trials: [...pair.trials] })),
    };
  });

/** One that has ended, also in another process, must not continue: its draft may have changed since. */
const isRunning = ({ status, publication }: store.ApiSchemaRow): boolean =>
  status === 'draft' && publication?.status === 'running';

type Content = Pick<
  Parameters<typeof describeVersion>[0],
  'endpoints' | 'bindings' | 'previous' | 'examples'
>;

async function goLive(
  tx: Tx,
  ctx: TenantCtx,
  row: store.ApiSchemaRow,
  content: Content,
  proof: Publication['proof'],
  publishedBy: string | null,
): Promise<void> {
  const { id, version, name, notes } = row;
  const serverUrl = ctx.settings.publicUrl;
  const described = { ...content, version, name, notes, draft: false, serverUrl };
  const isVersion = isVersionLabel(version);
  await ensureMaskSecret(tx, ctx, content.endpoints);
  const warnings = isVersion ? await warnOfTaggedFields(tx, ctx.organizationId, row) : [];
  const progress = { step: 'live', done: 1, total: 1, estimatedSecondsLeft: null };
  const publication: Publication = { status: 'succeeded', progress, problems: [], proof, warnings };
  await store.markPublished(tx, ctx.organizationId, id, {
    bindings: content.bindings,
    openapi: isVersion ? describeVersion({ ...described, examples: {} }) : null,
    openapi_with_examples: isVersion ? describeVersion(described) : null,
    publication,
    published_by: publishedBy,
  });
  if (isVersion) await announce(tx, ctx.organizationId, 'schema.published', { version, apiSchemaId: id });
}

/** Enters what the version shows, and takes examples from its records. */
async function prepareVersion(
  ctx: TenantCtx,
  version: string,
  document: SchemaDocument,
  bindings: Bindings,
  available: Available,
): Promise<NonNullable<Content['examples']>> {
  // Before it goes live, so that no change of what it shows goes unnumbered. Harmless if not published.
  await enterVersions(ctx, [{ version, endpoints: document.endpoints, bindings }]);
  return sampleExamples(ctx, document, bindings, available);
}

async function publishDraft(
  ctx: TenantCtx,
  row: store.ApiSchemaRow,
  publishedBy: string | null,
  proof: Proof,
): Promise<void> {
  const { id, revision } = row;
  const available = await readAvailable(ctx);
  const document = parseDocument(row);
  const bindings = bindDocument(document, available);
  const isVersion = isVersionLabel(row.version);
  const examples = isVersion ? await prepareVersion(ctx, row.version, document, bindings, available) : {};
  await inTransaction(ctx, async (tx) => {
    const current = await store.findSchema(tx, ctx.organizationId, id, true);
    if (current === undefined || !isRunning(current) || current.revision !== revision) return;
    const summary = summarizeProof(proof, row.endpoints, ctx.settings.proof.warnMs);
    const tooSlow = findTooSlowReads(proof, row.endpoints, ctx.settings.readTimeoutMs);
    const unready = validateDocument(document, available);
    const previous = (isVersion && (await findPredecessor(tx, ctx.organizationId, row.version))) || null;
    const changes =
      previous === null || unready.length > 0 ? [] : compareVersions(previous, { ...document, bindings });
    const { pairs, records } = proof;
    const against = previous?.version ?? null;
    const report = { revision, against, changes, pairs, records, proof: summary };
    await store.saveReport(tx, ctx.organizationId, id, report);
    const problems = [...unready, ...tooSlow];
    if (problems.length > 0) {
      const step = unready.length > 0 ? 'checking' : 'trying its reads';
      const publication = endedAs('failed', step, problems, summary);
      await store.updateRunningPublication(tx, ctx.organizationId, id, revision, publication);
      return;
    }
    await goLive(tx, ctx, row, { ...document, bindings, previous, examples }, summary, publishedBy);
  });
}

const unfinished = {
  path: '',
  code: 'publication_failed',
  message: 'The publication failed because of an internal error. Publish again.',
  blocks: 'publish' as const,
};

const findRow = (ctx: TenantCtx, id: string): Promise<store.ApiSchemaRow | undefined> =>
  inTransaction(ctx, (tx) => store.findSchema(tx, ctx.organizationId, id));

/** Also when the draft was edited since, which forgets the publication. */
const isCancelled = (row: store.ApiSchemaRow | undefined): boolean =>
  row === undefined ||
  (row.status === 'draft' && (row.publication === null || row.publication.status === 'cancelled'));

/**
 * Aborted when the service stops, and when the publication is no longer running: it was cancelled, its
 * draft was deleted, or another process ended it.
 */
type Ended = { readonly signal: AbortSignal; abort(): void };

/**
 * Idempotent: may run again after a crash at any point, and concurrently in another process. Both save and
 * publish only the revision with which they started.
 */
async function finishPublication(ctx: TenantCtx, id: string, publishedBy: string | null, ended: Ended) {
  const { signal } = ended;
  const row = await findRow(ctx, id);
  if (row === undefined || !isRunning(row)) return;
  const reportProgress: ReportProgress = async (publication) => {
    const saved = await inTransaction(ctx, (tx) =>
      store.updateRunningPublication(tx, ctx.organizationId, id, row.revision, publication),
    );
    if (saved === 0) ended.abort();
  };
  try {
    const reportStep = await planSteps(ctx, row, reportProgress);
    const built = await buildIndexes(ctx, row, reportStep, signal);
    const reportReads = (done: number) => reportStep('trying its reads', built + done);
    const proof = await proveReads(ctx, row, reportReads, signal);
    await publishDraft(ctx, row, publishedBy, proof);
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof TablesPending) await reportProgress(running('tables pending', 0, 1));
    // The database is temporarily unavailable: the publication resumes when its lease has expired.
    if (isTransientError(error)) throw error;
    ctx.log.error({ err: error, apiSchemaId: id }, 'a publication failed');
    await reportProgress(endedAs('failed', 'failed', [unfinished]));
  }
}

async function finishUnderLease(ctx: TenantCtx, job: Job, stopping: AbortSignal): Promise<void> {
  const { key: id, payload } = job;
  const { publishedBy = null } = (payload ?? {}) as { readonly publishedBy?: string };
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  await finishPublication(ctx, id, publishedBy, { signal, abort: () => ended.abort() });
  await inTransaction(ctx, (tx) => (stopping.aborted ? releaseJob(tx, job) : finishJob(tx, job)));
  // It was cancelled: its indexes are needed no more. What isn't dropped now is dropped within an hour.
  if (isCancelled(await findRow(ctx, id))) void startIndexMaintenance(ctx);
}

/** Rebuilds a restored version's indexes in the background; the hourly maintenance completes what is left. */
export const startIndexMaintenance = (ctx: TenantCtx): Promise<void> =>
  ctx.work.track('publications', (signal) =>
    maintainIndexes(ctx, signal).catch((error: unknown) => {
      if (!signal.aborted)
        ctx.log.warn(
          { err: error, organizationId: ctx.organizationId },
          'index maintenance failed; it runs again within an hour',
        );
    }),
  );

/** Resumes publications that a stopped or crashed process left unfinished. They end at their next step when the worker stops. */
export const startPublicationWorker = (ctx: Ctx): JobWorker =>
  startJobWorker(ctx, {
    kind: 'publications',
    pollMs,
    leaseMs,
    concurrency,
    work: (job, stopping) => finishUnderLease({ ...ctx, organizationId: job.organizationId }, job, stopping),
  });
