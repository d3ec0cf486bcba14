import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';

it('startEveryMinute: a thread that was blocked at the start of a minute runs late, but still in that minute', async () => {
  const thread = new Worker(new URL('./suspended-thread.ts', import.meta.url));
  try {
    expect(await once(thread, 'message')).toEqual([1]);
  } finally {
    await thread.terminate();
  }
});
