// Reads a view for the mails of one slot: once, through the engine that everyone reads through.
import type { TenantCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/exact-json.ts';
import type { Records } from '../../public/index.ts';
import { readMetadata } from '../../sync/index.ts';
import { queryOf } from '../views/views.service.ts';
import type { ViewRow } from '../views/views.store.ts';
import { type FoundView, type SlotContent, tableContent } from './content.ts';
import type { SlotWork } from './deliver-slot.ts';

/** At most so many records stand in a mail. */
const mostRecords = 50;

/** What the ERP calls the fields of a record type, by their names. */
async function fieldLabels(tenant: TenantCtx, recordType: string): Promise<ReadonlyMap<string, string>> {
  const metadata = await readMetadata(tenant);
  const fields = metadata?.recordTypes.find(({ name }) => name === recordType)?.fields ?? [];
  return new Map(fields.map(({ name, label }) => [name, label]));
}

/** Throws 503 while the records can't be read. */
async function readTable(records: Records, tenant: TenantCtx, view: ViewRow): Promise<FoundView> {
  const found = await records.list(tenant, queryOf(view), { page: 1, pageSize: mostRecords });
  const labels = await fieldLabels(tenant, view.record_type);
  return {
    columns: found.columns.map(({ name, source, type }) => ({ name, label: labels.get(source.replace(/\.name$/, '')) ?? source, type })),
    records: parseExact(found.records) as FoundView['records'],
    total: found.total,
    syncedAt: found.syncedAt,
    problems: found.problems.map(({ message }) => message),
  };
}

/** What the mails of a slot say. Throws 503 while the records can't be read, and Undeliverable where trying again would not help. */
export const readContent = async (records: Records, tenant: TenantCtx, { view, about }: SlotWork): Promise<SlotContent> =>
  tableContent(await readTable(records, tenant, view), about);
