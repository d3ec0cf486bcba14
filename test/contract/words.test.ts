// Words that made earlier texts hard to read, and that don't come back. Limits are max… and min….
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const avoided = /\b(whoever|nobody|anew|told|stands|so many)\b|\b(?:most|least)[A-Z]\w*/gi;
/** Case matters where a name begins with a word that is fine by itself. */
const find = (text: string): string[] =>
  [...text.matchAll(avoided)]
    .map(([word]) => word)
    .filter((word) => !/^(most|least)/i.test(word) || /^(most|least)[A-Z]/.test(word));

/** Files, and what in them is a name of something else. */
const allowed: readonly (readonly [RegExp, string])[] = [
  // The user as which PostgreSQL runs where the service was started by root.
  [/^(README\.md|docs\/.*|src\/db\/embedded.*)$/, 'nobody'],
  // Columns of pay_erp_documents.
  [/^(db\/.*|src\/platform\/pay\/.*)$/, 'told'],
];
const isAllowed = (file: string, word: string): boolean =>
  allowed.some(([files, name]) => files.test(file) && name === word.toLowerCase());

const texts = [
  '{src,packages,demo,web}/**/*.{ts,tsx,js,html,css,md}',
  'db/**/*.{sql,ts}',
  'docs/**/*.{md,json}',
  '*.md',
  '.env.example',
  'docker-compose*.yml',
  'Dockerfile',
];

describe('the language of code, messages and documentation', () => {
  it('has none of the avoided words', () => {
    const files = globSync(texts, {
      exclude: (name) => name === 'node_modules' || name === 'dist' || name === '.generated',
    }).sort();
    expect(files.length).toBeGreaterThan(500);
    const found = files.flatMap((file) =>
      find(readFileSync(file, 'utf8'))
        .filter((word) => !isAllowed(file, word))
        .map((word) => `${file}: ${word}`),
    );
    expect(found).toEqual([]);
  });

  it('is searched for whole words in any case, and for names of limits', () => {
    expect(find('Whoever asks is TOLD anew; it stands.')).toEqual(['Whoever', 'TOLD', 'anew', 'stands']);
    expect(find('mostValues leastBytes; at most one, almost, MOST_VALUES, toldst, standstill')).toEqual([
      'mostValues',
      'leastBytes',
    ]);
  });
});
