// What a process does again and again without being asked. Never twice at once.
import cron from 'node-cron';
import { systemClock } from './clock.ts';

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

const minuteMs = 60_000;
const lookEveryMs = 5_000;
const stepMs = 2_000;

/** Says from time to time whether the machine's clock was set since it was last asked. */
function openStepWatch(): () => boolean {
  const offsetMs = (): number => systemClock.now().getTime() - systemClock.monotonicMs();
  let heldMs = offsetMs();
  return () => {
    const movedMs = offsetMs() - heldMs;
    heldMs += movedMs;
    return Math.abs(movedMs) > stepMs;
  };
}

/**
 * At the beginning of each minute of the machine's clock, and when that clock was set: what waits for a minute that lay ahead would
 * wait for hours. Not while the one before still goes on. `stop` waits for what is under way.
 */
export function everyMinute(work: () => Promise<unknown>, onFailure: (error: unknown) => void): { stop(): Promise<void> } {
  let working: Promise<unknown> | undefined;
  const begin = (): Promise<unknown> => {
    working ??= work()
      .catch(onFailure)
      .finally(() => {
        working = undefined;
      });
    return working;
  };
  // A minute whose beginning was missed is not skipped: whoever stood still for two seconds is late by those, not by a minute.
  const schedule = () => cron.schedule('* * * * *', begin, { missedExecutionTolerance: minuteMs, suppressMissedWarning: true });
  let minute = schedule();
  const wasSet = openStepWatch();
  const watch = setInterval(() => {
    if (!wasSet()) return;
    void minute.destroy();
    minute = schedule();
    void begin();
  }, lookEveryMs);
  return {
    stop: async () => {
      clearInterval(watch);
      await minute.destroy();
      await working;
    },
  };
}
