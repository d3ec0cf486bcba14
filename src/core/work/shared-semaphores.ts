// Semaphores for limits that hold for the whole service, also when it runs in several processes (PROCESSES):
// then the parent has them, and the children ask it. A process of its own has them itself.
import { type Release, Semaphore, type SemaphoreLimits } from './semaphore.ts';

/** What a message between processes can carry. */
export type SharedLimits = Pick<SemaphoreLimits, 'maxRunning' | 'maxRunningPerOwner'>;

export type SharedSemaphore = {
  /** As of a `Semaphore`; a promise only where another process has the permits. */
  tryAcquire(owner: string): Release | undefined | Promise<Release | undefined>;
  acquireUnlessAborted(owner: string, signal: AbortSignal): Promise<Release | undefined>;
};

/** The semaphore of this name; `limits` count for the first call with it. */
export type OpenSemaphore = (name: string, limits: SharedLimits) => SharedSemaphore;

/** Each call makes a semaphore of its own. */
export const openOwnSemaphore: OpenSemaphore = (_name, limits) => new Semaphore(limits);
