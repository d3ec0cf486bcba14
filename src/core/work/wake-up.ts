// Lets a loop wait for reasons to look again: one that comes while it is busy isn't lost.

export type WakeUp = {
  wake(): void;
  /**
   * Resolves with true when `wake` was called since the last time, and with false after `maxMs` without. Rejects
   * with the signal's reason once it is aborted.
   */
  next(maxMs: number): Promise<boolean>;
};

const noop = (): void => undefined;

/** `next` of the result rejects as `WakeUp` says. For one caller at a time. */
export function createWakeUp(signal: AbortSignal): WakeUp {
  let isPending = false;
  let resume = noop;
  const wait = (maxMs: number): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resume = noop;
        resolve();
      };
      const timer = setTimeout(done, maxMs);
      signal.addEventListener('abort', done, { once: true });
      resume = done;
    });
  return {
    wake: () => {
      isPending = true;
      resume();
    },
    next: async (maxMs) => {
      signal.throwIfAborted();
      if (!isPending) await wait(maxMs);
      signal.throwIfAborted();
      const wasPending = isPending;
      isPending = false;
      return wasPending;
    },
  };
}
