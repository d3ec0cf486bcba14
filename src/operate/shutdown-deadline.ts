// Limits the duration of a shutdown. Work that hasn't ended by the deadline is abandoned. Cut-off requests
// and abandoned work are safe: a client sees that its response is incomplete, and another process takes over
// work under a lease when the lease expires.
import type { Log } from '../core/log.ts';

export type ShutdownDeadline = {
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Waits for `work` until a second after the deadline; logs if it is abandoned or fails. Never rejects. */
  within(what: string, work: Promise<unknown>): Promise<void>;
  clear(): void;
};

/** Time for aborted work to end after the deadline. */
const gracePeriodMs = 1_000;

/** Starts the countdown of `afterMs`; `clear` cancels it. */
export function startShutdownDeadline(afterMs: number, log: Log): ShutdownDeadline {
  const ending = new AbortController();
  const deadlinePassed = Promise.withResolvers<false>();
  let timer = setTimeout(() => {
    ending.abort();
    timer = setTimeout(() => deadlinePassed.resolve(false), gracePeriodMs);
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
      if (!(await Promise.race([ended, deadlinePassed.promise])))
        log.warn({ what }, 'shutdown deadline exceeded: work abandoned');
    },
    clear: () => clearTimeout(timer),
  };
}
