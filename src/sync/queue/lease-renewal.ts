// Renews the lease of a run while this process works on it. Whether the run is still this process's own is
// decided by the database, by the lease's epoch: a process that was too busy to renew in time goes on unless
// another one has taken the run over.
import type { Ctx } from '../../core/ctx.ts';
import { startRecurring } from '../../core/recurring.ts';
import { LostLease } from '../../warehouse/run-state-row.ts';
import { Cancelled } from './interruption.ts';
import { type Lease, renewRunLease } from './runs.store.ts';

/** How long leases are: the busier the process, the longer. For all runs of a process. */
export type LeaseLength = {
  /** Notes how much later than planned a renewal began. */
  note(lateMs: number): void;
  /** The longest recent delay; an older one counts less with each renewal. */
  lateMs(): number;
  ms(): number;
};

/**
 * Three delays in a row like the longest one cost no lease; it is at most ten times as long as that of a
 * process that isn't busy.
 */
export function createLeaseLength(leaseMs: number): LeaseLength {
  let worstMs = 0;
  return {
    note: (lateMs) => {
      worstMs = Math.max(0, lateMs, worstMs / 2);
    },
    lateMs: () => worstMs,
    ms: () => Math.min(leaseMs + 3 * worstMs, 10 * leaseMs),
  };
}

export type LeaseRenewal = {
  /**
   * How late this process is or recently was with a renewal, where that is long enough to lose a lease;
   * otherwise null.
   */
  busyMs(): number | null;
  stop(): void;
};

/**
 * Renews the lease until it is stopped. Aborts the work with `LostLease` when a newer lease holds the run or
 * the database hasn't responded for the length of the lease, and with `Cancelled` when the run was cancelled.
 */
export function startLeaseRenewal(
  { db, clock, log, settings }: Pick<Ctx, 'db' | 'clock' | 'log' | 'settings'>,
  lease: Lease,
  abort: AbortController,
  length: LeaseLength,
): LeaseRenewal {
  const { leaseMs, renewMs } = settings.sync;
  let heldSinceMs = clock.monotonicMs();
  let wasExpired = false;
  // A busy process gets here before it has seen the response to its renewal: only the second time counts.
  const abortWhenExpired = (): void => {
    const isExpired = clock.monotonicMs() - heldSinceMs > length.ms();
    if (isExpired && wasExpired) abort.abort(new LostLease('the lease expired'));
    wasExpired = isExpired;
  };
  const renew = async (): Promise<void> => {
    const requestedAtMs = clock.monotonicMs();
    length.note(requestedAtMs - heldSinceMs - renewMs);
    const { held, cancelRequested } = await renewRunLease({ db }, lease, length.ms()).catch(
      (error: unknown) => {
        abortWhenExpired();
        return Promise.reject(error);
      },
    );
    wasExpired = false;
    heldSinceMs = requestedAtMs;
    if (!held) abort.abort(new LostLease('a newer lease holds the run'));
    else if (cancelRequested) abort.abort(new Cancelled('the run was cancelled'));
  };
  const onFailure = (error: unknown): void =>
    log.warn({ err: error }, 'could not renew the lease of a sync run');
  const renewal = startRecurring(renewMs, renew, onFailure, { onBusy: abortWhenExpired });
  return {
    busyMs: () => {
      const lateMs = Math.max(length.lateMs(), clock.monotonicMs() - heldSinceMs - renewMs);
      return lateMs + renewMs > leaseMs ? lateMs : null;
    },
    stop: () => void renewal.stop(),
  };
}
