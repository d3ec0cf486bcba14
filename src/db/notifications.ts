// LISTEN/NOTIFY. One connection listens to all channels that a process subscribes to: it opens with the first subscription and closes
// after the last. A notification is only a hint: subscribers must also poll from time to time, because a broken connection is noticed
// late and notifications sent in the meantime are lost.
import type { Client, Notification } from 'pg';
import type { Ctx, Db } from '../core/ctx.ts';

type Owner = Pick<Ctx, 'db' | 'log'>;
type OnNotification = (payload?: string) => void;
type NotificationListener = { subscribe(channel: string, onNotification: OnNotification): () => Promise<void> };

const reconnectMs = 2_000;
/** The connection's name in PostgreSQL's views. */
const connectionName = 'portal-service listening';
const nothing = (): void => undefined;
const listenTo = (channel: string): string => `listen ${channel}`;

/** One per database handle, because one process may run several services. */
const listeners = new WeakMap<Db, NotificationListener>();

/**
 * Calls back for each notification on the channel, with its payload if it has one, and once without a payload whenever listening starts
 * or is restored after a break. Returns the function that unsubscribes.
 */
export function subscribeToChannel(ctx: Owner, channel: string, onNotification: OnNotification): () => Promise<void> {
  const listener = listeners.get(ctx.db) ?? createListener(ctx);
  listeners.set(ctx.db, listener);
  return listener.subscribe(channel, onNotification);
}

function createListener({ db, log }: Owner): NotificationListener {
  const subscribers = new Map<string, Set<OnNotification>>();
  const { execute, close } = openConnection({ db, log }, subscribers);
  return {
    subscribe: (channel, onNotification) => {
      const notify: OnNotification = (payload) => onNotification(payload);
      const ofChannel = (subscribers.get(channel) ?? new Set()).add(notify);
      subscribers.set(channel, ofChannel);
      execute(listenTo(channel), () => ofChannel.has(notify) && notify());
      return async () => {
        if (!ofChannel.delete(notify) || ofChannel.size > 0) return;
        subscribers.delete(channel);
        if (subscribers.size > 0) return execute(`unlisten ${channel}`, nothing);
        listeners.delete(db);
        await close();
      };
    },
  };
}

function openConnection({ db, log }: Owner, subscribers: ReadonlyMap<string, ReadonlySet<OnNotification>>) {
  let closed = false;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let lastStatement: Promise<unknown> = Promise.resolve();

  /** Runs statements one after the other, because a pg connection takes one at a time. */
  const enqueue = (run: () => Promise<unknown> | undefined): Promise<unknown> => {
    const result = lastStatement.then(run);
    lastStatement = result.catch(nothing);
    return result;
  };
  const connect = async (): Promise<void> => {
    let opened: Client | undefined;
    try {
      opened = (await db.control.client.acquireRawConnection()) as Client;
      opened.on('error', nothing);
      if (closed) return await opened.end();
      client = opened;
      opened.on('end', () => reconnectLater(opened));
      opened.on('notification', ({ channel, payload }: Notification) => {
        for (const notify of subscribers.get(channel) ?? []) notify(payload === '' ? undefined : payload);
      });
      const listening = opened;
      await enqueue(() =>
        listening.query([`set application_name = '${connectionName}'`, ...[...subscribers.keys()].map(listenTo)].join('; ')),
      );
      for (const notify of [...subscribers.values()].flatMap((ofChannel) => [...ofChannel])) notify();
    } catch (error) {
      if (closed) return;
      log.warn({ err: error }, 'the connection that listens for notifications failed; reconnecting');
      reconnectLater(opened);
      await opened?.end().catch(nothing);
    }
  };
  const reconnectLater = (lost: Client | undefined): void => {
    if (closed || lost !== client) return;
    client = undefined;
    retry = setTimeout(() => {
      connecting = connect();
    }, reconnectMs);
  };
  let connecting = connect();
  return {
    /** Runs a statement and then `onDone`. Does nothing while disconnected: the next connection listens to all channels anyway. */
    execute: (statement: string, onDone: () => unknown): void => {
      const current = client;
      if (current === undefined) return;
      enqueue(() => (current === client ? current.query(statement).then(onDone) : undefined)).catch(() => current.end().catch(nothing));
    },
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(retry);
      await connecting;
      await client?.end().catch(nothing);
    },
  };
}
