// Notices that a record type was published, once for all streams of a process that follow it: by the
// notification of the run (tell_followers.sql), and by reading its state at intervals.
import type { Ctx } from '../../core/ctx.ts';
import { createTopicNotifications, type TopicSubscription } from '../../db/topic-notifications.ts';
import { findFreshness, type Reader, type ReaderOf, stateKey } from '../read/connection/reader.ts';

export type GenerationWatch = {
  /** Calls `onMove` whenever another state may have been published. Returns the function that ends this. */
  follow(organizationId: string, recordType: string, onMove: () => void): () => void;
};

type Watched = { readonly followers: Set<() => void>; readonly stop: AbortController };

/** Undefined when nothing is published. Rejects with 503 when the database is unavailable. */
async function readState(reader: Reader, recordType: string): Promise<string | undefined> {
  // A notification says that the cached state is replaced, and a poll must not be later by its age.
  reader.states.outdate(stateKey(reader, recordType));
  const state = await findFreshness(reader, recordType);
  return state && `${state.epoch} ${state.generation}`;
}

/** Reads the state at each notification and interval, until `notified` rejects. */
async function watchState(
  read: () => Promise<string | undefined>,
  notified: TopicSubscription,
  followers: ReadonlySet<() => void>,
): Promise<void> {
  let known: string | undefined;
  try {
    for (;;) {
      const state = await read().catch(() => known);
      if (state !== known) for (const onMove of [...followers]) onMove();
      known = state;
      await notified.next();
    }
  } finally {
    notified.end();
  }
}

/** One connection listens for all of them, and one statement per interval reads each followed record type. */
export function createGenerationWatch(
  ctx: Pick<Ctx, 'db' | 'log' | 'settings'>,
  getReader: ReaderOf,
): GenerationWatch {
  const { pollMs, maxPollsPerSecond } = ctx.settings.changeStreams;
  const notices = createTopicNotifications(ctx, (topics) =>
    Math.max(pollMs, (topics * 1_000) / maxPollsPerSecond),
  );
  const watched = new Map<string, Watched>();

  return {
    follow(organizationId, recordType, onMove) {
      const key = `${organizationId}/${recordType}`;
      const known = watched.get(key);
      const one = known ?? { followers: new Set(), stop: new AbortController() };
      one.followers.add(onMove);
      if (known === undefined) {
        watched.set(key, one);
        const notified = notices.subscribe(`records:${organizationId}:${recordType}`, one.stop.signal);
        const read = () => readState(getReader(organizationId), recordType);
        // Rejects when it is stopped.
        watchState(read, notified, one.followers).catch(() => undefined);
      }
      return () => {
        one.followers.delete(onMove);
        if (one.followers.size > 0 || watched.get(key) !== one) return;
        watched.delete(key);
        one.stop.abort();
      };
    },
  };
}
