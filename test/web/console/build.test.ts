// Several processes may build the console at once, as when two services start after a checkout: each finds it
// whole.
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createScratchFolder } from '../../setup/scratch-folder.ts';

it('builds at once leave one whole folder, also in place of an older one', async () => {
  const root = await createScratchFolder('portal-build-');
  const at = (...names: string[]): string => path.join(root, ...names);
  try {
    for (const file of ['scripts/build.mjs', 'web/shared', 'package.json', 'docs/openapi.json'])
      await cp(file, at(file), { recursive: true });
    for (const name of ['src', 'index.html', 'package.json', 'vite.config.ts', 'connection-kinds.ts'])
      await cp(`web/console/${name}`, at('web/console', name), { recursive: true });
    await mkdir(at('web/console/.generated'));
    await symlink(path.resolve('node_modules'), at('node_modules'));
    const build = () => promisify(execFile)(process.execPath, [at('scripts/build.mjs'), 'console']);
    for (const round of [1, 2]) {
      await writeFile(
        at('web/shared/icon.svg'),
        `<svg xmlns="http://www.w3.org/2000/svg" id="round-${round}"/>`,
      );
      await Promise.all([build(), build(), build()]);
      const page = await readFile(at('web/console/dist/index.html'), 'utf8');
      const named = [...page.matchAll(/"\/console\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);
      const manifest: Record<string, { file: string; css?: string[] }> = JSON.parse(
        await readFile(at('web/console/dist/.vite/manifest.json'), 'utf8'),
      );
      const built = new Set(Object.values(manifest).flatMap(({ file, css = [] }) => [file, ...css]));
      // One build's files, and none of the round before.
      expect(
        (await readdir(at('web/console/dist/assets'))).map((name) => `assets/${name}`).toSorted(),
      ).toEqual([...built].toSorted());
      expect(named.filter((name) => !built.has(name))).toEqual([]);
      expect(named.length).toBeGreaterThan(3);
      expect(await readdir(at('web/console/.generated'))).toEqual([]);
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
