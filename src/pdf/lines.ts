// Breaks texts into lines: at spaces, and within a word only where the word alone is too long for a line.
import type { Fonts, Weight } from './driver/fonts.ts';

export type Style = { readonly size: number; readonly weight: Weight; readonly color: string };
export type Line = { readonly text: string; readonly style: Style };

/** Longer words are measured by their characters: shaping them takes long, and gains only kerning. */
const maxShapedLength = 64;

type Ruler = {
  /** Characters as people count them, with their marks. */
  readonly split: (text: string) => string[];
  /** Without line breaks, in points. */
  readonly widthOf: (text: string, style: Style) => number;
};

/** Each with the space that ends it. */
const listWords = (text: string): string[] => text.split(/(?<= )/);

function createRuler({ measure }: Fonts): Ruler {
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });
  const split = (text: string): string[] => Array.from(characters.segment(text), ({ segment }) => segment);
  const widths = { regular: new Map<string, number>(), strong: new Map<string, number>() };

  /** At a font size of one point. */
  function measureWord(word: string, weight: Weight): number {
    const known = widths[weight].get(word);
    if (known !== undefined) return known;
    const parts = word.length > maxShapedLength ? split(word) : [];
    const width =
      parts.length > 1
        ? parts.reduce((sum, character) => sum + measureWord(character, weight), 0)
        : measure(word, weight);
    widths[weight].set(word, width);
    return width;
  }

  return {
    split,
    widthOf: (text, { size, weight }) =>
      size * listWords(text).reduce((sum, word) => sum + measureWord(word, weight), 0),
  };
}

function breakWord(word: string, maxWidth: number, style: Style, { split, widthOf }: Ruler): string[] {
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const character of split(word)) {
    const added = widthOf(character, style);
    if (piece !== '' && width + added > maxWidth) {
      pieces.push(piece);
      piece = '';
      width = 0;
    }
    piece += character;
    width += added;
  }
  return [...pieces, piece];
}

function breakParagraph(text: string, maxWidth: number, style: Style, ruler: Ruler): string[] {
  const { widthOf } = ruler;
  const lines: string[] = [];
  let line = '';
  let width = 0;
  for (const word of listWords(text)) {
    const bare = word.trimEnd();
    const bareWidth = widthOf(bare, style);
    if (line !== '' && width + bareWidth > maxWidth) {
      lines.push(line.trimEnd());
      line = '';
      width = 0;
    }
    if (bareWidth > maxWidth) {
      lines.push(...breakWord(bare, maxWidth, style, ruler));
      line = (lines.pop() ?? '') + word.slice(bare.length);
      width = widthOf(line, style);
    } else {
      line += word;
      width += widthOf(word, style);
    }
  }
  return [...lines, line.trimEnd()];
}

export type Typesetter = Pick<Ruler, 'widthOf'> & {
  /** A text's lines; none for an empty text. */
  readonly breakText: (text: string, maxWidth: number, style: Style) => Line[];
  /** The text in one line, cut where it is too long. */
  readonly cutText: (text: string, maxWidth: number, style: Style) => Line;
};

export function createTypesetter(fonts: Fonts): Typesetter {
  const ruler = createRuler(fonts);
  const { widthOf } = ruler;
  return {
    widthOf,
    breakText: (text, maxWidth, style) =>
      text === ''
        ? []
        : text
            .split('\n')
            .flatMap((paragraph) => breakParagraph(paragraph, maxWidth, style, ruler))
            .map((line) => ({ text: line, style })),
    cutText(text, maxWidth, style) {
      const line = text.replaceAll('\n', ' ');
      if (widthOf(line, style) <= maxWidth) return { text: line, style };
      const [first = ''] = breakWord(line, maxWidth - widthOf('…', style), style, ruler);
      return { text: `${first.trimEnd()}…`, style };
    },
  };
}
