// A view in a mail: its first records under the ERP's labels, or its summary's rows, and values as text.
import type { TenantCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import type { CallerRights, RecordReader } from '../../public/index.ts';
import { findDescription } from '../../sync/index.ts';
import { toRecordQuery } from './views.service.ts';
import type { ViewRow } from './views.store.ts';

/**
 * `amount`: it is an amount of money. `currency` is the key of its currency's name in each record, null where
 * none is known; `isNamed`: a column of the view shows that name.
 */
export type ViewColumn = {
  readonly name: string;
  /** Null for the number of records. */
  readonly source: string | null;
  readonly label: string;
  readonly type: string | null;
  readonly amount: { readonly currency: string | null; readonly isNamed: boolean } | null;
  /** What a missing value is shown as; nothing by default. */
  readonly empty?: string;
};
export type ViewTable = {
  /** What `records` are: those of the view, or the rows of its summary. */
  readonly unit: 'record' | 'row';
  readonly columns: readonly ViewColumn[];
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly syncedAt: string | null;
  readonly problems: readonly string[];
};

export const maxRecordsInMail = 50;

export type Fields = NonNullable<Awaited<ReturnType<typeof findDescription>>>['fields'];

/** The ERP's label. A reference has one for id and name; when the view has both, the id's gets "(id)". */
export function createLabeler(
  fields: Fields,
  { columns }: Pick<ViewRow, 'columns'>,
): (source: string) => string {
  const labels = new Map(fields.map(({ name, label }) => [name, label]));
  return (source) => {
    const label = labels.get(source.replace(/\.name$/, '')) ?? source;
    return columns.includes(`${source}.name`) ? `${label} (id)` : label;
  };
}

/** The first records of the view. Throws 503 while the records can't be read. */
export async function readViewTable(
  records: RecordReader,
  tenant: TenantCtx,
  view: ViewRow,
  rights: CallerRights,
  page = { page: 1, pageSize: maxRecordsInMail },
): Promise<ViewTable> {
  const fields = (await findDescription(tenant, view.record_type))?.fields ?? [];
  const amounts = new Map(
    fields.flatMap(({ name, currency }) =>
      currency === undefined ? [] : [[name, currency && `${currency}.name`]],
    ),
  );
  const currencies = new Set(view.columns.flatMap((source) => amounts.get(source) ?? []));
  const added = [...currencies].filter((source) => !view.columns.includes(source));
  const query = toRecordQuery({ ...view, columns: [...view.columns, ...added] });
  const found = await records.list(tenant, query, page, rights);
  const label = createLabeler(fields, view);
  const isAdded = (path: string) => Number(/^columns\[(\d+)\]/.exec(path)?.[1] ?? -1) >= view.columns.length;
  return {
    unit: 'record',
    columns: found.columns.slice(0, view.columns.length).map(({ name, source, type }) => {
      const currency = type === 'text' ? undefined : amounts.get(source); // masked amounts are texts
      const amount =
        currency === undefined
          ? null
          : { currency, isNamed: currency !== null && view.columns.includes(currency) };
      return { name, source, label: label(source), type, amount };
    }),
    records: parseExact(found.records) as ViewTable['records'],
    total: found.total,
    syncedAt: found.syncedAt,
    // A currency that isn't synced is left out of the amounts.
    problems: found.problems.filter(({ path }) => !isAdded(path)).map(({ message }) => message),
  };
}

const maxCellLength = 300;

/** `2026-03-02 10:00`, in the time zone. */
export const formatLocalTime = (instant: string, timezone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' }).format(
    new Date(instant),
  );

const cut = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
export const oneLine = (text: string, maxLength: number): string =>
  cut(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), maxLength);

/** The decimal places of a currency; two where its name is no code. */
function countDecimals(currency: string | null): number {
  if (currency === null || !/^[A-Z]{3}$/.test(currency)) return 2;
  return (
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
  );
}

/** `1,234.50`, exact: at least the currency's decimals, so that amounts line up, and all of the value's. */
function amountText(value: unknown, currency: string | null): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value); // large integers are texts
  const own = /\.(\d*?)0*$/.exec(text)?.[1]?.length ?? 0;
  const least = countDecimals(currency);
  const format = new Intl.NumberFormat('en-GB', {
    minimumFractionDigits: least,
    maximumFractionDigits: Math.max(least, own),
  });
  return format.format(text as Intl.StringNumericLiteral);
}

/** A record's value in a column as text for a mail. */
export function recordCell(
  record: Readonly<Record<string, unknown>>,
  { name, type, amount, empty = '' }: ViewColumn,
  timezone: string,
): string {
  const value = record[name] ?? null;
  if (value === null) return empty;
  if (amount === null) return cellText(value, type, timezone);
  const given = amount.currency === null ? null : record[amount.currency];
  const currency = typeof given === 'string' ? given : null;
  const text = amountText(value, currency);
  return currency === null || amount.isNamed ? text : `${text} ${oneLine(currency, 40)}`;
}

/** A value as text for a mail; empty for null. Numbers keep the digits that they were read with. */
function cellText(value: unknown, type: string | null, timezone: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string')
    return type === 'time' ? formatLocalTime(value, timezone) : oneLine(value, maxCellLength);
  if (Array.isArray(value)) return value.length === 1 ? '1 line' : `${value.length} lines`;
  return JSON.stringify(value);
}
