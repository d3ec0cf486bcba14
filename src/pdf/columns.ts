// The widths of a table's columns and the size of its text: the largest at which amounts, ids and dates keep
// to one line, and texts get room for words.
import type { PdfTable } from './document.ts';
import type { Style, Typesetter } from './lines.ts';
import { cellStyle, headStyle } from './styles.ts';

export type Columns = { readonly size: number; readonly gap: number; readonly widths: readonly number[] };

const sizes = [9, 8.5, 8, 7.5, 7, 6.5, 6];
const gapOf = (size: number): number => size * 1.6;
/** A text that is wider than this share of the table may be broken between words. */
const maxKeptShare = 0.28;
/** Where there is room, a text gets this many times its size before the table's text becomes smaller. */
const textRoom = 13;
const smallestGap = 3;

type Need = {
  /** Without any break, at a size of one point. */
  readonly whole: number;
  /** Without a break in a word. */
  readonly word: number;
  readonly numeric: boolean;
  readonly wide: boolean;
};

const unit = cellStyle(1);
const widest = (texts: readonly string[], { widthOf }: Typesetter, style: Style): number =>
  texts.reduce((width, text) => Math.max(width, widthOf(text, style)), 0);

function needOf(table: PdfTable, index: number, typesetter: Typesetter): Need {
  const { label = '', numeric = false, wide = false } = table.columns[index] ?? {};
  const paragraphs = table.rows.flatMap((row) => (row[index] ?? '').split('\n'));
  const head = headStyle(1);
  const whole = Math.max(widest(paragraphs, typesetter, unit), widest(label.split('\n'), typesetter, head));
  const words = numeric ? paragraphs : paragraphs.flatMap((paragraph) => paragraph.split(' '));
  const word = Math.max(widest(words, typesetter, unit), widest(label.split(/[ \n]/), typesetter, head));
  return { whole, word, numeric, wide };
}

/** Undefined where the table doesn't fit at this size. */
function widthsAt(size: number, needs: readonly Need[], room: number): number[] | undefined {
  const isText = ({ whole, numeric }: Need): boolean => !numeric && whole * size > room * maxKeptShare;
  const least = needs.map((need) =>
    isText(need)
      ? size * Math.min(need.whole, Math.max(Math.min(need.word, 2 * textRoom), textRoom))
      : size * need.whole,
  );
  const rest = room - least.reduce((sum, width) => sum + width, 0);
  if (rest < 0) return undefined;
  const growing = [({ wide }: Need) => wide, isText].find((each) => needs.some(each));
  const weights = needs.map((need) =>
    growing === undefined ? 1 : growing(need) ? Math.max(need.whole, 1) : 0,
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return least.map((width, at) => width + (rest * (weights[at] ?? 0)) / sum);
}

export function fitColumns(table: PdfTable, tableWidth: number, typesetter: Typesetter): Columns {
  const gaps = Math.max(table.columns.length - 1, 0);
  const needs = table.columns.map((_column, index) => needOf(table, index, typesetter));
  for (const size of sizes) {
    const widths = widthsAt(size, needs, tableWidth - gaps * gapOf(size));
    if (widths !== undefined) return { size, gap: gapOf(size), widths };
  }
  // Too much for the paper: words are broken.
  const size = sizes.at(-1) ?? 6;
  const wanted = needs.map(({ whole }) => Math.min(Math.max(whole, 2), textRoom));
  const gap = Math.min(smallestGap, tableWidth / (2 * gaps + 1));
  const share = (tableWidth - gaps * gap) / wanted.reduce((sum, width) => sum + width, 0);
  return { size, gap, widths: wanted.map((width) => width * share) };
}
