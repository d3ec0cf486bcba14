// The oracle notices each scope that is missing: the service is loaded once more without the scope of one
// surface, and the oracle must turn red there. Red for another reason, such as a service that doesn't start or
// refuses a valid credential, is no proof; and it must find nothing when what is replaced changes nothing.
import { describe, expect, it } from 'vitest';
import { choosePart } from '../setup/choose-part.ts';
import { testDatabase } from '../setup/database.ts';
import type { Replacement } from '../setup/replace-function.ts';
import { useStarted } from '../setup/use-started.ts';
import { createFixture, type Fixture } from './fixture.ts';
import { createOracle, type Reader } from './oracle.ts';
import { createRandom } from './random.ts';
import {
  createFollowers,
  createReaders,
  Difference,
  isFollowed,
  randomCases,
  runQueries,
  runStale,
  staleName,
  surfaces,
} from './run-cases.ts';
import { type Service, startService } from './service.ts';
import { loadWithout } from './switch-off.ts';
import { control, switchOffs } from './switch-offs.ts';

const options = { settings: { anchorEvery: 3 } };
/**
 * Enough that each surface has cases in which the scope decides: most replacements concern lists, in few
 * queries each.
 */
const queriesAt = (surface: string): number => (surface === 'list' ? 150 : 60);
const caseSeed = 90_001;

const database = useStarted(testDatabase);
const service = useStarted(() => startService(database, options));
type Place = { readonly seed: number; readonly fixture: Fixture; readonly readers: readonly Reader[] };
/** Not every schema has everything that can be switched off, such as a default sort by a masked field. */
const seeds = [7, 8, 9, 10, 13, 14, 15, 16];
const places = new Map<string, Promise<Place>>();
function loadPlace(seed: number, large: boolean): Promise<Place> {
  const create = async (): Promise<Place> => {
    const fixture = await createFixture(
      service,
      createRandom(seed),
      large ? { records: 40, bulk: 60_000 } : { records: 90 },
    );
    const readers = await createReaders(fixture, 10);
    // Learns the records of which examples were made.
    await createOracle(fixture);
    // Leaves records that are withheld.
    for (let round = 0; round < 2; round += 1) await fixture.change();
    return { seed, fixture, readers };
  };
  const place = places.get(`${seed} ${large}`) ?? create();
  places.set(`${seed} ${large}`, place);
  return place;
}
/** Undefined when the oracle finds no difference at the surface. */
async function findDifference(
  of: Service,
  { seed, fixture, readers }: Place,
  surface: string,
): Promise<Difference | undefined> {
  // The same cases for each replacement, whichever were played before.
  const oracle = await createOracle({ ...fixture, random: createRandom(caseSeed + seed) }, of);
  try {
    if (isFollowed(surface)) {
      const followers = createFollowers(oracle, readers, surface);
      for (let round = 0; round < 3; round += 1) {
        await followers.catchUp();
        await fixture.change();
        await oracle.refresh();
      }
      await followers.catchUp();
      await followers.stop();
    } else if (surface === staleName) await runStale(oracle, readers);
    else {
      await runQueries(
        randomCases(oracle, readers, queriesAt(surface)),
        surfaces.filter(({ name }) => name === surface),
      );
    }
    return undefined;
  } catch (error) {
    if (error instanceof Difference) return error;
    throw error;
  }
}

/** The first difference at one of these surfaces of a service with this replacement. */
async function differenceWith(
  replacement: Replacement,
  surfaceNames: Iterable<string>,
  large: boolean,
  of = seeds,
): Promise<Difference | undefined> {
  const loaded = await loadWithout<typeof import('./service.ts')>(replacement, 'service.ts');
  const replaced = await loaded.startService(database, options, service.origin);
  try {
    for (const surface of surfaceNames)
      for (const seed of of) {
        const difference = await findDifference(replaced, await loadPlace(seed, large), surface);
        if (difference !== undefined) return difference;
      }
    return undefined;
  } finally {
    await replaced.stop();
  }
}

const cases = switchOffs.flatMap(({ surfaces: names, ...off }) =>
  names.map((surface) => ({ ...off, surface })),
);
const listSurfaces = (isLarge: boolean) =>
  new Set(cases.filter(({ large = false }) => large === isLarge).map(({ surface }) => surface));

describe('the oracle', () => {
  it.each([false, true])(
    'finds nothing at any surface when the replacement changes nothing; records of many bytes: %s',
    async (large) =>
      expect(await differenceWith(control, listSurfaces(large), large, seeds.slice(0, 1))).toBeUndefined(),
  );

  it.each(choosePart(cases, 4))('notices at "$surface" when $what is switched off', async (off) => {
    const difference = await differenceWith(off, [off.surface], off.large === true);
    expect(difference?.surface).toBe(off.surface);
  });
});
