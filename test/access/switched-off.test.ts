// The oracle notices each scope that is missing: the service is loaded once more without the scope of one
// door, and the oracle must turn red there. Red for another reason, such as a service that doesn't start or
// refuses a valid credential, is no proof; and it must find nothing when the service is loaded with a patch
// that changes nothing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { choosePart } from '../setup/choose-part.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { controlPatch, type DoorPatch, doorPatches, type Patch } from './door-patches.ts';
import { createOracle, type Reader } from './oracle.ts';
import { createRandom } from './random.ts';
import { richerPatches } from './richer-patches.ts';
import {
  createFollowers,
  createReaders,
  Difference,
  doors,
  feedName,
  randomCases,
  runQueries,
  runStale,
  staleName,
} from './run-cases.ts';
import { type Service, startService } from './service.ts';
import { loadWithout } from './switch-off.ts';
import { createWorld, type World } from './world.ts';

const options = { settings: { anchorEvery: 3 } };
/**
 * Enough that each door has cases in which the scope decides: most patches concern lists, in few queries
 * each.
 */
const queriesAt = (door: string): number => (door === 'list' ? 150 : 60);
const caseSeed = 90_001;

let database: TestDatabase;
let service: Service;
type Place = { readonly seed: number; readonly world: World; readonly readers: readonly Reader[] };
/** Not every schema has everything that can be switched off, such as a default sort by a masked field. */
const seeds = [7, 8, 9, 10, 13, 14, 15, 16];
const places = new Map<string, Promise<Place>>();
function loadPlace(seed: number, large: boolean): Promise<Place> {
  const create = async (): Promise<Place> => {
    const world = await createWorld(
      service,
      createRandom(seed),
      large ? { records: 40, bulk: 60_000 } : { records: 90 },
    );
    const readers = await createReaders(world, 10);
    // Leaves records that are withheld.
    for (let round = 0; round < 2; round += 1) await world.change();
    return { seed, world, readers };
  };
  const place = places.get(`${seed} ${large}`) ?? create();
  places.set(`${seed} ${large}`, place);
  return place;
}
beforeAll(async () => {
  database = await testDatabase();
  service = await startService(database, options);
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

/** Undefined when the oracle finds no difference at the door. */
async function findDifference(
  of: Service,
  { seed, world, readers }: Place,
  door: string,
): Promise<Difference | undefined> {
  // The same cases for each patch, whichever were played before.
  const oracle = await createOracle({ ...world, random: createRandom(caseSeed + seed) }, of);
  try {
    if (door === feedName) {
      const followers = createFollowers(oracle, readers);
      for (let round = 0; round < 3; round += 1) {
        await followers.catchUp();
        await world.change();
        await oracle.refresh();
      }
      await followers.catchUp();
    } else if (door === staleName) await runStale(oracle, readers);
    else {
      await runQueries(
        randomCases(oracle, readers, queriesAt(door)),
        doors.filter(({ name }) => name === door),
      );
    }
    return undefined;
  } catch (error) {
    if (error instanceof Difference) return error;
    throw error;
  }
}

/** The first difference at one of these doors of a service with this patch. */
async function differenceWith(
  patch: Patch,
  doorNames: Iterable<string>,
  large: boolean,
  of = seeds,
): Promise<Difference | undefined> {
  const loaded = await loadWithout<typeof import('./service.ts')>(patch, 'service.ts');
  const patched = await loaded.startService(database, options, service.origin);
  try {
    for (const door of doorNames)
      for (const seed of of) {
        const difference = await findDifference(patched, await loadPlace(seed, large), door);
        if (difference !== undefined) return difference;
      }
    return undefined;
  } finally {
    await patched.stop();
  }
}

const patches: readonly DoorPatch[] = [...doorPatches, ...richerPatches];
const listDoors = (isLarge: boolean) =>
  new Set(patches.filter(({ large = false }) => large === isLarge).map(({ door }) => door));

describe('the oracle', () => {
  it.each([false, true])(
    'finds nothing at any door when a patch changes nothing; records of many bytes: %s',
    async (large) =>
      expect(await differenceWith(controlPatch, listDoors(large), large, seeds.slice(0, 1))).toBeUndefined(),
  );

  it.each(choosePart(patches, 4))('notices at "$door" when $what has no scope', async (patch) => {
    const difference = await differenceWith(patch, [patch.door], patch.large === true);
    expect(difference?.door).toBe(patch.door);
  });
});
