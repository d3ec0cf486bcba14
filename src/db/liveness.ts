// Detects a database that no longer responds although its connections stay open: its host froze, or the
// network drops all packets. Queries would then wait until the operating system gives the connection up,
// which takes 15 minutes or never happens. So a connection of its own probes the server each second. When no
// response arrives in time, every connection without incoming data is closed; if none received any, new
// connections fail until a probe succeeds. While the server responds, statements may take any time.
import { Socket } from 'node:net';
import { type Client, DatabaseError } from 'pg';
import type { Log } from '../core/log.ts';
import { startRecurring } from '../core/work/recurring.ts';
import { RoutedClient, type RoutedConfig } from './routed-client.ts';
import { NoSuitableServer } from './server-finder.ts';

export type LivenessMonitor = {
  /** For pg's option `stream`: a connection's socket, unconnected. It breaks with UnresponsiveDatabase. */
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
/** Counted in checks, not time, so that a process that was suspended itself doesn't blame the database. */
const maxUnansweredChecks = 10;
/** With several hosts in the address: one of them may have taken over. */
const minUnansweredToMove = 2;
/**
 * Fewer while unresponsive: a new connection attempt is better than an old one, whose SYN packets are resent
 * at growing intervals.
 */
const maxUnansweredChecksWhileUnresponsive = 5;
const closeTimeoutMs = 1_000;
/** A server's error is a response too; one of this machine's network stack about the server is not. */
const isResponse = (error: unknown): boolean =>
  error instanceof DatabaseError ||
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT)$/.test(String((error as { code?: unknown }).code));
const nothing = (): void => undefined;

