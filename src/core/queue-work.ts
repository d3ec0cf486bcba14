// How one of several processes works on a queue in the database: whatever waits is taken under a lease, a few at a time.

export type QueueWork = {
  /** So many at once, so that one that takes long holds up few. */
  readonly lanes: number;
  /** Nothing more is taken once it is aborted. */
  readonly stopping: AbortSignal;
  /** Takes the next one and works on it; false when nothing waits. What it throws ends its lane for this time. */
  takeOne(): Promise<boolean>;
  onFailure(error: unknown): void;
};

/** Returns what works until nothing waits, which looks once more when it is called again meanwhile. It never fails. */
export function openQueueWork({ lanes, stopping, takeOne, onFailure }: QueueWork): () => Promise<void> {
  let working: Promise<void> | undefined;
  let again = false;
  const lane = async (): Promise<void> => {
    while (!stopping.aborted && (await takeOne()));
  };
  const workOnAll = async (): Promise<void> => {
    do {
      again = false;
      for (const ended of await Promise.allSettled(Array.from({ length: lanes }, lane)))
        if (ended.status === 'rejected') onFailure(ended.reason);
    } while (again && !stopping.aborted);
    // In the same step as the last look at `again`, so that no wish falls in between.
    working = undefined;
  };
  return () => {
    if (stopping.aborted) return working ?? Promise.resolve();
    again = true;
    working ??= workOnAll();
    return working;
  };
}

/** Renews a lease well before it ends, until the function that this returns is called. */
export function keepLease(leaseMs: number, renew: () => Promise<unknown>, onFailure: (error: unknown) => void): () => void {
  const timer = setInterval(() => void renew().catch(onFailure), leaseMs / 3);
  return () => clearInterval(timer);
}
