// Enters the columns that versions of the public interface show in the organization's warehouse: a synced row
// takes a new change number only when one changes. Retired versions count: they can be published again.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type Bindings, type EndpointDefinition, listShownColumns } from '../../public/index.ts';
import { type EnteredColumns, enterShownColumns } from '../../sync/index.ts';
import * as store from './api-schemas.store.ts';

type Shows = {
  readonly version: string;
  readonly endpoints: readonly EndpointDefinition[];
  readonly bindings: Bindings;
};

/** By record type, then by version. */
function groupShownColumns(versions: readonly Shows[]): EnteredColumns {
  const entered: Record<string, Record<string, EnteredColumns[string][string]>> = {};
  for (const { version, endpoints, bindings } of versions) {
    for (const [recordType, columns] of listShownColumns(endpoints, bindings)) {
      const ofType = entered[recordType] ?? {};
      entered[recordType] = { ...ofType, [version]: columns };
    }
  }
  return entered;
}

/**
 * Enters the columns of every version that was ever published, and of `added`, before it is published.
 * Idempotent; entries are never removed. Waits while a run of one of the record types is being published.
 */
export async function enterVersions(ctx: TenantCtx, added: readonly Shows[] = []): Promise<void> {
  const published = await inTransaction(ctx, (tx) => store.listBoundVersions(tx, ctx.organizationId));
  await enterShownColumns(ctx, groupShownColumns([...published, ...added]));
}
