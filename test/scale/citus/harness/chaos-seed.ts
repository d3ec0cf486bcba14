// Several companies on one cluster through publishes, reads, moves, a rebalance and killed nodes that a seed
// chooses. Two processes serve them: one through the coordinator, which asks the database at each request,
// one through the first worker, which trusts what it knows for a second. Clients read all companies
// throughout.
import type { Ctx } from '../../../../src/core/ctx.ts';
import { openDb } from '../../../../src/db/connect.ts';
import { createRandom, type Random } from '../../../chaos/random.ts';
import { until } from '../../../setup/until.ts';
import {
  addresses,
  assertPublished,
  edit,
  finishRun,
  list,
  openCompany,
  readSome,
  runThrough,
  type SeededCompany,
  weigh,
} from '../../harness/seeded-company.ts';
import type { CitusDatabase } from './citus-database.ts';

const emptyReport = {
  kills: 0,
  moves: 0,
  rebalances: 0,
  publishes: 0,
  reads: 0,
  /** Answers 503 of companies on a killed node. */
  refused: 0,
  /** Of a read while nothing was killed, in ms. */
  slowestMs: 0,
};
export type ChaosReport = typeof emptyReport;
export type Chaos = Awaited<ReturnType<typeof openChaos>>;

type Play = {
  readonly database: CitusDatabase;
  readonly random: Random;
  readonly companies: readonly SeededCompany[];
  readonly report: ChaosReport;
};
type Process = 'exact' | 'trusting';
type Seen = {
  readonly company: SeededCompany;
  readonly process: Process;
  readonly address: string;
  readonly status: number;
  readonly ms: number;
  readonly text: string;
};

const companyCount = 4;
/** Longer than the coordinator is down, and than a busy machine keeps a worker from renewing it. */
const leaseMs = 10_000;
const steps = 12;
const processes: readonly Process[] = ['exact', 'trusting'];
/** A record may be absent. */
const isAnswer = (status: number): boolean => status === 200 || status === 404;

/**
 * Reads all companies through both processes until `work` has ended, at least once. Rejects with the first
 * wrong answer.
 */
async function readThrough(
  { companies, report, random }: Play,
  work: () => Promise<unknown>,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  let isOver = false;
  const readAll = async (process: Process): Promise<void> => {
    do
      for (const company of companies) {
        const startMs = performance.now();
        const { address, status, text } = await company.oracle.read(company[process], random.pick(addresses));
        seen.push({
          company,
          process,
          address,
          status,
          ms: performance.now() - startMs,
          text: isAnswer(status) ? '' : text.slice(0, 300),
        });
      }
    while (!isOver);
  };
  const reading = Promise.all(processes.map(readAll));
  // A wrong answer is reported when the work has ended.
  reading.catch(() => undefined);
  await work().finally(() => {
    isOver = true;
  });
  await reading;
  report.reads += seen.length;
  return seen;
}

const describeSeen = ({ company, process, address, status, text }: Seen): string =>
  `${company.fixture.schema} ${process} ${address} ${status} ${text}`;

/** All nodes respond: every read must be answered. */
async function readThroughMove(play: Play, work: () => Promise<unknown>): Promise<void> {
  const seen = await readThrough(play, work);
  const failed = seen.filter(({ status }) => !isAnswer(status));
  if (failed.length > 0)
    throw new Error(`reads failed during a move: ${failed.slice(0, 3).map(describeSeen)}`);
  play.report.slowestMs = Math.max(play.report.slowestMs, ...seen.map(({ ms }) => ms));
}

async function publish(play: Play, company: SeededCompany): Promise<void> {
  edit(company);
  await finishRun(company, await company.fixture.queue(play.random.chance(0.2) ? 'full' : 'incremental'));
  await assertPublished(company);
  play.report.publishes += 1;
}

/** Calls `happen` when the run calls the ERP for the nth time. The run may continue before it has ended. */
async function publishThrough(
  play: Play,
  company: SeededCompany,
  happen: () => Promise<unknown>,
): Promise<void> {
  const { hasHappened } = await runThrough(company, happen, play.random.chance(0.5));
  if (!hasHappened) await happen();
  await assertPublished(company);
  play.report.publishes += 1;
}

async function moveCompany(
  { database, report }: Play,
  { fixture: { schema } }: SeededCompany,
): Promise<void> {
  const from = await database.getNode(schema);
  const target = database.cluster.workers.find(({ name }) => name !== from.name);
  if (target === undefined) throw new Error('there is no other worker');
  const { host, port } = target.connection;
  await database.cluster.coordinator.query('select citus_schema_move($1::regnamespace, $2::text, $3::int)', [
    schema,
    host,
    port,
  ]);
  const now = await database.getNode(schema);
  if (now.name !== target.name) throw new Error(`${schema} is still on ${now.name}`);
  report.moves += 1;
}

