// What people see of masked fields, and of records without record:read, in the management interface; and that
// each check notices when the function that hides it is switched off.
import { describe, expect, it } from 'vitest';
import { choosePart } from '../setup/choose-part.ts';
import { useStarted } from '../setup/use-started.ts';
import { createPlatformFixture } from './platform-fixture.ts';
import { platformChecks } from './platform-surfaces.ts';
import { platformSwitchOffs } from './platform-switch-offs.ts';
import { loadWithout } from './switch-off.ts';
import { control } from './switch-offs.ts';

const fixture = useStarted(createPlatformFixture);

type Checks = typeof import('./platform-surfaces.ts');
const cases = platformSwitchOffs.flatMap(({ surfaces, ...off }) =>
  surfaces.map((surface) => ({ ...off, surface })),
);

describe.each(Object.entries(platformChecks))('%s', (surface, check) => {
  it('hides what the caller may not see', () => check(fixture));

  it('finds nothing when the replacement changes nothing', async () => {
    const loaded = await loadWithout<Checks>(control, 'platform-surfaces.ts');
    await loaded.platformChecks[surface as keyof typeof platformChecks](fixture);
  });

  it.each(choosePart(cases, 4).filter((off) => off.surface === surface))(
    'is noticed when $replaces of $file is switched off',
    async (off) => {
      const loaded = await loadWithout<Checks>(off, 'platform-surfaces.ts');
      const found = await loaded.platformChecks[off.surface](fixture).then(
        () => 'nothing',
        (error: Error) => error.name,
      );
      expect(found).toBe('AssertionError');
    },
  );
});

it('every surface is switched off', () => {
  expect(new Set(cases.map(({ surface }) => surface))).toEqual(new Set(Object.keys(platformChecks)));
});
