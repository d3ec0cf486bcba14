// Periodic background work of a process. A run never overlaps with the previous one.
import cron from 'node-cron';
import { systemClock } from './clock.ts';

export type Recurring = {
  /** Runs now, or joins the run in progress. Never rejects. */
  tick(): Promise<void>;
  /** Starts no further run, aborts the one in progress, and resolves when it has ended. */
  stop(): Promise<void>;
};

/** Runs `work` every `everyMs`, for the first time after that interval. Failures only go to `onFailure`. */
export function startRecurring(
  everyMs: number,
  work: (stopping: AbortSignal) => Promise<void>,
  onFailure: (error: unknown) => void,
): Recurring {
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

const minuteMs = 60_000;
const clockCheckEveryMs = 5_000;
const minClockStepMs = 2_000;

/** Returns a function that tells whether the machine's clock was set since its previous call. */
function createClockStepCheck(): () => boolean {
  const offsetMs = (): number => systemClock.now().getTime() - systemClock.monotonicMs();
  let lastOffsetMs = offsetMs();
  return () => {
    const movedMs = offsetMs() - lastOffsetMs;
    lastOffsetMs += movedMs;
    return Math.abs(movedMs) > minClockStepMs;
  };
}

/**
 * Runs `work` at the start of each minute of the machine's clock, and when that clock was set: a timer for a minute that was ahead might
 * otherwise wait for hours. Skips a run while the previous one is in progress. `stop` waits for the run in progress.
 */
export function startEveryMinute(work: () => Promise<unknown>, onFailure: (error: unknown) => void): { stop(): Promise<void> } {
  let working: Promise<unknown> | undefined;
  const run = (): Promise<unknown> => {
    working ??= work()
      .catch(onFailure)
      .finally(() => {
        working = undefined;
      });
    return working;
  };
  // A missed start of a minute is made up for: a process that was suspended for two seconds runs two seconds late, not a minute.
  const schedule = () => cron.schedule('* * * * *', run, { missedExecutionTolerance: minuteMs, suppressMissedWarning: true });
  let minute = schedule();
  const wasClockSet = createClockStepCheck();
  const clockCheck = setInterval(() => {
    if (!wasClockSet()) return;
    void minute.destroy();
    minute = schedule();
    void run();
  }, clockCheckEveryMs);
  return {
    stop: async () => {
      clearInterval(clockCheck);
      await minute.destroy();
      await working;
    },
  };
}
