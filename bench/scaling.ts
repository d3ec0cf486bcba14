// What more organizations cost when nothing happens in them: the minute's tick over many schedules, a queue of runs, an idle run, and
// the schemas themselves on disk, in a start, in the hour's tidying and in a connection's memory. The table goes into
// bench/RESULTS.md. Usage: npm run bench:scaling -- [organizations with schedules, 1000 unless told] [organizations with data, 200]
import { readFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Client } from 'pg';
import { poolConfig } from '../src/db/connect.ts';
import { tendAllIndexes } from '../src/platform/api-schemas/tend-indexes.ts';
import { pruneTombstones } from '../src/sync/index.ts';
import { claimRun } from '../src/sync/runs.store.ts';
import { enqueueDueRuns } from '../src/sync/scheduler.ts';
import { readState } from '../src/warehouse/generation.ts';
import { startService } from './reads-servers.ts';
import { type Company, openCompany } from './sync-company.ts';
import { cpuOf } from './sync-cpu.ts';
import { connectorOf, lazyRows, recordType } from './sync-rows.ts';
import { type Line, machineText, writeTable } from './table.ts';
import { type Database, inWorkplace, withDatabase } from './workplace.ts';

const configsEach = 5;
const claims = 100;
const records = 100;
const idleRuns = 50;

type Took = { readonly ms: number; readonly cpuMs: number; readonly longestMs: number };

/** Processor time of this process alone, and how long its event loop stood still at most. */
async function timed(work: () => Promise<unknown>): Promise<Took> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const [before, startMs] = [process.cpuUsage(), performance.now()];
  delay.enable();
  await work();
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1000, longestMs: delay.max / 1e6 };
}

/** Organizations that have schedules and nothing else; each config comes due at every quarter of an hour. */
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

type Ticks = { readonly due: Took; readonly idle: Took; readonly claim: Took };

async function measureTicks(database: Database, count: number): Promise<Ticks> {
  await addSchedules(database, count);
  const { ctx, admin } = database;
  const due = await timed(() => enqueueDueRuns(ctx));
  const { rows } = await admin.query<{ queued: number }>("select count(*)::int as queued from sync_runs where status = 'queued'");
  if (rows[0]?.queued !== count * configsEach) throw new Error(`${rows[0]?.queued} runs were queued`);
  // As the database does by itself within the minute.
  await admin.query('analyze sync_runs');
  const idle = await timed(() => enqueueDueRuns(ctx));
  const claim = await timed(async () => {
    for (let claimed = 0; claimed < claims; claimed += 1) await claimRun(ctx, 'bench', 60_000);
  });
  await admin.query("delete from organizations where slug like 'scheduled-%'");
  return { due, idle, claim };
}

async function makeCompanies({ ctx }: Database, count: number): Promise<Company[]> {
  const connector = connectorOf(() => lazyRows(records, () => 0));
  const made: Company[] = [];
  for (let each = 0; each < count; each += 1) {
    const company = await openCompany(ctx);
    await company.run('full', connector);
    made.push(company);
  }
  return made;
}

type IdleRuns = { readonly ms: number; readonly cpuMs: number; readonly serverMs: number; readonly runs: number };

/** A run that finds nothing new, without what the ERP takes to say so. */
async function measureIdleRuns(database: Database, companies: readonly Company[]): Promise<IdleRuns> {
  const connector = connectorOf(() => lazyRows(records, () => 0));
  const asked = companies.slice(0, idleRuns);
  const startMs = performance.now();
  const { here, postgres } = await cpuOf(database.admin, async () => {
    for (const company of asked) await company.run('incremental', connector);
  });
  return { ms: performance.now() - startMs, cpuMs: here * 1000, serverMs: postgres * 1000, runs: asked.length };
}

/** What a connection's server process holds for itself, in MB, when it is new and when it has read from every schema. */
async function measureBackend({ address }: Database, companies: readonly Company[]): Promise<{ before: number; after: number }> {
  const client = new Client(poolConfig(address, 'portal_service'));
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const own = async (): Promise<number> => {
    const text = await readFile(`/proc/${rows[0]?.pid}/smaps_rollup`, 'utf8');
    return Number(/Private_Dirty:\s+(\d+) kB/.exec(text)?.[1]) / 1024;
  };
  const before = await own();
  for (const { schema } of companies) {
    const state = await readState(client as unknown as Parameters<typeof readState>[0], schema, recordType.name);
    await client.query({ name: schema, text: `select * from ${schema}."${state?.activeTable}" where id = $1`, values: [1] });
  }
  const after = await own();
  await client.end();
  return { before, after };
}

