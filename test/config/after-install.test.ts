// What scripts/after-install.mjs deletes: never anything that a link in node_modules leads to, such as the
// sources of a workspace.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);

async function write(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '');
}

it('scripts/after-install.mjs deletes source maps of installed packages, and nothing behind a link', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'installed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await write(path.join(folder, 'node_modules', 'installed', 'lib', 'index.js.map'));
  await write(path.join(folder, 'node_modules', 'installed', 'lib', 'index.js'));
  await write(path.join(folder, 'linked', 'lib', 'index.js.map'));
  await symlink(path.join(folder, 'linked'), path.join(folder, 'node_modules', 'linked'));
  await run(process.execPath, [path.resolve('scripts/after-install.mjs')], { cwd: folder });
  expect(await readdir(path.join(folder, 'node_modules', 'installed', 'lib'))).toEqual(['index.js']);
  expect(await readdir(path.join(folder, 'linked', 'lib'))).toEqual(['index.js.map']);
});
