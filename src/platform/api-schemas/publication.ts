// Publishing: the content is locked, the indexes are built without blocking anyone, then the version goes live in one
// transaction. A stopped process leaves the publication as 'running'; the next start takes it up again.

import type { Ctx, RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import {
  type Available,
  bindDocument,
  describeVersion,
  indexesOf,
  readAvailable,
  SchemaDocument,
  validateDocument,
} from '../../public/index.ts';
import { buildWantedIndexes, indexesToBuild, rememberWantedIndexes } from '../../sync/index.ts';
import { writeAudit } from '../audit.store.ts';
import type { Publication } from './api-schemas.schemas.ts';
import { checkRevision, getDraft, getRow, notReady, view } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';

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

const inFlight = new WeakMap<Ctx['db'], Set<Promise<void>>>();
/** Publications of this process, so that stopping can wait for them. */
function track(ctx: Pick<Ctx, 'db'>, work: Promise<void>): void {
  const held = inFlight.get(ctx.db) ?? new Set();
  inFlight.set(ctx.db, held);
  const done: Promise<void> = work.finally(() => held.delete(done));
  held.add(done);
}
export async function publicationsSettled(ctx: Pick<Ctx, 'db'>): Promise<void> {
  await Promise.all(inFlight.get(ctx.db) ?? []);
}

async function goLive(ctx: TenantCtx, id: string, revision: number, publishedBy: string | null): Promise<void> {
  const available = await readAvailable(ctx);
  await inTransaction(ctx, async (tx) => {
    const row = await getRow(tx, ctx, id, true);
    if (row.status !== 'draft' || row.revision !== revision) return;
    const document = documentOf(row);
    const problems = validateDocument(document, available);
    if (problems.length > 0) {
      await store.setPublication(tx, ctx.organizationId, id, revision, {
        status: 'failed',
        progress: { step: 'checking', done: 0, total: 1 },
        problems,
      });
      return;
    }
    const bindings = bindDocument(document, available);
    const before = await store.findPredecessor(tx, ctx.organizationId, row.version);
    const previous =
      before === undefined || before.bindings === null
        ? null
        : { version: before.version, endpoints: before.endpoints, bindings: before.bindings };
    const openapi = describeVersion({
      version: row.version,
      name: row.name,
      notes: row.notes,
      draft: false,
      endpoints: document.endpoints,
      bindings,
      previous,
    });
    const publication: Publication = { status: 'succeeded', progress: { step: 'live', done: 1, total: 1 }, problems: [] };
    await store.goLive(tx, ctx.organizationId, id, { bindings, openapi, publication, published_by: publishedBy });
  });
}

async function buildIndexes(ctx: TenantCtx, row: store.ApiSchemaRow, note: (publication: Publication) => Promise<unknown>): Promise<void> {
  const document = documentOf(row);
  const wanted = indexesOf(document, bindDocument(document, await readAvailable(ctx)));
  let done = 0;
  for (const [recordType, specs] of wanted) {
    await rememberWantedIndexes(ctx, recordType, specs);
    await buildWantedIndexes(ctx, recordType, async (built, of) => {
      await note(running(`building indexes of ${recordType}`, done + built, done + of));
      if (built === of) done += of;
    });
  }
}

/**
 * May be repeated after a crash at any point, and at the same time by another process that has just started: whatever either
 * notes or publishes is the revision that it began with.
 */
async function finishPublication(ctx: TenantCtx, id: string, publishedBy: string | null): Promise<void> {
  const row = await inTransaction(ctx, (tx) => getRow(tx, ctx, id));
  const note = (publication: Publication) =>
    inTransaction(ctx, (tx) => store.setPublication(tx, ctx.organizationId, id, row.revision, publication));
  try {
    await buildIndexes(ctx, row, note);
    await goLive(ctx, id, row.revision, publishedBy);
  } catch (error) {
    ctx.log.error({ err: error, apiSchemaId: id }, 'a publication failed');
    const problems = [
      { path: '', code: 'publication_failed', message: 'The publication could not be finished; try again', blocks: 'publish' as const },
    ];
    await note({ status: 'failed', progress: { step: 'failed', done: 0, total: 1 }, problems });
  }
}

const finishInBackground = (ctx: TenantCtx, id: string, publishedBy: string | null): void =>
  track(
    ctx,
    finishPublication(ctx, id, publishedBy).catch((error: unknown) =>
      ctx.log.error({ err: error, apiSchemaId: id }, 'the end of a publication could not be noted; the next start tries again'),
    ),
  );

/** Takes up what a stopped process left unfinished. */
export async function resumePublications(ctx: Ctx): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; id: string }[] }>(
    'select organization_id, id from unfinished_publications()',
  );
  for (const { organization_id: organizationId, id } of rows) finishInBackground({ ...ctx, organizationId }, id, null);
}
