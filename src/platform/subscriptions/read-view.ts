// Reads a view for the mails of one slot: once, through the engine that everyone reads through.
import type { TenantCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { Records } from '../../public/index.ts';
import { readMetadata } from '../../sync/index.ts';
import { renderTemplate, TemplateError } from '../../templates/index.ts';
import { partsOf } from '../portal/templates.service.ts';
import { findTemplate } from '../portal/templates.store.ts';
import { queryOf } from '../views/views.service.ts';
import type { ViewRow } from '../views/views.store.ts';
import { type About, csvContent, type FoundView, type SlotContent, tableContent, templateContent, templateData } from './content.ts';
import { type SlotWork, Undeliverable } from './deliver-slot.ts';

/** At most so many records stand in a mail. */
const mostRecords = 50;

/** What the ERP calls a field. A reference has one label for its id and its name: beside the name, the id says that it is one. */
async function labelOf(tenant: TenantCtx, { record_type: recordType, columns }: ViewRow): Promise<(source: string) => string> {
  const metadata = await readMetadata(tenant);
  const fields = metadata?.recordTypes.find(({ name }) => name === recordType)?.fields ?? [];
  const labels = new Map(fields.map(({ name, label }) => [name, label]));
  return (source) => {
    const label = labels.get(source.replace(/\.name$/, '')) ?? source;
    return columns.includes(`${source}.name`) ? `${label} (id)` : label;
  };
}

/** Throws 503 while the records can't be read. */
async function readTable(records: Records, tenant: TenantCtx, view: ViewRow): Promise<FoundView> {
  const found = await records.list(tenant, queryOf(view), { page: 1, pageSize: mostRecords });
  const label = await labelOf(tenant, view);
  return {
    columns: found.columns.map(({ name, source, type }) => ({ name, label: label(source), type })),
    records: parseExact(found.records) as FoundView['records'],
    total: found.total,
    syncedAt: found.syncedAt,
    problems: found.problems.map(({ message }) => message),
  };
}

async function renderFor(tenant: TenantCtx, templateId: string, found: FoundView, about: About): Promise<SlotContent> {
  const template = await inTransaction(tenant, (tx) => findTemplate(tx, tenant.organizationId, templateId));
  if (template === undefined) throw new Undeliverable('Its template is gone');
  try {
    const texts = await renderTemplate<'subject' | 'body'>({
      organizationId: tenant.organizationId,
      parts: partsOf({ subject: template.subject ?? '', body: template.body }) as Required<ReturnType<typeof partsOf>>,
      data: templateData(found, about),
      now: tenant.clock.now(),
      timeZone: about.timezone,
    });
    return templateContent(found, about, texts);
  } catch (error) {
    if (error instanceof TemplateError) throw new Undeliverable(`The template "${template.key}" failed: ${error.message}`);
    throw error;
  }
}

/** Held in memory whole, up to what a mail may carry. */
async function readCsv(records: Records, tenant: TenantCtx, { view, about, slot }: SlotWork, stop: AbortSignal): Promise<SlotContent> {
  const most = tenant.settings.mail.mostAttachmentBytes;
  const left = new AbortController();
  try {
    const found = await records.csv(tenant, queryOf(view), AbortSignal.any([left.signal, stop]));
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of found.bytes) {
      size += piece.length;
      if (size > most)
        throw new Undeliverable(
          `Its CSV is larger than a mail may carry (${most.toLocaleString('en-US')} bytes): narrow the view by filters or columns, or save it as CSV from the view itself`,
        );
      pieces.push(piece);
    }
    const facts = { total: found.total, syncedAt: found.syncedAt, problems: found.problems.map(({ message }) => message) };
    return csvContent(facts, Buffer.concat(pieces), about, slot.slot);
  } finally {
    left.abort();
  }
}

/** What the mails of a slot say. Throws 503 while the records can't be read, and Undeliverable where trying again would not help. */
export async function readContent(records: Records, tenant: TenantCtx, work: SlotWork, stop: AbortSignal): Promise<SlotContent> {
  const { view, about, subscription } = work;
  if (subscription.format === 'csv') return readCsv(records, tenant, work, stop);
  const found = await readTable(records, tenant, view);
  return subscription.template_id === null ? tableContent(found, about) : renderFor(tenant, subscription.template_id, found, about);
}
