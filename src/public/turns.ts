// So many at once, so many waiting; whoever comes then is told to come later. One owner has at most half of either, and whoever
// runs the least is next, so that nobody's many requests keep others out.
import { unavailable } from '../core/errors.ts';

export type Turns = {
  /**
   * Resolves with the function that ends the turn, to be called once; with undefined when the signal came first. Throws 503 when too
   * many wait, or the wait took too long.
   */
  take(owner: string, signal: AbortSignal): Promise<(() => void) | undefined>;
  /** The process stops: whoever waits, or comes from now on, is answered 503. */
  close(): void;
  count(): { readonly running: number; readonly waiting: number };
};

export type TurnLimits = { readonly running: number; readonly waiting: number; readonly limitMs: number };

const retryAfterSeconds = 30;

type Waiting = { readonly owner: string; begin(): void; refuse(): void };
/** What an owner who runs or waits has; `last` counts up with each turn that begins. */
type Share = { running: number; waiting: number; last: number };

const stopping = () => unavailable('The service is stopping', 2);
const half = (count: number): number => Math.ceil(count / 2);
const before = (one: Share, other: Share): boolean =>
  one.running < other.running || (one.running === other.running && one.last < other.last);

/** `what` takes turns, in the words of a refusal. */
export function openTurns({ running, waiting, limitMs }: TurnLimits, what = 'exports'): Turns {
  let taken = 0;
  let begun = 0;
  let closed = false;
  const shares = new Map<string, Share>();
  const queue = new Set<Waiting>();

  const shareOf = (owner: string): Share => shares.get(owner) ?? { running: 0, waiting: 0, last: 0 };
  const change = (owner: string, by: Partial<Share>): void => {
    const share = { ...shareOf(owner), ...by };
    if (share.running + share.waiting > 0) shares.set(owner, share);
    else shares.delete(owner);
  };
  const mayRun = (owner: string): boolean => taken < running && shareOf(owner).running < half(running);
  const begin = (owner: string): (() => void) => {
    taken += 1;
    begun += 1;
    change(owner, { running: shareOf(owner).running + 1, last: begun });
    return () => {
      taken -= 1;
      change(owner, { running: shareOf(owner).running - 1 });
      next()?.begin();
    };
  };
  /** Of those who may run the one whose owner runs the least, or had to wait the longest for a turn; his own come in order. */
  const next = (): Waiting | undefined =>
    [...queue]
      .filter(({ owner }) => mayRun(owner))
      .reduce<Waiting | undefined>(
        (best, one) => (best === undefined || before(shareOf(one.owner), shareOf(best.owner)) ? one : best),
        undefined,
      );
  const wait = (owner: string, signal: AbortSignal): Promise<(() => void) | undefined> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        queue.delete(place);
        change(owner, { waiting: shareOf(owner).waiting - 1 });
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        leave();
        resolve(undefined);
      };
      const timer = setTimeout(() => {
        leave();
        reject(unavailable(`The ${what} under way took too long; try again later`, retryAfterSeconds));
      }, limitMs);
      const place: Waiting = {
        owner,
        begin: () => {
          const end = begin(owner);
          leave();
          resolve(end);
        },
        refuse: () => {
          leave();
          reject(stopping());
        },
      };
      queue.add(place);
      change(owner, { waiting: shareOf(owner).waiting + 1 });
      signal.addEventListener('abort', giveUp);
    });
  return {
    take(owner, signal) {
      if (signal.aborted) return Promise.resolve(undefined);
      if (closed) return Promise.reject(stopping());
      if (mayRun(owner)) return Promise.resolve(begin(owner));
      if (queue.size < waiting && shareOf(owner).waiting < half(waiting)) return wait(owner, signal);
      return Promise.reject(unavailable(`Too many ${what} are under way; try again later`, retryAfterSeconds));
    },
    close() {
      closed = true;
      for (const place of [...queue]) place.refuse();
    },
    count: () => ({ running: taken, waiting: queue.size }),
  };
}
