// The message files of the portal: the same messages in every language, each of them used, with all plural forms.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { languages } from './page-samples.ts';

const read = (language: string): Record<string, string> =>
  JSON.parse(readFileSync(`web/portal/messages/${language}.json`, 'utf8'));
const english = read('en');
const code = globSync('web/portal/src/**/*.{ts,tsx}')
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

type Plural = { readonly name: string; readonly forms: readonly string[] };

/** The placeholders of an ICU message, and its plurals. Arguments are at even depths, the forms of plurals at odd ones. */
function parse(text: string): { placeholders: string[]; plurals: Plural[] } {
  const found: { name: string; forms: string[] }[] = [];
  const open: { name: string; forms: string[] }[] = [];
  let depth = 0;
  for (const [, before = '', brace = '', after = ''] of text.matchAll(/([=\w]*)\s*([{}])(?=(\w*))/g)) {
    if (brace === '}') {
      depth -= 1;
      if (depth % 2 === 0) open.pop();
      continue;
    }
    if (depth % 2 === 0) {
      const argument = { name: after, forms: [] };
      found.push(argument);
      open.push(argument);
    } else open.at(-1)?.forms.push(before);
    depth += 1;
  }
  expect(depth).toBe(0);
  return {
    placeholders: [...new Set(found.map(({ name }) => name))].sort(),
    plurals: found.filter(({ forms }) => forms.length > 0),
  };
}

describe.each(languages)('the messages in %s', (language) => {
  const messages = read(language);

  it('are the same as in English, in the same order', () => {
    expect(Object.keys(messages)).toEqual(Object.keys(english));
    expect(Object.entries(messages).filter(([, text]) => text.trim() !== text || text === '')).toEqual([]);
  });

  it('have the same placeholders', () => {
    const list = (all: Record<string, string>) =>
      Object.entries(all).map(([key, text]) => [key, parse(text).placeholders]);
    expect(list(messages)).toEqual(list(english));
  });

  it('have all plural forms of the language', () => {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    const incomplete = Object.entries(messages).flatMap(([key, text]) =>
      parse(text).plurals.flatMap(({ forms }) =>
        pluralCategories.filter((form) => !forms.includes(form)).map((form) => `${key}: ${form}`),
      ),
    );
    expect(incomplete).toEqual([]);
  });
});

it('every message is used', () => {
  // Keys that end in a value of data, such as `role.${label.role}`, and may go on after it.
  const families = [...code.matchAll(/`([\w-]+(?:\.[\w-]+)*\.)\$\{[\w.]+\}([\w.]*)`/g)].map(
    ([, start, end]) => ({
      start: start ?? '',
      end: end ?? '',
    }),
  );
  expect(families.length).toBeGreaterThan(4);
  const unused = Object.keys(english).filter(
    (key) =>
      !code.includes(`'${key}'`) &&
      !families.some(({ start, end }) => key.startsWith(start) && key.endsWith(end)),
  );
  expect(unused).toEqual([]);
});

it('the test reads messages as ICU does', () => {
  expect(parse('{a} of {b, number}')).toEqual({ placeholders: ['a', 'b'], plurals: [] });
  expect(parse('{n, plural, =0 {none} one {# {unit}} other {# of {unit}}}')).toEqual({
    placeholders: ['n', 'unit'],
    plurals: [{ name: 'n', forms: ['=0', 'one', 'other'] }],
  });
});