const sizeOf = async ({ admin }: Database): Promise<{ megabytes: number; relations: number }> => {
  const { rows } = await admin.query<{ bytes: string; relations: number }>(
    'select pg_database_size(current_database()) as bytes, (select count(*)::int from pg_class) as relations',
  );
  return { megabytes: Number(rows[0]?.bytes) / 2 ** 20, relations: rows[0]?.relations ?? 0 };
};

async function startMs(folder: string): Promise<number> {
  const service = await startService(folder);
  await service.stop();
  return service.startedMs;
}

async function measure(folder: string, database: Database, scheduled: number, withData: number): Promise<Line[]> {
  const { ctx } = database;
  const companies: Company[] = [];
  const line = (measure: string, value: number, unit: string, digits = 1): Line => ({ measure, goal: null, unit, values: [value], digits });
  const ticks = await measureTicks(database, scheduled);
  const configs = `${scheduled * configsEach} configs`;
  const [sizeBefore, startBefore] = [await sizeOf(database), await startMs(folder)];
  const made = await timed(async () => companies.push(...(await makeCompanies(database, withData))));
  const sizeAfter = await sizeOf(database);
  const idle = await measureIdleRuns(database, companies);
  const never = new AbortController().signal;
  const [tombstones, indexes] = [await timed(() => pruneTombstones(ctx, never)), await timed(() => tendAllIndexes(ctx, never))];
  const backend = await measureBackend(database, companies);
  const analyzed = await timed(() => database.admin.query('analyze pg_class; analyze pg_attribute; analyze pg_index'));
  const startAfter = await startMs(folder);
  const each = (total: number): number => total / withData;
  return [
    line(`tick that queues ${configs}, all due`, ticks.due.ms, ' ms', 0),
    line('of which processor time of Node.js', ticks.due.cpuMs, ' ms', 0),
    line('and the longest that nothing else could happen', ticks.due.longestMs, ' ms'),
    line(`tick over ${configs} of which none is due`, ticks.idle.ms, ' ms', 0),
    line('of which processor time of Node.js', ticks.idle.cpuMs, ' ms', 0),
    line('and the longest that nothing else could happen', ticks.idle.longestMs, ' ms'),
    line(`claim of a run among ${scheduled * configsEach} that are queued`, ticks.claim.ms / claims, ' ms', 2),
    line('run that finds nothing new, one after the other, without the ERP', idle.ms / idle.runs, ' ms'),
    line('of which processor time of Node.js', idle.cpuMs / idle.runs, ' ms'),
    line("and PostgreSQL's", idle.serverMs / idle.runs, ' ms'),
    line(`organization with one record type of ${records} records: made and loaded in`, each(made.ms), ' ms', 0),
    line('its place on disk', each(sizeAfter.megabytes - sizeBefore.megabytes), ' MB', 2),
    line('its tables and indexes', each(sizeAfter.relations - sizeBefore.relations), '', 0),
    line("hour's tidying of tombstones, per organization", each(tombstones.ms), ' ms', 2),
    line("hour's look at indexes, per organization", each(indexes.ms), ' ms', 2),
    line(`memory of a connection, new`, backend.before, ' MB'),
    line(`having read from ${withData} schemas, more per schema`, (1024 * (backend.after - backend.before)) / withData, ' KB', 0),
    line(`ANALYZE of the catalogue with ${sizeAfter.relations} relations`, analyzed.ms, ' ms', 0),
    line('start to first answer, no organizations', startBefore, ' ms', 0),
    line(`with ${withData}`, startAfter, ' ms', 0),
  ];
}
const [scheduled = '1000', withData = '200'] = process.argv.slice(2);
if (!/^[1-9]\d{0,4}$/.test(scheduled) || !/^[1-9]\d{0,3}$/.test(withData)) {
  console.error('Usage: npm run bench:scaling -- [organizations with schedules] [organizations with data]');
  process.exit(2);
}
await inWorkplace((folder) =>
  withDatabase(folder, {}, async (database) => {
    const day = database.ctx.clock.now().toISOString().slice(0, 10);
    const lines = await measure(folder, database, Number(scheduled), Number(withData));
    const heading = `Run of ${day}: ${scheduled} organizations with ${configsEach} schedules each, ${withData} with data.\n${await machineText(database.admin)}`;
    return writeTable('bench:scaling', heading, lines);
  }),
);
