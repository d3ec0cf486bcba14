// Reads a view for the mails of one slot: once, through the engine that everyone reads through.
import type { TenantCtx } from '../../core/ctx.ts';
import type { openRecords, RecordQuery } from '../../public/index.ts';
import { readMetadata } from '../../sync/index.ts';
import { ExactNumber, type FoundView, type SlotContent, tableContent, type Value } from './content.ts';
import type { SlotWork } from './deliver-slot.ts';
import type { ViewRow } from './sight.ts';

type Records = ReturnType<typeof openRecords>;

/** At most so many records stand in a mail. */
const mostRecords = 50;

type Filter = RecordQuery['filters'][number];
type Given = Filter['values'][number];

const queryOf = (view: ViewRow): RecordQuery => ({
  recordType: view.record_type,
  columns: view.columns.map((source) => ({ name: source, source })),
  filters: view.filters.map(({ field, operator, value }) => ({
    source: field,
    operator: operator as Filter['operator'],
    values: (Array.isArray(value) ? value : [value]) as Given[],
  })),
  sort: view.sort.map(({ field, direction }) => ({ source: field, direction })),
});

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const exactly: Reviver = (_key, value, { source }) => (typeof value === 'number' && source !== undefined ? new ExactNumber(source) : value);
const parseRecords = (text: string): FoundView['records'] =>
  (JSON.parse as (text: string, reviver: Reviver) => Record<string, Value>[])(text, exactly);

/** What the ERP calls the fields of a record type, by their names. */
async function fieldLabels(tenant: TenantCtx, recordType: string): Promise<ReadonlyMap<string, string>> {
  const metadata = await readMetadata(tenant);
  const fields = metadata?.recordTypes.find(({ name }) => name === recordType)?.fields ?? [];
  return new Map(fields.map(({ name, label }) => [name, label]));
}

/** Throws 503 while the records can't be read. */
export async function readTable(records: Records, tenant: TenantCtx, view: ViewRow): Promise<FoundView> {
  const found = await records.list(tenant, queryOf(view), { page: 1, pageSize: mostRecords });
  const labels = await fieldLabels(tenant, view.record_type);
  return {
    columns: found.columns.map(({ name, source, type }) => ({
      name,
      label: labels.get(source.replace(/\.name$/, '')) ?? source,
      type,
    })),
    records: parseRecords(found.records),
    total: found.total,
    syncedAt: found.syncedAt,
    problems: found.problems.map(({ message }) => message),
  };
}

/** What the mails of a slot say. Throws 503 while the records can't be read, and Undeliverable where trying again would not help. */
export const readContent = async (records: Records, tenant: TenantCtx, { view, about }: SlotWork): Promise<SlotContent> =>
  tableContent(await readTable(records, tenant, view), about);
