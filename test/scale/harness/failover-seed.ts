// One company through publishes, reads and failovers that a seed chooses, with and without loss. Two
// processes serve it: one asks the database at each request, one trusts what it knows for a second as in
// production. Rejects with the first wrong answer.
import { createId } from '../../../src/core/id.ts';
import { createRandom } from '../../chaos/random.ts';
import { publishVersion } from '../../public/fixture.ts';
import { until } from '../../setup/until.ts';
import type { PairDatabase } from './pair-database.ts';
import {
  addresses,
  assertPublished,
  bothFields,
  createEndpoint,
  edit,
  finishRun,
  list,
  openCompany,
  readSome,
  runThrough,
  type SeededCompany,
  weigh,
} from './seeded-company.ts';

export type SeedReport = Awaited<ReturnType<typeof playFailovers>>;

type Play = SeededCompany & {
  readonly database: PairDatabase;
  /** What is committed now is lost by the next failover. */
  isLosing: boolean;
  readonly drafts: Record<'v2' | 'v3', string>;
  counts: {
    failovers: number;
    lostPublishes: number;
    /** The longest time from the moment at which the address moved until a list was answered. */
    backAfterMs: number;
  };
};

const steps = 24;
const allAddresses = [...addresses, '/v2/things?pageSize=100', '/v3/things?pageSize=100', '/openapi/v2'];

/** From now on nothing that was acknowledged is lost. */
async function startKeeping({ servers }: PairDatabase): Promise<void> {
  if (servers.standbys.length === 0) await servers.addStandby();
  await servers.setSynchronous(true);
}

async function startLosing({ servers, startLosing: cutOff }: PairDatabase): Promise<void> {
  await servers.setSynchronous(false);
  await cutOff();
}

async function openPlay(database: PairDatabase, seed: number): Promise<Play> {
  await startKeeping(database);
  return {
    ...(await openCompany(database.ctx, createRandom(seed))),
    database,
    isLosing: false,
    drafts: { v2: createId(), v3: createId() },
    counts: { failovers: 0, lostPublishes: 0, backAfterMs: 0 },
  };
}

const readGeneration = async ({ fixture }: Play): Promise<bigint> =>
  BigInt((await fixture.state())?.generation ?? 0);

async function publish(play: Play): Promise<void> {
  edit(play);
  const id = await play.fixture.queue(play.random.chance(0.2) ? 'full' : 'incremental');
  if (await finishRun(play, id)) await assertPublished(play);
}

/** The failover comes when the run calls the ERP for the nth time. */
async function publishThroughFailover(play: Play): Promise<void> {
  const { hasEnded } = await runThrough(play, () => failOver(play), true);
  if (hasEnded) await assertPublished(play);
  else await publish(play);
}

async function failOver(play: Play): Promise<void> {
  const { database, oracle, exact, trusting, clients, counts } = play;
  const before = await readGeneration(play);
  let isOver = false;
  const reading = (async () => {
    while (!isOver)
      for (const app of [exact, trusting]) await oracle.read(app, play.random.pick(allAddresses));
  })();
  // Awaited below; until then its failure isn't handled.
  reading.catch(() => undefined);
  const movedAtMs = await database.failOver();
  await until(async () => (await oracle.read(exact, list)).status === 200);
  counts.backAfterMs = Math.max(counts.backAfterMs, performance.now() - movedAtMs);
  isOver = true;
  await reading;
  const after = await readGeneration(play);
  if (!play.isLosing && after !== before)
    throw new Error(`generation ${before} was acknowledged, ${after} is left`);
  counts.failovers += 1;
  counts.lostPublishes += Number(before - after);
  clients.lose(after);
  await clients.resume(exact, 50, play.random.pick);
  await startKeeping(database);
  play.isLosing = false;
  await publishDraft(play);
}

/** The same draft, with other fields when its publication was lost. */
async function publishDraft({ ctx, fixture, random, drafts, oracle, exact }: Play): Promise<void> {
  const version = random.pick(['v2', 'v3'] as const);
  if ((await oracle.read(exact, `/${version}/things`)).status !== 404) return;
  const fields = random
    .sample(bothFields, random.between(1, 2))
    .map((field) => ({ ...field, name: random.pick([field.name, `${field.name}Text`]) }));
  await publishVersion(ctx, fixture.organizationId, {
    id: drafts[version],
    version,
    endpoints: [createEndpoint(fields)],
  });
  await oracle.read(exact, `/${version}/things?pageSize=100`);
}

/** Publishes what will be lost, and lets clients see it. */
async function publishForLoss(play: Play): Promise<void> {
  const { clients, exact, random } = play;
  if (!play.isLosing) await startLosing(play.database);
  play.isLosing = true;
  await publish(play);
  await publishDraft(play);
  await clients.start(exact, 50, 1);
  await clients.start(exact, random.between(3, 8), 1);
  await clients.resume(exact, random.between(3, 12), random.pick);
  await readSome(play, allAddresses);
}

const actions = weigh<(play: Play) => Promise<void>>([
  [6, publish],
  [2, publishThroughFailover],
  [6, (play) => readSome(play, allAddresses)],
  [4, ({ clients, exact, random }) => clients.start(exact, random.between(3, 12), random.between(1, 4))],
  [5, ({ clients, exact, random }) => clients.resume(exact, random.between(3, 12), random.pick)],
  [2, publishDraft],
  [2, failOver],
  [3, publishForLoss],
]);

/** Plays one seed. Rejects with the first wrong answer. */
export async function playFailovers(database: PairDatabase, seed: number) {
  const play = await openPlay(database, seed);
  const { random, oracle, clients, exact, counts } = play;
  for (let step = 0; step < steps; step += 1) await random.pick(actions)(play);
  await failOver(play);
  await publish(play);
  await readSome(play, allAddresses);
  for (let left = 5; left > 0; left -= 1) await clients.resume(exact, random.between(3, 12), random.pick);
  const { tags, notModified } = oracle;
  const { followed, expired } = clients;
  return { ...counts, tags, notModified, followed, expired };
}
