// What syncs cost on Citus: the same organizations are loaded on both sides, one after the other, and then
// one record in a hundred changes.
import type { Ctx } from '../src/core/ctx.ts';
import { planColumns, type RecordColumn } from '../src/warehouse/columns.ts';
import type { Invoices } from './reads-data.ts';
import { createSyncOrganization, type SyncOrganization } from './sync-organization.ts';
import { createBenchConnector, createLazySource, recordType } from './sync-records.ts';
import { median } from './table.ts';
import { type Commits, watchCommits } from './watch-connections.ts';

export type LoadedOrganization = Invoices & { readonly syncs: SyncOrganization };
/** Medians in ms, and thousand records per second. */
export type Load = { readonly pageMs: number; readonly publishMs: number; readonly perSecond: number };
export type Loaded = { readonly organization: LoadedOrganization; readonly load: Load };

const changesEvery = 100;
const columns: readonly RecordColumn[] = planColumns([], recordType.fields.slice(1)).added.map((column) => ({
  ...column,
  state: 'live',
}));

async function watch(
  ctx: Ctx,
  work: (watched: Ctx) => Promise<unknown>,
): Promise<Commits & { readonly ms: number }> {
  const watched = watchCommits(ctx);
  const startMs = performance.now();
  await work(watched.ctx);
  return { ...watched.commits, ms: performance.now() - startMs };
}

/** Creates an organization and loads it. Its indexes are built when its version is published. */
export async function loadOrganization(ctx: Ctx, records: number): Promise<Loaded> {
  const connector = createBenchConnector(() => createLazySource(records, () => 0));
  const syncs = await createSyncOrganization(ctx, []);
  const { pagesMs, publishesMs, ms } = await watch(ctx, (watched) =>
    syncs.runToEnd('full', connector, watched),
  );
  const [, table = ''] = /"(.*)"/.exec(await syncs.activeTable()) ?? [];
  const { organizationId, key, schema } = syncs;
  return {
    organization: {
      organizationId,
      key,
      schema,
      table,
      columns,
      records,
      recordType: recordType.name,
      syncs,
    },
    load: { pageMs: median(pagesMs), publishMs: median(publishesMs), perSecond: records / ms },
  };
}

/** Of `records` records one in a hundred has this version; all others have the first one. */
export const changingConnector = (records: number, version: () => number) =>
  createBenchConnector(() => createLazySource(records, (n) => (n % changesEvery === 0 ? version() : 0)));

/** Milliseconds of the transaction that publishes a run which changes one record in a hundred. */
export async function publishChanges(
  ctx: Ctx,
  { syncs, records }: LoadedOrganization,
  version: number,
): Promise<number> {
  const connector = changingConnector(records, () => version);
  const { publishesMs } = await watch(ctx, async (watched) => {
    const { counts } = await syncs.runToEnd('incremental', connector, watched);
    if (counts?.updated !== records / changesEvery)
      throw new Error(`A run changed ${counts?.updated} records`);
  });
  return median(publishesMs);
}
