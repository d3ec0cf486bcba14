// Reads records as the service writes them, and shows their values. Numbers stay the digits of the response:
// a JavaScript number would lose some of them.
import { type Answer, api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Time } from '../../parts/time.tsx';
import { useRead } from '../../query.ts';
import type { ValueType } from './endpoint.ts';

export type Line = Readonly<Record<string, string | boolean | null | readonly (string | null)[]>>;
export type Value = string | boolean | null | readonly Line[] | readonly (string | null)[];
export type RecordRow = Readonly<Record<string, Value>>;
export type RecordPage = {
  readonly data: readonly RecordRow[];
  readonly pagination: { readonly page: number; readonly totalPages: number; readonly total: number };
  readonly fields: readonly { readonly name: string; readonly type: ValueType; readonly masked: boolean }[];
  readonly syncedAt: string | null;
  readonly staleFields: Answer<'/api-schema/{id}/records/{resource}'>['staleFields'];
};

/** JSON whose numbers are the text of their digits. */
const parseDigits = (json: string): unknown =>
  JSON.parse(
    json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
      token.startsWith('"') ? token : `"${token}"`,
    ),
  );

export type Place = { readonly id: string; readonly resource: string };
export type Parameters = readonly (readonly [name: string, value: string])[];

const path = '/api-schema/{id}/records/{resource}';

/** Null parameters read nothing. */
export function useRecords(place: Place, parameters: Parameters | null) {
  const key = parameters && `${path} ${JSON.stringify([place, parameters])}`;
  return useRead<RecordPage>(key, async () => {
    // Parameters that a version declares aren't in the types of the operation.
    const querySerializer = (): string =>
      new URLSearchParams((parameters ?? []) as [string, string][]).toString();
    const { data } = await api.GET(path, { params: { path: place }, querySerializer, parseAs: 'text' });
    const page = parseDigits(String(data)) as RecordPage;
    const { page: at, totalPages, total } = page.pagination;
    return {
      ...page,
      pagination: { page: Number(at), totalPages: Number(totalPages), total: Number(total) },
    };
  });
}

/** One value in a cell. */
export function Shown({ value = null, type }: { value: Value | undefined; type?: ValueType | undefined }) {
  if (value === null) return <span class="muted">–</span>;
  if (typeof value === 'boolean') return <>{String(value)}</>;
  if (typeof value !== 'string') {
    const entries = value.filter((one) => typeof one === 'string' || one === null);
    if (entries.length < value.length) return <span class="muted">{formatCount(value.length, 'line')}</span>;
    return <>{entries.map((one) => one ?? '–').join(' · ')}</>;
  }
  if (type === 'time' && !Number.isNaN(Date.parse(value))) return <Time at={value} />;
  return (
    <span class="record-value" title={value.length > 40 ? value : undefined}>
      {value}
    </span>
  );
}
