// The cache of the service: bounded by the bytes of its entries, the least recently used evicted first, and
// optionally with a time to live. Concurrent callers share one read. The age of a value counts from the
// moment before it was read, so no value is older than promised.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { createHitCounter, type HitCounter } from './hit-counter.ts';

export type CacheOptions<V> = {
  /** 0 stores nothing; reads are shared all the same. */
  readonly maxBytes: number;
  /**
   * Estimates the size of a value, by default from its JSON text; key and overhead are added. One larger than
   * the cache is not stored.
   */
  readonly countBytes?: (value: V) => number;
  /**
   * How long a value is fresh; forever by default. Callers join a read that was started within `ms`, or with
   * `joinsSlowReads` any read in progress. A function is called at every use: the same value may be fresh for
   * longer at another time.
   */
  readonly ttl?: {
    readonly clock: Pick<Clock, 'monotonicMs'>;
    readonly ms: number | (() => number);
    readonly joinsSlowReads?: boolean;
  };
  readonly counter?: HitCounter | undefined;
  /** The key of a value that is read, when it may be newer than the one it was read for; by default that. */
  readonly toKey?: (value: V) => string;
  /**
   * For caches with a time to live. Whether a value is of an earlier state than another: of reads that
   * overlap in time, the value of the later state counts, whichever of them began first, so that no caller is
   * given an earlier state than another caller before.
   */
  readonly isEarlier?: (value: V, than: V) => boolean;
};

export type Cache<V> = {
  /** The fresh value. Counts a hit or a miss. */
  find(key: string): V | undefined;
  /** The fresh value, for callers that otherwise call `load`. Counts only a hit: `load` counts the miss. */
  findFresh(key: string): V | undefined;
  /** The last value, however old. Counts nothing. */
  findAny(key: string): V | undefined;
  /**
   * The fresh value, or the value from `read` or one of a later state. Rejects with the error of `read`,
   * which is not cached.
   */
  load(key: string, read: () => Promise<V>): Promise<V>;
  /** Stores a value from a read that started at `readAtMs`, by default now, unless a newer one is cached. */
  put(key: string, value: V, readAtMs?: number): void;
  evict(key: string): void;
  /**
   * The cached value is known to be replaced: the next `load` reads, and a read in progress counts only if it
   * has a later state.
   */
  outdate(key: string): void;
  /** Current size of all entries. */
  bytes(): number;
};

/** `storedAtMs`: when its last read ended, or when it was found to be replaced, as `isOutdated` says. */
type Entry<V> = { readonly value: V; readAtMs: number; storedAtMs: number; isOutdated: boolean };
type Reading<V> = { readonly value: Promise<V>; readonly startedAtMs: number };

/** Overhead of an entry on top of key and value: objects, list nodes, the slot in the map. */
const entryBytes = 200;
/** Objects in memory take more space than their JSON text. */
const textToMemory = 3;
export const jsonBytes = (value: unknown): number => textToMemory * (JSON.stringify(value)?.length ?? 0);
const forever = { clock: { monotonicMs: () => 0 }, ms: Infinity };

const createEntries = <V>(
  maxBytes: number,
  countBytes: (value: V) => number,
): LRUCache<string, Entry<V>> | undefined =>
  maxBytes === 0
    ? undefined
    : new LRUCache({
        maxSize: maxBytes,
        sizeCalculation: ({ value }, key) => Math.ceil(countBytes(value)) + key.length + entryBytes,
      });

/** The reads in progress, by key. */
function createReadings<V>() {
  const readings = new Map<string, Reading<V>>();
  return {
    find: (key: string): Reading<V> | undefined => readings.get(key),
    /** Calls `onValue` unless a later read or `forget` took the place of this one meanwhile. */
    start: (key: string, startedAtMs: number, value: Promise<V>, onValue: (value: V) => void): Promise<V> => {
      const reading: Reading<V> = { value, startedAtMs };
      readings.set(key, reading);
      const end = (): boolean => readings.get(key) === reading && readings.delete(key);
      value.then((read) => {
        if (end()) onValue(read);
      }, end);
      return value;
    },
    forget: (key: string): boolean => readings.delete(key),
  };
}

