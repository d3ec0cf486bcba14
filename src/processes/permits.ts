// Both ends of the semaphores that all children share: the parent has the permits, a child asks for them. The
// permits of a child that ended are released.
import { type Release, Semaphore } from '../core/work/semaphore.ts';
import type { OpenSemaphore } from '../core/work/shared-semaphores.ts';
import type { Acquire, ToChild, ToParent } from './messages.ts';

export type Permits = {
  /** Takes the messages of one child. */
  connect(reply: (message: ToChild) => void): {
    acquire(message: Acquire): Promise<void>;
    release(id: number): void;
    releaseAll(): void;
  };
};

type Permit = { readonly left: AbortController; release: Release | undefined };

/** For the parent. */
export function createPermits(): Permits {
  /** By name and limits: those of a new child's code may be others. Without those that are idle. */
  const semaphores = new Map<string, Semaphore>();
  const acquire = async ({ name, limits, owner, waits }: Acquire, left: AbortSignal) => {
    const { maxRunning, maxRunningPerOwner } = limits;
    const key = JSON.stringify([name, maxRunning, maxRunningPerOwner]);
    const own = { maxRunning: maxRunning ?? Infinity, maxRunningPerOwner: maxRunningPerOwner ?? Infinity };
    const semaphore = semaphores.get(key) ?? new Semaphore(own);
    semaphores.set(key, semaphore);
    const release = waits ? await semaphore.acquireUnlessAborted(owner, left) : semaphore.tryAcquire(owner);
    if (release === undefined) return undefined;
    return () => {
      release();
      const { running, waiting } = semaphore.stats();
      if (running + waiting === 0) semaphores.delete(key);
    };
  };
  return {
    connect: (reply) => {
      const permits = new Map<number, Permit>();
      const release = (id: number): void => {
        const permit = permits.get(id);
        permits.delete(id);
        permit?.left.abort();
        permit?.release?.();
      };
      return {
        async acquire(message) {
          const { id } = message;
          const permit: Permit = { left: new AbortController(), release: undefined };
          permits.set(id, permit);
          permit.release = await acquire(message, permit.left.signal);
          if (permit.release === undefined) permits.delete(id);
          // The child no longer waits, or has ended.
          else if (permit.left.signal.aborted) return permit.release();
          reply({ kind: 'acquired', id, isGranted: permit.release !== undefined });
        },
        release,
        releaseAll: () => [...permits.keys()].forEach(release),
      };
    },
  };
}

export type PermitClient = {
  readonly openSemaphore: OpenSemaphore;
  onAcquired(id: number, is: boolean): void;
};

const finite = (limit: number | undefined): number | null =>
  limit === undefined || limit === Infinity ? null : limit;

/** For a child. `send` returns false when the parent is gone; then the child stops, and nothing is limited. */
export function createPermitClient(send: (message: ToParent) => boolean): PermitClient {
  const waiting = new Map<number, (isGranted: boolean) => void>();
  let lastId = 0;
  const openSemaphore: OpenSemaphore = (name, { maxRunning, maxRunningPerOwner }) => {
    const limits = { maxRunning: finite(maxRunning), maxRunningPerOwner: finite(maxRunningPerOwner) };
    const acquire = async (owner: string, signal?: AbortSignal): Promise<Release | undefined> => {
      lastId += 1;
      const id = lastId;
      const release = (): void => void send({ kind: 'release', id });
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(id, resolve);
      const leave = (): void => {
        if (!waiting.delete(id)) return;
        release();
        resolve(false);
      };
      signal?.addEventListener('abort', leave, { once: true });
      const waits = signal !== undefined;
      if (!send({ kind: 'acquire', id, name, limits, owner, waits })) resolve(true);
      const isGranted = await promise;
      waiting.delete(id);
      signal?.removeEventListener('abort', leave);
      return isGranted ? release : undefined;
    };
    return {
      tryAcquire: (owner) => acquire(owner),
      acquireUnlessAborted: async (owner, signal) => (signal.aborted ? undefined : acquire(owner, signal)),
    };
  };
  return {
    openSemaphore,
    onAcquired: (id, isGranted) => {
      waiting.get(id)?.(isGranted);
      waiting.delete(id);
    },
  };
}
