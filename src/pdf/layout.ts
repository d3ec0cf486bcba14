// The pages of a document: logo or name, addresses, title, facts, tables, notes, and a footer on each page.
import type { PdfDocument } from './document.ts';
import type { Typesetter } from './lines.ts';
import { type Block, type Page, Sheet } from './sheet.ts';
import { addressTop, contentWidth, hairline, lineHeight, paper, styles } from './styles.ts';
import { placeTable } from './table.ts';

/** The room of a logo, at the top left of the first page. */
export const logoBox = { x: paper.left, y: paper.top - 4, width: 170, height: 46 } as const;

const addressWidth = 230;

/** `hasLogo` leaves room for it; without one, the company's name is in its place. */
function placeHead(sheet: Sheet, document: PdfDocument, typesetter: Typesetter, hasLogo: boolean): void {
  const { brand, from, to } = document;
  const { breakText } = typesetter;
  const name = hasLogo ? [] : breakText(brand.name, addressWidth, styles.name);
  const sender = from.flatMap((line) => breakText(line, addressWidth, styles.from));
  const top = sheet.y;
  sheet.placeLines(paper.left, name);
  // Next to each other on the first page; below each other where the name fills it.
  const below = hasLogo ? logoBox.y + logoBox.height : sheet.y;
  if (sheet.pages.length === 1) sheet.moveTo(top);
  sheet.placeLines(paper.right, sender, true);
  const end = sheet.pages.length === 1 ? Math.max(below, sheet.y) + 24 : sheet.y + 24;
  if (sheet.pages.length === 1) sheet.moveTo(Math.max(end, to.length > 0 ? addressTop : end));
  else sheet.moveTo(end);
  for (const [index, line] of to.entries())
    sheet.placeLines(
      paper.left,
      breakText(line, addressWidth + 40, index === 0 ? styles.recipient : styles.to),
    );
}

function placeTitle(sheet: Sheet, document: PdfDocument, { breakText }: Typesetter): void {
  sheet.moveTo(sheet.y + (document.to.length > 0 ? 34 : 6));
  const lines = breakText(document.title, contentWidth, styles.title);
  if (!sheet.hasRoom(60)) sheet.startPage();
  if (lines.length > 0) sheet.rule({ x: paper.left, width: 26, height: 2.6, color: document.brand.accent });
  sheet.moveTo(sheet.y + 10);
  sheet.placeLines(paper.left, lines);
  sheet.moveTo(sheet.y + 10);
}

const maxFactsPerRow = 5;
const factGap = 16;
/** As many facts in a row as have one line each. */
function chooseFactsPerRow(facts: PdfDocument['facts'], { widthOf }: Typesetter): number {
  const widest = Math.max(
    ...facts.flatMap(([label, value]) => [widthOf(label, styles.factLabel), widthOf(value, styles.fact)]),
  );
  const fitting = Math.floor((contentWidth + factGap) / (widest + factGap));
  const most = Math.max(2, Math.min(maxFactsPerRow, fitting));
  // Rows of like length: six as three and three.
  return Math.ceil(facts.length / Math.ceil(facts.length / most));
}

function placeFacts(sheet: Sheet, { facts }: PdfDocument, typesetter: Typesetter): void {
  if (facts.length === 0) return;
  const perRow = Math.max(chooseFactsPerRow(facts, typesetter), 3);
  const width = (contentWidth + factGap) / perRow;
  const height = lineHeight(styles.fact);
  const frame = (): void => sheet.rule({ x: paper.left, width: contentWidth, height: 0.5, color: hairline });
  frame();
  sheet.moveTo(sheet.y + 6);
  for (let from = 0; from < facts.length; from += perRow) {
    const blocks = facts.slice(from, from + perRow).map(
      ([label, value], index): Block => ({
        x: paper.left + index * width,
        lines: [
          ...typesetter.breakText(label, width - factGap, styles.factLabel),
          ...typesetter.breakText(value, width - factGap, styles.fact),
        ],
      }),
    );
    const rowHeight = 2 * height + 6;
    if (!sheet.hasRoom(rowHeight)) sheet.startPage();
    sheet.placeRow(blocks, { lineHeight: height, padding: 3 });
  }
  sheet.moveTo(sheet.y + 6);
  frame();
}

const noteWidth = 400;

function placeNotes(sheet: Sheet, { notes }: PdfDocument, { breakText }: Typesetter): void {
  sheet.moveTo(sheet.y + 24);
  for (const note of notes) {
    const lines = breakText(note, noteWidth, styles.note);
    // A paragraph of a few lines keeps together.
    if (lines.length <= 4 && !sheet.hasRoom(lines.length * lineHeight(styles.note))) sheet.startPage();
    sheet.placeLines(paper.left, lines);
    sheet.moveTo(sheet.y + 5);
  }
}

function placeFooter(page: Page, left: string, right: string, { cutText, widthOf }: Typesetter): void {
  const y = paper.footer;
  page.rules.push({ x: paper.left, y: y - 14, width: contentWidth, height: 0.5, color: hairline });
  const number = cutText(right, contentWidth / 3, styles.footer);
  page.texts.push({ ...cutText(left, contentWidth * 0.6, styles.footer), x: paper.left, y });
  page.texts.push({ ...number, x: paper.right - widthOf(number.text, styles.footer), y });
}

export function layOut(document: PdfDocument, typesetter: Typesetter, hasLogo: boolean): readonly Page[] {
  const { brand, title, tables, pageOf } = document;
  const sheet = new Sheet(typesetter);
  placeHead(sheet, document, typesetter, hasLogo);
  placeTitle(sheet, document, typesetter);
  placeFacts(sheet, document, typesetter);
  for (const table of tables) {
    sheet.moveTo(sheet.y + 18);
    placeTable({ sheet, typesetter, accent: brand.accent }, table);
  }
  placeNotes(sheet, document, typesetter);
  const left = [brand.name, title].filter((text) => text !== '').join(' · ');
  for (const [index, page] of sheet.pages.entries()) {
    const right = pageOf
      .replaceAll('{page}', String(index + 1))
      .replaceAll('{pages}', String(sheet.pages.length));
    placeFooter(page, left, right, typesetter);
  }
  return sheet.pages;
}
