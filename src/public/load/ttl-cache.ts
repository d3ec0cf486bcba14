// A TTL cache with shared loads: a value is served until it is older than the TTL, and then read again, once for all concurrent callers.
// The age counts from the moment before the read, so no value is older than promised.
import type { Clock } from '../core/clock.ts';
import { createHitCounter, type HitCounter } from '../core/hit-counter.ts';
import { createByteCache } from './byte-cache.ts';

export type TtlCache<V> = {
  /** The fresh value, or the value from `read`. Rejects with the error of `read`, which is not cached. */
  load(key: string, read: () => Promise<V>): Promise<V>;
  /** The value if it is loaded and within its TTL; most requests then need not wait for anything. */
  findFresh(key: string): V | undefined;
  /** The last value read, however old. */
  findAny(key: string): V | undefined;
  /** Stores a value that came with a statement started at `readAtMs`; ignored when a newer value is cached. */
  put(key: string, value: V, readAtMs: number): void;
  evict(key: string): void;
};

/** `known` is set once the read has finished. */
type Entry<V> = { readAtMs: number; value: Promise<V>; known: V | undefined; bytes: number };
/** Assumed size until the value is loaded. */
const unknownBytes = 1_024;
/** Objects in memory take more space than their JSON text. */
const textToMemory = 3;

const bytesOf = (value: unknown): number => textToMemory * (JSON.stringify(value)?.length ?? 0);

/** Bounded by `maxBytes`, estimated from the JSON text of the values. */
export function createTtlCache<V>(
  clock: Pick<Clock, 'monotonicMs'>,
  ttlMs: number,
  maxBytes: number,
  counter: HitCounter = createHitCounter(),
): TtlCache<V> {
  const entries = createByteCache<Entry<V>>(maxBytes, ({ bytes }) => bytes);
  const startRead = (key: string, readAtMs: number, read: () => Promise<V>): Promise<V> => {
    const entry: Entry<V> = { readAtMs, value: read(), known: undefined, bytes: unknownBytes };
    entries.set(key, entry);
    entry.value.then(
      (value) => {
        if (entries.get(key) === entry) entries.set(key, { ...entry, known: value, bytes: bytesOf(value) });
      },
      () => {
        if (entries.get(key) === entry) entries.delete(key);
      },
    );
    return entry.value;
  };
  const freshEntry = (key: string, nowMs: number): Entry<V> | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && nowMs - entry.readAtMs < ttlMs ? entry : undefined;
  };
  return {
    load(key, read) {
      const nowMs = clock.monotonicMs();
      const entry = freshEntry(key, nowMs);
      if (entry === undefined) counter.misses += 1;
      else counter.hits += 1;
      return entry?.value ?? startRead(key, nowMs, read);
    },
    // A miss is not counted here: the caller calls `load` next, which counts it.
    findFresh: (key) => {
      const known = freshEntry(key, clock.monotonicMs())?.known;
      if (known !== undefined) counter.hits += 1;
      return known;
    },
    findAny: (key) => entries.get(key)?.known,
    put(key, value, readAtMs) {
      const entry = entries.get(key);
      if (entry !== undefined && entry.readAtMs > readAtMs) return;
      // The same value, seen again, is only refreshed.
      if (entry !== undefined && entry.known === value) entry.readAtMs = readAtMs;
      else entries.set(key, { readAtMs, value: Promise.resolve(value), known: value, bytes: bytesOf(value) });
    },
    evict(key) {
      entries.delete(key);
    },
  };
}