async function rebalance({ database, report }: Play): Promise<void> {
  const { coordinator } = database.cluster;
  await coordinator.query('select citus_rebalance_start()');
  await coordinator.query('select citus_rebalance_wait()');
  report.rebalances += 1;
}

/** Every company answers again through both processes, and shows what its ERP has. */
async function recover({ companies }: Play): Promise<void> {
  for (const { oracle, exact, trusting } of companies)
    for (const app of [exact, trusting])
      await until(async () => (await oracle.read(app, list)).status === 200);
}

/** The returned function says whether a read may fail while the node is down. */
async function dependsOn(
  play: Play,
  name: string,
): Promise<(seen: Pick<Seen, 'company' | 'process'>) => boolean> {
  if (name === 'coordinator') return () => true;
  const placed = new Map<SeededCompany, string>();
  for (const company of play.companies)
    placed.set(company, (await play.database.getNode(company.fixture.schema)).name);
  return ({ company, process }) =>
    placed.get(company) === name || (process === 'trusting' && name === 'worker1');
}

/**
 * Kills the node, reads while it is down and while it starts, and waits until everything is answered again.
 */
async function killNode(play: Play, name: string): Promise<void> {
  const { database, report } = play;
  const depends = await dependsOn(play, name);
  const seen = await readThrough(play, async () => {
    await database.cluster.kill(name);
    await readThrough(play, async () => undefined);
    await database.cluster.start(name);
  });
  for (const read of seen)
    if (!isAnswer(read.status) && !(read.status === 503 && depends(read)))
      throw new Error(`with ${name} down: ${describeSeen(read)}`);
  report.refused += seen.filter(({ status }) => status === 503).length;
  report.kills += 1;
  await recover(play);
}

const nodeNames = ['worker1', 'worker2', 'coordinator'];
const actions = weigh<(play: Play, company: SeededCompany) => Promise<void>>([
  [5, publish],
  [5, (_play, company) => readSome(company)],
  [
    3,
    (_play, { clients, exact, random }) => clients.start(exact, random.between(3, 12), random.between(1, 4)),
  ],
  [4, (_play, { clients, exact, random }) => clients.resume(exact, random.between(3, 12), random.pick)],
  [
    2,
    (play, company) =>
      readThroughMove(play, () => publishThrough(play, company, () => moveCompany(play, company))),
  ],
  [1, (play, company) => readThroughMove(play, () => publishThrough(play, company, () => rebalance(play)))],
  [2, (play, company) => publishThrough(play, company, () => killNode(play, play.random.pick(nodeNames)))],
]);

async function playSeed(play: Play): Promise<void> {
  const { random, companies } = play;
  for (let step = 0; step < steps; step += 1) await random.pick(actions)(play, random.pick(companies));
  // Whatever the seed chose, each of these happens.
  const [first = random.pick(companies)] = companies;
  await readThroughMove(play, () => publishThrough(play, first, () => moveCompany(play, first)));
  await killNode(play, random.pick(nodeNames));
  for (const company of companies) {
    await publish(play, company);
    await readSome(company);
    await company.clients.resume(company.exact, random.between(3, 12), random.pick);
  }
}

function openOther(ctx: Ctx, database: CitusDatabase) {
  const [worker] = database.cluster.workers;
  if (worker === undefined) throw new Error('the cluster has no worker');
  return openDb(
    database.serviceUrl(),
    database.serviceUrl(worker),
    { control: 4, data: 4 },
    ctx.settings.readTimeoutMs,
  );
}

export async function openChaos(database: CitusDatabase) {
  const { ctx } = database;
  const db = openOther(ctx, database);
  const companies: SeededCompany[] = [];
  for (let index = 0; index < companyCount; index += 1)
    companies.push(await openCompany(ctx, createRandom(index), { other: { ...ctx, db }, leaseMs }));
  const sum = (of: (company: SeededCompany) => number): number =>
    companies.reduce((total, company) => total + of(company), 0);
  return {
    /** Plays one seed. Rejects with the first wrong answer. */
    play: async (seed: number): Promise<ChaosReport> => {
      const report = { ...emptyReport };
      const random = createRandom(seed);
      await playSeed({
        database,
        random,
        companies: companies.map((company) => ({ ...company, random })),
        report,
      });
      return report;
    },
    /** Entity tags and answers 304 of all seeds. */
    totals: () => ({
      tags: sum(({ oracle }) => oracle.tags),
      notModified: sum(({ oracle }) => oracle.notModified),
      followed: sum(({ clients }) => clients.followed),
    }),
    close: () => db.close(),
  };
}
