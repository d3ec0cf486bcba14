// Limits the number of concurrent requests. NetSuite counts them for the whole account, so all connections of this process to one account
// share one limiter.

export type Limiter = {
  /**
   * Waits for a free slot, in order of arrival, then does the work. Rejects with the signal's reason when that is aborted while waiting.
   */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

function createLimiter(maxConcurrent: number): Limiter {
  let free = Math.max(1, maxConcurrent);
  const waiting = new Set<() => void>();

  const acquire = (signal: AbortSignal): Promise<void> =>
    new Promise((fulfil, reject) => {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        fulfil();
        return;
      }
      const giveUp = (): void => {
        waiting.delete(start);
        reject(signal.reason);
      };
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        fulfil();
      };
      signal.addEventListener('abort', giveUp, { once: true });
      waiting.add(start);
    });

  const release = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiting.delete(next); // the slot goes straight to the next waiter
    next();
  };

  return {
    async run(signal, work) {
      await acquire(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

// Keyed by an object that each service has one of (its guarded fetch), so that two services in one process, as in tests, stay apart.
const limiters = new WeakMap<object, Map<string, Limiter>>();

/** The account's limiter for this owner; `maxConcurrent` counts for the first call, which creates it. */
export function sharedLimiter(owner: object, account: string, maxConcurrent: number): Limiter {
  const byAccount = limiters.get(owner) ?? new Map<string, Limiter>();
  limiters.set(owner, byAccount);
  const limiter = byAccount.get(account) ?? createLimiter(maxConcurrent);
  byAccount.set(account, limiter);
  return limiter;
}
