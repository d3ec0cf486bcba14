// Keeps what was read of a row for as long as it may be trusted, and reads it anew, once for everyone who asks, after that.
// The time counts from the moment before the read, so what is handed out is never older than promised.
import type { Clock } from '../core/clock.ts';
import { openTally, type Tally } from '../core/tally.ts';
import { openByteCache } from './byte-cache.ts';

export type Trusted<V> = {
  get(key: string, read: () => Promise<V>): Promise<V>;
  /** What may be trusted now, when it is there: most requests then need not wait for anything. */
  held(key: string): V | undefined;
  /** What was last read of it, however long ago. */
  remembered(key: string): V | undefined;
  /** Takes a value that a statement begun at `readAtMs` brought along; an older one than is held is ignored. */
  put(key: string, value: V, readAtMs: number): void;
  forget(key: string): void;
};

/** `known` once it was read. */
type Entry<V> = { readAtMs: number; value: Promise<V>; known: V | undefined; bytes: number };
/** Counted until the row is there. */
const unknownBytes = 1_024;
/** Objects in memory take more room than their text. */
const textToMemory = 3;

const bytesOf = (value: unknown): number => textToMemory * (JSON.stringify(value)?.length ?? 0);

export function openTrusted<V>(
  clock: Pick<Clock, 'monotonicMs'>,
  trustMs: number,
  maxBytes: number,
  tally: Tally = openTally(),
): Trusted<V> {
  const entries = openByteCache<Entry<V>>(maxBytes, ({ bytes }) => bytes);
  const start = (key: string, readAtMs: number, read: () => Promise<V>): Promise<V> => {
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
  const fresh = (key: string, nowMs: number): Entry<V> | undefined => {
    const held = entries.get(key);
    return held !== undefined && nowMs - held.readAtMs < trustMs ? held : undefined;
  };
  return {
    get(key, read) {
      const nowMs = clock.monotonicMs();
      const held = fresh(key, nowMs);
      if (held === undefined) tally.misses += 1;
      else tally.hits += 1;
      return held?.value ?? start(key, nowMs, read);
    },
    // Whoever is told nothing here asks `get` next, which counts that.
    held: (key) => {
      const known = fresh(key, clock.monotonicMs())?.known;
      if (known !== undefined) tally.hits += 1;
      return known;
    },
    remembered: (key) => entries.get(key)?.known,
    put(key, value, readAtMs) {
      const held = entries.get(key);
      if (held !== undefined && held.readAtMs > readAtMs) return;
      // The same value, seen again, only grows younger.
      if (held !== undefined && held.known === value) held.readAtMs = readAtMs;
      else entries.set(key, { readAtMs, value: Promise.resolve(value), known: value, bytes: bytesOf(value) });
    },
    forget(key) {
      entries.delete(key);
    },
  };
}
