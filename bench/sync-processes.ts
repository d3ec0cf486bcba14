// What can only be seen from outside a process: how much memory a sync takes, and how soon another process goes on after kill -9.
import type { Address } from '../src/db/connect.ts';
import { type Company, openCompany } from './sync-company.ts';
import { startServiceProcess } from './sync-service.ts';
import type { Bench } from './sync-throughput.ts';

const patienceMs = 300_000;
const megabytes = (bytes: number): number => bytes / 1024 / 1024;

/** Peak of the service over a first load of so many records, a complete re-read with 1 % changed, and as many new ones merged. */
export async function measureMemory({ ctx, admin }: Bench, address: Address, count: number): Promise<{ idle: number; peak: number }> {
  const company = await openCompany(ctx);
  const service = await startServiceProcess({ address, settings: ctx.settings, account: { count, changesEvery: 0, version: 0 } });
  try {
    const idle = megabytes((await service.memory()).nowBytes);
    await company.ended(await company.queue('full'), patienceMs);
    await service.setAccount({ count, changesEvery: 100, version: 1 });
    await company.ended(await company.queue('full'), patienceMs);
    await service.setAccount({ count, changesEvery: 2, version: 2 });
    await company.ended(await company.queue('incremental'), patienceMs);
    return { idle, peak: megabytes((await service.memory()).peakBytes) };
  } finally {
    await service.kill();
    await admin.query(`drop schema ${company.schema} cascade`);
  }
}

/** So that the run is far from its end when it is hit. */
const enoughToKill = 100_000;

type Progress = { page: number; epoch: number };

async function untilProgress({ ctx }: Bench, { schema }: Company, runId: string, wanted: (seen: Progress) => boolean): Promise<Progress> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const { rows } = await ctx.db.data
      .query<Progress>(`select page, lease_epoch as epoch from ${schema}.run_state where run_id = $1`, [runId])
      .catch(() => ({ rows: [] }));
    const [seen] = rows;
    if (seen !== undefined && wanted(seen)) return seen;
    if (performance.now() > endMs) throw new Error('the run does not get on');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function leaseLeftMs({ admin }: Bench, runId: string): Promise<number> {
  const { rows } = await admin.query<{ ms: number }>(
    'select extract(epoch from lease_until - clock_timestamp())::float8 * 1000 as ms from sync_runs where id = $1',
    [runId],
  );
  return rows[0]?.ms ?? Number.NaN;
}

/** From the kill to the first page that another process, idle until then, writes after it; and what was left of the lease. */
export async function measureResume(bench: Bench, address: Address): Promise<{ totalMs: number; leaseLeftMs: number }> {
  const { ctx, admin } = bench;
  const company = await openCompany(ctx);
  const order = { address, settings: ctx.settings, account: { count: enoughToKill, changesEvery: 0, version: 0 } };
  const first = await startServiceProcess(order);
  let second: Awaited<ReturnType<typeof startServiceProcess>> | undefined;
  try {
    const runId = await company.queue('full');
    await untilProgress(bench, company, runId, ({ page }) => page >= 5);
    second = await startServiceProcess(order);
    await first.kill();
    const killedMs = performance.now();
    const left = await leaseLeftMs(bench, runId);
    if (Number.isNaN(left)) throw new Error('the run was over before the kill');
    const before = await untilProgress(bench, company, runId, () => true);
    await untilProgress(bench, company, runId, ({ page, epoch }) => epoch > before.epoch && page > before.page);
    const totalMs = performance.now() - killedMs;
    await company.ended(runId, patienceMs);
    return { totalMs, leaseLeftMs: left };
  } finally {
    await first.kill();
    await second?.kill();
    await admin.query(`drop schema ${company.schema} cascade`);
  }
}
