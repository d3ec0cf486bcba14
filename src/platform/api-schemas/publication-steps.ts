// The steps of a publication: what it will build and try, the work itself, and how far it is over all of them.
import type { TenantCtx } from '../../core/ctx.ts';
import {
  type Available,
  bindDocument,
  countReadsToTry,
  listIndexes,
  type Proof,
  proveVersion,
  readAvailable,
  SchemaDocument,
  validateDocument,
} from '../../public/index.ts';
import { buildWantedIndexes, findIndexesToBuild, saveWantedIndexes } from '../../sync/index.ts';
import type { Publication } from './api-schemas.schemas.ts';
import type { ApiSchemaRow } from './api-schemas.store.ts';

export const parseDocument = (row: ApiSchemaRow): SchemaDocument =>
  SchemaDocument.parse({ endpoints: row.endpoints });

/** Indexes that publishing would build now; empty while the document has problems. */
export async function planIndexes(ctx: TenantCtx, row: ApiSchemaRow, available: Available) {
  const document = parseDocument(row);
  if (validateDocument(document, available).length > 0) return [];
  const planned: { recordType: string; method: string; expression: string }[] = [];
  for (const [recordType, specs] of listIndexes(document, bindDocument(document, available))) {
    for (const spec of await findIndexesToBuild(ctx, recordType, specs))
      planned.push({ recordType, method: spec.method, expression: spec.expression });
  }
  return planned;
}

export const running = (
  step: string,
  done: number,
  total: number,
  estimatedSecondsLeft: number | null = null,
): Publication => ({
  status: 'running',
  progress: { step, done, total, estimatedSecondsLeft },
  problems: [],
  proof: null,
  warnings: [],
});
/** Saves the state of a running publication. */
export type ReportProgress = (publication: Publication) => Promise<unknown>;
/** Saves how many indexes and reads are done, over all steps. */
type ReportStep = (step: string, done: number) => Promise<unknown>;

const minPaceMs = 1_000;

/** Counts the indexes and reads of the publication at first, so that its progress is of all steps. */
export async function planSteps(
  ctx: TenantCtx,
  row: ApiSchemaRow,
  reportProgress: ReportProgress,
): Promise<ReportStep> {
  const available = await readAvailable(ctx);
  const document = parseDocument(row);
  const indexes = (await planIndexes(ctx, row, available)).length;
  const reads = await countReadsToTry(ctx, document, bindDocument(document, available), ctx.settings.proof);
  const startedMs = ctx.clock.monotonicMs();
  return (step, done) => {
    const total = Math.max(indexes + reads, done);
    const passedMs = ctx.clock.monotonicMs() - startedMs;
    const hasPace = done > 0 && passedMs >= minPaceMs;
    const left = hasPace ? Math.ceil((passedMs / 1_000 / done) * (total - done)) : null;
    return reportProgress(running(step, done, total, left));
  };
}

/** Returns how many were built. */
export async function buildIndexes(
  ctx: TenantCtx,
  row: ApiSchemaRow,
  reportStep: ReportStep,
  signal: AbortSignal,
): Promise<number> {
  const document = parseDocument(row);
  const wanted = listIndexes(document, bindDocument(document, await readAvailable(ctx)));
  let done = 0;
  for (const [recordType, specs] of wanted) {
    const step = `building indexes of ${recordType}`;
    signal.throwIfAborted();
    await saveWantedIndexes(ctx, recordType, specs);
    await reportStep(step, done);
    const onBuilt = async (built: number, of: number) => {
      signal.throwIfAborted();
      await reportStep(step, done + built);
      if (built === of) done += of;
    };
    await buildWantedIndexes(ctx, recordType, onBuilt, signal);
  }
  return done;
}

const progressIntervalMs = 1_000;

export async function proveReads(
  ctx: TenantCtx,
  row: ApiSchemaRow,
  reportReads: (done: number) => Promise<unknown>,
  signal: AbortSignal,
): Promise<Proof> {
  const document = parseDocument(row);
  let reportedMs = ctx.clock.monotonicMs();
  return proveVersion(ctx, document, bindDocument(document, await readAvailable(ctx)), {
    ...ctx.settings.proof,
    signal,
    onProgress: async (done) => {
      if (ctx.clock.monotonicMs() - reportedMs < progressIntervalMs) return;
      reportedMs = ctx.clock.monotonicMs();
      await reportReads(done);
    },
  });
}
