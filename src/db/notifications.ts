// LISTEN/NOTIFY. One connection listens to all channels that a process subscribes to. A notification is only
// a hint: subscribers must also poll from time to time, because a broken connection is noticed late and
// notifications sent in the meantime are lost.
import type { Client, Notification } from 'pg';
import type { NotificationListener } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';

/** Opens a connection that belongs to the caller. */
export type ConnectClient = () => Promise<Client>;

type OnNotification = (payload?: string) => void;
type Subscribers = Map<string, Set<OnNotification>>;
type Connection = {
  /**
   * Runs a statement and then `onDone`. Does nothing while disconnected: the next connection listens to all
   * channels anyway.
   */
  execute(statement: string, onDone?: () => unknown): void;
  close(): Promise<void>;
};

const reconnectMs = 2_000;
/** The connection's name in PostgreSQL's views. */
const connectionName = 'portal-service listening';
const nothing = (): void => undefined;
const listenTo = (channel: string): string => `listen ${channel}`;

/** Opens its connection with the first subscription and closes it after the last. */
export function createNotificationListener(
  connect: ConnectClient,
  log?: Pick<Log, 'warn'>,
): NotificationListener {
  const subscribers: Subscribers = new Map();
  let connection: Connection | undefined;
  return {
    subscribe: (channel, onNotification) => {
      const notify: OnNotification = (payload) => onNotification(payload);
      const ofChannel = (subscribers.get(channel) ?? new Set()).add(notify);
      subscribers.set(channel, ofChannel);
      connection ??= keepConnected(connect, subscribers, log);
      connection.execute(listenTo(channel), () => ofChannel.has(notify) && notify());
      return async () => {
        if (!ofChannel.delete(notify) || ofChannel.size > 0) return;
        subscribers.delete(channel);
        if (subscribers.size > 0) return connection?.execute(`unlisten ${channel}`);
        const closing = connection;
        connection = undefined;
        await closing?.close();
      };
    },
  };
}

/** Connects, also after each break. Each connection listens to all channels and calls all back. */
function keepConnected(
  connect: ConnectClient,
  subscribers: Subscribers,
  log: Pick<Log, 'warn'> | undefined,
): Connection {
  const enqueue = createSequence();
  let closed = false;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;

  const open = async (): Promise<void> => {
    let opened: Client | undefined;
    try {
      opened = await connect();
      opened.on('error', nothing);
      if (closed) return await opened.end();
      client = opened;
      opened.on('end', () => reconnectLater(opened));
      const listening = opened;
      await enqueue(() => startListening(listening, subscribers));
      for (const notify of [...subscribers.values()].flatMap((ofChannel) => [...ofChannel])) notify();
    } catch (error) {
      if (closed) return;
      log?.warn({ err: error }, 'the connection that listens for notifications failed; reconnecting');
      reconnectLater(opened);
      await opened?.end().catch(nothing);
    }
  };
  const reconnectLater = (lost: Client | undefined): void => {
    if (closed || lost !== client) return;
    client = undefined;
    retry = setTimeout(() => {
      opening = open();
    }, reconnectMs);
  };
  let opening = open();
  return {
    execute: (statement, onDone = nothing) => {
      const current = client;
      if (current === undefined) return;
      enqueue(() => (current === client ? current.query(statement).then(onDone) : undefined)).catch(() =>
        current.end().catch(nothing),
      );
    },
    close: async () => {
      closed = true;
      clearTimeout(retry);
      await opening;
      await client?.end().catch(nothing);
    },
  };
}

function startListening(client: Client, subscribers: Subscribers): Promise<unknown> {
  client.on('notification', ({ channel, payload }: Notification) => {
    for (const notify of subscribers.get(channel) ?? []) notify(payload === '' ? undefined : payload);
  });
  return client.query(
    [`set application_name = '${connectionName}'`, ...[...subscribers.keys()].map(listenTo)].join('; '),
  );
}

/** Runs statements one after the other, because a pg connection takes one at a time. */
function createSequence(): (run: () => Promise<unknown> | undefined) => Promise<unknown> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result.catch(nothing);
    return result;
  };
}
