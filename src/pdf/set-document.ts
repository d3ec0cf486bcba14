// A document becomes the bytes of a PDF. Runs only in the worker thread.
import PdfKit from 'pdfkit';
import type { PdfDocument, PdfResult } from './document.ts';
import { openFonts } from './driver/fonts.ts';
import { layOut } from './layout.ts';
import { createTypesetter } from './lines.ts';
import { prepareLogo } from './logo.ts';
import type { Page } from './sheet.ts';
import { findUnsettable, normalizeText } from './text.ts';

const defaultAccent = '#3b4657';

function normalize(document: PdfDocument): PdfDocument {
  const { language, brand, from, to, facts, tables, notes } = document;
  const all = (texts: readonly string[]): string[] => texts.map(normalizeText);
  return {
    language,
    title: normalizeText(document.title),
    brand: {
      name: normalizeText(brand.name),
      accent: /^#[\da-f]{6}$/i.test(brand.accent) ? brand.accent : defaultAccent,
      logo: brand.logo,
    },
    from: all(from),
    to: all(to),
    facts: facts.map(([label, value]) => [normalizeText(label), normalizeText(value)] as const),
    tables: tables.map(({ title, columns, rows, totals }) => ({
      title: title === null ? null : normalizeText(title),
      columns: columns.map((column) => ({ ...column, label: normalizeText(column.label) })),
      rows: rows.map(all),
      totals: totals.map((total) => ({
        ...total,
        label: normalizeText(total.label),
        value: normalizeText(total.value),
      })),
    })),
    notes: all(notes),
    pageOf: normalizeText(document.pageOf),
  };
}

/** In the order in which they are read. */
function* listTexts({ brand, from, to, title, facts, tables, notes, pageOf }: PdfDocument): Iterable<string> {
  yield* [brand.name, ...from, ...to, title, ...facts.flat()];
  for (const table of tables) {
    yield* [table.title ?? '', ...table.columns.map(({ label }) => label)];
    for (const row of table.rows) yield* row;
    yield* table.totals.flatMap(({ label, value }) => [label, value]);
  }
  yield* [...notes, pageOf];
}

/** Without times, so that the same document gives the same bytes. */
function openPdf({ language, title, brand }: PdfDocument): PDFKit.PDFDocument {
  const pdf = new PdfKit({
    size: 'A4',
    margin: 0,
    autoFirstPage: false,
    lang: language,
    displayTitle: true,
    info: { Title: title, Author: brand.name, CreationDate: new Date(0) },
  });
  // PDFKit needs the time, but writes only what can be enumerated.
  Object.defineProperty(pdf.info, 'CreationDate', { enumerable: false });
  return pdf;
}

function drawPage(pdf: PDFKit.PDFDocument, { texts, rules }: Page): void {
  for (const { x, y, width, height, color } of rules) pdf.rect(x, y - height / 2, width, height).fill(color);
  for (const { text, style, x, y } of texts)
    pdf
      .font(style.weight)
      .fontSize(style.size)
      .fillColor(style.color)
      .text(text, x, y, { lineBreak: false, baseline: 'alphabetic' });
}

function collect(pdf: PDFKit.PDFDocument): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  return new Promise((resolve, reject) => {
    pdf.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    pdf.once('error', reject).once('end', () => {
      const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      for (const chunk of chunks) {
        bytes.set(chunk, at);
        at += chunk.length;
      }
      resolve(bytes);
    });
  });
}

/** Rejects when a page can't be drawn, which no known document causes. */
export async function setDocument(given: PdfDocument): Promise<PdfResult> {
  const document = normalize(given);
  const pdf = openPdf(document);
  const collected = collect(pdf);
  const fonts = openFonts(pdf);
  const cannotSet = findUnsettable(listTexts(document), fonts.hasGlyph);
  if (cannotSet !== '') return { cannotSet };
  const drawLogo = prepareLogo(document.brand.logo);
  const pages = layOut(document, createTypesetter(fonts), drawLogo !== undefined);
  for (const [index, page] of pages.entries()) {
    pdf.addPage();
    if (index === 0) drawLogo?.(pdf);
    drawPage(pdf, page);
  }
  pdf.end();
  return { bytes: await collected };
}
