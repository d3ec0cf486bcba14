import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startRecurring } from '../../src/core/work/recurring.ts';

it('startEveryMinute: a thread that was blocked at the start of a minute runs late, but still in that minute', async () => {
  const thread = new Worker(new URL('./suspended-thread.ts', import.meta.url));
  try {
    expect(await once(thread, 'message')).toEqual([1]);
  } finally {
    await thread.terminate();
  }
});

describe('startRecurring', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('never runs twice at once: a tick joins the run in progress, and tickAgain adds one run after it', async () => {
    let [runs, busy] = [0, 0];
    const ends: (() => void)[] = [];
    const work = () => {
      runs += 1;
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    const polling = startRecurring(1_000, work, () => undefined, { onBusy: () => (busy += 1) });
    await vi.advanceTimersByTimeAsync(1_000);
    const joined = polling.tick();
    const [again, alsoAgain] = [polling.tickAgain(), polling.tickAgain()];
    await vi.advanceTimersByTimeAsync(2_000);
    expect([runs, busy]).toEqual([1, 2]);
    ends[0]?.();
    await joined;
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toBe(2);
    const stopped = polling.stop();
    ends[1]?.();
    await Promise.all([again, alsoAgain, stopped]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([runs, polling.inProgress()]).toEqual([2, undefined]);
  });

  it('reports the first of several failures in a row, and then at most one a minute', async () => {
    let fails = true;
    const reported: unknown[] = [];
    const work = async () => {
      if (fails) throw new Error('away');
    };
    const polling = startRecurring(10_000, work, (error) => reported.push(error));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reported).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reported).toHaveLength(2);
    fails = false;
    await vi.advanceTimersByTimeAsync(10_000);
    fails = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reported).toHaveLength(3);
    await polling.stop();
  });
});
