// The specification's list, line by line: each public bug of another product has a test here that is named
// after it. This file only checks that each line stands in one of these files and that no test is left out.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const lines = [
  'cursor ties cut by a page boundary',
  'cursor advanced by a failed attempt',
  'state saved only at the end',
  'source failure empties the destination',
  'rows that become visible after the cursor passed',
  "day or zone truncation that loses rows changed before the account's midnight",
  'a locked or forbidden record skipped while the run is green',
  'a rejected record lost behind the watermark',
  'zero rows reported as success',
  'child changed without its parent',
  'a value that changes without its modified date',
  'paging without a total order',
  'the 100,000 cap reached in silence',
  'one bad column killing the query or vanishing in silence',
  'a new column null for every old row',
  'a zombie worker writing after its lease',
  'an interrupted run that stays "running" for ever',
  'deletions executed before success',
  'a record created during the run deleted by the run',
  'a role change that reads as mass deletion',
  '"success" announced for a run that failed',
];

const files = ['test/sync', 'test/green'].flatMap((folder) =>
  readdirSync(folder).map((file) => `${folder}/${file}`),
);
const sources = files
  .filter((file) => file.endsWith('.test.ts') && !file.endsWith('/public-bugs.test.ts'))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));

describe('public bugs of others that must not be ours', () => {
  it.each(lines)('%s', (line) => {
    const named = sources.filter(({ text }) => text.includes(line)).map(({ file }) => file);
    expect(named).not.toEqual([]);
  });

  it('and none of these tests is left out', () => {
    const leftOut = sources.filter(({ text }) => /\b(it|describe)\.(skip|todo|only|fails)\b/.test(text));
    expect(leftOut.map(({ file }) => file)).toEqual([]);
  });
});
