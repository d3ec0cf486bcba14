// The concurrency limit of the service: a bounded number of running and waiting jobs, with a share of each
// per owner. A free permit goes to the owner with the fewest running jobs, so that many jobs of one owner do
// not starve others.

export type SemaphoreLimits = {
  readonly maxRunning: number;
  /** Running jobs of one owner; `maxRunning` by default. */
  readonly maxRunningPerOwner?: number;
  /** Running jobs of all owners of a group; no limit by default, nor for an owner without a group. */
  readonly groups?:
    | { readonly maxRunning: number; readonly of: (owner: string) => string | undefined }
    | undefined;
  /** Unlimited by default. */
  readonly maxWaiting?: number;
  /** Waiting jobs of one owner; `maxWaiting` by default. */
  readonly maxWaitingPerOwner?: number;
  /** How long a job may wait, up to a tenth longer; unlimited by default. */
  readonly maxWaitMs?: number;
};

/**
 * What acquiring rejects with: too many jobs wait, the job waited too long, the semaphore was closed. Created
 * once: refusals must be cheap.
 */
export type SemaphoreErrors = { readonly full: Error; readonly timedOut: Error; readonly closed: Error };

/** Returns the permit; must be called once. */
export type Release = () => void;

/** For limits without shares: all jobs belong to one owner, and start in order of arrival. */
export const anyOwner = '';

/** Timeouts are checked this many times per `maxWaitMs`. */
const checksPerWait = 10;

/** `queuedAtCheck` is the number of timeout checks done before it was queued. */
type Waiter = {
  readonly owner: string;
  readonly queuedAtCheck: number;
  readonly grant: (release: Release) => void;
  readonly reject: (error: Error) => void;
};
/**
 * State of one owner with running or waiting jobs: `waiting` oldest first, absent while none ever waited,
 * because most never do; `lastStart` is the sequence number of its latest start.
 */
type Share = { running: number; waiting: Set<Waiter> | undefined; lastStart: number };

const countWaiters = (share: Share | undefined): number => share?.waiting?.size ?? 0;

const goesFirst = (one: Share, other: Share): boolean =>
  one.running < other.running || (one.running === other.running && one.lastStart < other.lastStart);

const defaultErrors: SemaphoreErrors = {
  full: new Error('too many jobs are waiting'),
  timedOut: new Error('timed out waiting for other jobs'),
  closed: new Error('the semaphore is closed'),
};

export class Semaphore {
  readonly #limits: Required<SemaphoreLimits>;
  readonly #errors: SemaphoreErrors;
  readonly #shares = new Map<string, Share>();
  /** Running jobs by group; without groups that have none. */
  readonly #groups = new Map<string, number>();
  readonly #idleListeners = new Set<() => void>();
  #running = 0;
  #started = 0;
  #waiting = 0;
  #closed = false;
  /** One timer for all waiters: one each would cost more than the work it guards. */
  #timeoutTimer: NodeJS.Timeout | undefined;
  #timeoutChecks = 0;

  constructor(limits: SemaphoreLimits, errors: Partial<SemaphoreErrors> = {}) {
    const {
      maxRunning,
      maxRunningPerOwner = maxRunning,
      maxWaiting = Infinity,
      maxWaitMs = Infinity,
    } = limits;
    const { maxWaitingPerOwner = maxWaiting, groups } = limits;
    this.#limits = { maxRunning, maxRunningPerOwner, maxWaiting, maxWaitingPerOwner, maxWaitMs, groups };
    this.#errors = { ...defaultErrors, ...errors };
  }

