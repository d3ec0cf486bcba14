import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';

it('what is to be done each minute is done late, not a minute later, by a process that stood still as the minute began', async () => {
  const thread = new Worker(new URL('./standing-still.ts', import.meta.url));
  try {
    expect(await once(thread, 'message')).toEqual([1]);
  } finally {
    await thread.terminate();
  }
});
