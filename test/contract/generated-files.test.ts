// The files that `npm run generate` writes are those of the current code. docs/openapi.json: openapi.test.ts.
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { decisionsIndex } from '../../scripts/decisions-index.ts';
import { recordTypesPage } from '../../scripts/record-types-page.ts';
import { environmentExample, readConfig } from '../../src/config.ts';
import { knownTables } from '../../src/connectors/netsuite/discovery/known-tables.ts';
import { recordTypeDefinitions } from '../../src/connectors/netsuite/types/record-types.ts';

const read = (file: string): string => readFileSync(file, 'utf8');

it.each([
  ['docs/decisions/README.md', decisionsIndex],
  ['docs/record-types.md', recordTypesPage],
  ['.env.example', environmentExample],
])('%s is up to date; refresh it with: npm run generate', (file, generate) => {
  expect(read(file)).toBe(generate());
});

describe('.env.example', () => {
  const text = read('.env.example');

  it('is usable unchanged and shows the defaults', () => {
    expect(readConfig(parseEnv(text))).toEqual(readConfig({}));
  });

  it('explains every variable', () => {
    const blocks = text.split(/\n\s*\n/).filter((block) => /^[A-Z_]+=/m.test(block));
    for (const block of blocks) expect(block.trimStart()).toMatch(/^#/);
  });
});

it('docs/record-types.md has a row for each record type that is known by name, and each table that only queries have', () => {
  const names = [...recordTypeDefinitions.map(({ name }) => name), ...Object.keys(knownTables)];
  const page = read('docs/record-types.md');
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
