// Repeated background work of a process: at an interval, at the start of each minute, and when there is a
// reason to look sooner. A run never overlaps with the previous one. Work that is synchronous and cannot fail
// needs none of this: a timer does.
import cron from 'node-cron';
import { systemClock } from '../clock.ts';

export type Recurring = {
  /** Runs now, or joins the run in progress. Never rejects. */
  tick(): Promise<void>;
  /** Starts no further run, aborts the one in progress, and resolves when it has ended. */
  stop(): Promise<void>;
};

export type Poller = Recurring & {
  /** Runs now, or again after the run in progress, which then sees all from before. Never rejects. */
  tickAgain(): Promise<void>;
  /** Resolves when the run in progress, and one requested to follow it, have ended; undefined without one. */
  inProgress(): Promise<void> | undefined;
};

type RecurringOptions = {
  /** Called instead of starting a run when the interval ends during one. */
  readonly onBusy?: () => void;
  /** Whether the interval alone doesn't keep the process running. */
  readonly unref?: boolean;
};

type OnFailure = (error: unknown) => void;

/** While run after run fails, at most one failure in this time is reported. */
const quietMs = 60_000;

function reportAtIntervals(onFailure: OnFailure) {
  let reportedAtMs: number | undefined;
  return {
    succeeded: (): void => {
      reportedAtMs = undefined;
    },
    failed: (error: unknown): void => {
      const nowMs = systemClock.monotonicMs();
      if (reportedAtMs !== undefined && nowMs - reportedAtMs < quietMs) return;
      reportedAtMs = nowMs;
      onFailure(error);
    },
  };
}

function createRuns(work: () => Promise<unknown>, onFailure: OnFailure): Omit<Poller, 'stop'> {
  const { succeeded, failed } = reportAtIntervals(onFailure);
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const tick = (): Promise<void> => {
    running ??= work()
      .then(succeeded, failed)
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  return {
    tick,
    tickAgain: () => {
      if (running === undefined) return tick();
      next ??= running.then(() => {
        next = undefined;
        return tick();
      });
      return next;
    },
    inProgress: () => next ?? running,
  };
}

/**
 * Runs `work` every `everyMs`, for the first time after that interval. Failures only go to `onFailure`: the
 * first one, and of those that follow it without a success at most one a minute.
 */
export function startRecurring(
  everyMs: number,
  work: (stopping: AbortSignal) => Promise<unknown>,
  onFailure: OnFailure,
  { onBusy, unref = false }: RecurringOptions = {},
): Poller {
  const stopping = new AbortController();
  const runs = createRuns(() => work(stopping.signal), onFailure);
  const timer = setInterval(() => {
    if (runs.inProgress() === undefined) void runs.tick();
    else onBusy?.();
  }, everyMs);
  if (unref) timer.unref();
  return {
    ...runs,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await runs.inProgress();
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
 * Runs `work` at the start of each minute of the machine's clock, and when that clock was set: a timer for a
 * minute that was ahead might otherwise wait for hours. Skips a run while the previous one is in progress.
 * `stop` waits for the run in progress.
 */
export function startEveryMinute(
  work: () => Promise<unknown>,
  onFailure: OnFailure,
): { stop(): Promise<void> } {
  const { tick, inProgress } = createRuns(work, onFailure);
  // A missed start of a minute is made up for: a process that was suspended for two seconds runs two seconds
  // late, not a minute.
  const schedule = () =>
    cron.schedule('* * * * *', tick, { missedExecutionTolerance: minuteMs, suppressMissedWarning: true });
  let minute = schedule();
  const wasClockSet = createClockStepCheck();
  const clockCheck = setInterval(() => {
    if (!wasClockSet()) return;
    void minute.destroy();
    minute = schedule();
    void tick();
  }, clockCheckEveryMs);
  return {
    stop: async () => {
      clearInterval(clockCheck);
      await minute.destroy();
      await inProgress();
    },
  };
}
