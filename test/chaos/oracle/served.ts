// What the service serves over HTTP: lists, their totals, single records, and the feed of changes.
import { setTimeout as pause } from 'node:timers/promises';
import type { Cell, Field, Shape } from './account.ts';
import { toResource } from './published.ts';

type Line = Readonly<Record<string, unknown>>;
export type ServedRecord = Line & { readonly id: string; readonly lines?: readonly Line[] };
export type Response = {
  readonly status: number;
  readonly text: string;
  readonly generation: string;
  readonly tag: string | null;
  /** The names of fields that callers are told to be out of date. */
  readonly stale: readonly string[];
};
/** A whole list, by id, each record as the text that was served. */
export type Snapshot = {
  readonly generation: string;
  readonly total: number;
  readonly ids: readonly string[];
  readonly records: ReadonlyMap<string, ServedRecord>;
  readonly stale: readonly string[];
};
export type Service = { get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response> };

const patienceMs = 60_000;
const pauseMs = 30;

/** `base`: the address of the version, once there is one. */
export const openService = (base: () => string, headers: Readonly<Record<string, string>>): Service => ({
  async get(path, more = {}) {
    const response = await fetch(`${base()}${path}`, { headers: { ...headers, ...more } });
    return {
      status: response.status,
      text: await response.text(),
      generation: response.headers.get('x-data-generation') ?? '',
      tag: response.headers.get('etag'),
      stale: (response.headers.get('x-data-stale-fields') ?? '')
        .split(',')
        .map((entry) => entry.split(';')[0]?.trim() ?? '')
        .filter((name) => name !== ''),
    };
  },
});

/** Repeats a request while the database is unavailable. Rejects with an Error when it stays so. */
export async function getPatiently(service: Service, path: string): Promise<Response> {
  for (const end = performance.now() + patienceMs; ; ) {
    const response = await service.get(path);
    if (response.status !== 503) return response;
    if (performance.now() > end) throw new Error(`${path} stays unavailable`);
    await pause(pauseMs);
  }
}

export type Page = {
  readonly data: readonly ServedRecord[];
  readonly pagination: { readonly total: number; readonly totalPages: number };
};
/**
 * Another one each time: the service keeps responses, and one that it kept says nothing about the records.
 */
let pageSize = 1_000;

/**
 * The pages of one generation; null when another one came in between. Throws an Error for a response other
 * than 200.
 */
async function readOnce(service: Service, recordType: string): Promise<Snapshot | null> {
  const found: ServedRecord[] = [];
  pageSize = pageSize === 900 ? 1_000 : pageSize - 1;
  const size = pageSize;
  let first: { response: Response; total: number } | undefined;
  for (let page = 1; ; page += 1) {
    const path = `/${toResource(recordType)}?pageSize=${size}&page=${page}`;
    const response = await getPatiently(service, path);
    if (response.status !== 200)
      throw new Error(`${path}: ${response.status} ${response.text.slice(0, 300)}`);
    const { data, pagination }: Page = JSON.parse(response.text);
    first ??= { response, total: pagination.total };
    if (response.generation !== first.response.generation) return null;
    found.push(...data);
    if (page < pagination.totalPages) continue;
    return {
      generation: first.response.generation,
      total: first.total,
      ids: found.map(({ id }) => id),
      records: new Map(found.map((record) => [record.id, record])),
      stale: first.response.stale,
    };
  }
}

/** How long a process may serve the generation before. */
const freshWithinMs = 3_000;

/**
 * The list from this generation on; null when it isn't served within the time that docs/guarantees.md states.
 */
export async function readSnapshot(
  service: Service,
  recordType: string,
  from: string | null,
): Promise<Snapshot | null> {
  for (const end = performance.now() + freshWithinMs; ; ) {
    const snapshot = await readOnce(service, recordType);
    if (snapshot !== null && (from === null || BigInt(snapshot.generation) >= BigInt(from))) return snapshot;
    if (performance.now() > end) return null;
    await pause(pauseMs);
  }
}

const asCell = (value: unknown): Cell => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 'T' : 'F';
  return String(value);
};
const toCells = (fields: readonly Field[], line: Line): Cell[] =>
  fields.map(({ name }) => asCell(line[name]));

/** A served record as the account's own texts. */
export const toContent = (
  { fields, lineFields }: Pick<Shape, 'fields' | 'lineFields'>,
  record: ServedRecord,
) => ({
  cells: toCells(fields, record),
  lines:
    lineFields === null
      ? null
      : (record.lines ?? []).map((line) => JSON.stringify(toCells(lineFields, line))),
});
export type Content = ReturnType<typeof toContent>;
