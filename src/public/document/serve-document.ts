// Serves one record as PDF: what its JSON says to the same caller, in the layout that was fixed when the version was
// published, under the company's brand of today.
import type { TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { parseDigits } from '../../core/text/exact-json.ts';
import type { Semaphore } from '../../core/work/semaphore.ts';
import { type PdfDocument, type PdfWriter, pdfRevision } from '../../pdf/index.ts';
import { attachment } from '../http/attachment.ts';
import { type ReadContext, readerFor, sendNotModifiedIfFresh, toIdentity } from '../http/exchange.ts';
import {
  addFreshness,
  assertMatch,
  computeEtag,
  matchingTag,
  sendBody,
  sendNotModified,
} from '../http/response.ts';
import type { RunLookup } from '../load/admission.ts';
import type { RecordPlan } from '../read/plan/plan.ts';
import { readSingleRecord } from '../read/result/rows.ts';
import type { CompiledDocument } from '../version/compile.ts';
import { notFoundError } from '../version/published.ts';
import { layOutInvoice, numberOf, type ShownRecord } from './invoice-layout.ts';

/** Of an organization, as it is now. */
export type DocumentBrand = Omit<PdfDocument['brand'], 'logo'> &
  Pick<PdfDocument, 'from' | 'notes'> & {
    /** Differs when anything else of the brand does, the logo included. */
    readonly key: string;
    readonly loadLogo: () => Promise<PdfDocument['brand']['logo']>;
  };

export type DocumentSources = {
  readonly writer: PdfWriter;
  readonly queue: Semaphore;
  readonly runLookup: RunLookup;
  readonly readBrand: (tenant: TenantCtx) => Promise<DocumentBrand>;
};

const layouts = { 'invoice-1': layOutInvoice } as const;

const refuse = (code: string, message: string) => invalid(message, [{ path: 'Accept', code, message }]);

async function write(
  { writer, queue }: DocumentSources,
  organizationId: string,
  shown: ShownRecord,
  { name, accent, from, notes, loadLogo }: DocumentBrand,
): Promise<Uint8Array> {
  const { [shown.document.layout]: layOut } = layouts;
  const result = await queue.run(organizationId, async () => {
    const brand = { name, accent, logo: await loadLogo() };
    return writer.write(organizationId, { ...layOut(shown), brand, from, notes });
  });
  if ('bytes' in result) return result.bytes;
  throw refuse('cannot_set', `The fonts of the PDF don't have these characters: ${result.cannotSet}`);
}

/**
 * Sends the PDF, or 304. Rejects with 404 without the record, with 412, with 422 `cannot_set`, or the codes of
 * `PdfWriter.write`, for a record that can't be set, and with 503 when nothing is synced, too many documents wait,
 * or the database is unavailable.
 */
export async function serveDocument(
  sources: DocumentSources,
  read: ReadContext,
  plan: RecordPlan,
  document: CompiledDocument,
): Promise<void> {
  const { readBrand, runLookup } = sources;
  const { exchange, endpoint, tenant } = read;
  const brand = await runLookup(tenant.organizationId, () => readBrand(tenant));
  const normalized = JSON.stringify([plan.normalized, document.layout, brand.key, pdfRevision]);
  if (await sendNotModifiedIfFresh(read, 'application/pdf', normalized)) return;
  const { record, freshness } = await readSingleRecord(readerFor(read), plan);
  if (record === null) throw notFoundError();
  const identity = toIdentity(read, 'application/pdf', normalized, freshness);
  assertMatch(exchange.req, identity);
  const known = matchingTag(exchange.req, identity);
  if (known !== undefined) {
    addFreshness(exchange, freshness, endpoint);
    return sendNotModified(exchange, known);
  }
  if (typeof record !== 'string')
    throw refuse('too_much_text', 'The record has too much text for a PDF; request fewer "fields"');
  const shown = { fields: plan.fields, record: parseDigits(record) as ShownRecord['record'], document };
  const bytes = await write(sources, tenant.organizationId, shown, brand);
  addFreshness(exchange, freshness, endpoint);
  exchange.headers.push('Content-Disposition', attachment(`${numberOf(shown)}.pdf`));
  const content = Buffer.from(bytes);
  const tag = computeEtag(identity, 'identity');
  sendBody(exchange, { tag, coding: 'identity', content, length: content.length }, 'application/pdf');
}
