// What screens share of their reads: an answer from before a change is never shown after it.
import { expect, it } from 'vitest';
import { type Entry, expire, invalidate, loadEntry, reload } from '../../../web/console/src/read-cache.ts';

/** A read whose answers are given one at a time. */
function openEntry(key: string): {
  entry: Entry;
  starts: number[];
  answer(value: unknown): Promise<void>;
  refuse(): Promise<void>;
} {
  const waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
  const starts: number[] = [];
  const entry = loadEntry(key, () => {
    starts.push(starts.length + 1);
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  });
  entry.users = 1;
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    entry,
    starts,
    answer: (value) => {
      waiting.shift()?.resolve(value);
      return settled();
    },
    refuse: () => {
      waiting.shift()?.reject(new Error('refused'));
      return settled();
    },
  };
}

it('shares a read that goes on', async () => {
  const { entry, starts, answer } = openEntry('/shared');
  const both = [reload(entry), reload(entry)];
  expect(entry.state.value).toMatchObject({ data: undefined, loading: true });
  await answer('one');
  await Promise.all(both);
  expect([entry.state.value, starts]).toMatchObject([{ data: 'one', error: undefined, loading: false }, [1]]);
});

it('reads once more when a change came during a read', async () => {
  const { entry, starts, answer } = openEntry('/changed');
  void reload(entry);
  let isRead = false;
  const invalidated = invalidate('/changed').then(() => {
    isRead = true;
  });
  await invalidate('/other');
  await answer('before');
  expect([isRead, entry.state.value.data, entry.state.value.loading, starts]).toEqual([
    false,
    undefined,
    true,
    [1, 2],
  ]);
  await answer('after');
  await invalidated;
  expect([entry.state.value.data, starts]).toEqual(['after', [1, 2]]);
});

it('what expired during a read is not fresh after it', async () => {
  const { entry, starts, answer } = openEntry('/expired');
  const reading = reload(entry);
  expire('/exp');
  await answer('before');
  await answer('after');
  await reading;
  expect([entry.state.value.data, starts]).toEqual(['after', [1, 2]]);
  expire('/exp');
  expect([entry.state.value.at, starts]).toEqual([0, [1, 2]]);
});

it('keeps the last answer when a read fails', async () => {
  const { entry, answer, refuse } = openEntry('/failing');
  void reload(entry);
  await answer('good');
  const again = reload(entry);
  await refuse();
  await again;
  expect(entry.state.value).toMatchObject({ data: 'good', error: { status: 0 }, loading: false });
  void reload(entry);
  await answer('better');
  expect(entry.state.value).toMatchObject({ data: 'better', error: undefined });
});

it('forgets what is not shown, also for a screen that is about to show it', async () => {
  const { entry, answer } = openEntry('/unused');
  void reload(entry);
  await answer('one');
  entry.users = 0;
  await invalidate('/unused');
  expect(entry.state.value).toMatchObject({ data: undefined, at: 0 });
  entry.users = 1;
  const invalidated = invalidate('/unused');
  await answer('two');
  await invalidated;
  expect(entry.state.value.data).toBe('two');
});
