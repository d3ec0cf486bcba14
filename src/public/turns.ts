// So many at once, so many waiting, in the order in which they came; whoever comes then is told to come later.
import { unavailable } from '../core/errors.ts';

export type Turns = {
  /**
   * Resolves with the function that ends the turn, to be called once; with undefined when the signal came first. Throws 503 when too
   * many wait, or the wait took too long.
   */
  take(signal: AbortSignal): Promise<(() => void) | undefined>;
};

export type TurnLimits = { readonly running: number; readonly waiting: number; readonly limitMs: number };

const retryAfterSeconds = 30;

/** `what` takes turns, in the words of a refusal. */
export function openTurns({ running, waiting, limitMs }: TurnLimits, what = 'exports'): Turns {
  let taken = 0;
  const queue = new Set<() => void>();
  const end = (): void => {
    const [next] = queue;
    if (next === undefined) taken -= 1;
    else next();
  };
  return {
    take(signal) {
      if (signal.aborted) return Promise.resolve(undefined);
      if (taken < running) {
        taken += 1;
        return Promise.resolve(end);
      }
      if (queue.size >= waiting) return Promise.reject(unavailable(`Too many ${what} are under way; try again later`, retryAfterSeconds));
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          queue.delete(begin);
          clearTimeout(timer);
          signal.removeEventListener('abort', giveUp);
        };
        const begin = (): void => {
          leave();
          resolve(end);
        };
        const giveUp = (): void => {
          leave();
          resolve(undefined);
        };
        const timer = setTimeout(() => {
          leave();
          reject(unavailable(`The ${what} under way took too long; try again later`, retryAfterSeconds));
        }, limitMs);
        queue.add(begin);
        signal.addEventListener('abort', giveUp);
      });
    },
  };
}
