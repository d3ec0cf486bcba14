import { describe, expect, it } from 'vitest';
import { createCache } from '../../src/core/work/cache.ts';
import { testClock } from '../setup/database.ts';

const maxBytes = 10_000;

it('joins a read in progress that is older than the time to live only if asked to', async () => {
  for (const joinsSlowReads of [false, true]) {
    const clock = testClock();
    const cache = createCache<string>({ maxBytes, ttl: { clock, ms: 1_000, joinsSlowReads } });
    const slow = Promise.withResolvers<string>();
    const first = cache.load('key', () => slow.promise);
    clock.advance(1_000);
    const second = cache.load('key', async () => 'later');
    slow.resolve('earlier');
    expect(await Promise.all([first, second])).toEqual(['earlier', joinsSlowReads ? 'earlier' : 'later']);
    // An earlier read never replaces a later one.
    expect(cache.findAny('key')).toBe(joinsSlowReads ? 'earlier' : 'later');
  }
});

it('drops what a read returns after its key was evicted', async () => {
  const cache = createCache<string>({ maxBytes });
  const reading = Promise.withResolvers<string>();
  const loading = cache.load('key', () => reading.promise);
  cache.evict('key');
  reading.resolve('old');
  expect([await loading, cache.findAny('key')]).toEqual(['old', undefined]);
});

describe('of reads that overlap, the value of the later state counts', () => {
  const isEarlier = (value: number, than: number): boolean => value < than;
  const numbers = () => {
    const clock = testClock();
    return { clock, cache: createCache<number>({ maxBytes, ttl: { clock, ms: 1_000 }, isEarlier }) };
  };

  it('whichever began first, also for a caller who joined a read before', async () => {
    const { clock, cache } = numbers();
    const slow = Promise.withResolvers<number>();
    const first = cache.load('key', () => slow.promise);
    const joined = cache.load('key', () => slow.promise);
    clock.advance(1);
    cache.put('key', 2, clock.monotonicMs() - 1);
    clock.advance(1);
    slow.resolve(1);
    expect([await first, await joined, cache.find('key')]).toEqual([2, 2, 2]);
    // It began before the last one was stored, and saw a later state.
    cache.put('key', 3, clock.monotonicMs() - 2);
    expect(cache.find('key')).toBe(3);
  });

  it('but a read that began after the last one had ended counts in any case', async () => {
    const { clock, cache } = numbers();
    cache.put('key', 2);
    clock.advance(1);
    cache.put('key', 1);
    expect(cache.find('key')).toBe(1);
  });

  it('and none that began before a value was found to be replaced, unless it saw a later state', async () => {
    const { clock, cache } = numbers();
    cache.put('key', 1);
    const slow = Promise.withResolvers<number>();
    const slower = Promise.withResolvers<number>();
    cache.outdate('key');
    const first = cache.load('key', () => slow.promise);
    clock.advance(1);
    cache.outdate('key');
    const second = cache.load('key', () => slower.promise);
    clock.advance(1);
    cache.put('key', 1, clock.monotonicMs() - 2);
    expect(cache.find('key')).toBeUndefined();
    slow.resolve(3);
    expect([await first, cache.find('key')]).toEqual([3, 3]);
    slower.resolve(2);
    expect([await second, cache.find('key')]).toEqual([3, 3]);
  });
});

it('stores a value under its own key, and counts hits, joined reads and misses', async () => {
  const counter = { hits: 0, misses: 0 };
  const cache = createCache<{ readonly key: string }>({ maxBytes, toKey: ({ key }) => key, counter });
  const newer = { key: 'newer' };
  await Promise.all([cache.load('older', async () => newer), cache.load('older', async () => newer)]);
  expect([
    cache.findAny('older'),
    cache.find('newer'),
    cache.find('absent'),
    cache.findFresh('absent'),
  ]).toEqual([undefined, newer, undefined, undefined]);
  expect(counter).toEqual({ hits: 2, misses: 2 });
});

it('shares reads even when it stores nothing', async () => {
  const cache = createCache<number>({ maxBytes: 0 });
  let reads = 0;
  const load = () => cache.load('key', async () => (reads += 1));
  expect([await Promise.all([load(), load()]), await load(), cache.bytes()]).toEqual([[1, 1], 2, 0]);
});

it('loads once per time to live, counted from before the read, and refreshes the age of what was seen again', async () => {
  const clock = testClock();
  const cache = createCache<{ n: number }>({ maxBytes, ttl: { clock, ms: 1_000 } });
  let reads = 0;
  const get = () => cache.load('key', async () => ({ n: (reads += 1) }));
  const reading = Promise.all([get(), get()]);
  expect(cache.findFresh('key')).toBeUndefined();
  expect(await reading).toEqual([{ n: 1 }, { n: 1 }]);
  clock.advance(999);
  const seen = await get();
  expect([seen, cache.findFresh('key')]).toEqual([{ n: 1 }, seen]);
  cache.put('key', seen, clock.monotonicMs());
  clock.advance(999);
  expect(cache.findFresh('key')).toBe(seen);
  clock.advance(1);
  expect([cache.findFresh('key'), await get()]).toEqual([undefined, { n: 2 }]);
});

it('does not keep a failed read', async () => {
  const cache = createCache<string>({ maxBytes, ttl: { clock: testClock(), ms: 1_000 } });
  await expect(cache.load('key', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await cache.load('key', async () => 'back')).toBe('back');
});

it('stays within its byte limit', () => {
  const cache = createCache<{ bytes: number }>({ maxBytes: 5_000, countBytes: ({ bytes }) => bytes });
  for (let index = 0; index < 100; index += 1) {
    cache.put(String(index), { bytes: index });
    expect(cache.bytes()).toBeLessThanOrEqual(5_000);
  }
  expect([cache.find('99') !== undefined, cache.find('0') !== undefined]).toEqual([true, false]);
  cache.put('too large', { bytes: 5_001 });
  expect([cache.find('too large'), cache.find('99') !== undefined]).toEqual([undefined, true]);
});
