// An LRU cache bounded by the bytes its entries take. A value larger than the whole cache is not stored, and
// a capacity of 0 stores nothing.
import { LRUCache } from 'lru-cache';

export type ByteCache<V> = {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  /** Current size: `bytesOf` of each value, its key, and a fixed overhead per entry. */
  bytes(): number;
};

/** Overhead of an entry on top of key and value: objects, list nodes, the slot in the map. */
const entryBytes = 200;

/** `bytesOf` estimates the size of a value; the characters of the key are added. */
export function createByteCache<V extends object | number>(maxBytes: number, bytesOf: (value: V) => number): ByteCache<V> {
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
