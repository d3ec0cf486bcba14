// What a process does again and again without being asked. Never twice at once.
import cron from 'node-cron';

export type Recurring = {
  /** Does it now, and never fails; whoever asks while it is under way waits for that. */
  tick(): Promise<void>;
  /** Begins no more, aborts what is under way, and resolves when that has ended. */
  stop(): Promise<void>;
};

export function recurring(everyMs: number, work: (stopping: AbortSignal) => Promise<void>, onFailure: (error: unknown) => void): Recurring {
  const stopping = new AbortController();
  let ticking: Promise<void> | undefined;
  const tick = (): Promise<void> => {
    ticking ??= work(stopping.signal)
      .catch(onFailure)
      .finally(() => {
        ticking = undefined;
      });
    return ticking;
  };
  const timer = setInterval(tick, everyMs);
  return {
    tick,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await ticking;
    },
  };
}

/** At the beginning of each minute of the clock, unless the one before still goes on. `stop` waits for what is under way. */
export function everyMinute(work: () => Promise<unknown>, onFailure: (error: unknown) => void): { stop(): Promise<void> } {
  let working: Promise<unknown> = Promise.resolve();
  const begin = (): Promise<unknown> => {
    working = work().catch(onFailure);
    return working;
  };
  const minute = cron.schedule('* * * * *', begin, { noOverlap: true });
  return {
    stop: async () => {
      await minute.destroy();
      await working;
    },
  };
}
