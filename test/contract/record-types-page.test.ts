import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { recordTypesPage } from '../../scripts/record-types-page.ts';
import { knownTables } from '../../src/connectors/netsuite/discovery/known-tables.ts';
import { recordTypeDefinitions } from '../../src/connectors/netsuite/record-types.ts';

describe('docs/record-types.md', () => {
  const page = readFileSync('docs/record-types.md', 'utf8');

  it('is what the connector does; refresh it with: npm run generate', () => {
    expect(page).toBe(recordTypesPage());
  });

  it('has a row for each record type that is known by name, and each table that only queries have', () => {
    const names = [...recordTypeDefinitions.map(({ name }) => name), ...Object.keys(knownTables)];
    expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });
});
