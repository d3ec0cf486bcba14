// Which models are loaded: a service whose agents all use a provider's model doesn't load the built-in one.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const folder = 'src/gateways/model/offline/';

describe('the built-in model', () => {
  it('is loaded by exactly one import(), when an agent uses it', () => {
    const importing = globSync('src/**/*.ts')
      .filter((file) => !file.startsWith(folder))
      .flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(/^.*['"][^'"]*\/offline\/[^'"]*['"].*$/gm)].map(
          ([line]) => `${file}: ${line.trim()}`,
        ),
      );
    expect(importing).toEqual([
      expect.stringMatching(
        /^src\/gateways\/model\/create-model\.ts: .*await import\('\.\/offline\/offline-model\.ts'\)/,
      ),
    ]);
  });
});
