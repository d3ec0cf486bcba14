// The permits for large reads. A response holds its permit until its client has read it, which a slow client
// may delay for minutes. So that slow clients of some organizations keep no other one from reading, a
// response of the organization that holds the most permits is cut off when one that holds fewer has to wait.
import type { Clock } from '../../../core/clock.ts';
import type { Release, Semaphore } from '../../../core/work/semaphore.ts';

/** A response that holds its permit for less long is not cut off. */
const minHoldMs = 2_000;
const checkEveryMs = 250;

/** The response for which a permit is held; destroying it closes the connection. */
export type LargeResponse = { readonly headersSent: boolean; destroy(): unknown };
type Held = { readonly owner: string; readonly sinceMs: number; response: LargeResponse | undefined };

export type LargePermit = {
  readonly release: Release;
  /** Lets the response be cut off for others from when it is being sent. */
  sendWith(response: LargeResponse): void;
};
export type LargeReads = {
  /** Rejects with 503 when too many wait or the wait takes too long. */
  acquire(owner: string): Promise<LargePermit>;
};

export function createLargeReads(clock: Clock, permits: Semaphore): LargeReads {
  /** Oldest first. */
  const all = new Set<Held>();

  function makeRoom(owner: string): void {
    const counts = new Map<string, number>();
    for (const held of all) counts.set(held.owner, (counts.get(held.owner) ?? 0) + 1);
    const most = Math.max(0, ...counts.values());
    if (most <= (counts.get(owner) ?? 0) + 1) return;
    const heldSince = clock.monotonicMs() - minHoldMs;
    const slowest = [...all].find(
      (held) => counts.get(held.owner) === most && held.sinceMs <= heldSince && held.response?.headersSent,
    );
    slowest?.response?.destroy();
  }
  async function waitFor(owner: string): Promise<Release> {
    const checking = setInterval(makeRoom, checkEveryMs, owner);
    return permits.acquire(owner).finally(() => clearInterval(checking));
  }
  return {
    async acquire(owner) {
      const release = permits.tryAcquire(owner) ?? (await waitFor(owner));
      const held: Held = { owner, sinceMs: clock.monotonicMs(), response: undefined };
      all.add(held);
      return {
        release: () => {
          all.delete(held);
          release();
        },
        sendWith: (response) => {
          held.response = response;
        },
      };
    },
  };
}
