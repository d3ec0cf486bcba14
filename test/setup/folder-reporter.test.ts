// The end of the output of a failed run: often only the end of a long output is kept.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const reporter = fileURLToPath(new URL('./folder-reporter.ts', import.meta.url));
const files = {
  'broken.test.js': `throw new Error('cannot be read');`,
  'hook.test.js': `describe('a suite', () => { beforeAll(() => { throw new Error('hook failed') }); it('does not run', () => undefined); });`,
  'loose.test.js': `it('leaves something behind', () => void Promise.reject(new Error('let go')));`,
  'tests.test.js': `it('passes', () => undefined); it('fails', () => expect({ a: 1 }, 'long\\n'.repeat(50)).toEqual({ a: 2 }));`,
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-reporter-'));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
});
afterAll(() => rm(folder, { recursive: true }));

it('lists the failures with their reasons right before the totals', async () => {
  const totals = path.join(folder, 'totals');
  const args = [
    program,
    'run',
    '--root',
    folder,
    '--globals',
    '--reporter',
    'default',
    '--reporter',
    reporter,
    '--no-file-parallelism',
  ];
  const output = await new Promise<string>((resolve) => {
    const env = { ...process.env, TEST_TOTALS: totals, NO_COLOR: '1' };
    execFile(process.execPath, args, { cwd: folder, env }, (_error, stdout) => resolve(stdout));
  });
  const end = output.slice(output.indexOf('\nFAIL  ')).trim().split('\n');
  expect(end.at(-1)).toBe('2 passed, 5 failed');
  expect(end.filter((line) => line.startsWith('FAIL  ')).map((line) => line.slice(6))).toEqual([
    'outside of any test',
    'broken.test.js',
    'hook.test.js > a suite',
    'tests.test.js > fails',
    'hook.test.js > a suite > does not run',
  ]);
  const text = end.join('\n');
  for (const reason of [
    'Error: let go',
    'Error: cannot be read',
    'Error: hook failed',
    'AssertionError: long',
    'did not run',
  ])
    expect(text).toContain(reason);
  expect(text.split('long')).toHaveLength(1 + 12);
  expect(await readFile(totals, 'utf8')).toBe(`2 5\n${end.slice(0, -2).join('\n')}\n`);
});
