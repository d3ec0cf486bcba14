// Tracks background work that continues after its response was sent, so that a shutdown can abort it and wait
// for it. A service has one `TrackedWork`, in its ctx. Work is tracked in groups, because each group has a
// time of its own to stop.
import { setTimeout as sleep } from 'node:timers/promises';

/** What the work is for. */
export type WorkGroup = 'answers' | 'code-mails' | 'portal-figures' | 'publications';

export type TrackedWork = {
  /** `signal` is aborted when the group is stopped. Settles as the promise of `start` does. */
  track<T>(group: WorkGroup, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** As `track`, unless the group has work with this id in progress. `start` must not reject. */
  trackOnce(group: WorkGroup, id: string, start: (signal: AbortSignal) => Promise<void>): void;
  /** Resolves when the group has no work in progress; never rejects. */
  waitUntilIdle(group: WorkGroup): Promise<void>;
  /** After `graceMs`, aborts all work in progress in the group, and waits until it has ended; never rejects. */
  stop(group: WorkGroup, graceMs?: number): Promise<void>;
};

type InFlight = {
  readonly id: string | undefined;
  readonly done: Promise<unknown>;
  readonly stopping: AbortController;
};

export function createTrackedWork(): TrackedWork {
  const inFlight: Readonly<Record<WorkGroup, Set<InFlight>>> = {
    answers: new Set(),
    'code-mails': new Set(),
    'portal-figures': new Set(),
    publications: new Set(),
  };
  const begin = <T>(group: WorkGroup, start: (signal: AbortSignal) => Promise<T>, id?: string) => {
    const stopping = new AbortController();
    const done = start(stopping.signal).finally(() => inFlight[group].delete(entry));
    const entry: InFlight = { id, stopping, done };
    inFlight[group].add(entry);
    return done;
  };
  const waitUntilIdle = async (group: WorkGroup): Promise<void> => {
    while (inFlight[group].size > 0) await Promise.allSettled([...inFlight[group]].map(({ done }) => done));
  };
  return {
    track: begin,
    trackOnce: (group, id, start) => {
      if (![...inFlight[group]].some((entry) => entry.id === id)) void begin(group, start, id);
    },
    waitUntilIdle,
    stop: async (group, graceMs = 0) => {
      if (graceMs > 0) await Promise.race([waitUntilIdle(group), sleep(graceMs, undefined, { ref: false })]);
      for (const { stopping } of inFlight[group]) stopping.abort();
      await waitUntilIdle(group);
    },
  };
}
