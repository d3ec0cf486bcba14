// Normalizes a question: values become marks, such as `<n0>`, so that its words alone show its form.
import { type DaySpan, markDates } from './dates.ts';

/** Quoted text, a code, a number without thousands separators, or days. A number is a range of itself. */
export type Value = { readonly text: string } & DaySpan;
/**
 * Words in lower case with one space between, and marks: `<n0>` is a number, `<d1>` days, `<v2>` quoted text
 * or a word with digits in it.
 */
export type Question = { readonly text: string; readonly values: readonly Value[]; readonly today: string };

const rewrites: readonly (readonly [RegExp, string])[] = [
  [
    /^\s*(?:(?:hi|hello|please|(?:can|could|would) you|i want to (?:know|see)|tell me(?! about)|let me know)[\s,]+)+/i,
    '',
  ],
  [/\b(what|who)'s\b/gi, '$1 is'],
  [/n't\b/gi, ' not'],
  [/(\p{L})'s\b/gu, '$1'],
  [/!=|<>|≠/g, ' is not '],
  [/>=|=>|≥/g, ' at least '],
  [/<=|=<|≤/g, ' at most '],
  [/>/g, ' over '],
  [/</g, ' under '],
  [/=/g, ' is '],
];
const quoted = /"([^"]{1,200})"|“([^”]{1,200})”|(?<![\p{L}\d])'([^']{1,200})'(?![\p{L}\d])/gu;
/** 1.000 is one in some countries and a thousand in others: not a number. */
const number =
  /(?<![\p{L}\d._/<-])(?!-?[1-9]\d{0,2}\.\d{3}(?!\d))-?\d+(?:,\d{3})*(?:\.\d+)?(?![\p{L}\d_/>-]|[.,]\d)/gu;
const code = /(?<![\p{L}\d_<])(?=[\p{L}_./-]*\d)[\p{L}\d][\p{L}\d_./-]*(?<![./-])(?![>\p{L}\d])/gu;
/** Words that never change the meaning of a question, and punctuation. */
const fillers =
  /[?!.,;:#]+(?= |$)|[#,;]|(?<= |^)(?:an?|the|please|me|us|our|my|your|i|we|you|any|currently|now)(?=[?!.,;:]*(?: |$))/g;

/** `today` is YYYY-MM-DD. */
export function normalize(question: string, today: string): Question {
  const values: Value[] = [];
  const mark = (kind: 'd' | 'n' | 'v', text: string, span = { from: text, to: text }): string =>
    ` <${kind}${values.push({ text, ...span }) - 1}> `;
  // Normalization would turn superscript digits and fractions into digits of another number.
  const plain = question.replaceAll(/[\p{No}{}]/gu, ' ^ ').normalize('NFKC');
  const quotes: string[] = [];
  const unquoted = plain
    .replaceAll('’', "'")
    .replaceAll(quoted, (_all, a, b, c) => ` {${quotes.push(a ?? b ?? c) - 1}} `);
  const rewritten = rewrites.reduce((text, [pattern, words]) => text.replace(pattern, words), unquoted);
  const marked = markDates(rewritten, today, (days) => mark('d', '', days))
    .replaceAll(/\{(\d+)\}/g, (_all, index) => mark('v', quotes[Number(index)] ?? ''))
    .replaceAll(number, (text) => mark('n', text.replaceAll(',', '')))
    .replaceAll(code, (text) => mark('v', text));
  const text = marked.toLowerCase().replaceAll(/\s+/g, ' ').replaceAll(fillers, '');
  return { text: text.replaceAll(/ +/g, ' ').trim(), values, today };
}

const singular = (noun: string): string =>
  noun.replace(/(?<=[^aeiou])ies$/, 'y').replace(/(?<=s|x|z|ch|sh)es$|(?<=[^sui])s$/, '');
const plural = (noun: string): string =>
  `${noun.replace(/(?<=[^aeiou])y$/, 'ie').replace(/(?<=s|x|z|ch|sh)$/, 'e')}s`;
/** A phrase in singular and in plural: `credit memo` and `credit memos`. */
export function bothNumbers(phrase: string) {
  const one = phrase.replace(/[^ ]+$/, singular);
  return { one, many: one.replace(/[^ ]+$/, plural) };
}

/** Splits a name into words: `amountDue` → `amount due`, `credit-memos` → `credit memos`. */
export const toWords = (name: string): string =>
  name.replaceAll(/[-_.]+|(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ').toLowerCase();
