// Closes resources once, in the reverse order of opening, even when stopped while one is still being opened.

export class Stopped extends Error {
  override readonly name = 'Stopped';
}

export type Lifecycle = {
  /** Opens a resource and registers its closing. Rejects with Stopped after `stop`, or as `start` does. */
  open<T>(start: () => Promise<T>, close: (opened: T) => Promise<unknown>): Promise<T>;
  /** Waits for resources that are being opened, then closes all. Further calls return the same promise. */
  stop(): Promise<void>;
};

/** Rejects with Stopped from `open` when it is called after `stop`. */
export function createLifecycle(): Lifecycle {
  const closers: (() => Promise<unknown>)[] = [];
  const opening = new Set<Promise<unknown>>();
  let end: Promise<void> | undefined;

  const closeAll = async (): Promise<void> => {
    await Promise.allSettled(opening);
    for (const close of closers.reverse()) await close();
  };
  return {
    async open(start, close) {
      if (end !== undefined) throw new Stopped('stopping');
      const started = start().then((opened) => {
        closers.push(() => close(opened));
        return opened;
      });
      opening.add(started);
      try {
        return await started;
      } finally {
        opening.delete(started);
      }
    },
    stop: () => {
      end ??= closeAll();
      return end;
    },
  };
}
