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
/** Who waits is looked at so often within the longest wait, and so may wait that much longer. */
const looksPerWait = 10;

/** `since` is the look before which it came. */
type Waiting = {
  readonly owner: string;
  readonly since: number;
  readonly begin: (end: () => void) => void;
  readonly refuse: (error: Error) => void;
};
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
  /** One timer for all who wait, as one for each costs more than its turn. */
  let looking: NodeJS.Timeout | undefined;
  let looks = 0;

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
    if (place === undefined) return;
    const end = run(owner, share);
    leave(place);
    place.begin(end);
  };
  /** Made once: they are thrown when there is the least time for it. */
  const tooMany = unavailable(`Too many ${what} are under way; try again later`, retryAfterSeconds);
  const tooLong = unavailable(`The ${what} under way took too long; try again later`, retryAfterSeconds);
  const leave = (place: Waiting): void => {
    const share = shares.get(place.owner);
    if (share?.waiting.delete(place) !== true) return;
    inQueue -= 1;
    forgetIdle(place.owner, share);
  };
  const refuseAll = (isRefused: (place: Waiting) => boolean, error: Error): void => {
    for (const { waiting: places } of [...shares.values()]) {
      for (const place of [...places]) {
        if (!isRefused(place)) break;
        leave(place);
        place.refuse(error);
      }
    }
  };
  const look = (): void => {
    looks += 1;
    refuseAll(({ since }) => looks - since > looksPerWait, tooLong);
    if (inQueue > 0) return;
    clearInterval(looking);
    looking = undefined;
  };
  /** Throws 503 when too many wait. */
  const queue = (owner: string, begin: Waiting['begin'], refuse: Waiting['refuse']): Waiting => {
    if (closed) throw stopping();
    if (inQueue >= waiting || (shares.get(owner)?.waiting.size ?? 0) >= half(waiting)) throw tooMany;
    const place = { owner, since: looks, begin, refuse };
    shareOf(owner).waiting.add(place);
    inQueue += 1;
    looking ??= setInterval(look, limitMs / looksPerWait);
    return place;
  };
  const begin = (owner: string): (() => void) | undefined => {
    if (taken >= running) return undefined;
    const share = shareOf(owner);
    return share.running < ofOne ? run(owner, share) : undefined;
  };
  return {
    begin,
    take: (owner, signal) =>
      new Promise((resolve, reject) => {
        const end = signal.aborted ? undefined : begin(owner);
        if (signal.aborted || end !== undefined) return resolve(end);
        const done = (): void => signal.removeEventListener('abort', giveUp);
        const place = queue(
          owner,
          (begun) => {
            done();
            resolve(begun);
          },
          (error) => {
            done();
            reject(error);
          },
        );
        const giveUp = (): void => {
          leave(place);
          resolve(undefined);
        };
        signal.addEventListener('abort', giveUp, { once: true });
      }),
    await: (owner) =>
      new Promise((resolve, reject) => {
        const end = begin(owner);
        if (end === undefined) queue(owner, resolve, reject);
        else resolve(end);
      }),
    close: () => {
      closed = true;
      refuseAll(() => true, stopping());
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
