// How one of several processes works on a queue in the database: whatever waits is taken under a lease, a few at a time. It looks when a
// word comes that something was queued, when something is done, and every few seconds anyway.
import type { Ctx } from '../core/ctx.ts';
import { keepLease } from '../core/lease.ts';
import { listen } from './listen.ts';

export type Queue<Claim> = {
  /** As the metrics call it. */
  readonly name: string;
  /** Of NOTIFY, where whoever queues something says so. */
  readonly channel?: string;
  readonly pollMs: number;
  /** So many at once, so that one that takes long holds up few. */
  readonly lanes: number;
  /** Takes the next one; undefined when nothing waits. */
  claim(): Promise<Claim | undefined>;
  /** Once `stopping` is aborted it gives back what it can't end soon. When it throws, nothing more is taken until the next look. */
  work(claim: Claim, stopping: AbortSignal): Promise<unknown>;
  /** What keeps a claim, where its work may outlast its lease. */
  readonly lease?: { readonly ms: number; renew(claim: Claim): Promise<unknown> };
};

export type QueueWork = {
  /** Takes what waits, as far as there are free lanes. Returns at once; work goes on behind it. */
  look(): void;
  /** Looks, and resolves once nothing is under way and nothing more waits. Never fails. */
  settled(): Promise<void>;
  /** Takes nothing more, lets what is under way know, and resolves when that has ended. */
  stop(): Promise<void>;
};

/** Begins at once. What fails is logged and tried again at a later look; nothing of it rejects. */
export function startQueueWork<Claim>(ctx: Pick<Ctx, 'db' | 'log'>, queue: Queue<Claim>): QueueWork {
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let claiming: Promise<void> | undefined;
  let again = false;

  const workOn = async (claim: Claim): Promise<void> => {
    const { lease } = queue;
    const release = lease && keepLease(lease.ms, () => lease.renew(claim), warn(ctx, queue.name, 'a lease could not be renewed'));
    try {
      await queue.work(claim, stopping.signal);
    } finally {
      release?.();
    }
  };
  // One claim after the other, so that many looks at once ask no more of the database than one.
  const claimAll = async (): Promise<void> => {
    while (!stopping.signal.aborted && inFlight.size < queue.lanes) {
      const claim = await queue.claim();
      if (claim === undefined) return;
      const work = workOn(claim)
        .finally(() => inFlight.delete(work))
        .then(look, warn(ctx, queue.name, 'what was taken from a queue is left to its lease'));
      inFlight.add(work);
    }
  };
  const look = (): void => {
    again = claiming !== undefined;
    if (again || stopping.signal.aborted) return;
    claiming = claimAll()
      .catch(warn(ctx, queue.name, 'a queue could not be looked at'))
      .finally(() => {
        claiming = undefined;
        if (again) look();
      });
  };
  const settled = async (): Promise<void> => {
    for (look(); claiming !== undefined || inFlight.size > 0; ) await Promise.all([claiming, ...inFlight]);
  };
  const deaf = queue.channel === undefined ? undefined : listen(ctx, queue.channel, look);
  const timer = setInterval(look, queue.pollMs);
  look();
  return {
    look,
    settled,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await Promise.all([deaf?.(), settled()]);
    },
  };
}

const warn =
  ({ log }: Pick<Ctx, 'log'>, queue: string, what: string) =>
  (error: unknown): void =>
    log.warn({ err: error, queue }, what);
