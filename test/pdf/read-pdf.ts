// Reads a PDF back with pdf.js, which shares no code with the library that wrote it.
import { getDocumentProxy } from 'unpdf';

type Piece = { readonly text: string; readonly x: number; readonly right: number; readonly y: number };
export type ReadPage = {
  /** Pieces of text, in the order in which they were drawn; `y` grows upwards. */
  readonly pieces: readonly Piece[];
  readonly annotations: number;
};
export type ReadPdf = {
  readonly info: Readonly<Record<string, unknown>>;
  readonly language: string | null;
  readonly pages: readonly ReadPage[];
  /** Scripts and embedded files. */
  readonly extras: readonly unknown[];
};

export async function readPdf(bytes: Uint8Array): Promise<ReadPdf> {
  // pdf.js takes the bytes for itself.
  const pdf = await getDocumentProxy(new Uint8Array(bytes));
  const pages: ReadPage[] = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent({ disableNormalization: true });
    const pieces = items.flatMap((item) => {
      // pdf.js adds spaces between pieces.
      if (!('str' in item) || item.str.trim() === '') return [];
      const [x = 0, y = 0] = item.transform.slice(4) as number[];
      return [{ text: item.str, x, right: x + item.width, y }];
    });
    pages.push({ pieces, annotations: (await page.getAnnotations()).length });
  }
  const { info } = await pdf.getMetadata();
  const extras = [await pdf.getJSActions(), await pdf.getAttachments(), await pdf.getOpenAction()];
  const { Language: language = null } = info as { Language?: string };
  return { info: info as Record<string, unknown>, language, pages, extras };
}

export const textsOf = ({ pages }: ReadPdf): string[] =>
  pages.flatMap(({ pieces }) => pieces.map(({ text }) => text));
