// The public interface of this folder: sets a document as PDF, in a worker thread. It knows layout only: a
// document contains its texts as they are to be read. The same document gives the same bytes.
import { type AppError, invalid, unavailable } from '../core/errors.ts';
import { inRoot } from '../core/root.ts';
import { createWorkerThread, type WorkerThreadOptions } from '../core/work/worker-thread.ts';
import { type PdfDocument, type PdfResult, pdfLimits } from './document.ts';

export { type PdfDocument, type PdfLogo, type PdfResult, type PdfTable, pdfLimits } from './document.ts';

/**
 * Equal documents have equal bytes as long as this is equal, for entity tags. Increase the number whenever the same
 * document would be set in other bytes. zlib compresses in the same way only on one architecture, in one release.
 */
export const pdfRevision = `1 ${process.arch} ${process.versions.zlib}`;

export type PdfWriter = {
  /**
   * Rejects with 503 `unavailable` when too many documents wait, and with 422 when the document exceeds
   * `pdfLimits` (`too_many_rows`, `too_much_text`, `logo_too_large`), takes too long (`too_slow`) or needs too
   * much memory (`too_much_work`).
   */
  write(organizationId: string, document: PdfDocument): Promise<PdfResult>;
};

const refuse = (code: string, message: string, path = ''): AppError =>
  invalid(message, [{ path, code, message }]);

const listTexts = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(listTexts);
};

/** Throws 422 for a document that is larger than `pdfLimits` allow. */
function assertLimits(document: PdfDocument): void {
  const { maxRows, maxTextBytes, maxLogoBytes } = pdfLimits;
  const rows = document.tables.reduce((sum, table) => sum + table.rows.length, 0);
  if (rows > maxRows)
    throw refuse(
      'too_many_rows',
      `The PDF would have ${rows} rows; at most ${maxRows} are allowed`,
      'tables',
    );
  const textBytes = listTexts(document).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (textBytes > maxTextBytes)
    throw refuse(
      'too_much_text',
      `The PDF would have ${textBytes} bytes of text; at most ${maxTextBytes} are allowed`,
    );
  const logoBytes = document.brand.logo?.bytes.length ?? 0;
  if (logoBytes > maxLogoBytes)
    throw refuse(
      'logo_too_large',
      `The logo has ${logoBytes} bytes; at most ${maxLogoBytes} are allowed`,
      'brand.logo',
    );
}

const defaults: WorkerThreadOptions = {
  program: inRoot('src/pdf/worker.ts'),
  deadlineMs: pdfLimits.deadlineMs,
  heapMb: pdfLimits.maxHeapMb,
  maxWaiting: pdfLimits.maxWaiting,
  maxWaitingPerOwner: pdfLimits.maxWaitingPerOwner,
  tooManyWaiting: unavailable('Too many PDFs are waiting to be written', 5),
};

/**
 * Starts no thread before the first document; an idle thread keeps no process alive. `given` only in tests.
 * `write` rejects as PdfWriter describes.
 */
export function createPdfWriter(given: Partial<WorkerThreadOptions> = {}): PdfWriter {
  const thread = createWorkerThread<PdfDocument, PdfResult>({ ...defaults, ...given });
  return {
    async write(organizationId, document) {
      assertLimits(document);
      const result = await thread.run(organizationId, document);
      if (result === 'too_slow') throw refuse(result, 'The PDF takes too long to write');
      if (result === 'too_much_work') throw refuse(result, 'The PDF needs too much memory');
      return result;
    },
  };
}
