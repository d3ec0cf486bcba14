// Renews the lease of a job while this process works on it. Whether the lease still holds is decided by the
// database: a process that was too busy to renew in time goes on unless another one has claimed the job.
import type { Ctx } from '../core/ctx.ts';
import { startRecurring } from '../core/work/recurring.ts';

/** A newer lease holds the work. */
export class LostLease extends Error {
  override readonly name = 'LostLease';
}

/** How long leases are: the busier the process, the longer. For all jobs of a worker. */
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

type LeaseOptions = {
  readonly leaseMs: number;
  readonly renewMs?: number;
  readonly length?: LeaseLength;
  /** Renews for this long; resolves to the reason to abort the work, if there is one. */
  renew(leaseMs: number): Promise<Error | undefined>;
  onFailure(error: unknown): void;
};

/**
 * Renews the lease until it is stopped. Aborts the work with the reason that `renew` returns, and with
 * `LostLease` when the database hasn't responded for the length of the lease.
 */
export function startLeaseRenewal(
  { clock }: Pick<Ctx, 'clock'>,
  abort: AbortController,
  { leaseMs, renewMs = leaseMs / 3, length = createLeaseLength(leaseMs), renew, onFailure }: LeaseOptions,
): LeaseRenewal {
  let heldSinceMs = clock.monotonicMs();
  let wasExpired = false;
  // A busy process gets here before it has seen the response to its renewal: only the second time counts.
  const abortWhenExpired = (): void => {
    const isExpired = clock.monotonicMs() - heldSinceMs > length.ms();
    if (isExpired && wasExpired) abort.abort(new LostLease('the lease expired'));
    wasExpired = isExpired;
  };
  const renewOnce = async (): Promise<void> => {
    const requestedAtMs = clock.monotonicMs();
    length.note(requestedAtMs - heldSinceMs - renewMs);
    const reason = await renew(length.ms()).catch((error: unknown) => {
      abortWhenExpired();
      return Promise.reject(error);
    });
    wasExpired = false;
    heldSinceMs = requestedAtMs;
    if (reason !== undefined) abort.abort(reason);
  };
  const renewal = startRecurring(renewMs, renewOnce, onFailure, { onBusy: abortWhenExpired });
  return {
    busyMs: () => {
      const lateMs = Math.max(length.lateMs(), clock.monotonicMs() - heldSinceMs - renewMs);
      return lateMs + renewMs > leaseMs ? lateMs : null;
    },
    stop: () => void renewal.stop(),
  };
}
