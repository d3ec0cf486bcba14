// A client of the public interface that reads continuously over HTTP: lists page by page, single records, and
// again with the ETag that it has. Every response names the generation it shows and must be that one, whole;
// responses of one generation must agree with each other.
import { setTimeout as pause } from 'node:timers/promises';
import type { RecordTypeName } from '../plan.ts';
import type { Survivors } from './clients.ts';
import { toResource } from './published.ts';
import type { Page, Response, ServedRecord, Service, Snapshot } from './served.ts';

type Seen = {
  readonly recordType: RecordTypeName;
  readonly generation: string;
  readonly address: string;
  /** The position of the first record; null for a single record. */
  readonly from: number | null;
  readonly size: number;
  readonly total: number | null;
  readonly data: readonly ServedRecord[];
};
/** The whole lists that were read, by generation. */
export type Generations = ReadonlyMap<RecordTypeName, ReadonlyMap<string, Snapshot>>;
export type Reader = {
  /** Every page once, from now on. */
  lap(): Promise<void>;
  /** Sends no request until the returned function is called; resolves when the last response is there. */
  pause(): Promise<() => void>;
  /**
   * A failover lost the later generations: their tags name nothing that is served, and they are other ones
   * than the next with their numbers.
   */
  lose(survivors: Survivors): void;
  /** Reads everything once more, then stops. */
  finish(): Promise<void>;
  answers(): number;
  problems(generations: Generations): string[];
};

type Tag = {
  readonly recordType: RecordTypeName;
  readonly tag: string;
  readonly generation: string;
  readonly isLost: boolean;
};

/** Requests pass while it is open. */
function openGate() {
  let closed: Promise<void> | undefined;
  const passing = new Set<Promise<unknown>>();
  return {
    async pass<T>(request: () => Promise<T>): Promise<T> {
      while (closed !== undefined) await closed;
      const asked = request();
      passing.add(asked);
      return asked.finally(() => passing.delete(asked));
    },
    async close(): Promise<() => void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      closed = promise;
      await Promise.allSettled(passing);
      return () => {
        closed = undefined;
        resolve();
      };
    },
  };
}

const text = (records: readonly (ServedRecord | undefined)[]): string => JSON.stringify(records);

/** What is wrong with a response by the list of its generation; null when it is exactly that. */
function findProblem(
  { address, generation, from, size, total, data }: Seen,
  { ids, records, total: rows }: Snapshot,
): string | null {
  const at = `${address} of generation ${generation}`;
  if (total !== null && total !== rows) return `${at} says ${total} and has ${rows}`;
  const expected =
    from === null
      ? data.map(({ id }) => records.get(id))
      : ids.slice(from, from + size).map((id) => records.get(id));
  if (text(data) === text(expected)) return null;
  const index = data.findIndex((record, place) => text([record]) !== text([expected[place]]));
  return `${at}: ${text([data[index]]).slice(0, 300)} instead of ${text([expected[index]]).slice(0, 300)}`;
}

/** What responses of a generation that nobody read as a whole say about each other. */
function disagreements(seen: readonly Seen[]): string[] {
  const records = new Map<string, string>();
  return seen.flatMap(({ recordType, generation, address, data }) =>
    data.flatMap((record) => {
      const key = `${recordType} ${generation} ${record.id}`;
      const known = records.get(key) ?? text([record]);
      records.set(key, known);
      return known === text([record])
        ? []
        : [`${address} shows record ${record.id} of generation ${generation} in two ways`];
    }),
  );
}

/** A pause between requests; everything here shares two cores. */
const paceMs = 25;
/** The responses allowed while a server is unavailable. */
const allowed = new Set([200, 304, 503]);

