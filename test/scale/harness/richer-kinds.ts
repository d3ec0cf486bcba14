// Reads of what the version declares beyond plain lists, for the clients in replica-readers.ts: each shows in
// its records, its related records and its sums which state it is of, and how many records it counts.
import { parts } from './replicated-service.ts';

type Shown = { readonly states: readonly unknown[]; readonly found: number; readonly part?: number };
type Get = (path: string, headers?: Record<string, string>) => Promise<string>;
type Kind = { readonly weight: number; read(): Promise<Shown> };

type ParentJson = { readonly total: unknown } | null;
type RecordJson = { readonly total: unknown; readonly parent: ParentJson };
type RowJson = {
  readonly count: number;
  readonly min: { readonly total: string };
  readonly max: { readonly total: string };
};

const below = (count: number): number => Math.floor(Math.random() * count);
const listStates = ({ total, parent }: RecordJson): unknown[] => [
  total,
  ...(parent === null ? [] : [parent.total]),
];
const shownBy = (rows: readonly RowJson[]): Shown => ({
  states: rows.flatMap(({ min, max }) => [min.total, max.total]),
  found: rows.reduce((sum, { count }) => sum + count, 0),
});

const list = '/api/public/v1/things';
const summary = `${list}/summary?count=true&min=total&max=total`;

/**
 * By name, as the other kinds are counted. `records`: the number that every state has at least; `countRecords`: as
 * of the service.
 */
export function richerKinds(
  get: Get,
  records: number,
  countRecords: (state: number) => number,
): Record<string, Kind> {
  const shownIn = (text: string): Shown => {
    const { data, pagination } = JSON.parse(text) as { data: RecordJson[]; pagination: { total: number } };
    return { states: data.flatMap(listStates), found: pagination.total };
  };
  const ofPart = async (parameters: (part: number) => string): Promise<Shown> => {
    const part = below(parts);
    return { ...shownIn(await get(`${list}?${parameters(part)}&pageSize=10&expand=parent`)), part };
  };
  const kinds: Record<string, Kind['read']> = {
    expand: async () => shownIn(await get(`${list}?expand=parent&pageSize=25&page=${1 + below(8)}`)),
    'expanded record': async () => {
      const { data } = JSON.parse(await get(`${list}/${1 + below(records)}?expand=parent`)) as {
        data: RecordJson;
      };
      return { states: listStates(data), found: countRecords(Number(data.total)) };
    },
    search: () => ofPart((part) => `q=${encodeURIComponent(`PART ${part}`)}&sort=part,-name`),
    or: () => ofPart((part) => `or=(part:eq:${part},total:lte:0)`),
    lines: () => ofPart((part) => `lines.item=item-${part}`),
    summary: async () =>
      shownBy((JSON.parse(await get(`${summary}&by=part&sort=-count`)) as { data: RowJson[] }).data),
    'summary of a filter': async () => {
      const part = below(parts);
      const { data } = JSON.parse(
        await get(`${summary}&lines.item=item-${part}&lines.amount_gt=${below(3) - 3}`),
      ) as { data: RowJson[] };
      return { ...shownBy(data), part };
    },
    'summary as JSON lines': async () => {
      const text = await get(`${summary}&by=name`, { accept: 'application/x-ndjson' });
      return shownBy(text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as RowJson])));
    },
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([name, read]) => [name, { weight: name.endsWith('lines') ? 2 : 5, read }]),
  );
}
