// The thread that sets documents: no state between them, no access to the service.
import { parentPort } from 'node:worker_threads';
import type { PdfDocument, PdfResult } from './document.ts';
import { setDocument } from './set-document.ts';

async function answer(document: PdfDocument): Promise<void> {
  const result: PdfResult = await setDocument(document);
  parentPort?.postMessage(result, 'bytes' in result ? [result.bytes.buffer as ArrayBuffer] : []);
}

// A failure is an unhandled rejection, which ends the thread and rejects the task.
parentPort?.on('message', (document: PdfDocument) => void answer(document));
parentPort?.postMessage('ready');
