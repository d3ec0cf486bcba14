// What is only visible from outside a process: the memory a sync takes, and how soon another process resumes
// a run after kill -9.
import type { DatabaseAddress } from '../src/db/connect.ts';
import { createSyncOrganization, type SyncOrganization } from './sync-organization.ts';
import { startServiceProcess } from './sync-service.ts';
import type { Bench } from './sync-throughput.ts';

const timeoutMs = 300_000;
const megabytes = (bytes: number): number => bytes / 1024 / 1024;

/**
 * Peak in MB of the service over a first load of `count` records, a full re-sync with 1 % changed, and a run
 * that changes half.
 */
export async function measureMemory(
  { ctx, admin }: Bench,
  address: DatabaseAddress,
  count: number,
): Promise<{ idle: number; peak: number }> {
  const organization = await createSyncOrganization(ctx);
  const service = await startServiceProcess({
    address,
    settings: ctx.settings,
    erp: { count, changesEvery: 0, version: 0 },
  });
  try {
    const idle = megabytes((await service.memory()).nowBytes);
    await organization.waitForSuccess(await organization.queueRun('full'), timeoutMs);
    await service.setErpState({ count, changesEvery: 100, version: 1 });
    await organization.waitForSuccess(await organization.queueRun('full'), timeoutMs);
    await service.setErpState({ count, changesEvery: 2, version: 2 });
    await organization.waitForSuccess(await organization.queueRun('incremental'), timeoutMs);
    return { idle, peak: megabytes((await service.memory()).peakBytes) };
  } finally {
    await service.kill();
    await admin.query(`drop schema ${organization.schema} cascade`);
  }
}

/** Enough records that the run is far from its end when the process is killed. */
const recordsToKill = 100_000;

type Progress = { page: number; epoch: number };

async function waitForProgress(
  { ctx }: Bench,
  { schema }: SyncOrganization,
  runId: string,
  wanted: (seen: Progress) => boolean,
): Promise<Progress> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await ctx.db.data
      .query<Progress>(`select page, lease_epoch as epoch from ${schema}.run_state where run_id = $1`, [
        runId,
      ])
      .catch(() => ({ rows: [] }));
    const [seen] = rows;
    if (seen !== undefined && wanted(seen)) return seen;
    if (performance.now() > endMs) throw new Error(`The run made no progress within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function readLeaseLeftMs({ admin }: Bench, runId: string): Promise<number> {
  const { rows } = await admin.query<{ ms: number }>(
    `select extract(epoch from j.due_at - clock_timestamp())::float8 * 1000 as ms
     from sync_runs r join jobs j on j.kind = 'sync_runs' and j.key = r.sync_config_id::text where r.id = $1`,
    [runId],
  );
  return rows[0]?.ms ?? Number.NaN;
}

/**
 * Time from the kill until another, idle process writes its first page, and what was left of the lease at the
 * kill.
 */
export async function measureResume(
  bench: Bench,
  address: DatabaseAddress,
): Promise<{ totalMs: number; leaseLeftMs: number }> {
  const { ctx, admin } = bench;
  const organization = await createSyncOrganization(ctx);
  const options = {
    address,
    settings: ctx.settings,
    erp: { count: recordsToKill, changesEvery: 0, version: 0 },
  };
  const first = await startServiceProcess(options);
  let second: Awaited<ReturnType<typeof startServiceProcess>> | undefined;
  try {
    const runId = await organization.queueRun('full');
    await waitForProgress(bench, organization, runId, ({ page }) => page >= 5);
    second = await startServiceProcess(options);
    await first.kill();
    const killedMs = performance.now();
    const left = await readLeaseLeftMs(bench, runId);
    if (Number.isNaN(left)) throw new Error('The run had finished before the kill');
    const before = await waitForProgress(bench, organization, runId, () => true);
    await waitForProgress(
      bench,
      organization,
      runId,
      ({ page, epoch }) => epoch > before.epoch && page > before.page,
    );
    const totalMs = performance.now() - killedMs;
    await organization.waitForSuccess(runId, timeoutMs);
    return { totalMs, leaseLeftMs: left };
  } finally {
    await first.kill();
    await second?.kill();
    await admin.query(`drop schema ${organization.schema} cascade`);
  }
}
