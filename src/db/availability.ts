// Whether a server can be reached, according to the probes of its liveness monitor. A connection that breaks
// says little, because an administrator or the network may have ended it: the server is unreachable when no
// new one can be opened.
import { systemClock } from '../core/clock.ts';
import type { Availability } from '../core/ctx.ts';
import type { ProbeOptions } from './liveness.ts';
import { isUnreachable } from './pg-errors.ts';

/** Probes are sent once a second; a busy server may miss one. */
const maxUnansweredChecks = 2;

/** Pass `probing` to `monitorDatabaseLiveness`, which probes each second, and its `check` as `probe`. */
export function createAvailability(probe: () => Promise<void>): {
  availability: Availability;
  probing: ProbeOptions;
} {
  let unreachableSinceMs: number | undefined;
  const watchers = new Set<(isUnreachable: boolean) => void>();
  const set = (isNow: boolean): void => {
    if (isNow === (unreachableSinceMs !== undefined)) return;
    unreachableSinceMs = isNow ? systemClock.monotonicMs() : undefined;
    for (const watcher of [...watchers]) watcher(isNow);
  };
  return {
    availability: {
      unreachableForMs: () =>
        unreachableSinceMs === undefined ? undefined : systemClock.monotonicMs() - unreachableSinceMs,
      confirm: async (error) => {
        if (!isUnreachable(error)) return;
        await probe();
        // That may have been on a connection which broke, or was sent before the statement failed.
        if (unreachableSinceMs === undefined) await probe();
      },
      watch: (watcher) => {
        watchers.add(watcher);
        return () => void watchers.delete(watcher);
      },
    },
    probing: {
      onSuccess: () => set(false),
      // A server that refuses the probe can be reached.
      onFailure: (error, isNew) => {
        if (isNew || !isUnreachable(error)) set(isUnreachable(error));
      },
      onUnanswered: (checks) => {
        if (checks >= maxUnansweredChecks) set(true);
      },
    },
  };
}
