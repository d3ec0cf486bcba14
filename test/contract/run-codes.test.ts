// docs/operations.md explains every code that a run's error or a rejected record can have, and no other.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (file: string): string => readFileSync(file, 'utf8');
const found = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name);
const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();

const sync = globSync('src/sync/**/*.ts').sort();
/** In these files, `code: '…'` is that of a rejected record. */
const rejecting = [
  'src/sync/stage/page-reader.ts',
  'src/sync/account/storable-answers.ts',
  'src/warehouse/encode.ts',
  'src/warehouse/size-limits.ts',
  'src/warehouse/staging.ts',
  'src/connectors/netsuite/read/records.ts',
];
const connector = globSync('src/connectors/netsuite/**/*.ts').filter(
  (file) => file !== 'src/connectors/netsuite/requests/write-errors.ts',
);

/** What an account of NetSuite can do wrong: the properties of `fixes`. */
function netsuiteCodes(): string[] {
  const [, fixes = ''] =
    /const fixes = \{(.*?)\n\} as const/s.exec(read('src/connectors/netsuite/requests/errors.ts')) ?? [];
  return found(fixes, /^ {2}([A-Z_]+):/gm);
}
/** Codes of the connector that no run ends with, and what becomes of them. */
const notOfRuns = [
  'COLUMN_UNKNOWN', // METADATA_CHANGED
  'FIELD_NOT_SYNCABLE', // METADATA_CHANGED
  'DELETIONS_HIDDEN', // an event of the run
  'CLOCK_SKEW', // a problem of the connection test
];

const constructed = /new (?:ProofFailed|RunFailed|ErpError)\(/g;
const withLiteral = /new (?:(?:ProofFailed|RunFailed)\(\s*|ErpError\(\s*'[a-z]+',\s*)'([A-Z_]+)'/g;

function runCodes(): string[] {
  const texts = sync.filter((file) => !rejecting.includes(file)).map(read);
  // Without a connection or its credentials: the code of the refusal, in upper case.
  const refused = found(read('src/sync/account/connection.ts'), /code: '([a-z_]+)'/g).map((code) =>
    code.toUpperCase(),
  );
  const own = texts.flatMap((text) => [...found(text, withLiteral), ...found(text, /code: '([A-Z_]+)'/g)]);
  return sorted([...own, ...refused, ...netsuiteCodes()].filter((code) => !notOfRuns.includes(code)));
}
const rejectionCodes = (): string[] =>
  sorted(
    rejecting
      .map(read)
      .flatMap((text) => [
        ...found(text, /code: '([A-Z_]+)'/g),
        ...found(text, /rejection\([\w.]+, '([A-Z_]+)'/g),
      ]),
  );

const [, section = ''] =
  /\n## Runs that are partial, failed or waiting\n(.*?)\n## /s.exec(read('docs/operations.md')) ?? [];
/** The codes in the first column of the tables under these headings. */
const documented = (include: (heading: string) => boolean): string[] =>
  section
    .split(/\n(?=###+ )/)
    .filter((part) => include(part.split('\n')[0] ?? ''))
    .flatMap((part) => part.split('\n').filter((line) => line.startsWith('| `')))
    .flatMap((line) => found(line.split('|')[1] ?? '', /`([A-Z][A-Z_]+)`/g));
const isRejections = (heading: string): boolean => heading === '#### Rejected records';

describe('the codes in docs/operations.md', () => {
  it('are those of runs', () => {
    const shown = documented((heading) => !isRejections(heading));
    expect(sorted(shown)).toEqual(sorted([...runCodes(), 'INVALID_PARAMETER'])); // an example of NetSuite's own
    expect(shown.length).toBe(new Set(shown).size);
  });

  it('are those of rejected records', () => {
    expect(rejectionCodes().length).toBeGreaterThan(5);
    expect(sorted(documented(isRejections))).toEqual(rejectionCodes());
  });

  it('are found in the code, because each error names its own', () => {
    expect(netsuiteCodes().length).toBeGreaterThan(20);
    const unnamed = [...sync, ...connector].flatMap((file) => {
      const text = read(file);
      const total = [...text.matchAll(constructed)].length;
      return total === found(text, withLiteral).length ? [] : [file];
    });
    // Those with a code of the ERP's own, or of the refusal that caused them; and NetSuite's errors, whose codes are those of `fixes`.
    expect(unnamed).toEqual(['src/sync/run/execute-run.ts', 'src/connectors/netsuite/requests/errors.ts']);
  });
});