export function startReader(
  service: Service,
  recordTypes: readonly RecordTypeName[],
  pageSize: number,
): Reader {
  let seen: Seen[] = [];
  let failovers = 0;
  const wrong: string[] = [];
  const tags = new Map<string, Tag>();
  const gate = openGate();
  let done = false;

  /** Null for anything but a new response. */
  const ask = async (
    recordType: RecordTypeName,
    address: string,
    mayBeGone: boolean,
  ): Promise<Response | null> => {
    const known = tags.get(address);
    const response = await gate.pass(() =>
      service.get(address, known === undefined ? {} : { 'if-none-match': known.tag }),
    );
    if (known?.isLost === true && (response.status === 304 || response.tag === known.tag))
      wrong.push(
        `${address}: ${response.status} for a tag of generation ${known.generation}, which was lost`,
      );
    if (response.status === 304 && response.generation !== known?.generation)
      wrong.push(`${address}: 304 for generation ${known?.generation} at generation ${response.generation}`);
    if (!allowed.has(response.status) && !(mayBeGone && response.status === 404))
      wrong.push(`${address}: ${response.status} ${response.text.slice(0, 300)}`);
    if (response.status !== 200) return null;
    if (response.tag !== null)
      tags.set(address, { recordType, tag: response.tag, generation: response.generation, isLost: false });
    return response;
  };
  const readRecord = async (recordType: RecordTypeName, id: string): Promise<void> => {
    const address = `/${toResource(recordType)}/${id}`;
    const response = await ask(recordType, address, true);
    if (response === null) return;
    const { data }: { data: ServedRecord } = JSON.parse(response.text);
    seen.push({
      recordType,
      generation: response.generation,
      address,
      from: null,
      size: 1,
      total: null,
      data: [data],
    });
  };
  /** Resolves to the number of pages, as far as it is known. */
  const readPage = async (recordType: RecordTypeName, page: number, size: number): Promise<number> => {
    const address = `/${toResource(recordType)}?pageSize=${size}&page=${page}`;
    const response = await ask(recordType, address, false);
    if (response === null) return 1;
    const { data, pagination }: Page = JSON.parse(response.text);
    const { generation } = response;
    seen.push({
      recordType,
      generation,
      address,
      from: (page - 1) * size,
      size,
      total: pagination.total,
      data,
    });
    const [first] = data;
    if (first !== undefined) await readRecord(recordType, first.id);
    return pagination.totalPages;
  };
  const walk = async (size: number): Promise<void> => {
    for (const recordType of recordTypes) {
      const pages = await readPage(recordType, 1, size);
      for (let page = 2; page <= pages; page += 1) await readPage(recordType, page, size);
      if (!done) await pause(paceMs);
    }
  };
  const walking = (async () => {
    while (!done) await walk(pageSize);
  })();

  return {
    lap: () => walk(pageSize),
    pause: gate.close,
    lose(survivors) {
      failovers += 1;
      const isLost = (recordType: RecordTypeName, generation: string): boolean =>
        /^\d+$/.test(generation) && BigInt(generation) > (survivors.get(recordType) ?? 0n);
      for (const [address, tag] of tags)
        tags.set(address, { ...tag, isLost: tag.isLost || isLost(tag.recordType, tag.generation) });
      seen = seen.map((one) =>
        isLost(one.recordType, one.generation)
          ? { ...one, generation: `${one.generation} of lost timeline ${failovers}` }
          : one,
      );
    },
    async finish() {
      if (done) return walking;
      done = true;
      await walking;
      // Pages of another size: a response from the service's cache would not read the records.
      await walk(pageSize === 1 ? 2 : pageSize - 1);
    },
    answers: () => seen.length,
    problems(generations) {
      const unread: Seen[] = [];
      const mixed = seen.flatMap((answer) => {
        const snapshot = generations.get(answer.recordType)?.get(answer.generation);
        if (snapshot === undefined) unread.push(answer);
        return snapshot === undefined ? [] : (findProblem(answer, snapshot) ?? []);
      });
      return [...wrong, ...mixed, ...disagreements(unread)].slice(0, 5);
    },
  };
}
