/** Polls until the result is defined. Rejects with an Error after 90 seconds. */
export async function until<T>(poll: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + 90_000;
  for (;;) {
    const found = await poll();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error('waited too long');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
