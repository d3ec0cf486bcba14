// Work that goes on behind an answer, so that stopping the process can end it and wait for it. Kept per database: each service of a
// process has its own.
import type { Ctx } from './ctx.ts';

type Holder = Pick<Ctx, 'db'>;
type InFlight = { readonly done: Promise<unknown>; readonly ending: AbortController };

export type TrackedWork = {
  /** `signal` is aborted when the service stops. Gives what `start` gives. */
  track<T>(ctx: Holder, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Once nothing is under way. */
  settled(ctx: Holder): Promise<void>;
  /** Asks all of it to end, and waits. */
  stop(ctx: Holder): Promise<void>;
};

export function openTrackedWork(): TrackedWork {
  const inFlight = new WeakMap<Ctx['db'], Set<InFlight>>();
  const entries = (ctx: Holder): InFlight[] => [...(inFlight.get(ctx.db) ?? [])];
  const settled = async (ctx: Holder): Promise<void> => {
    for (let left = entries(ctx); left.length > 0; left = entries(ctx)) await Promise.allSettled(left.map(({ done }) => done));
  };
  return {
    track: (ctx, start) => {
      const held = inFlight.get(ctx.db) ?? new Set();
      inFlight.set(ctx.db, held);
      const ending = new AbortController();
      const done = start(ending.signal).finally(() => held.delete(entry));
      const entry: InFlight = { ending, done };
      held.add(entry);
      return done;
    },
    settled,
    stop: async (ctx) => {
      for (const { ending } of entries(ctx)) ending.abort();
      await settled(ctx);
    },
  };
}
