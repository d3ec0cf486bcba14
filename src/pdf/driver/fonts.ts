// Opens the fonts in a PDFKit document and measures texts. PDFKit keeps the glyphs of each word unless a text
// asks for OpenType features, and so is six times as slow with them: the font itself is made to use them instead.
import { fileURLToPath } from 'node:url';

export type Weight = 'regular' | 'strong';
export type Fonts = {
  /** Whether every weight has a glyph for it. */
  hasGlyph(codePoint: number): boolean;
  /** Points at a font size of one point. */
  measure(text: string, weight: Weight): number;
};

const files: Readonly<Record<Weight, URL>> = {
  regular: new URL('../fonts/Inter-Regular.ttf', import.meta.url),
  strong: new URL('../fonts/Inter-SemiBold.ttf', import.meta.url),
};

type Glyph = { readonly id: number; readonly advanceWidth: number };
type Run = { readonly glyphs: Glyph[]; readonly positions: { xAdvance: number }[] };
type Font = {
  layout(text: string, features: Readonly<Record<string, boolean>>): Run;
  hasGlyphForCodePoint(codePoint: number): boolean;
};
type Inside = PDFKit.PDFDocument & { readonly _font: { readonly font: Font } };

/** Alternates by context show 3x4 as a product and -> as an arrow. */
const withoutAlternates = { calt: false };
/** Also changes hyphens and parentheses, so only its digits are used. */
const withTabularDigits = { calt: false, tnum: true };
const measuredSize = 1_000;

/** Digits of one width, by the glyph that they replace. */
function listTabularDigits(layout: Font['layout']): ReadonlyMap<number, Glyph> {
  const [plain, tabular] = [withoutAlternates, withTabularDigits].map(
    (features) => layout('0123456789', features).glyphs,
  );
  return new Map(
    plain?.flatMap(({ id }, index) => {
      const digit = tabular?.[index];
      return digit === undefined ? [] : [[id, digit] as const];
    }),
  );
}

function openFont(document: PDFKit.PDFDocument, weight: Weight): Font {
  document.registerFont(weight, fileURLToPath(files[weight])).font(weight);
  const { font } = (document as Inside)._font;
  const layout = font.layout.bind(font);
  const digits = listTabularDigits(layout);
  font.layout = (text) => {
    const run = layout(text, withoutAlternates);
    // Without kerning before and after digits, which would move commas and points into them.
    for (const [index, glyph] of run.glyphs.entries()) {
      const digit = digits.get(glyph.id);
      const next = run.glyphs[index + 1];
      const position = run.positions[index];
      if (digit !== undefined) run.glyphs[index] = digit;
      if (position !== undefined && (digit !== undefined || (next !== undefined && digits.has(next.id))))
        position.xAdvance = (digit ?? glyph).advanceWidth;
    }
    return run;
  };
  return font;
}

/** Registers the fonts by the names of their weights. */
export function openFonts(document: PDFKit.PDFDocument): Fonts {
  const opened = [openFont(document, 'regular'), openFont(document, 'strong')];
  return {
    hasGlyph: (codePoint) => opened.every((font) => font.hasGlyphForCodePoint(codePoint)),
    measure: (text, weight) =>
      document.font(weight).fontSize(measuredSize).widthOfString(text) / measuredSize,
  };
}
