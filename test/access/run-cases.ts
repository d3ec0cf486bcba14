// Runs random cases through every surface.
import { aggregateSurface } from './aggregates.ts';
import { discoverySurface } from './discovery.ts';
import { expansionSurfaces } from './expansions.ts';
import { createFollower } from './feed.ts';
import type { Fixture } from './fixture.ts';
import { linkSurface } from './links.ts';
import { type Access, type Layer, readability } from './model.ts';
import { type Case, computeExpected, createOracle, type Oracle, type Reader } from './oracle.ts';
import { plainQuery, randomQuery } from './queries.ts';
import { randomConditions, randomLayer, unlimited } from './scopes.ts';
import { checkStale } from './stale.ts';
import { createStreamFollower } from './stream.ts';
import { summarySurfaces } from './summaries.ts';
import { readSurfaces, type Surface } from './surfaces.ts';
import { createWebhookFollower } from './webhooks.ts';

export const surfaces: readonly Surface[] = [
  ...readSurfaces,
  discoverySurface,
  aggregateSurface,
  ...summarySurfaces,
  ...expansionSurfaces,
  linkSurface,
];
/** Reported like a surface; its cases are the histories. */
const feedName = 'change feed';
/** Of the events of the feed. */
const streamName = 'change stream';
/** Of messages about changed records; their readers are keys. */
export const webhooksName = 'webhooks';
export const followed = {
  [feedName]: createFollower,
  [streamName]: createStreamFollower,
  [webhooksName]: createWebhookFollower,
};
export const isFollowed = (name: string): name is keyof typeof followed => Object.hasOwn(followed, name);
/** Also reported like a surface: every surface while a field of a scope is stale. */
export const staleName = 'stale scope fields';

/** Cases of one fixture run at the same time, so that shared caches are used by several readers at once. */
const concurrency = 4;

const shown = ({ reader, version, endpoint, query }: Case): string =>
  JSON.stringify({ access: reader.access, version: version.version, resource: endpoint.name, query });

/** A difference that a surface showed. */
export class Difference extends Error {
  readonly surface: string;
  constructor(surface: string, one: Case, cause: unknown) {
    super(`${surface}: ${String(cause).slice(0, 2_000)}\n${shown(one)}`, { cause });
    this.surface = surface;
  }
}

async function check(name: string, one: Case, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    // Anything but a failed expectation is a fault of the service or of the harness, and no answer that
    // differs.
    if (!(cause instanceof Error && cause.name === 'AssertionError'))
      throw new Error(`${name}: ${shown(one)}`, { cause });
    throw new Difference(name, one, cause);
  }
}

/** The same fields and masks, and other rows of one resource: such readers must not share what is cached. */
function withOtherRows({ random, versions, pools, ids }: Fixture, layers: readonly Layer[]): Layer[] {
  return layers.map((layer) => {
    const names = Object.keys(layer.rows?.resources ?? {});
    const name = names.length === 0 ? undefined : random.pick(names);
    const allowed = versions.filter(
      ({ version }) => layer.versions.length === 0 || layer.versions.includes(version),
    );
    const endpoint = allowed.flatMap(({ endpoints }) => endpoints).find((one) => one.name === name);
    if (layer.rows === null || endpoint === undefined) return layer;
    const conditions = randomConditions(random, endpoint, { pools, ids: ids() });
    const resources = {
      ...layer.rows.resources,
      [endpoint.name]: { recordType: endpoint.recordType, conditions },
    };
    return { ...layer, rows: { ...layer.rows, resources } };
  });
}

/**
 * Keys with random scopes, and tokens of keys that were limited since; each with an odd number may be like
 * the one before it but for some rows. Those that read nothing at all are rare, since they say little.
 */
export async function createReaders(fixture: Fixture, count: number): Promise<Reader[]> {
  const { random, versions, pools } = fixture;
  const readers: Reader[] = [];
  const createLayer = (): Layer => randomLayer(random, versions, { pools, ids: fixture.ids() });
  while (readers.length < count) {
    const alike = readers.length % 2 === 1 && random.chance(0.8) ? readers.at(-1)?.access : undefined;
    const fresh = (): Layer[] =>
      random.chance(0.4) ? [random.chance(0.5) ? unlimited : createLayer(), createLayer()] : [createLayer()];
    const layers = alike === undefined ? fresh() : withOtherRows(fixture, alike.layers);
    const unmasked = layers.map(() => alike?.unmasked ?? random.chance(0.6));
    const access: Access = { layers, unmasked: unmasked.every(Boolean) };
    const readable = versions.some(({ version, endpoints }) =>
      endpoints.some((one) => readability(access, version, one) === 'readable'),
    );
    if (!readable && !random.chance(0.1)) continue;
    const [layer = unlimited, own] = layers;
    const key = await fixture.key(
      own === undefined ? layer : unlimited,
      own === undefined ? access.unmasked : true,
    );
    const secret = own === undefined ? key.secret : await fixture.token(key, own, unmasked[1] === true);
    if (own !== undefined) await fixture.narrow(key, layer, unmasked[0] === true);
    readers.push({ access, secret, ...(own === undefined && { keyId: key.id }) });
  }
  return readers;
}

