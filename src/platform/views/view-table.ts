// A view as people see it in a mail: its first records under the ERP's labels, and its values as text.
import type { TenantCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/exact-json.ts';
import type { RecordReader } from '../../public/index.ts';
import { readStoredMetadata } from '../../sync/index.ts';
import { recordQueryOf } from './views.service.ts';
import type { ViewRow } from './views.store.ts';

export type ViewTable = {
  readonly columns: readonly { readonly name: string; readonly label: string; readonly type: string | null }[];
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly syncedAt: string | null;
  readonly problems: readonly string[];
};

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
export async function readViewTable(records: RecordReader, tenant: TenantCtx, view: ViewRow): Promise<ViewTable> {
  const found = await records.list(tenant, recordQueryOf(view), { page: 1, pageSize: maxRecordsInMail });
  const label = await labelOf(tenant, view);
  return {
    columns: found.columns.map(({ name, source, type }) => ({ name, label: label(source), type })),
    records: parseExact(found.records) as ViewTable['records'],
    total: found.total,
    syncedAt: found.syncedAt,
    problems: found.problems.map(({ message }) => message),
  };
}

const maxCellLength = 300;

/** `2026-03-02 10:00`, in the time zone. */
export const formatLocalTime = (instant: string, timezone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(instant));

const cut = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
export const oneLine = (text: string, maxLength: number): string =>
  cut(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), maxLength);

/** A value as text for a mail; empty for null. Numbers keep the digits that they were read with. */
export function cellText(value: unknown, type: string | null, timezone: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return type === 'time' ? formatLocalTime(value, timezone) : oneLine(value, maxCellLength);
  if (Array.isArray(value)) return value.length === 1 ? '1 line' : `${value.length} lines`;
  return JSON.stringify(value);
}
