// The oracle notices each scope that is missing: the service is loaded once more without the scope of one door, and the oracle must turn red
// there. Red for another reason, such as a service that doesn't start, is no proof.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { doorPatches } from './door-patches.ts';
import { createOracle, type Reader } from './oracle.ts';
import { createRandom } from './random.ts';
import { richerPatches } from './richer-patches.ts';
import { createFollowers, createReaders, Difference, doors, feedName, randomCase, runQueries, runStale, staleName } from './run-cases.ts';
import { type Service, startService } from './service.ts';
import { loadWithout } from './switch-off.ts';
import { createWorld, type World } from './world.ts';

const options = { settings: { anchorEvery: 3 } };
/** Enough that each door has cases in which the scope decides. */
const queries = 60;

let database: TestDatabase;
let service: Service;
type Place = { readonly world: World; readonly readers: readonly Reader[] };
/** Not every schema has everything that can be switched off, such as a default sort by a masked field. */
const seeds = [7, 8, 9, 10];
const places = new Map<string, Promise<Place>>();
function placeOf(seed: number, large: boolean): Promise<Place> {
  const create = async (): Promise<Place> => {
    const world = await createWorld(service, createRandom(seed), large ? { records: 40, bulk: 60_000 } : { records: 90 });
    const readers = await createReaders(world, 10);
    // Leaves records that are withheld.
    for (let round = 0; round < 2; round += 1) await world.change();
    return { world, readers };
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
async function findDifference(of: Service, { world, readers }: Place, door: string): Promise<Difference | undefined> {
  const oracle = await createOracle(world, of);
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
      const cases = Array.from({ length: queries }, () => randomCase(oracle, readers));
      await runQueries(
        cases,
        doors.filter(({ name }) => name === door),
      );
    }
    return undefined;
  } catch (error) {
    if (error instanceof Difference) return error;
    throw error;
  }
}

describe('the oracle', () => {
  it.each([...doorPatches, ...richerPatches])('notices at "$door" when $what has no scope', async (patch) => {
    const loaded = await loadWithout<typeof import('./service.ts')>(patch, 'service.ts');
    const without = await loaded.startService(database, options);
    try {
      let difference: Difference | undefined;
      for (const seed of seeds) difference ??= await findDifference(without, await placeOf(seed, patch.large === true), patch.door);
      expect(difference?.door).toBe(patch.door);
    } finally {
      await without.stop();
    }
  });
});
