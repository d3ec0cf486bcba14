// The same organizations on plain PostgreSQL and on Citus, side by side: what it costs to load, publish, read
// and export them.
import type { Ctx } from '../src/core/ctx.ts';
import { measureReads, type ReadSide, type SideRound } from './citus-reads.ts';
import { type CitusSide, listPostmasters, openBenchCtx, type Side, throughWorker } from './citus-sides.ts';
import { type Load, type LoadedOrganization, loadOrganization, publishChanges } from './citus-writes.ts';
import { publishInvoices } from './reads-data.ts';
import { startService } from './reads-servers.ts';

export type CompareOptions = {
  readonly folder: string;
  readonly organizations: number;
  readonly records: number;
  readonly rounds: number;
  /** Duration of each measurement of reads. */
  readonly ms: number;
};
/**
 * In the order plain, coordinator, worker; loads and publishes of an organization have the same place in each
 * list.
 */
export type Compared = {
  readonly loads: {
    readonly plain: readonly Load[];
    readonly citus: readonly (Load & { readonly through: Through })[];
  };
  readonly publishesMs: { readonly plain: readonly number[]; readonly citus: readonly number[] };
  readonly reads: readonly (readonly SideRound[])[];
};
export type Through = 'coordinator' | 'worker';
export type LoadedSides = {
  readonly plain: readonly LoadedOrganization[];
  readonly citus: readonly LoadedOrganization[];
};

export type Contexts = { readonly plain: Ctx; readonly coordinator: Ctx; readonly worker: Ctx };

/** Opens what the engine needs on both sides. Loaded organizations use these until `close`. */
export async function openContexts(
  folder: string,
  plain: Side,
  citus: CitusSide,
): Promise<{ contexts: Contexts; close(): Promise<void> }> {
  const onPlain = await openBenchCtx(folder, plain.addresses);
  const onCoordinator = await openBenchCtx(folder, citus.addresses);
  const onWorker = await openBenchCtx(folder, throughWorker(citus));
  return {
    contexts: { plain: onPlain.ctx, coordinator: onCoordinator.ctx, worker: onWorker.ctx },
    close: async () => {
      await Promise.all([onPlain, onCoordinator, onWorker].map(({ close }) => close()));
    },
  };
}

/**
 * Every second pair of organizations goes through the worker, because Citus places them on the nodes in turn.
 */
const throughFor = (index: number): Through => (Math.floor(index / 2) % 2 === 0 ? 'coordinator' : 'worker');

async function loadBoth(contexts: Contexts, { organizations, records }: CompareOptions) {
  const loads: { plain: Load[]; citus: (Load & { through: Through })[] } = { plain: [], citus: [] };
  const loaded: { plain: LoadedOrganization[]; citus: LoadedOrganization[] } = { plain: [], citus: [] };
  for (let index = 0; index < organizations; index += 1) {
    const through = throughFor(index);
    const onPlain = async () => {
      const { organization, load } = await loadOrganization(contexts.plain, records);
      loaded.plain.push(organization);
      loads.plain.push(load);
    };
    const onCitus = async () => {
      const { organization, load } = await loadOrganization(contexts[through], records);
      loaded.citus.push(organization);
      loads.citus.push({ ...load, through });
    };
    for (const side of index % 2 === 0 ? [onPlain, onCitus] : [onCitus, onPlain]) await side();
    console.log(`loaded: ${index + 1} of ${organizations}`);
  }
  return { loads, loaded };
}

/** Publishes a version of each organization, which builds its indexes. */
async function publishVersions(
  folder: string,
  { addresses, admin }: Side,
  organizations: readonly LoadedOrganization[],
): Promise<void> {
  const service = await startService(folder, { environment: { ...addresses, SYNC_WORKERS: '0' } });
  try {
    for (const organization of organizations) await publishInvoices(service.url, organization, admin);
  } finally {
    await service.stop();
  }
}

async function publishBoth(
  contexts: Contexts,
  loaded: LoadedSides,
): Promise<{ plain: number[]; citus: number[] }> {
  const publishesMs: { plain: number[]; citus: number[] } = { plain: [], citus: [] };
  for (const [index, plain] of loaded.plain.entries()) {
    const citus = loaded.citus[index];
    if (citus === undefined) throw new Error('An organization is missing');
    publishesMs.plain.push(await publishChanges(contexts.plain, plain, 1));
    publishesMs.citus.push(await publishChanges(contexts[throughFor(index)], citus, 1));
  }
  return publishesMs;
}

async function readSides(
  folder: string,
  plain: Side,
  citus: CitusSide,
  loaded: LoadedSides,
): Promise<ReadSide[]> {
  const environment = { BODY_CACHE_MB: '0', SYNC_WORKERS: '0' };
  const of = async (
    name: string,
    side: Side,
    addresses: Side['addresses'],
    organizations: readonly LoadedOrganization[],
  ) => ({
    name,
    service: await startService(folder, { environment: { ...environment, ...addresses } }),
    organizations,
    postmasters: () => listPostmasters(side),
  });
  return [
    await of('plain', plain, plain.addresses, loaded.plain),
    await of('coordinator', citus, citus.addresses, loaded.citus),
    await of('worker', citus, throughWorker(citus), loaded.citus),
  ];
}

/** Loads both sides, and measures. The organizations stay. */
export async function compareSides(
  options: CompareOptions,
  contexts: Contexts,
  plain: Side,
  citus: CitusSide,
): Promise<{ compared: Compared; loaded: LoadedSides }> {
  const { folder, rounds, ms } = options;
  const { loads, loaded } = await loadBoth(contexts, options);
  await publishVersions(folder, plain, loaded.plain);
  await publishVersions(folder, citus, loaded.citus);
  const publishesMs = await publishBoth(contexts, loaded);
  const sides = await readSides(folder, plain, citus, loaded);
  const reads = await measureReads(sides, rounds, ms).finally(() =>
    Promise.all(sides.map(({ service }) => service.stop())),
  );
  return { compared: { loads, publishesMs, reads }, loaded };
}
