// Accepts that fields are missing in the ERP for good. Until then, runs are partial while versions show them.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { acceptMissingFields, queueRun, readFieldGaps } from '../../sync/index.ts';
import { runView } from './run-view.ts';
import { getConfigRow } from './syncs.service.ts';

const notStale = (fields: readonly string[], stale: readonly string[]) =>
  invalid(
    'Only stale fields can be accepted as missing',
    fields.flatMap((field, index) =>
      stale.includes(field)
        ? []
        : [
            {
              path: `fields[${index}]`,
              code: 'not_stale',
              message: `${field} is not stale. ${stale.length === 0 ? 'No field of this sync is' : `Stale fields: ${stale.join(', ')}`}`,
            },
          ],
    ),
  );

/**
 * Writes audit entry and run first and the acceptance last, so that a request that fails has accepted
 * nothing. Throws 404 for an unknown sync, 422 `not_stale` for a field that isn't stale.
 */
export const acceptFields = (ctx: RequestCtx, configId: string, fields: readonly string[]) =>
  inTransaction(ctx, async (tx) => {
    const { record_type, mode } = await getConfigRow(tx, ctx, configId);
    const stale = (await readFieldGaps(ctx)).get(record_type)?.stale ?? {};
    if (fields.some((field) => !Object.hasOwn(stale, field)))
      throw notStale(fields, Object.keys(stale).sort());
    // A run in progress keeps the columns that it started with, so another run is queued.
    const run = await queueRun(tx, ctx.organizationId, { sync_config_id: configId, record_type, mode });
    await writeAudit(tx, ctx, 'sync-config.accept-missing-fields', ['sync-config', configId], {
      fields: fields.map((field) => ({ field, reason: stale[field]?.reason ?? null })),
      runId: run.id,
    });
    const known = await acceptMissingFields(ctx, record_type, fields);
    if (known !== null) throw notStale(fields, known);
    return runView(ctx, run);
  });
