// Processes killed with kill -9 in the middle of a run.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { readRunState } from '../../src/warehouse/run-state-row.ts';
import { memoryErp, pagesRead, type SyncFixture, syncFixture, until } from './fixture.ts';
import { useSync } from './site.ts';

const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
const site = useSync({ pageSize: 10, leaseMs: 60_000, renewMs: 100 });
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** `standAt` is the id after which its ERP returns no more pages. */
function spawnWorker(
  records: number,
  standAt: string,
): { child: ChildProcess; standing: Promise<void>; kill(): Promise<void> } {
  const { address } = site.database;
  const order = JSON.stringify({ address, settings: site.ctx.settings, records, standAt });
  const child = spawn(process.execPath, [script, order], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const standing = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  return {
    child,
    standing,
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
const sameRecords = async (count: number): Promise<SyncFixture> => {
  const fixture = await syncFixture(site.ctx, memoryErp());
  fixture.erp.fill(count, (id) => [{ name: `child ${id}` }]);
  return fixture;
};

it('kill -9: state saved only at the end: killed while reading, another worker resumes from the checkpoint once the lease has expired', async () => {
  const fixture = await sameRecords(45);
  const id = await fixture.queue();
  const worker = spawnWorker(45, '20');
  await worker.standing;
  // It prefetches; the page it read before is written meanwhile.
  await until(async () => (await readRunState(site.ctx.db.data, fixture.schema, id))?.page === 2);
  await worker.kill();
  expect(await fixture.row(id)).toMatchObject({ status: 'running' });
  await fixture.expire(id);
  await fixture.expectEnd(id, 'succeeded', { fetched: 45, inserted: 45 }, { attempt: 2 });
  expect(pagesRead(fixture)).toEqual(['20', '30', '40']);
  expect(await fixture.ids()).toEqual(Array.from({ length: 45 }, (_unused, n) => String(n + 1)));
  expect(await fixture.staged()).toBe(0);
});
