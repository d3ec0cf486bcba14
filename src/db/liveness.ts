// Detects a database that no longer responds although its connections stay open: its host froze, or the network drops all packets. Queries
// would then wait until the operating system gives the connection up, which takes 15 minutes or never happens. So a connection of its own
// probes the server each second. When no response arrives in time, every connection without incoming data is closed; if none
// received any, new connections fail until a probe succeeds. While the server responds to the probes, statements may take any time.
import { Socket } from 'node:net';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { Log } from '../core/log.ts';

export type LivenessMonitor = {
  /** For pg's option `stream`: the socket of one connection, not yet connected. It breaks with UnresponsiveDatabase. */
  openSocket(): Socket;
  /** Probes now, or joins the probe in progress; resolves when it succeeded or failed. Never rejects. */
  check(): Promise<void>;
  close(): Promise<void>;
};

class UnresponsiveDatabase extends Error {
  override readonly name = 'UnresponsiveDatabase';
  /** The code with which the operating system gives up a connection. */
  readonly code = 'ETIMEDOUT';
  constructor() {
    super("PostgreSQL is unresponsive: its connections are open, but it isn't responding");
  }
}

const defaultCheckEveryMs = 1_000;
/** Counted in checks instead of time, so that a process that was suspended itself doesn't blame the database. */
const maxUnansweredChecks = 10;
/** Fewer while unresponsive: a new connection attempt is better than an old one, whose SYN packets are resent at growing intervals. */
const maxUnansweredChecksWhileUnresponsive = 5;
const closeTimeoutMs = 1_000;
/** An error from the server is a response too; an error of this machine's network stack about an unreachable server is not. */
const isResponse = (error: unknown): boolean =>
  error instanceof DatabaseError || /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT)$/.test(String((error as { code?: unknown }).code));
const nothing = (): void => undefined;

type Probe = { readonly client: Client; readonly socket: Socket; readonly connected: Promise<unknown> };

/** Runs first on each new probe connection. */
type OnConnect = (client: Client) => Promise<unknown>;

function openProbe(config: ClientConfig, onConnect: OnConnect): Probe {
  const socket = new Socket();
  const client = new Client({ ...config, connectionTimeoutMillis: 0, stream: () => socket });
  client.on('error', nothing);
  return { client, socket, connected: client.connect().then(() => onConnect(client)) };
}

/** Starts probing the server of `config` every `checkEveryMs`. Sockets from the returned object fail with UnresponsiveDatabase. */
export function monitorDatabaseLiveness(
  config: ClientConfig,
  log?: Pick<Log, 'warn'>,
  checkEveryMs = defaultCheckEveryMs,
  onConnect: OnConnect = async () => undefined,
): LivenessMonitor {
  /** Each socket with the number of bytes that it had received when it was last checked. */
  const sockets = new Map<Socket, number>();
  let unresponsive = false;
  let probe: Probe | undefined;
  let probing: Promise<void> | undefined;
  let unanswered = 0;

  const setUnresponsive = (value: boolean): void => {
    if (value === unresponsive) return;
    unresponsive = value;
    const message = unresponsive ? 'PostgreSQL is unresponsive: closing its connections' : 'PostgreSQL responds again';
    log?.warn({ connections: sockets.size }, message);
  };
  const probeOnce = async (): Promise<void> => {
    probe ??= openProbe(config, onConnect);
    const { client, connected } = probe;
    unanswered = 0;
    try {
      await connected;
      await client.query('select');
      setUnresponsive(false);
    } catch (error) {
      probe = undefined;
      void client.end().catch(nothing);
      if (isResponse(error)) setUnresponsive(false);
    }
  };
  const check = (): Promise<void> => {
    probing ??= probeOnce().finally(() => {
      probing = undefined;
    });
    return probing;
  };
  const breakConnections = (): void => {
    const withoutData = [...sockets].filter(([socket, bytesBefore]) => socket.bytesRead === bytesBefore);
    // Some connections may still receive data, for example when only those opened earlier were lost.
    setUnresponsive(withoutData.length === sockets.size);
    for (const [socket] of withoutData) socket.destroy(new UnresponsiveDatabase());
    probe?.socket.destroy(new UnresponsiveDatabase());
  };
  const timer = setInterval(() => {
    if (probing === undefined) return void check();
    unanswered += 1;
    const limit = unresponsive ? maxUnansweredChecksWhileUnresponsive : maxUnansweredChecks;
    // Counting starts halfway, so that bytes that arrived just before the server became unresponsive don't count.
    if (unanswered === Math.floor(limit / 2)) for (const socket of sockets.keys()) sockets.set(socket, socket.bytesRead);
    if (unanswered >= limit) breakConnections();
  }, checkEveryMs);
  return {
    openSocket: () => {
      const socket = new Socket();
      sockets.set(socket, 0);
      socket.once('close', () => sockets.delete(socket));
      // pg connects it in the same tick; while the server is known to be unresponsive, the attempt fails right after.
      if (unresponsive) process.nextTick(() => socket.destroy(new UnresponsiveDatabase()));
      return socket;
    },
    check,
    close: async () => {
      clearInterval(timer);
      if (probe === undefined) return;
      const { client, socket } = probe;
      if (probing !== undefined) socket.destroy();
      const timeout = setTimeout(() => socket.destroy(), closeTimeoutMs);
      await client.end();
      clearTimeout(timeout);
    },
  };
}
