// Waits for what happens behind an answer.

export async function until<T>(look: () => Promise<T | undefined>, withinMs = 90_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error('waited too long');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Whether the work ends within so much time of this process: it passes in small pieces, so that a process that stands still, or is late with
 * its timers, is late with this one as well.
 */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const pieceMs = 50;
  let isOver = false;
  const ended = work.then(() => {
    isOver = true;
    return true;
  });
  const waited = (async () => {
    for (let left = ms; left > 0 && !isOver; left -= pieceMs) await new Promise((resolve) => setTimeout(resolve, pieceMs));
    return false;
  })();
  return Promise.race([ended, waited]);
}
