// Measures the reads of a published version again, because its tables may have grown since. The result does
// not affect callers. When the process stops meanwhile, the report stays as it was.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Proof, proveVersion } from '../../public/index.ts';
import type { ProofSummary } from './api-schemas.schemas.ts';
import { getApiSchemaRow } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';
import { findTooSlowReads, summarizeProof } from './proof-report.ts';
import { getPublication } from './publication.ts';

type Published = store.ApiSchemaRow & { readonly bindings: NonNullable<store.ApiSchemaRow['bindings']> };

/** Reads that would block publishing a draft are the first warnings here. */
function summarizeWithTooSlowReads(ctx: TenantCtx, proof: Proof, { endpoints }: Published): ProofSummary {
  const summary = summarizeProof(proof, endpoints, ctx.settings.proof.warnMs);
  const tooSlow = findTooSlowReads(proof, endpoints, ctx.settings.readTimeoutMs).map(
    ({ path, code, message }) => ({ path, code, message }),
  );
  return { ...summary, warnings: [...tooSlow, ...summary.warnings] };
}

async function prove(ctx: TenantCtx, row: Published, signal: AbortSignal): Promise<void> {
  const options = { ...ctx.settings.proof, signal, onProgress: () => Promise.resolve() };
  const proof = await proveVersion(ctx, { endpoints: row.endpoints }, row.bindings, options);
  const { pairs, records } = proof;
  const measured = { pairs, records, proof: summarizeWithTooSlowReads(ctx, proof, row) };
  await inTransaction(ctx, (tx) =>
    store.updateReportReads(tx, ctx.organizationId, row.id, row.revision, measured),
  );
}

/**
 * Starts measuring in the background and returns the current report; the new one has a newer `madeAt`. Throws
 * 404, 422 `illegal_transition` unless the version is published or deprecated.
 */
export async function proveApiSchema(ctx: RequestCtx, id: string) {
  const row = await inTransaction(ctx, async (tx) => {
    const found = await getApiSchemaRow(tx, ctx, id);
    if ((found.status !== 'published' && found.status !== 'deprecated') || found.bindings === null) {
      const message = 'Publish the version first; publishing a draft measures its reads';
      throw invalid('Only published or deprecated versions can be measured', [
        { path: '', code: 'illegal_transition', message },
      ]);
    }
    await writeAudit(tx, ctx, 'api-schema.prove', ['api-schema', id], { version: found.version });
    return { ...found, bindings: found.bindings };
  });
  // Read before the work starts: later it might be the new report, for which a client would poll forever.
  const before = await getPublication(ctx, id);
  // Once at a time: two measurements of a version would distort each other.
  ctx.work.trackOnce('publications', `prove ${id}`, (signal) =>
    prove(ctx, row, signal).catch((error: unknown) => {
      if (!signal.aborted)
        ctx.log.error({ err: error, apiSchemaId: id }, 'measuring the reads of a version failed');
    }),
  );
  return before;
}
