// Tracks background work that continues after its response was sent, so that a shutdown can abort it and wait for it. Tracked per `ctx.db`,
// because one process may run several services.
import type { Ctx } from './ctx.ts';

type Owner = Pick<Ctx, 'db'>;
type InFlight = { readonly done: Promise<unknown>; readonly stopping: AbortController };

export type TrackedWork = {
  /** `signal` is aborted when the service stops. Settles as the promise of `start` does. */
  track<T>(ctx: Owner, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Resolves when no work is in progress; never rejects. */
  waitUntilIdle(ctx: Owner): Promise<void>;
  /** Aborts all work in progress and waits until it has ended; never rejects. */
  stop(ctx: Owner): Promise<void>;
};

export function createTrackedWork(): TrackedWork {
  const inFlight = new WeakMap<Ctx['db'], Set<InFlight>>();
  const entries = (ctx: Owner): InFlight[] => [...(inFlight.get(ctx.db) ?? [])];
  const waitUntilIdle = async (ctx: Owner): Promise<void> => {
    for (let open = entries(ctx); open.length > 0; open = entries(ctx)) await Promise.allSettled(open.map(({ done }) => done));
  };
  return {
    track: (ctx, start) => {
      const tracked = inFlight.get(ctx.db) ?? new Set();
      inFlight.set(ctx.db, tracked);
      const stopping = new AbortController();
      const done = start(stopping.signal).finally(() => tracked.delete(entry));
      const entry: InFlight = { stopping, done };
      tracked.add(entry);
      return done;
    },
    waitUntilIdle,
    stop: async (ctx) => {
      for (const { stopping } of entries(ctx)) stopping.abort();
      await waitUntilIdle(ctx);
    },
  };
}
