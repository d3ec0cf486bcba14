// One company through publishes, reads and failovers that a seed chooses, with and without loss. Two processes serve it: one asks the
// database at each request, one trusts what it knows for a second as in production. Rejects with the first wrong answer.
import type { Express } from 'express';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { createReadEngine } from '../../../src/public/index.ts';
import { claimRun } from '../../../src/sync/runs.store.ts';
import { type Random, randomOf } from '../../chaos/random.ts';
import { publicApp, publishVersion } from '../../public/fixture.ts';
import { makeKey } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { datedFields, memoryErp, noSignal, type SyncWorld, syncWorld } from '../../sync/fixture.ts';
import { createOracle, type Oracle } from './answer-oracle.ts';
import { type ChangeClients, createChangeClients } from './change-clients.ts';
import type { PairDatabase } from './pair-database.ts';

export type SeedReport = {
  readonly failovers: number;
  readonly lostPublishes: number;
  readonly tags: number;
  readonly notModified: number;
  readonly followed: number;
  readonly expired: number;
  /** The longest time from the moment at which the address moved until a list was answered. */
  readonly backAfterMs: number;
};

type Play = {
  readonly random: Random;
  readonly database: PairDatabase;
  readonly ctx: Ctx;
  readonly world: SyncWorld;
  readonly oracle: Oracle;
  readonly clients: ChangeClients;
  /** Asks the database at each request. */
  readonly exact: Express;
  /** Trusts what it knows for a second. */
  readonly trusting: Express;
  /** What is committed now is lost by the next failover. */
  isLosing: boolean;
  readonly drafts: Record<'v2' | 'v3', string>;
  counts: { failovers: number; lostPublishes: number; backAfterMs: number };
};

const steps = 24;
const filters = [{ field: 'name', operators: ['eq', 'contains'] }];
const endpointOf = (fields: readonly { name: string; source: string }[]) => ({
  name: 'things',
  recordType: 'thing',
  fields,
  ...(fields.some(({ name }) => name === 'name') && { filters, sorts: ['name'] }),
});
const bothFields = [
  { name: 'name', source: 'name' },
  { name: 'total', source: 'total' },
];
const list = '/v1/things?pageSize=100';
const addresses = [
  list,
  '/v1/things?pageSize=5&page=2',
  '/v1/things?name_contains=beech&pageSize=2',
  '/v1/things?sort=name&order=desc&pageSize=4&page=3',
  '/v1/things/3',
  '/v1/things/7',
  '/v1/things#csv',
  '/v1/things?name_contains=alder#lines',
  '/v2/things?pageSize=100',
  '/v3/things?pageSize=100',
  '/openapi/v2',
];

async function readList(oracle: Oracle, app: Express): Promise<Map<string, unknown>> {
  const { status, text } = await oracle.read(app, list);
  if (status !== 200) throw new Error(`the list answered ${status} ${text}`);
  return new Map((JSON.parse(text).data as { id: string }[]).map((record) => [record.id, record]));
}

const freshApp = (ctx: Ctx): Express => publicApp(ctx, undefined, createReadEngine(ctx));

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
  const { sync } = database.ctx.settings;
  const settings = { ...database.ctx.settings, cacheTtlMs: 0, sync: { ...sync, pageSize: 10, leaseMs: 1_500, renewMs: 100 } };
  const ctx: Ctx = { ...database.ctx, settings };
  const world = await syncWorld(ctx, memoryErp(datedFields));
  world.erp.deleted = new Map();
  for (let id = 1; id <= 20; id += 1) world.erp.put(id);
  await world.sync();
  await publishVersion(ctx, world.organizationId, { endpoints: [endpointOf(bothFields)] });
  const { secret } = await makeKey(ctx, world.organizationId);
  const oracle = createOracle({ secret, organizationId: world.organizationId });
  const random = randomOf(seed);
  return {
    random,
    database,
    ctx,
    world,
    oracle,
    clients: createChangeClients(oracle, (app) => readList(oracle, app)),
    exact: freshApp(ctx),
    trusting: freshApp({ ...ctx, settings: { ...settings, cacheTtlMs: 1_000 } }),
    isLosing: false,
    drafts: { v2: createId(), v3: createId() },
    counts: { failovers: 0, lostPublishes: 0, backAfterMs: 0 },
  };
}

const generationOf = async ({ world }: Play): Promise<bigint> => BigInt((await world.state())?.generation ?? 0);

function edit({ random, world: { erp } }: Play): void {
  for (let left = random.between(1, 4); left > 0; left -= 1) {
    const id = random.between(1, 30);
    if (random.chance(0.3) && erp.records.has(String(id)) && erp.records.size > 5) erp.drop(id);
    else
      erp.put(id, {
        name: `${random.pick(['alder', 'beech', 'alder beech', 'cedar'])} ${random.between(1, 99)}`,
        total: `${random.between(1, 9)}.25`,
      });
  }
}