/** Most cases ask for what the reader may read. */
function randomCase(oracle: Oracle, readers: readonly Reader[]): Case {
  const { fixture } = oracle;
  const { random } = fixture;
  const reader = random.pick(readers);
  const all = fixture.versions.flatMap((version) =>
    version.endpoints.map((endpoint) => ({ version, endpoint })),
  );
  const readable = all.filter(
    ({ version, endpoint }) => readability(reader.access, version.version, endpoint) === 'readable',
  );
  const { version, endpoint } = random.pick(readable.length > 0 && random.chance(0.85) ? readable : all);
  return {
    oracle,
    reader,
    version,
    endpoint,
    query: randomQuery(fixture, endpoint),
    seed: random.int(2 ** 31),
  };
}

/** Some ask what the reader with the neighbouring number asked before. */
export function randomCases(oracle: Oracle, readers: readonly Reader[], count: number): Case[] {
  const cases: Case[] = [];
  while (cases.length < count) {
    const one = randomCase(oracle, readers);
    const neighbour = readers[readers.indexOf(one.reader) ^ 1];
    cases.push(one);
    if (neighbour !== undefined && oracle.fixture.random.chance(0.5))
      cases.push({ ...one, reader: neighbour });
  }
  return cases.slice(0, count);
}

/** Throws a Difference. */
export async function runQueries(cases: readonly Case[], wanted: readonly Surface[]): Promise<void> {
  const queue = [...cases];
  const work = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const next = one;
      for (const surface of wanted) await check(surface.name, next, () => surface.check(next));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

export const runStale = (oracle: Oracle, readers: readonly Reader[]): Promise<void> =>
  checkStale(oracle, readers, (one, work) => check(staleName, one, work));

export type Followers = { catchUp(): Promise<void>; stop(): Promise<void> };

/** One client of each feed, or of its events, for each reader; `catchUp` throws a Difference. */
export function createFollowers(
  oracle: Oracle,
  readers: readonly Reader[],
  name: keyof typeof followed,
): Followers {
  const { random, versions } = oracle.fixture;
  const own = readers.filter(({ keyId }) => name !== webhooksName || keyId !== undefined);
  const followers = own.flatMap((reader) =>
    versions.flatMap((version) =>
      version.endpoints.map((endpoint) => {
        const one: Case = { oracle, reader, version, endpoint, query: plainQuery, seed: random.int(2 ** 31) };
        return { one, follower: followed[name](one) };
      }),
    ),
  );
  return {
    catchUp: async () => {
      const queue = [...followers];
      const work = async (): Promise<void> => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          const { one, follower } = next;
          await check(name, one, follower.catchUp);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, work));
    },
    stop: async () => {
      for (const { follower } of followers) await follower.stop();
    },
  };
}

export type Run = {
  readonly readers: number;
  /** How often records change; after each change come the feeds and a share of the queries. */
  readonly rounds: number;
  readonly queriesPerRound: number;
  /** Whether a field of the scopes is stale in the end. */
  readonly hasStale?: boolean;
};

/** How many cases there were, and in how many of them the scope selected some of the records and not all. */
export type Ran = { readonly cases: number; readonly partial: number };

async function isPartial(one: Case): Promise<boolean> {
  const expected = await computeExpected(one, []);
  const all = await one.oracle.wholeRecords(one.version, one.endpoint, plainQuery);
  return expected.kind === 'answered' && expected.whole.length > 0 && expected.whole.length < all.length;
}

/** Throws a Difference that names the surface and the case. */
export async function runFixture(
  fixture: Fixture,
  { readers: count, rounds, queriesPerRound, hasStale = false }: Run,
): Promise<Ran> {
  const oracle = await createOracle(fixture);
  const readers = await createReaders(fixture, count);
  const names = Object.keys(followed).filter(isFollowed);
  const followers = names.map((name) => createFollowers(oracle, readers, name));
  let partial = 0;
  for (let round = 0; round < rounds; round += 1) {
    if (round > 0) {
      await fixture.change();
      await oracle.refresh();
    }
    for (const { catchUp } of followers) await catchUp();
    const cases = randomCases(oracle, readers, queriesPerRound);
    await runQueries(cases, surfaces);
    for (const one of cases) if (await isPartial(one)) partial += 1;
  }
  for (const { stop } of followers) await stop();
  if (hasStale) await runStale(oracle, readers);
  return { cases: rounds * queriesPerRound, partial };
}
