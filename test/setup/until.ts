// Waits for background work.

/** Polls until the result is neither undefined nor false. Rejects with an Error after `withinMs`. */
export async function until<T>(poll: () => Promise<T | undefined | false>, withinMs = 90_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await poll();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error('waited too long');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Whether the work ends within `ms`, measured in small steps, so that time in which this process is suspended
 * or its timers are late hardly counts.
 */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const pieceMs = 50;
  let isOver = false;
  const ended = work.then(() => {
    isOver = true;
    return true;
  });
  const waited = (async () => {
    for (let left = ms; left > 0 && !isOver; left -= pieceMs)
      await new Promise((resolve) => setTimeout(resolve, pieceMs));
    return false;
  })();
  return Promise.race([ended, waited]);
}
