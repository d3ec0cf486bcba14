// Reads a view once for the mails of one slot, through the same read engine as the public interface.
import type { TenantCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { RecordReader } from '../../public/index.ts';
import { readStoredMetadata } from '../../sync/index.ts';
import { renderTemplate, TemplateError } from '../../templates/index.ts';
import { templateParts } from '../portal/templates.service.ts';
import { findTemplate } from '../portal/templates.store.ts';
import { recordQueryOf } from '../views/views.service.ts';
import type { ViewRow } from '../views/views.store.ts';
import { csvContent, type MailContext, type SlotContent, tableContent, templateContent, templateData, type ViewResult } from './content.ts';
import { type SlotWork, UndeliverableError } from './deliver-slot.ts';

/** Records in a mail with a table or a template. */
const maxRecordsInMail = 50;

/** The ERP's label of a field. A reference has one label for its id and its name; when the view has both, the id's label gets "(id)". */
async function labelOf(tenant: TenantCtx, { record_type: recordType, columns }: ViewRow): Promise<(source: string) => string> {
  const metadata = await readStoredMetadata(tenant);
  const fields = metadata?.recordTypes.find(({ name }) => name === recordType)?.fields ?? [];
  const labels = new Map(fields.map(({ name, label }) => [name, label]));
  return (source) => {
    const label = labels.get(source.replace(/\.name$/, '')) ?? source;
    return columns.includes(`${source}.name`) ? `${label} (id)` : label;
  };
}

/** The first records of the view. Throws 503 while the records can't be read. */
export async function readTable(records: RecordReader, tenant: TenantCtx, view: ViewRow): Promise<ViewResult> {
  const found = await records.list(tenant, recordQueryOf(view), { page: 1, pageSize: maxRecordsInMail });
  const label = await labelOf(tenant, view);
  return {
    columns: found.columns.map(({ name, source, type }) => ({ name, label: label(source), type })),
    records: parseExact(found.records) as ViewResult['records'],
    total: found.total,
    syncedAt: found.syncedAt,
    problems: found.problems.map(({ message }) => message),
  };
}

async function renderFor(tenant: TenantCtx, templateId: string, found: ViewResult, context: MailContext): Promise<SlotContent> {
  const template = await inTransaction(tenant, (tx) => findTemplate(tx, tenant.organizationId, templateId));
  if (template === undefined) throw new UndeliverableError('Its template was deleted');
  try {
    const texts = await renderTemplate<'subject' | 'body'>({
      organizationId: tenant.organizationId,
      parts: templateParts({ subject: template.subject ?? '', body: template.body }) as Required<ReturnType<typeof templateParts>>,
      data: templateData(found, context),
      now: tenant.clock.now(),
      timeZone: context.timezone,
    });
    return templateContent(found, context, texts);
  } catch (error) {
    if (error instanceof TemplateError) throw new UndeliverableError(`The template "${template.key}" failed: ${error.message}`);
    throw error;
  }
}

/** Reads the whole CSV into memory, up to the attachment limit. */
async function readCsv(
  records: RecordReader,
  tenant: TenantCtx,
  { view, context, slot }: SlotWork,
  stop: AbortSignal,
): Promise<SlotContent> {
  const maxBytes = tenant.settings.mail.maxAttachmentBytes;
  const aborter = new AbortController();
  try {
    const found = await records.csv(tenant, recordQueryOf(view), AbortSignal.any([aborter.signal, stop]));
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of found.bytes) {
      size += chunk.length;
      if (size > maxBytes)
        throw new UndeliverableError(
          `Its CSV is larger than the attachment limit of ${maxBytes.toLocaleString('en-US')} bytes: narrow the view by filters or columns, or save it as CSV from the view itself`,
        );
      chunks.push(chunk);
    }
    const summary = { total: found.total, syncedAt: found.syncedAt, problems: found.problems.map(({ message }) => message) };
    return csvContent(summary, Buffer.concat(chunks), context, slot.slot);
  } finally {
    aborter.abort();
  }
}

/**
 * Creates the content of a slot's mails. Throws 503 while the records can't be read, and UndeliverableError when a retry would not help.
 */
export async function readContent(records: RecordReader, tenant: TenantCtx, work: SlotWork, stop: AbortSignal): Promise<SlotContent> {
  const { view, context, subscription } = work;
  if (subscription.format === 'csv') return readCsv(records, tenant, work, stop);
  const found = await readTable(records, tenant, view);
  return subscription.template_id === null ? tableContent(found, context) : renderFor(tenant, subscription.template_id, found, context);
}