/** Puts values into `entries`, and finds out of date what they have: see `Cache`. */
function createPuts<V>(entries: LRUCache<string, Entry<V>> | undefined, { ttl, isEarlier }: CacheOptions<V>) {
  const { clock } = ttl ?? forever;
  const hasTtl = ttl !== undefined;
  const store = (key: string, entry: Entry<V> | undefined, value: V, readAtMs: number): void => {
    const times = { readAtMs, storedAtMs: clock.monotonicMs(), isOutdated: false };
    // The same value, seen again, is only refreshed.
    if (entry !== undefined && entry.value === value) Object.assign(entry, times);
    else entries?.set(key, { value, ...times });
  };
  /** Returns the value that counts: the given one, or a cached one of a later state. */
  const put = (key: string, value: V, readAtMs = clock.monotonicMs()): V => {
    const entry = hasTtl ? entries?.get(key) : undefined;
    if (entry === undefined || isEarlier === undefined || readAtMs >= entry.storedAtMs) {
      if (entry === undefined || entry.readAtMs <= readAtMs) store(key, entry, value, readAtMs);
      return value;
    }
    // The reads overlap. Each saw its state at or after its beginning, so the later state is as young as the
    // younger read.
    const youngestMs = Math.max(entry.readAtMs, readAtMs);
    const isOlder = isEarlier(value, entry.value);
    const isNewer =
      isEarlier(entry.value, value) || (!isOlder && !entry.isOutdated && readAtMs === youngestMs);
    if (isNewer) store(key, entry, value, youngestMs);
    else if (!entry.isOutdated) entry.readAtMs = youngestMs;
    return isOlder ? entry.value : value;
  };
  const outdate = (key: string): void => {
    const entry = entries?.get(key);
    if (entry !== undefined)
      Object.assign(entry, {
        readAtMs: Number.NEGATIVE_INFINITY,
        storedAtMs: clock.monotonicMs(),
        isOutdated: true,
      });
  };
  return { put, outdate };
}

function createFinds<V>(
  entries: ReturnType<typeof createEntries<V>>,
  isFresh: (atMs: number) => boolean,
  counter: HitCounter,
) {
  const freshEntry = (key: string): Entry<V> | undefined => {
    const entry = entries?.get(key);
    return entry !== undefined && isFresh(entry.readAtMs) ? entry : undefined;
  };
  const findFresh = (key: string): V | undefined => {
    const entry = freshEntry(key);
    if (entry !== undefined) counter.hits += 1;
    return entry?.value;
  };
  const find = (key: string): V | undefined => {
    const value = findFresh(key);
    if (value === undefined) counter.misses += 1;
    return value;
  };
  return { freshEntry, findFresh, find };
}

/** Rejects from `load` with the error of the read. */
export function createCache<V>(options: CacheOptions<V>): Cache<V> {
  const { counter = createHitCounter(), toKey, isEarlier } = options;
  const { clock, ms, joinsSlowReads = false }: NonNullable<CacheOptions<V>['ttl']> = options.ttl ?? forever;
  const isFresh = (atMs: number) => clock.monotonicMs() - atMs < (typeof ms === 'number' ? ms : ms());
  const entries = createEntries<V>(options.maxBytes, options.countBytes ?? jsonBytes);
  const readings = createReadings<V>();
  const { put, outdate } = createPuts(entries, options);
  const { freshEntry, findFresh, find } = createFinds(entries, isFresh, counter);
  return {
    find,
    findFresh,
    findAny: (key) => entries?.get(key)?.value,
    load: (key, read) => {
      const known = freshEntry(key);
      const reading = known === undefined ? readings.find(key) : undefined;
      const isJoinable = reading !== undefined && (joinsSlowReads || isFresh(reading.startedAtMs));
      if (known !== undefined || isJoinable) counter.hits += 1;
      else counter.misses += 1;
      if (known !== undefined) return Promise.resolve(known.value);
      if (isJoinable) return reading.value;
      const startedAtMs = clock.monotonicMs();
      const keep = (value: V): V => put(toKey?.(value) ?? key, value, startedAtMs);
      if (isEarlier === undefined) return readings.start(key, startedAtMs, read(), keep);
      return readings.start(key, startedAtMs, read().then(keep), () => undefined);
    },
    put,
    outdate: (key) => {
      readings.forget(key);
      outdate(key);
    },
    evict: (key) => {
      readings.forget(key);
      entries?.delete(key);
    },
    bytes: () => entries?.calculatedSize ?? 0,
  };
}
