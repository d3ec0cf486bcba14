// A client that keeps a copy of a record type by the feed of changes, in small pages, while everything else
// continues: applied in order, the changes must give the list.
import { setTimeout as pause } from 'node:timers/promises';
import type { RecordTypeName } from '../plan.ts';
import { toResource } from './published.ts';
import type { ServedRecord, Service, Snapshot } from './served.ts';

type Change = {
  readonly op: 'upsert' | 'delete';
  readonly id: string;
  readonly at: string;
  readonly record: ServedRecord | null;
};
type Feed = { readonly data: readonly Change[]; readonly next: string; readonly hasMore: boolean };
export type Copy = {
  /**
   * Requests the next page, one at a time; resolves to whether more follow, null when there was no response.
   */
  poll(): Promise<boolean | null>;
  /** Requests pages until none follows. */
  follow(): Promise<void>;
  /** Reads from this token, or discards the copy and starts over, as someone said who saw this generation. */
  readFrom(since: string | null, told: number): Promise<void>;
  /** A failover left this generation: a token of a later one must be rejected. */
  lose(surviving: bigint): void;
  changes(): number;
  /** Describes how the copy differs from the list. */
  differences(snapshot: Snapshot): string[];
  /** Catches up first. */
  problems(snapshot: Snapshot): Promise<string[]>;
};

const limit = 40;
const maxPages = 400;
const pauseMs = 30;

export function openCopy(service: Service, recordType: RecordTypeName): Copy {
  const held = new Map<string, string>();
  const wrong: string[] = [];
  let next: string | null = null;
  let generation = 0n;
  let count = 0;
  let isLost = false;
  let asked: Promise<unknown> = Promise.resolve();

  const apply = ({ op, id, record }: Change): void => {
    if (op === 'delete') held.delete(id);
    else held.set(id, JSON.stringify(record));
    count += 1;
  };
  const readNext = async (): Promise<boolean | null> => {
    const path = `/${toResource(recordType)}/changes?limit=${limit}${next === null ? '' : `&since=${encodeURIComponent(next)}`}`;
    const response = await service.get(path);
    if (response.status === 410) {
      held.clear(); // the table was loaded again
      next = null;
      isLost = false;
      return true;
    }
    if (response.status === 503) return null;
    if (isLost && next !== null)
      wrong.push(`${path}: ${response.status} for a token of a generation that was lost`);
    isLost = false;
    if (response.status !== 200) {
      wrong.push(`${path}: ${response.status} ${response.text.slice(0, 300)}`);
      return null;
    }
    if (BigInt(response.generation) < generation)
      wrong.push(`${path} goes back from generation ${generation} to ${response.generation}`);
    generation = BigInt(response.generation);
    const feed: Feed = JSON.parse(response.text);
    for (const change of feed.data) apply(change);
    next = feed.next;
    return feed.hasMore;
  };
  const poll = (): Promise<boolean | null> => {
    const turn = asked.then(readNext);
    asked = turn.catch(() => undefined);
    return turn;
  };
  const follow = async (): Promise<void> => {
    for (let pages = 0; pages < maxPages; pages += 1) {
      const hasMore = await poll();
      if (hasMore === false) return;
      if (hasMore === null) await pause(pauseMs);
    }
  };
  const differences = ({ records }: Snapshot): string[] => {
    const found = wrong.splice(0);
    for (const id of held.keys())
      if (!records.has(id)) found.push(`${recordType} ${id} went without a change for its followers`);
    for (const [id, record] of records) {
      const known = held.get(id);
      if (known === undefined) found.push(`${recordType} ${id} came without a change for its followers`);
      else if (known !== JSON.stringify(record))
        found.push(`${recordType} ${id} changed without a change for its followers`);
    }
    return found.slice(0, 5);
  };
  return {
    poll,
    follow,
    lose(surviving) {
      isLost ||= generation > surviving;
      if (generation > surviving) generation = surviving;
    },
    changes: () => count,
    differences,
    async readFrom(since, told) {
      if (since === null) held.clear();
      [next, isLost] = [since, false];
      if (BigInt(told) > generation) generation = BigInt(told);
      await follow();
    },
    async problems(snapshot) {
      await follow();
      return differences(snapshot);
    },
  };
}
