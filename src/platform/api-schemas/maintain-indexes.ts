// Keeps the indexes of an organization's tables to what its versions need: those of versions that were refused, or ended a day ago, go;
// those of a version that came back are built again. Off every request's path; whatever stops it, the next time goes on.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type Available, bindDocument, indexesOf, readAvailable, validateDocument } from '../../public/index.ts';
import { fitIndexes, forgetOtherIndexes } from '../../sync/index.ts';
import * as store from './api-schemas.store.ts';

type Needed = ReturnType<typeof indexesOf>;

/** Throws for a version on its way to be published whose fields went away: what it needs is not known until that has failed. */
async function readNeeded(tx: Tx, organizationId: string, available: Available): Promise<Needed> {
  const found = new Map<string, Map<string, NonNullable<ReturnType<Needed['get']>>[number]>>();
  for (const { endpoints, bindings } of await store.versionsToServe(tx, organizationId)) {
    if (bindings === null && validateDocument({ endpoints }, available).length > 0) throw new Error('a version is being published');
    for (const [recordType, specs] of indexesOf({ endpoints }, bindings ?? bindDocument({ endpoints }, available))) {
      const held = found.get(recordType) ?? new Map();
      found.set(recordType, held);
      for (const spec of specs) held.set(`${spec.method} ${spec.expression}`, spec);
    }
  }
  return new Map([...found].map(([recordType, specs]) => [recordType, [...specs.values()]]));
}

/** Nothing to do for an organization without a record type. */
export async function tendIndexes(ctx: TenantCtx, signal: AbortSignal): Promise<void> {
  const available = await readAvailable(ctx);
  if (Object.keys(available).length === 0) return;
  const needed = await inTransaction(ctx, async (tx) => {
    let read: Needed = new Map();
    await forgetOtherIndexes(tx, ctx.organizationId, async () => {
      read = await readNeeded(tx, ctx.organizationId, available);
      return read;
    });
    return read;
  });
  await fitIndexes(ctx, needed, signal);
}

export async function tendAllIndexes(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select id from all_organizations()');
  for (const { id: organizationId } of rows) {
    if (signal.aborted) return;
    await tendIndexes({ ...ctx, organizationId }, signal).catch((error: unknown) => {
      if (!signal.aborted) ctx.log.warn({ err: error, organizationId }, 'indexes are looked after again in an hour');
    });
  }
}
