// Reads records as the service writes them, and shows their values. Numbers stay the digits of the response:
// a JavaScript number would lose some of them.
import { type Answer, api } from '../api.ts';
import { formatAmount, formatCount } from '../format.ts';
import { useRead } from '../query.ts';
import type { ValueType } from '../screens/data/endpoint.ts';
import { Time } from './time.tsx';

export type Line = Readonly<Record<string, string | boolean | null | readonly (string | null)[]>>;
export type Value = string | boolean | null | readonly Line[] | readonly (string | null)[];
export type RecordRow = Readonly<Record<string, Value>>;
export type ShownField = {
  readonly name: string;
  readonly type: ValueType;
  readonly masked: boolean;
  /** Of an amount, the field that names its currency; null where none does. */
  readonly currency?: string | null;
};
export type RecordPage = {
  readonly data: readonly RecordRow[];
  readonly pagination: { readonly page: number; readonly totalPages: number; readonly total: number };
  readonly fields: readonly ShownField[];
  readonly syncedAt: string | null;
  readonly staleFields: Answer<'/api-schema/{id}/records/{resource}'>['staleFields'];
};
/** Keys of a group, and what is computed of its records, as `sum.total` or `count`. */
export type SummaryRow = Readonly<Record<string, string | boolean | null>>;
export type Summary = { readonly rows: readonly SummaryRow[]; readonly total: number };

/** JSON whose numbers are the text of their digits. */
const parseDigits = (json: string): unknown =>
  JSON.parse(
    json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
      token.startsWith('"') ? token : `"${token}"`,
    ),
  );

export type Place = { readonly id: string; readonly resource: string };
export type Parameters = readonly (readonly [name: string, value: string])[];

type RecordsPath =
  | '/api-schema/{id}/records/{resource}'
  | '/api-schema/{id}/records/{resource}/summary'
  | '/views/{id}/records'
  | '/views/{id}/rows';

/** Null parameters read nothing. */
function useDigits<T>(
  path: RecordsPath,
  place: Place | { readonly id: string },
  parameters: Parameters | null,
  toResult: (body: unknown) => T,
) {
  const key = parameters && `${path} ${JSON.stringify([place, parameters])}`;
  return useRead<T>(key, async () => {
    // Parameters that a version declares aren't in the types of the operation.
    const querySerializer = (): string =>
      new URLSearchParams((parameters ?? []) as [string, string][]).toString();
    const params = { path: place as Place };
    const { data } = await api.GET(path, { params, querySerializer, parseAs: 'text' });
    return toResult(parseDigits(String(data)));
  });
}

type Nested = Readonly<Record<string, SummaryRow[string] | SummaryRow>>;

type Paged = Pick<RecordPage, 'data' | 'pagination'>;
const withNumbers = <Page extends Paged>({ pagination: { page, totalPages, total }, ...rest }: Page): Page =>
  ({
    ...rest,
    pagination: { page: Number(page), totalPages: Number(totalPages), total: Number(total) },
  }) as Page;

/** One page of records. Null parameters read nothing. */
export const useRecords = (place: Place, parameters: Parameters | null) =>
  useDigits('/api-schema/{id}/records/{resource}', place, parameters, (body) =>
    withNumbers(body as RecordPage),
  );

type ViewPage = Paged & Pick<Answer<'/views/{id}/records'>, 'columns' | 'problems' | 'syncedAt'>;
/** One page of the records of a view. */
export const useViewRecords = (id: string, parameters: Parameters) =>
  useDigits('/views/{id}/records', { id }, parameters, (body) => withNumbers(body as ViewPage));

type ViewRows = Summary & Pick<Answer<'/views/{id}/rows'>, 'problems' | 'syncedAt'>;
/** Groups and totals of a view. */
export const useViewRows = (id: string) =>
  useDigits('/views/{id}/rows', { id }, [], (body): ViewRows => {
    const { data, total, ...rest } = body as ViewRows & { readonly data: readonly Nested[] };
    return { ...rest, rows: data.map(flatten), total: Number(total) };
  });

const flatten = (row: Nested): SummaryRow =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([field, one]) => [`${name}.${field}`, one] as const)
        : [[name, value] as const],
    ),
  );

/** Counts and sums of the records that the parameters select. Null parameters read nothing. */
export const useSummary = (place: Place, parameters: Parameters | null) =>
  useDigits('/api-schema/{id}/records/{resource}/summary', place, parameters, (body): Summary => {
    const { data, total } = body as { readonly data: readonly Nested[]; readonly total: string };
    return { rows: data.map(flatten), total: Number(total) };
  });

const isPlainNumber = /^-?\d+(\.\d{1,20})?$/;
/** A number with all of its digits, in groups. */
export const showNumber = (digits: string, currency?: string): string =>
  isPlainNumber.test(digits) ? formatAmount(digits, currency) : digits;

/** One value in a cell. */
export function Shown({ value = null, type }: { value: Value | undefined; type?: ValueType | undefined }) {
  if (value === null) return <span class="muted">–</span>;
  if (typeof value === 'boolean') return <>{String(value)}</>;
  if (typeof value !== 'string') {
    const entries = value.filter((one) => typeof one === 'string' || one === null);
    if (entries.length < value.length) return <span class="muted">{formatCount(value.length, 'line')}</span>;
    return <>{entries.map((one) => one ?? '–').join(' · ')}</>;
  }
  if (type === 'number') return <>{showNumber(value)}</>;
  if (type === 'time' && !Number.isNaN(Date.parse(value))) return <Time at={value} />;
  return (
    <span class="record-value" title={value.length > 40 ? value : undefined}>
      {value}
    </span>
  );
}
