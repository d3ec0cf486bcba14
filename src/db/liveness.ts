// A database may fall silent: its host froze, or the network swallows everything. Its connections stay open then, and who asked on one
// would wait for as long as the system believes in it, a quarter of an hour or for ever. So the server is asked each second on a connection
// of its own; where no answer comes in time, every connection breaks on which nothing comes any more, and none is made until there
// is an answer. While it answers, a statement may last as long as it likes.
import { Socket } from 'node:net';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { Log } from '../core/log.ts';

export type SilenceWatch = {
  /** For pg's `stream`: the socket of one connection, not connected yet. It breaks with SilentDatabase. */
  openSocket(): Socket;
  /** Asks at once; resolves when there is an answer, or will be none. */
  ask(): Promise<void>;
  close(): Promise<void>;
};

class SilentDatabase extends Error {
  override readonly name = 'SilentDatabase';
  /** The system's own word for a connection that it gives up. */
  readonly code = 'ETIMEDOUT';
  constructor() {
    super('PostgreSQL keeps its connections open and says nothing');
  }
}

const usualLookEveryMs = 1_000;
/** Looks and not time, so that a process that stood still itself blames nobody. */
const usualPatience = 10;
/** A new connection is tried so often, as the first packets of one wait ever longer before they are sent again. */
const patienceWhileSilent = 5;
const lastMomentMs = 1_000;
/** A refusal is an answer too; what the own system says of a server that can't be reached is none. */
const isAnswer = (error: unknown): boolean =>
  error instanceof DatabaseError || /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT)$/.test(String((error as { code?: unknown }).code));
const nothing = (): void => undefined;

type Asker = { readonly client: Client; readonly socket: Socket; readonly connected: Promise<unknown> };

/** What is said first on each connection that asks. */
type Greeting = (client: Client) => Promise<unknown>;

function openAsker(config: ClientConfig, greet: Greeting): Asker {
  const socket = new Socket();
  const client = new Client({ ...config, connectionTimeoutMillis: 0, stream: () => socket });
  client.on('error', nothing);
  return { client, socket, connected: client.connect().then(() => greet(client)) };
}

export function watchSilence(
  config: ClientConfig,
  log?: Pick<Log, 'warn'>,
  lookEveryMs = usualLookEveryMs,
  greet: Greeting = async () => undefined,
): SilenceWatch {
  /** With the bytes that had come when it was looked at last. */
  const sockets = new Map<Socket, number>();
  let silent = false;
  let asker: Asker | undefined;
  let asking: Promise<void> | undefined;
  let looks = 0;

  const note = (isSilent: boolean): void => {
    if (isSilent === silent) return;
    silent = isSilent;
    log?.warn({ connections: sockets.size }, silent ? 'PostgreSQL says nothing: its connections are given up' : 'PostgreSQL speaks again');
  };
  const askOnce = async (): Promise<void> => {
    asker ??= openAsker(config, greet);
    const { client, connected } = asker;
    looks = 0;
    try {
      await connected;
      await client.query('select');
      note(false);
    } catch (error) {
      asker = undefined;
      void client.end().catch(nothing);
      if (isAnswer(error)) note(false);
    }
  };
  const ask = (): Promise<void> => {
    asking ??= askOnce().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const giveUp = (): void => {
    const quiet = [...sockets].filter(([socket, before]) => socket.bytesRead === before);
    // On some a word may come still, as where only what was opened before is lost.
    note(quiet.length === sockets.size);
    for (const [socket] of quiet) socket.destroy(new SilentDatabase());
    asker?.socket.destroy(new SilentDatabase());
  };
  const looking = setInterval(() => {
    if (asking === undefined) return void ask();
    looks += 1;
    const patience = silent ? patienceWhileSilent : usualPatience;
    // What came right after the question, before the server fell silent, is long past by then.
    if (looks === Math.floor(patience / 2)) for (const socket of sockets.keys()) sockets.set(socket, socket.bytesRead);
    if (looks >= patience) giveUp();
  }, lookEveryMs);
  return {
    openSocket: () => {
      const socket = new Socket();
      sockets.set(socket, 0);
      socket.once('close', () => sockets.delete(socket));
      // pg connects it in this very step; nobody need wait to hear what is known.
      if (silent) process.nextTick(() => socket.destroy(new SilentDatabase()));
      return socket;
    },
    ask,
    close: async () => {
      clearInterval(looking);
      if (asker === undefined) return;
      const { client, socket } = asker;
      if (asking !== undefined) socket.destroy();
      const bound = setTimeout(() => socket.destroy(), lastMomentMs);
      await client.end();
      clearTimeout(bound);
    },
  };
}
