// Converts a question to words and marks: values are replaced by marks, such as `<n0>` for the first number, so that question forms can be
// recognized by their words alone.
import { type DaySpan, markDates } from './dates.ts';

/** The values of the marks: `<q0>` quoted text, `<d0>` days, `<n0>` a number, `<c0>` a word with digits in it, such as CUST12415. */
export type Marks = {
  readonly q: readonly string[];
  readonly d: readonly DaySpan[];
  readonly n: readonly string[];
  readonly c: readonly string[];
};
/** `text` is in lower case except for marks, with one space between words and at both ends. */
export type Marked = { readonly text: string; readonly marks: Marks };

const signWords: Readonly<Record<string, string>> = {
  '!=': ' is not ',
  '<>': ' is not ',
  '≠': ' is not ',
  '>=': ' at least ',
  '=>': ' at least ',
  '≥': ' at least ',
  '<=': ' at most ',
  '=<': ' at most ',
  '≤': ' at most ',
  '>': ' over ',
  '<': ' under ',
  '=': ' is ',
};
const contractions: readonly (readonly [RegExp, string])[] = [
  [/\bwhat's\b/g, 'what is'],
  [/\bwho's\b/g, 'who is'],
  [/\b(is|are|was|were|do|does|did|has|have)n't\b/g, '$1 not'],
  [/(\p{L})'s\b/gu, '$1'],
];
const numerals = ['zero', '', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

export const normalizeSpaces = (text: string): string => ` ${text.trim().replaceAll(/\s+/g, ' ')} `;

/** Longer questions are declined; no question of the known forms is longer. */
export const maxQuestionCharacters = 400;

export function markQuestion(question: string, today: string): Marked {
  const marks: { [Kind in keyof Marks]: Marks[Kind][number][] } = { q: [], d: [], n: [], c: [] };
  const put = <Kind extends keyof Marks>(kind: Kind, value: Marks[Kind][number]): string => {
    (marks[kind] as Marks[Kind][number][]).push(value);
    return ` {${kind}${marks[kind].length - 1}} `;
  };
  // Normalization would turn superscript digits and fractions into digits of another number.
  let text = question
    .replaceAll(/[\p{No}]/gu, ' ^ ')
    .normalize('NFKC')
    .replaceAll(/[{}]/g, ' ')
    .replaceAll('’', "'");
  text = text.replaceAll(/"([^"]{1,200})"|“([^”]{1,200})”|(?<![\p{L}\d])'([^']{1,200})'(?![\p{L}\d])/gu, (_all, a, b, c) =>
    put('q', a ?? b ?? c),
  );
  // Codes keep their case, since names in the data may differ only by case.
  const codes = new Map<string, string>();
  for (const [word] of text.matchAll(/[\p{L}\d][\p{L}\d_./-]*/gu))
    codes.set(word.toLowerCase().replace(/[./-]+$/, ''), word.replace(/[./-]+$/, ''));
  text = text.toLowerCase();
  for (const [pattern, words] of contractions) text = text.replaceAll(pattern, words);
  text = markDates(text, today, (span) => put('d', span));
  // 1.000 is one in some countries and a thousand in others: not recognized.
  text = text.replaceAll(
    /(?<![\p{L}\d{._/-])(?!-?[1-9]\d{0,2}\.\d{3}(?!\d))-?\d+(?:,\d{3})*(?:\.\d+)?(?![\p{L}\d_}/-]|[.,]\d)/gu,
    (number) => put('n', number.replaceAll(',', '')),
  );
  text = text.replaceAll(/(?<![\p{L}\d{_])(?=[\p{L}_./-]*\d)[\p{L}\d][\p{L}\d_./-]*(?<![./-])(?![}\p{L}\d])/gu, (code) =>
    put('c', codes.get(code) ?? code),
  );
  text = text.replaceAll(/!=|<>|>=|<=|=>|=<|[≠≥≤<>=]/g, (sign) => signWords[sign] ?? ' ');
  text = text.replaceAll(/[?!.,;:#]+(?=\s|$)|[#,;]/g, ' ').replaceAll(/\{([qdnc]\d+)\}/g, '<$1>');
  for (const [index, numeral] of numerals.entries()) {
    // "one" is rarely meant as a number.
    if (numeral === '') continue;
    const number = new RegExp(`(?<=\\s)${numeral}(?=\\s)`, 'g');
    text = text.replaceAll(number, () => put('n', String(index)).replaceAll(/[{}]/g, (brace) => (brace === '{' ? '<' : '>')));
  }
  return { text: normalizeSpaces(text), marks };
}

export function singular(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

export function plural(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
}

/** Splits a name into words: `amountDue` → `amount due`, `credit-memos` → `credit memos`. */
export const wordsOf = (name: string): string =>
  name
    .replaceAll(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replaceAll(/[-_.]+/g, ' ')
    .toLowerCase();

export const escapeForPattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** Words that don't change the meaning of a question. `not`, `or`, `all` and `only` do, so they are not listed. */
const fillerWords = new Set(
  `a an the of for in on at to and but that which whose who with where having has have had is are was were be been being do does did
   there it its their them this these those me us we our ours you your i my please can could would tell us let know exist exists
   currently now still already altogether overall data dataset record records system`.split(/\s+/),
);

/** Words that say what is asked for, rather than about which records. */
const askingWords = new Set(
  `how many much #count count show list display give find get see print which what who when tell want any all sum total average mean
   value amount per by each every most top largest highest biggest greatest maximum max smallest lowest minimum min least newest latest
   most recent last oldest earliest first`.split(/\s+/),
);

/** The words that are neither filler nor asking words nor marks. */
export const contentWords = (text: string): readonly string[] =>
  withoutFiller(text)
    .split(' ')
    .filter((word) => word !== '' && !word.startsWith('<') && !askingWords.has(word));

export const withoutFiller = (text: string): string =>
  text
    .split(' ')
    .filter((word) => word !== '')
    // Question words such as "which" and "who" are kept at the beginning.
    .filter((word, at) => (at === 0 && /^wh/.test(word)) || (!fillerWords.has(word) && !word.startsWith('<~')))
    .join(' ');
