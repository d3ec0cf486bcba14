// What people see of masked fields, and of records without record:read, in the management interface; and that
// each check notices when the line that hides it is missing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { choosePart } from '../setup/choose-part.ts';
import { controlPatch } from './door-patches.ts';
import { platformChecks } from './platform-doors.ts';
import { type PlatformPatch, platformPatches } from './platform-patches.ts';
import { createPlatformWorld, type PlatformWorld } from './platform-world.ts';
import { loadWithout } from './switch-off.ts';

let world: PlatformWorld;
beforeAll(async () => {
  world = await createPlatformWorld();
});
afterAll(() => world.close());

type Doors = typeof import('./platform-doors.ts');

describe.each(Object.entries(platformChecks))('%s', (door, check) => {
  it('hides what the caller may not see', () => check(world));

  it('finds nothing when a patch changes nothing', async () => {
    const loaded = await loadWithout<Doors>(controlPatch, 'platform-doors.ts');
    await loaded.platformChecks[door as PlatformPatch['door']](world);
  });

  it.each(choosePart(platformPatches, 4).filter((patch) => patch.door === door))(
    'is noticed without "$find"',
    async (patch) => {
      const loaded = await loadWithout<Doors>(patch, 'platform-doors.ts');
      const found = await loaded.platformChecks[patch.door](world).then(
        () => 'nothing',
        (error: Error) => error.name,
      );
      expect(found).toBe('AssertionError');
    },
  );
});

it('every door is switched off', () => {
  expect(new Set(platformPatches.map(({ door }) => door))).toEqual(new Set(Object.keys(platformChecks)));
});
