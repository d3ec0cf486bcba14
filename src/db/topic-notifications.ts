// Notifications that something which streams follow has changed. However many subscribers this process has,
// one connection listens: it is opened for the first and closed after the last. A notification may be lost
// with its connection, so subscribers also poll.
import type { Ctx } from '../core/ctx.ts';
import { createWakeUp, type WakeUp } from '../core/work/wake-up.ts';
import type { Tx } from './transaction.ts';

/** The NOTIFY channel; its payload is the topic, such as `sync-run:<id>`. */
const channel = 'streams';

/** Wakes those who follow the topic when the transaction commits. */
export const notifyTopic = (tx: Tx, topic: string): Promise<unknown> =>
  tx.raw('select pg_notify(?, ?)', [channel, topic]);

export type TopicSubscription = {
  /**
   * Resolves when something may have changed since the last call, after the poll interval at the latest.
   * Rejects once the signal is aborted.
   */
  next(): Promise<void>;
  end(): void;
};
export type TopicNotifications = { subscribe(topic: string, signal: AbortSignal): TopicSubscription };

/**
 * `next` of a subscription rejects with the signal's reason once the signal is aborted. `pollMs` may depend on
 * the number of topics that are followed.
 */
export function createTopicNotifications(
  ctx: Pick<Ctx, 'db' | 'log'>,
  pollMs: number | ((topics: number) => number),
): TopicNotifications {
  const topics = new Map<string, Set<WakeUp>>();
  let unlisten: (() => Promise<void>) | undefined;
  const findPollMs = (): number => (typeof pollMs === 'number' ? pollMs : pollMs(topics.size));

  const notify = (topic: string | undefined): void => {
    const notified = topic === undefined ? [...topics.values()] : [topics.get(topic) ?? []];
    for (const subscriber of notified.flatMap((subscribers) => [...subscribers])) subscriber.wake();
  };
  const unsubscribe = (topic: string, subscriber: WakeUp): void => {
    topics.get(topic)?.delete(subscriber);
    if (topics.get(topic)?.size === 0) topics.delete(topic);
    if (topics.size > 0 || unlisten === undefined) return;
    unlisten().catch((error: unknown) =>
      ctx.log.warn({ err: error }, 'a listening connection could not be closed'),
    );
    unlisten = undefined;
  };

  return {
    subscribe: (topic, signal) => {
      const subscriber = createWakeUp(signal);
      topics.set(topic, (topics.get(topic) ?? new Set()).add(subscriber));
      unlisten ??= ctx.db.notifications.subscribe(channel, notify);
      return {
        next: async () => void (await subscriber.next(findPollMs())),
        end: () => unsubscribe(topic, subscriber),
      };
    },
  };
}
