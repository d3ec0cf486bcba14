// What a benchmark of many small organizations measures: the time that work takes, the organizations
// themselves, and what a connection keeps in memory of each schema that it has read.
import { readFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Client } from 'pg';
import type { Ctx } from '../src/core/ctx.ts';
import { type DatabaseAddress, poolConfig } from '../src/db/connect.ts';
import { readRecordState } from '../src/warehouse/record-state.ts';
import { createSyncOrganization, type SyncOrganization } from './sync-organization.ts';
import { createBenchConnector, createLazySource, recordType } from './sync-records.ts';

export type Timing = { readonly ms: number; readonly cpuMs: number; readonly maxBlockedMs: number };

/** Wall time, CPU time of this process alone, and the longest time its event loop was blocked. */
export async function timed(work: () => Promise<unknown>): Promise<Timing> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const [before, startMs] = [process.cpuUsage(), performance.now()];
  delay.enable();
  await work();
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1000, maxBlockedMs: delay.max / 1e6 };
}

/** Records of each organization that `createOrganizations` makes. */
export const records = 100;

/**
 * Organizations with one record type and three indexes, loaded one after the other; `onMade` is called with
 * the ms that each took.
 */
export async function createOrganizations(
  ctx: Ctx,
  count: number,
  onMade: (ms: number) => void = () => undefined,
): Promise<SyncOrganization[]> {
  const connector = createBenchConnector(() => createLazySource(records, () => 0));
  const organizations: SyncOrganization[] = [];
  for (let index = 0; index < count; index += 1) {
    const startMs = performance.now();
    const organization = await createSyncOrganization(ctx);
    await organization.runToEnd('full', connector);
    onMade(performance.now() - startMs);
    organizations.push(organization);
  }
  return organizations;
}

/** Private memory of a process in MB. */
export async function privateMegabytes(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/Private_Dirty:\s+(\d+) kB/.exec(text)?.[1]) / 1024;
}

/**
 * Opens a connection as the service does, and measures something before and after it has read a record of
 * every organization.
 */
export async function aroundReads<T>(
  address: DatabaseAddress,
  organizations: readonly SyncOrganization[],
  measure: (client: Client) => Promise<T>,
): Promise<{ before: T; after: T }> {
  const client = new Client(poolConfig(address, 'portal_service'));
  await client.connect();
  try {
    const before = await measure(client);
    for (const { schema } of organizations) {
      const state = await readRecordState(
        client as unknown as Parameters<typeof readRecordState>[0],
        schema,
        recordType.name,
      );
      await client.query({
        name: schema,
        text: `select * from ${schema}."${state?.activeTable}" where id = $1`,
        values: [1],
      });
    }
    return { before, after: await measure(client) };
  } finally {
    await client.end();
  }
}

/**
 * Private memory in MB of a connection's server process, when new and after reading from every tenant schema.
 */
export const measureBackend = (address: DatabaseAddress, organizations: readonly SyncOrganization[]) =>
  aroundReads(address, organizations, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return privateMegabytes(rows[0]?.pid);
  });
