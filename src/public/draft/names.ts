// Names for a proposed definition: from the ERP's labels, in the forms that definitions allow. Pure.

import { toSuffix } from '../version/operators.ts';
import { operators } from '../version/schema-document.ts';

/** Names that mean something else in requests, lower case. */
const reserved = new Set(
  `id page pagesize sort order fields since limit draft format bom q or expand by
   count sum avg min max count_distinct`.split(/\s+/),
);
const suffixes = operators.map(toSuffix).filter((suffix) => suffix !== '');

const articles = new Set(['the', 'a', 'an']);
/** What follows one of these explains the label and isn't part of the name. */
const explanations = new Set(['or', 'without', 'within', 'as', 'that', 'which']);
const maxWords = 6;
/** A name may have 63 characters; some are left for a number at the end. */
const maxLength = 56;
const letters: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l' };

/** The words of a label in lower case: Latin letters and digits alone. Empty where the label has none. */
export function splitWords(label: string): string[] {
  const [before = ''] = label.split(/[([{:;]/);
  const plain = before
    .normalize('NFKD')
    .replaceAll(/\p{M}|['’]/gu, '')
    .toLowerCase()
    .replaceAll(/[ßæœøđł]/g, (letter) => letters[letter] ?? '');
  const words = plain.split(/[^a-z0-9]+/).filter((word) => word !== '' && !articles.has(word));
  const end = words.findIndex((word, index) => index > 0 && explanations.has(word));
  return words.slice(0, end === -1 ? maxWords : Math.min(end, maxWords));
}

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** `dueDate` for `due` and `date`. */
export const camelCase = (words: readonly string[]): string =>
  words.map((word, index) => (index === 0 ? word : capitalized(word))).join('');

const plural = (word: string): string => {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  if (/(?:ss|x|ch|sh)$/.test(word)) return `${word}es`;
  return word.endsWith('s') ? word : `${word}s`;
};

/** `colourIds` for the words of "Colours". */
export const idsWords = (words: readonly string[]): string[] => [
  ...words.slice(0, -1),
  ...words.slice(-1).map(singular),
  'ids',
];
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/(?<![siu])s$/, '');

/** The words of a record type: of its label, otherwise of its name. */
export function recordWords({ label, name }: { readonly label: string; readonly name: string }): string[] {
  const isUsable = ([first = '']: readonly string[]): boolean => /^[a-z]/.test(first);
  const found = [label, name].map(splitWords).find(isUsable);
  return found ?? ['record'];
}

/** `credit-memos` for the words of "Credit memo", made unique among `taken`, to which it is added. */
export function resourceName(words: readonly string[], taken: Set<string>): string {
  const wanted = [...words.slice(0, -1), plural(words.at(-1) ?? 'record')]
    .join('-')
    .slice(0, maxLength)
    .replace(/-+$/, '');
  return unique(wanted, taken, '-');
}

function unique(wanted: string, taken: Set<string>, separator: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}${separator}${number}`;
    if (taken.has(name.toLowerCase())) continue;
    taken.add(name.toLowerCase());
    return name;
  }
}

/** Whether the name is also a parameter: of its own, or of the filter of a field that has a name already. */
const isParameter = (name: string, taken: ReadonlySet<string>): boolean =>
  reserved.has(name) ||
  suffixes.some(
    (suffix) => name.endsWith(suffix) && (taken.has(name.slice(0, -suffix.length)) || name === `id${suffix}`),
  );

/**
 * The first of the candidates that is a legal name and free; otherwise the last legal one with a number. Adds
 * it, in lower case, to `taken`. Candidates with a name of a parameter get `prefix` in front: `order` of an
 * invoice is `invoiceOrder`.
 */
export function fieldName(candidates: readonly string[], prefix: string, taken: Set<string>): string {
  const legal = candidates
    .map((name) => name.slice(0, maxLength))
    .map((name) =>
      (isParameter(name.toLowerCase(), taken) ? camelCase([prefix, name]) : name).slice(0, maxLength),
    )
    .filter((name) => /^[a-z][A-Za-z0-9]*$/.test(name));
  const free = legal.find((name) => !taken.has(name.toLowerCase()));
  return unique(free ?? legal.at(-1) ?? `${prefix}Field`, taken, '');
}
