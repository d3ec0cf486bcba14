// Limits the number of concurrent requests to each account of an ERP. ERPs count them for the whole account,
// so all connections of a service to one account share one limiter; the service's ctx holds them.
import { anyOwner } from './semaphore.ts';
import { type OpenSemaphore, openOwnSemaphore, type SharedSemaphore } from './shared-semaphores.ts';

export type Limiter = {
  /**
   * Waits for a free slot, in order of arrival, then does the work. Rejects with the signal's reason when
   * that is aborted while waiting.
   */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

function createLimiter(slots: SharedSemaphore): Limiter {
  return {
    async run(signal, work) {
      const release = await slots.acquireUnlessAborted(anyOwner, signal);
      if (release === undefined) throw signal.reason;
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

export type AccountLimits = {
  /** The account's limiter; `maxConcurrent` counts for the first call, which creates it. */
  of(account: string, maxConcurrent: number): Limiter;
};

export function createAccountLimits(openSemaphore: OpenSemaphore = openOwnSemaphore): AccountLimits {
  const limiters = new Map<string, Limiter>();
  return {
    of: (account, maxConcurrent) => {
      const limiter =
        limiters.get(account) ??
        createLimiter(openSemaphore(`erp ${account}`, { maxRunning: Math.max(1, maxConcurrent) }));
      limiters.set(account, limiter);
      return limiter;
    },
  };
}