  /** Takes a permit when one is free for this owner; undefined otherwise. */
  tryAcquire(owner: string): Release | undefined {
    if (this.#running >= this.#limits.maxRunning) return undefined;
    const share = this.#getShare(owner);
    return this.#hasPermitFor(owner, share) ? this.#start(owner, share) : undefined;
  }

  /** Rejects with one of the `errors` when too many wait, the wait is too long, or it is closed. */
  acquire(owner: string): Promise<Release> {
    return new Promise((resolve, reject) => {
      const release = this.tryAcquire(owner);
      if (release === undefined) this.#enqueue(owner, resolve, reject);
      else resolve(release);
    });
  }

  /** As `acquire`, but resolves with undefined when the signal aborts before there is a permit. */
  acquireUnlessAborted(owner: string, signal: AbortSignal): Promise<Release | undefined> {
    return new Promise((resolve, reject) => {
      const immediate = signal.aborted ? undefined : this.tryAcquire(owner);
      if (signal.aborted || immediate !== undefined) return resolve(immediate);
      const settle = (outcome: () => void): void => {
        signal.removeEventListener('abort', onAbort);
        outcome();
      };
      const waiter = this.#enqueue(
        owner,
        (release) => settle(() => resolve(release)),
        (error) => settle(() => reject(error)),
      );
      const onAbort = (): void => {
        this.#dequeue(waiter);
        resolve(undefined);
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Does the work with a permit. Rejects as `acquire` does, and with the error of the work. */
  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const release = this.tryAcquire(owner) ?? (await this.acquire(owner));
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** For shutdown: rejects everyone who waits, and everyone who would have to wait from now on. */
  close(): void {
    this.#closed = true;
    this.#rejectWaiters(() => true, this.#errors.closed);
  }

  /** Current number of running and waiting jobs. */
  stats(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting };
  }

  /** Resolves when no job runs, and after `maxMs` at the latest; undefined when no job runs now. */
  waitUntilIdle(maxMs?: number): Promise<void> | undefined {
    if (this.#running === 0) return undefined;
    return new Promise((resolve) => {
      const onIdle = (): void => {
        clearTimeout(timer);
        this.#idleListeners.delete(onIdle);
        resolve();
      };
      const timer = maxMs === undefined ? undefined : setTimeout(onIdle, maxMs);
      this.#idleListeners.add(onIdle);
    });
  }

  #getShare(owner: string): Share {
    const known = this.#shares.get(owner);
    if (known !== undefined) return known;
    const share: Share = { running: 0, waiting: undefined, lastStart: 0 };
    this.#shares.set(owner, share);
    return share;
  }

  #deleteIfIdle(owner: string, share: Share): void {
    if (share.running > 0 || countWaiters(share) > 0) return;
    if (owner === anyOwner) share.lastStart = 0;
    else this.#shares.delete(owner);
  }

  #hasPermitFor(owner: string, share: Share): boolean {
    const { maxRunningPerOwner, groups } = this.#limits;
    if (share.running >= maxRunningPerOwner) return false;
    const group = groups?.of(owner);
    return groups === undefined || group === undefined || (this.#groups.get(group) ?? 0) < groups.maxRunning;
  }

  #countInGroup(group: string | undefined, change: 1 | -1): void {
    if (group === undefined) return;
    const running = (this.#groups.get(group) ?? 0) + change;
    if (running === 0) this.#groups.delete(group);
    else this.#groups.set(group, running);
  }

  #start(owner: string, share: Share): Release {
    const group = this.#limits.groups?.of(owner);
    this.#countInGroup(group, 1);
    this.#running += 1;
    this.#started += 1;
    share.running += 1;
    share.lastStart = this.#started;
    return () => {
      this.#countInGroup(group, -1);
      this.#running -= 1;
      share.running -= 1;
      this.#deleteIfIdle(owner, share);
      if (this.#waiting > 0) this.#startNext();
      if (this.#running === 0) for (const onIdle of this.#idleListeners) onIdle();
    };
  }

  /**
   * Starts the next job: of the owners below their limits, the one with the fewest running jobs, then the one
   * whose last start is oldest.
   */
  #startNext(): void {
    let best: [string, Share] | undefined;
    for (const entry of this.#shares) {
      const [owner, share] = entry;
      if (countWaiters(share) === 0 || !this.#hasPermitFor(owner, share)) continue;
      if (best === undefined || goesFirst(share, best[1])) best = entry;
    }
    if (best === undefined) return;
    const [owner, share] = best;
    const [waiter] = share.waiting ?? [];
    if (waiter === undefined) return;
    const release = this.#start(owner, share);
    this.#dequeue(waiter);
    waiter.grant(release);
  }

  /** Throws one of the `errors` when too many wait, and once the semaphore is closed. */
  #enqueue(owner: string, grant: Waiter['grant'], reject: Waiter['reject']): Waiter {
    if (this.#closed) throw this.#errors.closed;
    const { maxWaiting, maxWaitingPerOwner, maxWaitMs } = this.#limits;
    if (this.#waiting >= maxWaiting || countWaiters(this.#shares.get(owner)) >= maxWaitingPerOwner)
      throw this.#errors.full;
    const waiter: Waiter = { owner, queuedAtCheck: this.#timeoutChecks, grant, reject };
    const share = this.#getShare(owner);
    share.waiting ??= new Set();
    share.waiting.add(waiter);
    this.#waiting += 1;
    if (maxWaitMs !== Infinity)
      this.#timeoutTimer ??= setInterval(() => this.#checkTimeouts(), maxWaitMs / checksPerWait);
    return waiter;
  }

  #dequeue(waiter: Waiter): void {
    const share = this.#shares.get(waiter.owner);
    if (share?.waiting?.delete(waiter) !== true) return;
    this.#waiting -= 1;
    this.#deleteIfIdle(waiter.owner, share);
  }

  /** For each owner, rejects the oldest waiters until `shouldReject` returns false. */
  #rejectWaiters(shouldReject: (waiter: Waiter) => boolean, error: Error): void {
    for (const { waiting } of [...this.#shares.values()]) {
      for (const waiter of [...(waiting ?? [])]) {
        if (!shouldReject(waiter)) break;
        this.#dequeue(waiter);
        waiter.reject(error);
      }
    }
  }

  #checkTimeouts(): void {
    this.#timeoutChecks += 1;
    this.#rejectWaiters(
      ({ queuedAtCheck }) => this.#timeoutChecks - queuedAtCheck > checksPerWait,
      this.#errors.timedOut,
    );
    if (this.#waiting > 0) return;
    clearInterval(this.#timeoutTimer);
    this.#timeoutTimer = undefined;
  }
}
