// What was opened is closed in the opposite order, once, even when the end comes while something is still being opened.

export class Stopped extends Error {
  override readonly name = 'Stopped';
}

export type Lifecycle = {
  /** Opens something and remembers how to close it. Throws Stopped once the end has begun. */
  open<T>(start: () => Promise<T>, close: (opened: T) => Promise<unknown>): Promise<T>;
  /** Waits for what is being opened, then closes everything. Called again it waits for the same end. */
  stop(): Promise<void>;
};

export function openLifecycle(): Lifecycle {
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
