// Hears NOTIFY. However many channels a process follows, one connection listens: it is made for the first and closed after the last.
// A word is only a hint: whoever follows must also look by himself from time to time, because a broken connection is found late and
// what was said meanwhile is lost.
import type { Client, Notification } from 'pg';
import type { Ctx, Db } from '../core/ctx.ts';

type Holder = Pick<Ctx, 'db' | 'log'>;
type OnNotice = (payload?: string) => void;
type Ear = { follow(channel: string, onNotice: OnNotice): () => Promise<void> };

const reconnectMs = 2_000;
/** How operators and PostgreSQL's views tell it from the others. */
const connectionName = 'portal-service listening';
const nothing = (): void => undefined;
const listenTo = (channel: string): string => `listen ${channel}`;

/** Kept per database: each service of a process has its own. */
const ears = new WeakMap<Db, Ear>();

/**
 * Calls back at each notification on the channel, with its payload where it has one, and once without whenever the channel begins to be
 * heard, again after a break. Returns how to stop.
 */
export function listen(ctx: Holder, channel: string, onNotice: OnNotice): () => Promise<void> {
  const ear = ears.get(ctx.db) ?? openEar(ctx);
  ears.set(ctx.db, ear);
  return ear.follow(channel, onNotice);
}

function openEar({ db, log }: Holder): Ear {
  const followers = new Map<string, Set<OnNotice>>();
  const { hearToo, close } = openConnection({ db, log }, followers);
  return {
    follow: (channel, onNotice) => {
      const tell: OnNotice = (payload) => onNotice(payload);
      const ofChannel = (followers.get(channel) ?? new Set()).add(tell);
      followers.set(channel, ofChannel);
      hearToo(listenTo(channel), () => ofChannel.has(tell) && tell());
      return async () => {
        if (!ofChannel.delete(tell) || ofChannel.size > 0) return;
        followers.delete(channel);
        if (followers.size > 0) return hearToo(`unlisten ${channel}`, nothing);
        ears.delete(db);
        await close();
      };
    },
  };
}

function openConnection({ db, log }: Holder, followers: ReadonlyMap<string, ReadonlySet<OnNotice>>) {
  let closed = false;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  /** A connection of pg takes one statement at a time. */
  const inTurn = (ask: () => Promise<unknown> | undefined): Promise<unknown> => {
    const asked = turn.then(ask);
    turn = asked.catch(nothing);
    return asked;
  };
  const connect = async (): Promise<void> => {
    let made: Client | undefined;
    try {
      made = (await db.control.client.acquireRawConnection()) as Client;
      made.on('error', nothing);
      if (closed) return await made.end();
      client = made;
      made.on('end', () => again(made));
      made.on('notification', ({ channel, payload }: Notification) => {
        for (const tell of followers.get(channel) ?? []) tell(payload === '' ? undefined : payload);
      });
      const listening = made;
      await inTurn(() =>
        listening.query([`set application_name = '${connectionName}'`, ...[...followers.keys()].map(listenTo)].join('; ')),
      );
      for (const tell of [...followers.values()].flatMap((ofChannel) => [...ofChannel])) tell();
    } catch (error) {
      if (closed) return;
      log.warn({ err: error }, 'notifications are not heard for the moment');
      again(made);
      await made?.end().catch(nothing);
    }
  };
  const again = (lost: Client | undefined): void => {
    if (closed || lost !== client) return;
    client = undefined;
    retry = setTimeout(() => {
      connecting = connect();
    }, reconnectMs);
  };
  let connecting = connect();
  return {
    /** While there is no connection there is nothing to do: the next one hears all channels. */
    hearToo: (statement: string, then: () => unknown): void => {
      const asked = client;
      if (asked === undefined) return;
      inTurn(() => (asked === client ? asked.query(statement).then(then) : undefined)).catch(() => asked.end().catch(nothing));
    },
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(retry);
      await connecting;
      await client?.end().catch(nothing);
    },
  };
}
