// Texts as they are set: normalized, without characters that are invisible, and which characters can't be set.

/** Only a plain space is a place to break a line; `Intl` writes others within numbers and dates. */
const otherSpaces = /[\t\u1680\u205f\u3000]/g;
const lineBreaks = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
/** Soft hyphens, zero-width characters, marks of direction, variation selectors, and controls. */
const invisible = /\p{Default_Ignorable_Code_Point}|(?!\n)\p{Cc}/gu;

/** NFC, with `\n` for every kind of line break. Lone surrogates become U+FFFD, which can't be set. */
export const normalizeText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(lineBreaks, '\n')
    .replaceAll(otherSpaces, ' ')
    .replaceAll(invisible, '')
    .normalize('NFC');

/** Other scripts need right-to-left lines, shaping or line breaking that the layout doesn't do. */
const settable =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}\p{Script=Inherited}]$/u;

const maxReported = 20;

/** The first distinct characters of normalized texts that can't be set; `hasGlyph` knows the fonts. */
export function findUnsettable(texts: Iterable<string>, hasGlyph: (codePoint: number) => boolean): string {
  const known = new Map<string, boolean>([['\n', true]]);
  const found: string[] = [];
  for (const text of texts)
    for (const character of text) {
      if (known.has(character)) continue;
      const isSettable = settable.test(character) && hasGlyph(character.codePointAt(0) ?? 0);
      known.set(character, isSettable);
      if (!isSettable && found.push(character) === maxReported) return found.join('');
    }
  return found.join('');
}
