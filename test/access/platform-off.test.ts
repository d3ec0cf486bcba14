// What people see of masked fields, and of records without record:read, in the management interface; and that
// each check notices when the line that hides it is missing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { choosePart } from '../setup/choose-part.ts';
import { createPlatformFixture, type PlatformFixture } from './platform-fixture.ts';
import { type PlatformPatch, platformPatches } from './platform-patches.ts';
import { platformChecks } from './platform-surfaces.ts';
import { controlPatch } from './surface-patches.ts';
import { loadWithout } from './switch-off.ts';

let fixture: PlatformFixture;
beforeAll(async () => {
  fixture = await createPlatformFixture();
});
afterAll(() => fixture.close());

type Surfaces = typeof import('./platform-surfaces.ts');

describe.each(Object.entries(platformChecks))('%s', (surface, check) => {
  it('hides what the caller may not see', () => check(fixture));

  it('finds nothing when a patch changes nothing', async () => {
    const loaded = await loadWithout<Surfaces>(controlPatch, 'platform-surfaces.ts');
    await loaded.platformChecks[surface as PlatformPatch['surface']](fixture);
  });

  it.each(choosePart(platformPatches, 4).filter((patch) => patch.surface === surface))(
    'is noticed without "$find"',
    async (patch) => {
      const loaded = await loadWithout<Surfaces>(patch, 'platform-surfaces.ts');
      const found = await loaded.platformChecks[patch.surface](fixture).then(
        () => 'nothing',
        (error: Error) => error.name,
      );
      expect(found).toBe('AssertionError');
    },
  );
});

it('every surface is switched off', () => {
  expect(new Set(platformPatches.map(({ surface }) => surface))).toEqual(
    new Set(Object.keys(platformChecks)),
  );
});
