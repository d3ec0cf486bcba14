// Tries the reads of a version that answers already: a small table that has grown is another table. Whatever is shown changes nothing for
// callers. A stopped process leaves the report as it was.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Proof, proveVersion } from '../../public/index.ts';
import type { ProofSummary } from './api-schemas.schemas.ts';
import { getRow } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';
import { refusalsOf, summaryOf } from './proof-report.ts';
import { getPublication, track } from './publication.ts';

type Published = store.ApiSchemaRow & { readonly bindings: NonNullable<store.ApiSchemaRow['bindings']> };

/** What would refuse a draft is here one warning more, and the first to be told. */
function summaryWithRefusals(ctx: TenantCtx, proof: Proof, { endpoints }: Published): ProofSummary {
  const summary = summaryOf(proof, endpoints, ctx.settings.proof.warnMs);
  const refusals = refusalsOf(proof, endpoints, ctx.settings.readTimeoutMs).map(({ path, code, message }) => ({ path, code, message }));
  return { ...summary, warnings: [...refusals, ...summary.warnings] };
}

async function prove(ctx: TenantCtx, row: Published, signal: AbortSignal): Promise<void> {
  const options = { ...ctx.settings.proof, signal, onProgress: () => Promise.resolve() };
  const proof = await proveVersion(ctx, { endpoints: row.endpoints }, row.bindings, options);
  const { pairs, records } = proof;
  const shown = { pairs, records, proof: summaryWithRefusals(ctx, proof, row) };
  await inTransaction(ctx, (tx) => store.renewReport(tx, ctx.organizationId, row.id, row.revision, shown));
}

/** Those of this process; trying twice at once would measure each other. */
const underWay = new WeakMap<TenantCtx['db'], Set<string>>();

/** Starts behind the answer, which is the report as it is; a newer `madeAt` says that it has been made anew. */
export async function proveAgain(ctx: RequestCtx, id: string) {
  const row = await inTransaction(ctx, async (tx) => {
    const found = await getRow(tx, ctx, id);
    if ((found.status !== 'published' && found.status !== 'deprecated') || found.bindings === null)
      throw invalid('Only the reads of a version that answers can be tried', [
        { path: '', code: 'illegal_transition', message: 'It must be published or deprecated; publishing a draft tries its reads' },
      ]);
    await writeAudit(tx, ctx, { action: 'api-schema.prove', target: { type: 'api-schema', id }, changes: { version: found.version } });
    return { ...found, bindings: found.bindings };
  });
  // Read before anything starts: later it might be the new one already, and whoever waits for a newer one would wait in vain.
  const before = await getPublication(ctx, id);
  const running = underWay.get(ctx.db) ?? new Set();
  underWay.set(ctx.db, running);
  if (!running.has(id)) {
    running.add(id);
    track(ctx, (signal) =>
      prove(ctx, row, signal)
        .catch((error: unknown) => {
          if (!signal.aborted) ctx.log.error({ err: error, apiSchemaId: id }, 'the reads of a version could not be tried');
        })
        .finally(() => running.delete(id)),
    );
  }
  return before;
}
