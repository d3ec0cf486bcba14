// The bundle from which the service starts: a build leaves a process that runs what it still loads, and only the
// bundle of exactly these sources is taken for built.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createScratchFolder } from '../setup/scratch-folder.ts';

const run = promisify(execFile);
let root: string;
const at = (...names: string[]): string => path.join(root, ...names);
const build = () => run(process.execPath, [at('scripts/build.mjs'), 'service']);
const writeLazy = (answer: string) =>
  writeFile(at('src/lazy.ts'), `export const answer: string = '${answer}';`);
const listStale = async (): Promise<string> => {
  const script = `import('${at('scripts/build.mjs')}').then((m) => console.log(m.listStale(['service']).join()))`;
  return (await run(process.execPath, ['-e', script])).stdout.trim();
};

beforeAll(async () => {
  root = await createScratchFolder('portal-bundle-');
  await mkdir(at('src'));
  for (const file of ['scripts/build.mjs', 'package.json']) await cp(file, at(file));
  await symlink(path.resolve('node_modules'), at('node_modules'));
  const main =
    "process.stdin.once('data', () => void import('./lazy.ts').then(({ answer }) => console.log(answer)));console.log('ready');";
  await writeFile(at('src/main.ts'), main);
});
afterAll(() => rm(root, { recursive: true, force: true }));

it('leaves to a running process the files of its build, also when it is built twice meanwhile', async () => {
  await writeLazy('first');
  await build();
  const child = spawn(process.execPath, [at('dist/service/main.js')], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'readable');
  for (const answer of ['second', 'third']) {
    await writeLazy(answer);
    await build();
  }
  child.stdin.end('load');
  expect(await text(child.stdout)).toBe('ready\nfirst\n');
});

it('is stale after each change of the sources, also of one that keeps size and date', async () => {
  const date = new Date('2026-01-01T00:00:00Z');
  await writeLazy('one');
  await utimes(at('src/lazy.ts'), date, date);
  await build();
  expect(await listStale()).toBe('');
  await writeLazy('two');
  await utimes(at('src/lazy.ts'), date, date);
  expect(await listStale()).toBe('service');
});