/** Works until the run has ended; false when it was lost. The next claim takes over what a broken connection interrupted. */
async function finishRun({ ctx, world }: Play, id: string): Promise<boolean> {
  const ended = await until(async () => {
    const lease = await claimRun(ctx, 'test', ctx.settings.sync.leaseMs).catch(() => undefined);
    if (lease !== undefined) await world.work(lease, noSignal, ctx);
    const found = await world.row(id).catch((error: Error) => (error.message === 'the run is gone' ? 'gone' : undefined));
    if (found === undefined || found === 'gone') return found;
    return ['succeeded', 'failed'].includes(found.status) ? found.status : undefined;
  });
  if (ended === 'failed') throw new Error(`a run failed: ${JSON.stringify((await world.row(id)).error)}`);
  return ended === 'succeeded';
}

/** What readers see is what the ERP has. */
async function assertPublished(play: Play): Promise<void> {
  const { world, oracle, exact } = play;
  const own = [...(await readList(oracle, exact)).values()] as { id: string; name: string; total: number }[];
  const shown = own.map(({ id, name, total }) => `${id} ${name} ${total}`).sort();
  const wanted = [...world.erp.records.values()].map(({ id, values }) => `${id} ${values['name']} ${Number(values['total'])}`).sort();
  if (JSON.stringify(shown) !== JSON.stringify(wanted)) throw new Error(`readers see ${shown}\ninstead of ${wanted}`);
}

async function publish(play: Play): Promise<void> {
  edit(play);
  const id = await play.world.queue(play.random.chance(0.2) ? 'full' : 'incremental');
  if (await finishRun(play, id)) await assertPublished(play);
}

/** The failover comes when the run calls the ERP for the nth time. */
async function publishThroughFailover(play: Play): Promise<void> {
  const { world, random } = play;
  edit(play);
  const id = await world.queue(random.chance(0.5) ? 'full' : 'incremental');
  let left = random.between(1, 6);
  let failing: Promise<void> | undefined;
  world.erp.onCall = async () => {
    left -= 1;
    if (left === 0) failing = failOver(play);
    await failing;
  };
  const hasEnded = await finishRun(play, id);
  world.erp.onCall = () => undefined;
  await failing;
  if (hasEnded) await assertPublished(play);
  else await publish(play);
}

async function failOver(play: Play): Promise<void> {
  const { database, oracle, exact, trusting, clients, counts } = play;
  const before = await generationOf(play);
  let isOver = false;
  const reading = (async () => {
    while (!isOver) for (const app of [exact, trusting]) await oracle.read(app, play.random.pick(addresses));
  })();
  // Awaited below; until then its failure isn't handled.
  reading.catch(() => undefined);
  const movedAtMs = await database.failOver();
  await until(async () => ((await oracle.read(exact, list)).status === 200 ? true : undefined));
  counts.backAfterMs = Math.max(counts.backAfterMs, performance.now() - movedAtMs);
  isOver = true;
  await reading;
  const after = await generationOf(play);
  if (!play.isLosing && after !== before) throw new Error(`generation ${before} was acknowledged, ${after} is left`);
  counts.failovers += 1;
  counts.lostPublishes += Number(before - after);
  clients.lose(after);
  await clients.resume(exact, 50, play.random.pick);
  await startKeeping(database);
  play.isLosing = false;
  await publishDraft(play);
}

/** The same draft, with other fields when its publication was lost. */
async function publishDraft({ ctx, world, random, drafts, oracle, exact }: Play): Promise<void> {
  const version = random.pick(['v2', 'v3'] as const);
  if ((await oracle.read(exact, `/${version}/things`)).status !== 404) return;
  const fields = random
    .sample(bothFields, random.between(1, 2))
    .map((field) => ({ ...field, name: random.pick([field.name, `${field.name}Text`]) }));
  await publishVersion(ctx, world.organizationId, { id: drafts[version], version, endpoints: [endpointOf(fields)] });
  await oracle.read(exact, `/${version}/things?pageSize=100`);
}

const readSome = async ({ oracle, exact, trusting, ctx, random }: Play): Promise<void> => {
  for (const address of random.sample(addresses, 4)) {
    await oracle.read(trusting, address);
    await oracle.readAgain(exact, freshApp(ctx), address, random.pick);
  }
};

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
  await readSome(play);
}

const actions: readonly [weight: number, act: (play: Play) => Promise<void>][] = [
  [6, publish],
  [2, publishThroughFailover],
  [6, readSome],
  [4, ({ clients, exact, random }) => clients.start(exact, random.between(3, 12), random.between(1, 4))],
  [5, ({ clients, exact, random }) => clients.resume(exact, random.between(3, 12), random.pick)],
  [2, publishDraft],
  [2, failOver],
  [3, publishForLoss],
];
const weighted = actions.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));

/** Plays one seed. Rejects with the first wrong answer. */
export async function playFailovers(database: PairDatabase, seed: number): Promise<SeedReport> {
  const play = await openPlay(database, seed);
  const { random, oracle, clients, exact, counts } = play;
  for (let step = 0; step < steps; step += 1) await random.pick(weighted)(play);
  await failOver(play);
  await publish(play);
  await readSome(play);
  for (let left = 5; left > 0; left -= 1) await clients.resume(exact, random.between(3, 12), random.pick);
  const { tags, notModified } = oracle;
  const { followed, expired } = clients;
  return { ...counts, tags, notModified, followed, expired };
}