/** The sockets of the pools' connections, with the bytes that each had received when last marked. */
function createSocketRegister() {
  const sockets = new Map<Socket, number>();
  return {
    open: (): Socket => {
      const socket = new Socket();
      sockets.set(socket, 0);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    count: (): number => sockets.size,
    mark: (): void => {
      for (const socket of sockets.keys()) sockets.set(socket, socket.bytesRead);
    },
    breakAll: (): void => {
      for (const socket of sockets.keys()) socket.destroy(new UnresponsiveDatabase());
    },
    /** Destroys sockets that received nothing since they were marked. Returns whether these were all. */
    breakSilent: (): boolean => {
      const silent = [...sockets].filter(([socket, bytesBefore]) => socket.bytesRead === bytesBefore);
      for (const [socket] of silent) socket.destroy(new UnresponsiveDatabase());
      return silent.length === sockets.size;
    },
  };
}

export type ProbeOptions = {
  /** What a probe asks. */
  readonly ask?: (client: Client) => Promise<unknown>;
  /** Called when a probe succeeded. */
  readonly onSuccess?: () => void;
  /**
   * Called when the server failed to respond or its connection could not be opened. `isNew`: the connection
   * had never responded.
   */
  readonly onFailure?: (error: unknown, isNew: boolean) => void;
  /** How many checks a new connection may take while the server is unresponsive; 5 by default. */
  readonly maxChecksToConnect?: number;
  /** Called at each check while a probe has no response, with the number of checks since it was sent. */
  readonly onUnanswered?: (checks: number) => void;
};

type Probe = {
  readonly client: RoutedClient;
  readonly socket: Socket;
  readonly connected: Promise<unknown>;
  hasResponded: boolean;
};

/** Runs first on each new probe connection. */
type OnConnect = (client: Client) => Promise<unknown>;

function openProbe(config: RoutedConfig, onConnect: OnConnect): Probe {
  const socket = new Socket();
  const client = new RoutedClient({ ...config, connectionTimeoutMillis: 0, stream: () => socket });
  client.on('error', nothing);
  return { client, socket, connected: client.connect().then(() => onConnect(client)), hasResponded: false };
}

type ProberOptions = ProbeOptions & { readonly onResponse: () => void; readonly onUnsuitable: () => void };

/**
 * Probes on a connection of its own, which it opens again after a failure. Calls `onResponse` whenever the
 * server responded, and `onUnsuitable` when it isn't what the address asks for.
 */
function createProber(config: RoutedConfig, onConnect: OnConnect, options: ProberOptions) {
  const { ask, onSuccess, onFailure, onResponse, onUnsuitable } = options;
  let probe: Probe | undefined;
  /** Settles when the server responded or failed. Never rejects. */
  const check = async (): Promise<void> => {
    try {
      // Throws when a file that the address names, such as sslrootcert, can't be read.
      probe ??= openProbe(config, onConnect);
      const { client, connected } = probe;
      await connected;
      await (ask === undefined ? client.query('select') : ask(client));
      if (client.server !== undefined) await config.finder?.assertSuitable(client, client.server);
      probe.hasResponded = true;
      onResponse();
      onSuccess?.();
    } catch (error) {
      onFailure?.(error, probe?.hasResponded !== true);
      if (error instanceof NoSuitableServer) onUnsuitable();
      void probe?.client.end().catch(nothing);
      probe = undefined;
      if (isResponse(error)) onResponse();
    }
  };
  return {
    check,
    breakConnection: (): unknown => probe?.socket.destroy(new UnresponsiveDatabase()),
    close: async (isChecking: boolean): Promise<void> => {
      if (probe === undefined) return;
      const { client, socket } = probe;
      if (isChecking) socket.destroy();
      const timeout = setTimeout(() => socket.destroy(), closeTimeoutMs);
      await client.end();
      clearTimeout(timeout);
    },
  };
}

/** Whether the server is unresponsive; changes are logged with the number of its connections. */
function createState(count: () => number, log: Pick<Log, 'warn'> | undefined) {
  let unresponsive = false;
  return {
    isUnresponsive: (): boolean => unresponsive,
    set: (value: boolean): void => {
      if (value === unresponsive) return;
      unresponsive = value;
      const message = unresponsive
        ? 'PostgreSQL is unresponsive: closing its connections'
        : 'PostgreSQL responds again';
      log?.warn({ connections: count() }, message);
    },
  };
}

/** The returned function calls `move` when another server of the address is suitable; one search at once. */
function createMove({ finder }: RoutedConfig, move: () => void): () => void {
  let isSearching = false;
  return () => {
    if (finder?.hasOthers !== true || isSearching) return;
    isSearching = true;
    void finder.findOther().then((found) => {
      isSearching = false;
      if (found) move();
    });
  };
}

/** While the server is known to be unresponsive, the attempt fails right after pg made it. */
function openSocket(sockets: ReturnType<typeof createSocketRegister>, state: ReturnType<typeof createState>) {
  const socket = sockets.open();
  if (state.isUnresponsive()) process.nextTick(() => socket.destroy(new UnresponsiveDatabase()));
  return socket;
}

/**
 * Starts probing the server of `config` every `checkEveryMs`. Sockets from the returned object fail with
 * UnresponsiveDatabase.
 */
export function monitorDatabaseLiveness(
  config: RoutedConfig,
  log?: Pick<Log, 'warn'>,
  checkEveryMs = defaultCheckEveryMs,
  onConnect: OnConnect = async () => undefined,
  { maxChecksToConnect = maxUnansweredChecksWhileUnresponsive, ...probing }: ProbeOptions = {},
): LivenessMonitor {
  const sockets = createSocketRegister();
  const state = createState(() => sockets.count(), log);
  let unanswered = 0;
  const onResponse = (): void => state.set(false);
  const prober = createProber(config, onConnect, { ...probing, onResponse, onUnsuitable: sockets.breakAll });
  const moveToOther = createMove(config, () => {
    const connections = sockets.count();
    log?.warn({ connections }, 'PostgreSQL is unresponsive: moving to another server of its address');
    sockets.breakAll();
    prober.breakConnection();
  });
  const check = (): Promise<void> => {
    unanswered = 0;
    return prober.check();
  };
  const onUnanswered = (): void => {
    unanswered += 1;
    probing.onUnanswered?.(unanswered);
    if (unanswered >= minUnansweredToMove) moveToOther();
    const limit = state.isUnresponsive() ? maxChecksToConnect : maxUnansweredChecks;
    // Bytes that arrived just before the server became unresponsive don't count.
    if (unanswered === Math.floor(limit / 2)) sockets.mark();
    if (unanswered < limit) return;
    // Some connections may still receive data, for example when only those opened earlier were lost.
    state.set(sockets.breakSilent());
    prober.breakConnection();
  };
  const checking = startRecurring(checkEveryMs, check, nothing, { onBusy: onUnanswered });
  return {
    openSocket: () => openSocket(sockets, state),
    check: checking.tick,
    close: async () => {
      const isChecking = checking.inProgress() !== undefined;
      // Not awaited: pg never settles the `connect` of a client that is ended meanwhile, so a check in
      // progress may never end.
      void checking.stop();
      await prober.close(isChecking);
    },
  };
}
