// Waits for work of the service, however long it takes, as long as it advances.
import type { Clock } from '../src/core/clock.ts';

const pollMs = 25;
const maxIdleMs = 10 * 60_000;

/**
 * `result` undefined: not done yet. `seen`: what there is of the work so far, as JSON; while it changes, the
 * work advances.
 */
export type Polled<T> = { readonly result: T | undefined; readonly seen: unknown };

/**
 * Polls until there is a result. Rejects with an Error once the work hasn't advanced for ten minutes, and
 * with what `check` throws.
 */
export async function pollUntil<T>(
  clock: Pick<Clock, 'monotonicMs'>,
  check: () => Promise<Polled<T>>,
): Promise<T> {
  let last: string | undefined;
  let advancedAtMs = clock.monotonicMs();
  for (;;) {
    const { result, seen } = await check();
    if (result !== undefined) return result;
    const current = JSON.stringify(seen);
    if (current !== last) [last, advancedAtMs] = [current, clock.monotonicMs()];
    if (clock.monotonicMs() - advancedAtMs > maxIdleMs)
      throw new Error(
        `The demo gave up waiting: nothing advanced for ${maxIdleMs / 60_000} minutes. Start it again to go on.`,
      );
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
