// docs/guarantees.md promises nothing without a test: every row of its tables names at least one, and all
// that it names exist.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const lines = readFileSync('docs/guarantees.md', 'utf8').split('\n');
/** Folders that are named as a whole. */
const folders = ['test/ops', 'test/green', 'test/access'];
/** Rows of the tables whose last column names tests, without their heads. */
const rows = lines.filter((line, index) => line.startsWith('| ') && !lines[index + 1]?.startsWith('|-'));
const testsIn = (row: string): string[] =>
  [...(row.split('|').at(-2) ?? '').matchAll(/`(test\/[^`]+|npm run [^`]+)`/g)].map(([, name = '']) => name);

describe('docs/guarantees.md', () => {
  it('names a test for each guarantee', () => {
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter((row) => testsIn(row).length === 0)).toEqual([]);
  });

  it('names only tests that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const exists = (name: string): boolean =>
      name.startsWith('npm run ')
        ? scripts[name.slice('npm run '.length)] !== undefined
        : existsSync(`${name}.test.ts`) || folders.includes(name);
    const named = lines.flatMap((line) =>
      [...line.matchAll(/`(test\/[a-z0-9/-]+|npm run [a-z:]+)`/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(70);
    expect(named.filter((name) => !exists(name))).toEqual([]);
  });
});
