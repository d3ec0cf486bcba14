// Keeps what was read of a row for as long as it may be trusted, and reads it anew, once for everyone who asks, after that.
// The time counts from the moment before the read, so what is handed out is never older than promised.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../core/clock.ts';

export type Trusted<V> = {
  get(key: string, read: () => Promise<V>): Promise<V>;
  /** Takes a value that a statement begun at `readAtMs` brought along; an older one than is held is ignored. */
  put(key: string, value: V, readAtMs: number): void;
  forget(key: string): void;
};

export function openTrusted<V>(clock: Pick<Clock, 'monotonicMs'>, trustMs: number, max: number): Trusted<V> {
  const entries = new LRUCache<string, { readAtMs: number; value: Promise<V> }>({ max });
  return {
    get(key, read) {
      const held = entries.get(key);
      const readAtMs = clock.monotonicMs();
      if (held !== undefined && readAtMs - held.readAtMs < trustMs) return held.value;
      const entry = { readAtMs, value: read() };
      entries.set(key, entry);
      entry.value.catch(() => {
        if (entries.peek(key) === entry) entries.delete(key);
      });
      return entry.value;
    },
    put(key, value, readAtMs) {
      const held = entries.peek(key);
      if (held === undefined || held.readAtMs <= readAtMs) entries.set(key, { readAtMs, value: Promise.resolve(value) });
    },
    forget(key) {
      entries.delete(key);
    },
  };
}
