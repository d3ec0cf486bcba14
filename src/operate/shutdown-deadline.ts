// Limits the duration of a shutdown. Work that hasn't ended by the deadline is abandoned, which breaks no guarantee: requests are cut off,
// and work under a lease is taken over by another process when the lease expires.
import type { Log } from '../core/log.ts';

export type ShutdownDeadline = {
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Waits for `work`, at most until one second after the deadline, and logs when it is abandoned or fails. Never rejects. */
  within(what: string, work: Promise<unknown>): Promise<void>;
  clear(): void;
};

/** Time for aborted work to end after the deadline. */
const gracePeriodMs = 1_000;

/** Starts the countdown of `afterMs`; `clear` cancels it. */
export function startShutdownDeadline(afterMs: number, log: Log): ShutdownDeadline {
  const ending = new AbortController();
  const over = Promise.withResolvers<false>();
  let timer = setTimeout(() => {
    ending.abort();
    timer = setTimeout(() => over.resolve(false), gracePeriodMs);
  }, afterMs);
  return {
    signal: ending.signal,
    within: async (what, work) => {
      const ended = work.then(
        () => true,
        (error: unknown) => {
          log.error({ err: error, what }, 'a part of the shutdown failed');
          return true;
        },
      );
      if (!(await Promise.race([ended, over.promise]))) log.warn({ what }, 'shutdown deadline exceeded: work abandoned');
    },
    clear: () => clearTimeout(timer),
  };
}
