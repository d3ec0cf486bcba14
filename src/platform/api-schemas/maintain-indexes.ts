// Maintains the indexes of an organization's tables: drops those of versions that failed to publish or were
// retired more than a day ago, and rebuilds those of a restored version. Runs outside of requests; an
// interrupted run is completed by the next one.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { isOnFormerServer } from '../../db/former-warehouse.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import {
  type Available,
  bindDocument,
  listIndexes,
  readAvailable,
  validateDocument,
} from '../../public/index.ts';
import { discardOtherIndexes, reconcileIndexes } from '../../sync/index.ts';
import * as store from './api-schemas.store.ts';
import { enterVersions } from './shown-columns.ts';

type Needed = ReturnType<typeof listIndexes>;

/** Throws while a version whose fields are gone is being published: its indexes are known once it fails. */
async function readNeeded(tx: Tx, organizationId: string, available: Available): Promise<Needed> {
  const found = new Map<string, Map<string, NonNullable<ReturnType<Needed['get']>>[number]>>();
  for (const { endpoints, bindings } of await store.listVersionsNeedingIndexes(tx, organizationId)) {
    if (bindings === null && validateDocument({ endpoints }, available).length > 0)
      throw new Error('a version is being published');
    for (const [recordType, specs] of listIndexes(
      { endpoints },
      bindings ?? bindDocument({ endpoints }, available),
    )) {
      const ofType = found.get(recordType) ?? new Map();
      found.set(recordType, ofType);
      for (const spec of specs) ofType.set(`${spec.method} ${spec.expression}`, spec);
    }
  }
  return new Map([...found].map(([recordType, specs]) => [recordType, [...specs.values()]]));
}

/**
 * Maintains the indexes of one organization, and the columns that its versions show, unless its records are
 * being moved. Throws while a version that is being published has problems.
 */
export async function maintainIndexes(ctx: TenantCtx, signal: AbortSignal): Promise<void> {
  if (isOnFormerServer(ctx.db, ctx.organizationId)) return;
  const available = await readAvailable(ctx);
  if (Object.keys(available).length === 0) return;
  // Publishing enters them; an older version of this service did not.
  await enterVersions(ctx);
  const needed = await inTransaction(ctx, async (tx) => {
    let read: Needed = new Map();
    await discardOtherIndexes(tx, ctx.organizationId, async () => {
      read = await readNeeded(tx, ctx.organizationId, available);
      return read;
    });
    return read;
  });
  await reconcileIndexes(ctx, needed, signal);
}

/** Maintains the indexes of all organizations, one after the other. Failures are logged. */
export async function maintainAllIndexes(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select id from all_organizations()');
  for (const { id: organizationId } of rows) {
    if (signal.aborted) return;
    await maintainIndexes({ ...ctx, organizationId }, signal).catch((error: unknown) => {
      if (!signal.aborted)
        ctx.log.warn(
          { err: error, organizationId },
          'index maintenance failed; it runs again within an hour',
        );
    });
  }
}
