// What idle organizations cost: the scheduler's tick over many schedules, claiming from a long queue, a run
// that finds nothing new, and what each tenant schema adds on disk, at startup, in the hourly maintenance and
// in a connection's memory. Writes its table to bench/RESULTS.md. Usage: npm run bench -- scaling
// [organizations with schedules, default 1000] [organizations with data, default 200]
import { maintainAllIndexes } from '../src/platform/api-schemas/maintain-indexes.ts';
import { pruneTombstones } from '../src/sync/index.ts';
import { claimRun } from '../src/sync/queue/runs.store.ts';
import { enqueueDueRuns } from '../src/sync/run/scheduler.ts';
import { startService } from './reads-servers.ts';
import { createOrganizations, measureBackend, records, type Timing, timed } from './scaling-measure.ts';
import { measureCpu } from './sync-cpu.ts';
import type { SyncOrganization } from './sync-organization.ts';
import { createBenchConnector, createLazySource } from './sync-records.ts';
import { describeMachine, type Line, writeTable } from './table.ts';
import { type Database, withDatabase, withWorkspace } from './workspace.ts';

const configsEach = 5;
const claims = 100;
const idleRuns = 50;

/** Inserts organizations that have schedules and nothing else; each config is due every 15 minutes. */
async function addSchedules({ admin }: Database, count: number): Promise<void> {
  await admin.query(
    `insert into organizations (id, slug, name) select gen_random_uuid(), 'scheduled-' || n, 'Scheduled' from generate_series(1, $1::int) n`,
    [count],
  );
  await admin.query(
    `insert into sync_configs (id, organization_id, name, record_type, mode, schedule, timezone, deletions, scheduled_since)
     select gen_random_uuid(), o.id, 'x', 'type' || n, 'incremental', '*/15 * * * *', 'Europe/London', 'feed', now() - interval '1 day'
     from organizations o, generate_series(1, $1::int) n where o.slug like 'scheduled-%'`,
    [configsEach],
  );
  await admin.query('analyze');
}

type Ticks = { readonly due: Timing; readonly idle: Timing; readonly claim: Timing };

async function measureTicks(database: Database, count: number): Promise<Ticks> {
  await addSchedules(database, count);
  const { ctx, admin } = database;
  const due = await timed(() => enqueueDueRuns(ctx));
  const { rows } = await admin.query<{ queued: number }>(
    "select count(*)::int as queued from sync_runs where status = 'queued'",
  );
  if (rows[0]?.queued !== count * configsEach)
    throw new Error(`${rows[0]?.queued} runs were queued instead of ${count * configsEach}`);
  // As autovacuum does within a minute.
  await admin.query('analyze sync_runs');
  const idle = await timed(() => enqueueDueRuns(ctx));
  const claim = await timed(async () => {
    for (let claimed = 0; claimed < claims; claimed += 1) await claimRun(ctx, 'bench', 60_000);
  });
  await admin.query("delete from organizations where slug like 'scheduled-%'");
  return { due, idle, claim };
}

type IdleRuns = {
  readonly ms: number;
  readonly cpuMs: number;
  readonly postgresMs: number;
  readonly runs: number;
};

/** Runs that find nothing new, without the time the ERP takes to respond. */
async function measureIdleRuns(
  database: Database,
  organizations: readonly SyncOrganization[],
): Promise<IdleRuns> {
  const connector = createBenchConnector(() => createLazySource(records, () => 0));
  const idleOrganizations = organizations.slice(0, idleRuns);
  const startMs = performance.now();
  const { node, postgres } = await measureCpu(database.admin, async () => {
    for (const organization of idleOrganizations) await organization.runToEnd('incremental', connector);
  });
  return {
    ms: performance.now() - startMs,
    cpuMs: node * 1000,
    postgresMs: postgres * 1000,
    runs: idleOrganizations.length,
  };
}

const readSize = async ({ admin }: Database): Promise<{ megabytes: number; relations: number }> => {
  const { rows } = await admin.query<{ bytes: string; relations: number }>(
    'select pg_database_size(current_database()) as bytes, (select count(*)::int from pg_class) as relations',
  );
  return { megabytes: Number(rows[0]?.bytes) / 2 ** 20, relations: rows[0]?.relations ?? 0 };
};

async function measureStart(folder: string): Promise<number> {
  const service = await startService(folder);
  await service.stop();
  return service.startedMs;
}

const line = (measure: string, value: number, unit: string, digits = 1): Line => ({
  measure,
  goal: null,
  unit,
  values: [value],
  digits,
});

