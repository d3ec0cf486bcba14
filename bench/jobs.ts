// The queue of background work: jobs claimed and finished a second from one and from many organizations, what a
// poll costs that finds nothing due, and how soon a worker begins what a commit made due. Writes its table to
// bench/RESULTS.md. Usage: npm run bench -- jobs [organizations, default 200]
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import { startJobWorker } from '../src/db/job-worker.ts';
import { claimJob, enqueueJob, finishJob } from '../src/db/jobs.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { describeLoad, describeMachine, type Line, median, p95, toLine, writeTable } from './table.ts';
import { type Database, withDatabase, withWorkspace } from './workspace.ts';

const kind = 'pay_tasks';
const [jobs, workers, polls, wakes] = [2_000, 4, 200, 100];

async function makeOrganizations({ admin }: Database, count: number): Promise<string[]> {
  const { rows } = await admin.query<{ id: string }>(
    `insert into organizations (id, slug, name) select gen_random_uuid(), 'queued-' || gen_random_uuid(), 'Queued' from generate_series(1, $1::int) n returning id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

const add = (ctx: Ctx, organizationId: string, inMs = 0): Promise<void> =>
  inTransaction({ ...ctx, organizationId }, (tx) =>
    enqueueJob(tx, { kind, organizationId, key: createId() }, { inMs }),
  );

/** Jobs a second, by some workers at once; each takes the time of its claim and its end. */
async function drain(ctx: Ctx): Promise<number> {
  let done = 0;
  const work = async (): Promise<void> => {
    for (
      let job = await claimJob(ctx, kind, 60_000);
      job !== undefined;
      job = await claimJob(ctx, kind, 60_000)
    ) {
      const claimed = job;
      await inTransaction({ ...ctx, organizationId: job.organizationId }, (tx) => finishJob(tx, claimed));
      done += 1;
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: workers }, work));
  if (done !== jobs) throw new Error(`${done} jobs were done instead of ${jobs}`);
  return (1_000 * done) / (performance.now() - startMs);
}

/** Milliseconds from the commit that makes a job due to the beginning of its work, one after the other. */
async function measureWakes(ctx: Ctx, organizationId: string): Promise<number[]> {
  const waits: number[] = [];
  let begun = Promise.withResolvers<number>();
  const worker = startJobWorker(ctx, {
    kind,
    pollMs: 3_600_000,
    leaseMs: 60_000,
    concurrency: workers,
    work: async (job) => {
      begun.resolve(performance.now());
      await inTransaction({ ...ctx, organizationId }, (tx) => finishJob(tx, job));
    },
  });
  for (let n = 0; n <= wakes; n += 1) {
    begun = Promise.withResolvers();
    await add(ctx, organizationId);
    const committedMs = performance.now();
    const waitMs = Math.max(0, (await begun.promise) - committedMs);
    await worker.waitUntilIdle();
    if (n > 0) waits.push(waitMs);
  }
  await worker.stop();
  return waits;
}

async function measure(database: Database, count: number): Promise<Line[]> {
  const { ctx } = database;
  const organizations = await makeOrganizations(database, count);
  const [first = ''] = organizations;
  for (let n = 0; n < jobs; n += 1) await add(ctx, first);
  const alone = await drain(ctx);
  for (let n = 0; n < jobs; n += 1) await add(ctx, organizations[n % count] ?? first);
  const many = await drain(ctx);
  const waits = await measureWakes(ctx, first);
  for (const id of organizations) await add(ctx, id, 3_600_000);
  const startMs = performance.now();
  for (let n = 0; n < polls; n += 1) await claimJob(ctx, kind, 60_000);
  const pollMs = (performance.now() - startMs) / polls;
  return [
    toLine('jobs claimed and finished a second, of one organization', alone, '', 0),
    toLine(`… of ${count} organizations`, many, '', 0),
    toLine(`poll with nothing due, ${count} jobs waiting`, pollMs, ' ms', 2),
    toLine('from the commit to the beginning of the work, median', median(waits), ' ms', 1),
    toLine('… p95', p95(waits), ' ms', 1),
  ];
}

const [count = '200'] = process.argv.slice(2);
if (!/^[1-9]\d{0,4}$/.test(count)) {
  console.error('Usage: npm run bench -- jobs [organizations]');
  process.exit(2);
}
await withWorkspace((folder) =>
  withDatabase(folder, {}, async (database) => {
    const day = database.ctx.clock.now().toISOString().slice(0, 10);
    const lines = await measure(database, Number(count));
    const heading = `Run of ${day}: ${jobs} jobs, ${workers} workers in one process.${describeLoad()}\n${await describeMachine(database.admin)}`;
    return writeTable('jobs', heading, lines);
  }),
);
