// Words that something which callers follow has changed. However many follow in this process, one connection listens: it is opened
// for the first and closed after the last. A word may be lost with its connection, so whoever follows also looks by himself.
import type { Ctx } from '../core/ctx.ts';
import { listen } from '../db/listen.ts';

/** Its payload is the topic, such as `sync-run:<id>`. */
const channel = 'streams';

export type Following = {
  /** Resolves when there may be news since the last call, at the latest after the slow poll. Rejects once the signal is aborted. */
  next(): Promise<void>;
  end(): void;
};
export type Notices = { follow(topic: string, signal: AbortSignal): Following };

type Follower = { news: boolean; wake: () => void };
const asleep = (): void => undefined;

export function openNotices(ctx: Pick<Ctx, 'db' | 'log'>, pollMs: number): Notices {
  const topics = new Map<string, Set<Follower>>();
  let deaf: (() => Promise<void>) | undefined;

  const tell = (topic: string | undefined): void => {
    const told = topic === undefined ? [...topics.values()] : [topics.get(topic) ?? []];
    for (const follower of told.flatMap((followers) => [...followers])) {
      follower.news = true;
      follower.wake();
    }
  };
  const leave = (topic: string, follower: Follower): void => {
    topics.get(topic)?.delete(follower);
    if (topics.get(topic)?.size === 0) topics.delete(topic);
    if (topics.size > 0 || deaf === undefined) return;
    deaf().catch((error: unknown) => ctx.log.warn({ err: error }, 'a listening connection could not be closed'));
    deaf = undefined;
  };

  return {
    follow: (topic, signal) => {
      const follower: Follower = { news: false, wake: asleep };
      topics.set(topic, (topics.get(topic) ?? new Set()).add(follower));
      deaf ??= listen(ctx, channel, tell);
      return {
        next: async () => {
          signal.throwIfAborted();
          if (!follower.news) await wait(follower, signal, pollMs);
          signal.throwIfAborted();
          follower.news = false;
        },
        end: () => leave(topic, follower),
      };
    },
  };
}

const wait = (follower: Follower, signal: AbortSignal, atMostMs: number): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      follower.wake = asleep;
      resolve();
    };
    const timer = setTimeout(done, atMostMs);
    signal.addEventListener('abort', done, { once: true });
    follower.wake = done;
  });
