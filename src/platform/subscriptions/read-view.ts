// Reads a view once for the mails of one slot, through the same read engine as the public interface.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { allRows, type RecordReader } from '../../public/index.ts';
import { renderTemplate, TemplateError } from '../../templates/index.ts';
import { templateData } from '../portal/template-data.ts';
import { templateParts } from '../portal/templates.service.ts';
import { findTemplate } from '../portal/templates.store.ts';
import { readViewContent } from '../views/summary-table.ts';
import type { ViewTable } from '../views/view-table.ts';
import { toRecordQuery } from '../views/views.service.ts';
import { csvContent, type MailContext, type SlotContent, tableContent, templateContent } from './content.ts';
import { type SlotWork, UndeliverableError } from './deliver-slot.ts';

async function renderFor(tenant: TenantCtx, templateId: string, found: ViewTable, context: MailContext) {
  const template = await inTransaction(tenant, (tx) => findTemplate(tx, tenant.organizationId, templateId));
  if (template === undefined) throw new UndeliverableError('Its template was deleted');
  try {
    const texts = await renderTemplate<'subject' | 'body'>({
      organizationId: tenant.organizationId,
      parts: templateParts({ subject: template.subject ?? '', body: template.body }) as Required<
        ReturnType<typeof templateParts>
      >,
      data: templateData(found, context),
      now: tenant.clock.now(),
      timeZone: context.timezone,
    });
    return templateContent(found, context, texts);
  } catch (error) {
    if (error instanceof TemplateError)
      throw new UndeliverableError(`The template "${template.key}" failed: ${error.message}`);
    throw error;
  }
}

/** Reads the whole CSV into memory, up to the attachment limit. */
async function readCsv(
  records: RecordReader,
  tenant: TenantCtx,
  { view, context }: SlotWork,
  stop: AbortSignal,
): Promise<SlotContent> {
  const maxBytes = tenant.settings.mail.maxAttachmentBytes;
  const aborter = new AbortController();
  try {
    const found = await records.file(
      tenant,
      toRecordQuery(view),
      'csv',
      AbortSignal.any([aborter.signal, stop]),
      allRows({ unmasked: false }),
    );
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
    const summary = {
      total: found.total,
      syncedAt: found.syncedAt,
      problems: found.problems.map(({ message }) => message),
    };
    return csvContent(summary, Buffer.concat(chunks), context);
  } finally {
    aborter.abort();
  }
}

/** Creates a slot's mails. Throws 503 while records can't be read, UndeliverableError where that is final. */
export async function readContent(
  records: RecordReader,
  tenant: TenantCtx,
  work: SlotWork,
  stop: AbortSignal,
): Promise<SlotContent> {
  const { view, context, subscription } = work;
  if (subscription.format === 'csv') return readCsv(records, tenant, work, stop);
  const found = await readViewContent(records, tenant, view, allRows({ unmasked: false }));
  return subscription.template_id === null
    ? tableContent(found, context)
    : renderFor(tenant, subscription.template_id, found, context);
}
