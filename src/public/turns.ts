// So many at once, so many waiting; whoever comes then is told to come later. One owner has at most a share of either, and whoever
// runs the least is next, so that nobody's many requests keep others out.
import { unavailable } from '../core/errors.ts';

export type Turns = {
  /** The function that ends a turn begun at once, to be called once; undefined when there is none free for this owner. */
  begin(owner: string): (() => void) | undefined;
  /**
   * Resolves with the function that ends the turn, to be called once; with undefined when the signal came first. Throws 503 when too
   * many wait, or the wait took too long.
   */
  take(owner: string, signal: AbortSignal): Promise<(() => void) | undefined>;
  /** As `take`, for whom nothing can call away. */
  await(owner: string): Promise<() => void>;
  /** The process stops: whoever waits, or would have to, is answered 503. */
  close(): void;
  /** How many run and how many wait. */
  now(): { readonly running: number; readonly waiting: number };
  /** Resolves when nobody runs, and after so long in any case; undefined when nobody runs now. */
  lull(atMostMs: number): Promise<void> | undefined;
};

export type TurnLimits = {
  readonly running: number;
  readonly waiting: number;
  readonly limitMs: number;
  /** How many of one owner may run at once; half of all unless told. */
  readonly ofOne?: number;
  readonly retryAfterSeconds?: number;
};

const usualRetryAfterSeconds = 30;

type Waiting = { begin(end: () => void): void; refuse(): void };
/** What an owner who runs or waits has, the longest waiting first; `last` counts up with each turn that begins. */
type Share = { running: number; readonly waiting: Set<Waiting>; last: number };

const stopping = () => unavailable('The service is stopping', 2);
export const half = (count: number): number => Math.ceil(count / 2);
const before = (one: Share, other: Share): boolean =>
  one.running < other.running || (one.running === other.running && one.last < other.last);

/** `what` takes turns, in the words of a refusal. */
export function openTurns(limits: TurnLimits, what = 'exports'): Turns {
  const { running, waiting, limitMs, ofOne = half(running), retryAfterSeconds = usualRetryAfterSeconds } = limits;
  let taken = 0;
  let begun = 0;
  let inQueue = 0;
  let closed = false;
  const shares = new Map<string, Share>();
  const atRest = new Set<() => void>();

  const shareOf = (owner: string): Share => {
    const held = shares.get(owner);
    if (held !== undefined) return held;
    const share: Share = { running: 0, waiting: new Set(), last: 0 };
    shares.set(owner, share);
    return share;
  };
  const forgetIdle = (owner: string, share: Share): void => {
    if (share.running === 0 && share.waiting.size === 0) shares.delete(owner);
  };
  const run = (owner: string, share: Share): (() => void) => {
    taken += 1;
    begun += 1;
    share.running += 1;
    share.last = begun;
    return () => {
      taken -= 1;
      share.running -= 1;
      forgetIdle(owner, share);
      if (inQueue > 0) beginNext();
      if (taken === 0) for (const done of atRest) done();
    };
  };
  /** Of those who may run the one who runs the least, or had to wait the longest for a turn; his own come in order. */
  const beginNext = (): void => {
    let best: [string, Share] | undefined;
    for (const entry of shares) {
      const [, share] = entry;
      if (share.waiting.size > 0 && share.running < ofOne && (best === undefined || before(share, best[1]))) best = entry;
    }
    if (best === undefined) return;
    const [owner, share] = best;
    const [place] = share.waiting;
    place?.begin(run(owner, share));
  };
  /** Made once: they are thrown when there is the least time for it. */
  const tooMany = unavailable(`Too many ${what} are under way; try again later`, retryAfterSeconds);
  const tooLong = unavailable(`The ${what} under way took too long; try again later`, retryAfterSeconds);
  const wait = (owner: string, signal: AbortSignal | undefined): Promise<(() => void) | undefined> =>
    new Promise((resolve, reject) => {
      const share = shareOf(owner);
      const leave = (): void => {
        share.waiting.delete(place);
        inQueue -= 1;
        forgetIdle(owner, share);
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        leave();
        resolve(undefined);
      };
      const timer = setTimeout(() => {
        leave();
        reject(tooLong);
      }, limitMs);
      const place: Waiting = {
        begin: (end) => {
          leave();
          resolve(end);
        },
        refuse: () => {
          leave();
          reject(stopping());
        },
      };
      share.waiting.add(place);
      inQueue += 1;
      signal?.addEventListener('abort', giveUp);
    });
  const begin = (owner: string): (() => void) | undefined => {
    if (taken >= running) return undefined;
    const share = shareOf(owner);
    return share.running < ofOne ? run(owner, share) : undefined;
  };
  const enter = async (owner: string, signal?: AbortSignal): Promise<(() => void) | undefined> => {
    const end = begin(owner);
    if (end !== undefined) return end;
    if (closed) throw stopping();
    if (inQueue < waiting && (shares.get(owner)?.waiting.size ?? 0) < half(waiting)) return wait(owner, signal);
    throw tooMany;
  };
  return {
    begin,
    take: async (owner, signal) => (signal.aborted ? undefined : enter(owner, signal)),
    await: async (owner) => {
      const end = await enter(owner);
      if (end === undefined) throw new Error('a turn was called away');
      return end;
    },
    close: () => {
      closed = true;
      for (const { waiting: places } of [...shares.values()]) for (const place of [...places]) place.refuse();
    },
    now: () => ({ running: taken, waiting: inQueue }),
    lull: (atMostMs) =>
      taken === 0
        ? undefined
        : new Promise((resolve) => {
            const done = (): void => {
              clearTimeout(timer);
              atRest.delete(done);
              resolve();
            };
            const timer = setTimeout(done, atMostMs);
            atRest.add(done);
          }),
  };
}
