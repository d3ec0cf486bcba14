// How a process ends: in order, and in time. Whatever does not end by the deadline is left behind, which costs nothing that was
// promised: requests are cut, and what works under leases is taken up elsewhere when those run out.
import type { Log } from '../core/log.ts';

export type Deadline = {
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /** Waits for `work`, but not past the deadline and a moment more; says in the log what is left behind. Never throws. */
  within(what: string, work: Promise<unknown>): Promise<void>;
  clear(): void;
};

/** What was cut at the deadline gets so long to end. */
const lastMomentMs = 1_000;

export function openDeadline(afterMs: number, log: Log): Deadline {
  const ending = new AbortController();
  const over = Promise.withResolvers<false>();
  let timer = setTimeout(() => {
    ending.abort();
    timer = setTimeout(() => over.resolve(false), lastMomentMs);
  }, afterMs);
  return {
    signal: ending.signal,
    within: async (what, work) => {
      const ended = work.then(
        () => true,
        (error: unknown) => {
          log.error({ err: error, what }, 'something did not end well');
          return true;
        },
      );
      if (!(await Promise.race([ended, over.promise]))) log.warn({ what }, 'the time to stop is over: left behind');
    },
    clear: () => clearTimeout(timer),
  };
}