function tickLines(ticks: Awaited<ReturnType<typeof measureTicks>>, scheduled: number): Line[] {
  const configs = `${scheduled * configsEach} configs`;
  return [
    line(`tick that queues ${configs}, all due`, ticks.due.ms, ' ms', 0),
    line('… CPU time of Node.js', ticks.due.cpuMs, ' ms', 0),
    line('… longest time the event loop was blocked', ticks.due.maxBlockedMs, ' ms'),
    line(`tick over ${configs} of which none is due`, ticks.idle.ms, ' ms', 0),
    line('… CPU time of Node.js', ticks.idle.cpuMs, ' ms', 0),
    line('… longest time the event loop was blocked', ticks.idle.maxBlockedMs, ' ms'),
    line(
      `claim of a run among ${scheduled * configsEach} that are queued`,
      ticks.claim.ms / claims,
      ' ms',
      2,
    ),
  ];
}

type Size = Awaited<ReturnType<typeof readSize>>;

/** `ms`: to create and load all of them. */
const organizationLines = (ms: number, before: Size, after: Size, organizations: number): Line[] => [
  line(
    `organization with one record type of ${records} records: created and loaded`,
    ms / organizations,
    ' ms',
    0,
  ),
  line('… its size on disk', (after.megabytes - before.megabytes) / organizations, ' MB', 2),
  line('… its tables and indexes', (after.relations - before.relations) / organizations, '', 0),
];

const connectionLines = (backend: Awaited<ReturnType<typeof measureBackend>>, withData: number): Line[] => [
  line('memory of a new connection', backend.before, ' MB'),
  line(
    `… growth per schema after reading from ${withData}`,
    (1024 * (backend.after - backend.before)) / withData,
    ' KB',
    0,
  ),
];

async function measure(
  folder: string,
  database: Database,
  scheduled: number,
  withData: number,
): Promise<Line[]> {
  const { ctx } = database;
  const organizations: SyncOrganization[] = [];
  const ticks = await measureTicks(database, scheduled);
  const [sizeBefore, startBefore] = [await readSize(database), await measureStart(folder)];
  const made = await timed(async () => organizations.push(...(await createOrganizations(ctx, withData))));
  const sizeAfter = await readSize(database);
  const idle = await measureIdleRuns(database, organizations);
  const never = new AbortController().signal;
  const [tombstones, indexes] = [
    await timed(() => pruneTombstones(ctx, never)),
    await timed(() => maintainAllIndexes(ctx, never)),
  ];
  const backend = await measureBackend(database.address, organizations);
  const analyzed = await timed(() =>
    database.admin.query('analyze pg_class; analyze pg_attribute; analyze pg_index'),
  );
  const startAfter = await measureStart(folder);
  return [
    ...tickLines(ticks, scheduled),
    line('run that finds nothing new, sequentially, without the ERP', idle.ms / idle.runs, ' ms'),
    line('… CPU time of Node.js', idle.cpuMs / idle.runs, ' ms'),
    line('… CPU time of PostgreSQL', idle.postgresMs / idle.runs, ' ms'),
    ...organizationLines(made.ms, sizeBefore, sizeAfter, withData),
    line('hourly pruning of tombstones, per organization', tombstones.ms / withData, ' ms', 2),
    line('hourly check of indexes, per organization', indexes.ms / withData, ' ms', 2),
    ...connectionLines(backend, withData),
    line(`ANALYZE of the catalogue with ${sizeAfter.relations} relations`, analyzed.ms, ' ms', 0),
    line('start to first response, no organizations', startBefore, ' ms', 0),
    line(`start to first response, ${withData} organizations`, startAfter, ' ms', 0),
  ];
}
const [scheduled = '1000', withData = '200'] = process.argv.slice(2);
if (!/^[1-9]\d{0,4}$/.test(scheduled) || !/^[1-9]\d{0,3}$/.test(withData)) {
  console.error('Usage: npm run bench -- scaling [organizations with schedules] [organizations with data]');
  process.exit(2);
}
await withWorkspace((folder) =>
  withDatabase(folder, {}, async (database) => {
    const day = database.ctx.clock.now().toISOString().slice(0, 10);
    const lines = await measure(folder, database, Number(scheduled), Number(withData));
    const heading = `Run of ${day}: ${scheduled} organizations with ${configsEach} schedules each, ${withData} with data.\n${await describeMachine(database.admin)}`;
    return writeTable('scaling', heading, lines);
  }),
);
