// Upgrades the warehouses that an older version of this service made: before a process serves its first
// request, and later those that were locked or made meanwhile by a process of the older version. Reads and
// runs upgrade a warehouse by themselves when they come first.
import type { Ctx } from '../../core/ctx.ts';
import { type Recurring, startRecurring } from '../../core/work/recurring.ts';
import {
  listOutdatedOrganizations,
  OrganizationGone,
  updateTenantSchema,
} from '../../warehouse/tenant-schema.ts';
import { enterVersions } from './shown-columns.ts';

const retryEveryMs = 60_000;
const maxStartDelayMs = 15_000;

async function upgradeWarehouses(ctx: Ctx, stopping: AbortSignal): Promise<void> {
  for (const organizationId of await listOutdatedOrganizations(ctx.db.data)) {
    if (stopping.aborted) return;
    try {
      await updateTenantSchema(ctx, organizationId);
      await enterVersions({ ...ctx, organizationId });
    } catch (error) {
      if (!(error instanceof OrganizationGone))
        ctx.log.warn({ err: error, organizationId }, 'a warehouse could not be upgraded; will retry');
    }
  }
}

/** One pass over all warehouses before requests are served, of 15 s: the rest follows. Never rejects. */
export const upgradeWarehousesAtStart = (ctx: Ctx): Promise<void> =>
  upgradeWarehouses(ctx, AbortSignal.timeout(maxStartDelayMs)).catch((error: unknown) =>
    ctx.log.warn({ err: error }, 'warehouses could not be upgraded; will retry'),
  );

/** Repeats the pass every minute; a query over the catalog when there is nothing to do. */
export const startWarehouseUpgrades = (ctx: Ctx): Recurring =>
  startRecurring(
    retryEveryMs,
    (stopping) => upgradeWarehouses(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'warehouses could not be upgraded; will retry'),
  );
