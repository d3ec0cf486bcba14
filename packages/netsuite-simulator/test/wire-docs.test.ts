// docs/wire.md names a test for each fact, and a source unless the fact is assumed: both must exist.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const [facts = '', sources = ''] = readFileSync(
  path.resolve(import.meta.dirname, '../docs/wire.md'),
  'utf8',
).split('\n## Sources\n');
/** The cells of the rows of all tables, without their headings. */
const parseRows = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)]
    .map(([, row = '']) => row.replaceAll('`||`', '').split(' | '))
    .filter(([first = '']) => first !== 'Fact' && first !== 'Key');

it('every fact has a source of the list or is assumed, and has a test that exists', () => {
  const keys = new Set(parseRows(sources).flatMap(([names = '']) => names.split(', ')));
  const problems = parseRows(facts).flatMap(([fact = '', source = '', tests = '']) => {
    const named = [...source.matchAll(/[A-Z][A-Z0-9]+(?:-[A-Za-z0-9]+)*/g)].map(([key]) => key);
    const shown = [...tests.matchAll(/`([\w/-]+\.test\.ts)` › “([^”]+)”/g)];
    const isMissing = ([, file = '', title = '']: RegExpExecArray): boolean =>
      !readFileSync(path.resolve(import.meta.dirname, file), 'utf8').includes(title);
    const hasSource = source === '*assumed*' || (named.length > 0 && named.every((key) => keys.has(key)));
    return hasSource && shown.length > 0 && !shown.some(isMissing) ? [] : [fact];
  });
  expect(problems).toEqual([]);
  expect(parseRows(facts).length).toBeGreaterThan(50);
});
