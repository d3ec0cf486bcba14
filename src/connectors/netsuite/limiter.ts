// How many requests may be under way at once. NetSuite counts them for the whole account, so all connections of this
// process to one account share one limiter.

export type Limiter = {
  /** Waits for a free place, in order of arrival, then does the work. Rejects with the signal's reason while waiting. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

function openLimiter(places: number): Limiter {
  let free = Math.max(1, places);
  const waiting = new Set<() => void>();

  const enter = (signal: AbortSignal): Promise<void> =>
    new Promise((fulfil, reject) => {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        fulfil();
        return;
      }
      const leave = (): void => {
        waiting.delete(start);
        reject(signal.reason);
      };
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        fulfil();
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.add(start);
    });

  const release = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiting.delete(next); // the place goes straight to the next in line
    next();
  };

  return {
    async run(signal, work) {
      await enter(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

// Hung on a process-wide object (its guarded fetch), so that two services in one process, as in tests, stay apart.
const limiters = new WeakMap<object, Map<string, Limiter>>();

export function sharedLimiter(owner: object, account: string, places: number): Limiter {
  const byAccount = limiters.get(owner) ?? new Map<string, Limiter>();
  limiters.set(owner, byAccount);
  const limiter = byAccount.get(account) ?? openLimiter(places);
  byAccount.set(account, limiter);
  return limiter;
}
