// A table over as many pages as it needs, with its head on each, and its totals.
import { type Columns, fitColumns } from './columns.ts';
import type { PdfTable } from './document.ts';
import type { Line, Style, Typesetter } from './lines.ts';
import { type Block, type RowOptions, rowHeight, type Sheet } from './sheet.ts';
import {
  cellStyle,
  contentWidth,
  darkRule,
  hairline,
  headStyle,
  lineHeight,
  paper,
  styles,
} from './styles.ts';

/** A head that is higher is set once. */
const maxHeadHeight = 160;
const emptyPage = paper.bottom - paper.top;

type Frame = { readonly sheet: Sheet; readonly typesetter: Typesetter; readonly accent: string };

function toBlocks(
  { columns }: PdfTable,
  { gap, widths }: Columns,
  texts: readonly string[],
  toLines: (text: string, width: number) => Line[],
): Block[] {
  let x: number = paper.left;
  return columns.map(({ numeric }, index) => {
    const width = widths[index] ?? 0;
    const block = { x: numeric ? x + width : x, right: numeric, lines: toLines(texts[index] ?? '', width) };
    x += width + gap;
    return block;
  });
}

const fullRule = (sheet: Sheet, height: number, color: string): void =>
  sheet.rule({ x: paper.left, width: contentWidth, height, color });

type Total = { readonly blocks: readonly Block[]; readonly options: RowOptions; readonly strong: boolean };
const totalsWidth = 230;
const totalsGap = 18;

function layOutTotals({ totals }: PdfTable, { widthOf, breakText }: Typesetter): Total[] {
  const styleOf = (strong: boolean, plain: Style): Style => (strong ? styles.strongTotal : plain);
  const widest = (widths: number[]): number => Math.min(Math.max(0, ...widths) + 0.1, contentWidth / 2);
  const ofValues = widest(
    totals.map(({ value, strong = false }) => widthOf(value, styleOf(strong, styles.totalValue))),
  );
  const ofLabels = widest(
    totals.map(({ label, strong = false }) => widthOf(label, styleOf(strong, styles.total))),
  );
  const width = Math.min(contentWidth, Math.max(totalsWidth, ofLabels + totalsGap + ofValues));
  const labelWidth = width - totalsGap - ofValues;
  return totals.map(({ label, value, strong = false }) => ({
    blocks: [
      { x: paper.right - width, lines: breakText(label, labelWidth, styleOf(strong, styles.total)) },
      {
        x: paper.right,
        right: true,
        lines: breakText(value, ofValues, styleOf(strong, styles.totalValue)),
      },
    ],
    options: {
      lineHeight: lineHeight(strong ? styles.strongTotal : styles.totalValue),
      padding: strong ? 5 : 2.2,
    },
    strong,
  }));
}

const spaceAboveTotals = 7;
const totalsHeight = (totals: readonly Total[]): number =>
  totals.reduce((sum, { blocks, options }) => sum + rowHeight(blocks, options), 0) +
  (totals.length > 0 ? spaceAboveTotals : 0);

function placeTotals({ sheet, accent }: Frame, totals: readonly Total[]): void {
  const height = totalsHeight(totals);
  if (!sheet.hasRoom(height) && height <= emptyPage) sheet.startPage();
  if (totals.length > 0) sheet.moveTo(sheet.y + spaceAboveTotals);
  for (const { blocks, options, strong } of totals) {
    const x = blocks[0]?.x ?? paper.left;
    if (strong) sheet.rule({ x, width: paper.right - x, height: 1.2, color: accent });
    sheet.placeRow(blocks, options);
  }
}

/** The head, as a function that places it again. */
function createHead({ sheet, typesetter }: Frame, table: PdfTable, columns: Columns) {
  const style = headStyle(columns.size);
  const labels = table.columns.map(({ label }) => label);
  const blocks = toBlocks(table, columns, labels, (label, width) =>
    typesetter.breakText(label, width + 0.1, style),
  );
  const options = { lineHeight: lineHeight(style), padding: columns.size * 0.5 };
  const height = rowHeight(blocks, options);
  const place = (): void => {
    sheet.placeRow(blocks, options);
    fullRule(sheet, 0.8, darkRule);
  };
  return { height, place, repeat: height <= maxHeadHeight ? place : undefined };
}

/** A title, the head and the first row keep together, as do the last row and the totals. */
export function placeTable(frame: Frame, table: PdfTable): void {
  const { sheet, typesetter } = frame;
  const columns = fitColumns(table, contentWidth, typesetter);
  const head = createHead(frame, table, columns);
  const style = cellStyle(columns.size);
  const options = { lineHeight: lineHeight(style), padding: columns.size * 0.5, onNewPage: head.repeat };
  const toRow = (texts: readonly string[]): Block[] =>
    toBlocks(table, columns, texts, (text, width) => typesetter.breakText(text, width + 0.1, style));
  const totals = layOutTotals(table, typesetter);
  const room = emptyPage - (head.repeat === undefined ? 0 : head.height);

  const title =
    table.title === null ? [] : typesetter.breakText(table.title, contentWidth, styles.tableTitle);
  const first = rowHeight(toRow(table.rows[0] ?? []), options);
  const together = title.length * lineHeight(styles.tableTitle) + 4 + head.height + Math.min(first, 60);
  if (!sheet.hasRoom(together) && together <= emptyPage) sheet.startPage();
  if (title.length > 0) {
    sheet.placeLines(paper.left, title);
    sheet.moveTo(sheet.y + 4);
  }
  if (table.columns.length > 0) head.place();
  for (const [index, texts] of table.rows.entries()) {
    const blocks = toRow(texts);
    const height = rowHeight(blocks, options);
    const kept = height + (index === table.rows.length - 1 ? totalsHeight(totals) : 0);
    const needed = kept <= room ? kept : height;
    if (!sheet.hasRoom(needed) && needed <= room) {
      sheet.startPage();
      head.repeat?.();
    }
    sheet.placeRow(blocks, options);
    fullRule(sheet, 0.5, hairline);
  }
  placeTotals(frame, totals);
}
