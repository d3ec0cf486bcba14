// A cache that is bounded by the bytes it takes, whoever fills it: the least recently used goes first. What is too large for all
// of it is not kept, and a bound of 0 keeps nothing.
import { LRUCache } from 'lru-cache';

export type ByteCache<V> = {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  /** As counted by `bytesOf` and what an entry costs beside it. */
  bytes(): number;
};

/** What an entry takes beside key and value: objects, list nodes, the slot in the map. */
const entryBytes = 200;

/** `bytesOf` says what a value takes; the key's characters are counted too. */
export function openByteCache<V extends object | number>(maxBytes: number, bytesOf: (value: V) => number): ByteCache<V> {
  if (maxBytes === 0) return { get: () => undefined, set: () => undefined, delete: () => undefined, bytes: () => 0 };
  const entries = new LRUCache<string, V>({
    maxSize: maxBytes,
    sizeCalculation: (value, key) => Math.ceil(bytesOf(value)) + key.length + entryBytes,
  });
  return {
    get: (key) => entries.get(key),
    set: (key, value) => {
      entries.set(key, value);
    },
    delete: (key) => {
      entries.delete(key);
    },
    bytes: () => entries.calculatedSize,
  };
}
