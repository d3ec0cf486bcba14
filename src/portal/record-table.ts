// Tables of records: those of a list, of the home page, of a page's block.
import { parseExact } from '../core/text/exact-json.ts';
import { recordsEndpoint } from '../platform/index.ts';
import {
  findMeaning,
  isNumeric,
  listShownFields,
  type RecordRow,
  readingOf,
  type ShownField,
  toValue,
} from './shown-fields.ts';
import type { Column, Table } from './view-model.ts';
import type { Visit } from './visit.ts';

/** Columns beyond these would not fit beside each other; the page of the record has all fields. */
const maxColumns = 7;

export const recordAddress = ({ site }: Pick<Visit, 'site'>, recordType: string, id: string): string =>
  `${site.base}/records/${encodeURIComponent(recordType)}/${encodeURIComponent(id)}`;
export const listAddress = (
  { site }: Pick<Visit, 'site'>,
  recordType: string,
  query: Readonly<Record<string, string>> = {},
): string => {
  const text = new URLSearchParams(query).toString();
  return `${site.base}/records/${encodeURIComponent(recordType)}${text === '' ? '' : `?${text}`}`;
};

export type FoundRecords = {
  readonly table: Table;
  readonly total: number;
  readonly page: number;
  readonly pageSize: number;
  readonly syncedAt: string | null;
};

/** The fields that a table reads for its columns: an amount needs its currency, a due date what is due. */
export const fieldsToRead = (visit: Visit, recordType: string, shown: readonly ShownField[]): string => {
  const more = (['currency', 'amountDue'] as const).flatMap(
    (meaning) => findMeaning(visit, recordType, meaning) ?? [],
  );
  return [...new Set([...shown.map(({ name }) => name), ...more])].filter((name) => name !== 'id').join(',');
};

type Wanted = {
  readonly recordType: string;
  /** As the public interface takes them. */
  readonly query: Readonly<Record<string, string>>;
  /** Defaults to the shown fields of the record type. */
  readonly fields?: readonly ShownField[];
  readonly sort?: (field: ShownField) => Column['sort'];
};

/** Rejects as lists of the public interface do. */
export async function readRows(visit: Visit, { recordType, query, fields, sort }: Wanted) {
  const shown = (fields ?? listShownFields(visit, recordType)).slice(0, maxColumns);
  const page = await visit.reader.list(recordsEndpoint(recordType), {
    ...query,
    fields: fieldsToRead(visit, recordType, shown),
  });
  const reading = readingOf(visit, recordType, page.fields);
  const rows = parseExact(page.records) as RecordRow[];
  return {
    page,
    columns: shown.map((field) => ({
      label: field.label,
      meaning: field.meaning,
      numeric: isNumeric(field, reading),
      sort: sort?.(field) ?? null,
    })),
    rows: rows.map((row) => ({
      id: String(row.id),
      href: recordAddress(visit, recordType, String(row.id)),
      cells: shown.map((field) => toValue(field, row, reading)),
    })),
  };
}

/** Rejects as `readRows`. */
export async function readTable(visit: Visit, wanted: Wanted): Promise<FoundRecords> {
  const { page, columns, rows } = await readRows(visit, wanted);
  const { total, pageSize, syncedAt } = page;
  return { ...{ total, page: page.page, pageSize, syncedAt }, table: { columns, rows } };
}

/** The shown fields that have one of these meanings, in this order. */
export function pickMeanings(
  visit: Visit,
  recordType: string,
  wanted: readonly NonNullable<ShownField['meaning']>[],
): ShownField[] {
  const shown = listShownFields(visit, recordType);
  return wanted.flatMap((meaning) => shown.find((field) => field.meaning === meaning) ?? []);
}
