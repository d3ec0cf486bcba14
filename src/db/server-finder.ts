// Finds the server that an address with several hosts means, as libpq does with target_session_attrs, and
// what lies between: a connection pooler shares the server's sessions among clients, and may not keep
// prepared statements. One search at a time, shared by all connections of the address; what it found holds
// until a connection to it fails.
import { Client, DatabaseError } from 'pg';
import { type DatabaseUrl, parseDatabaseUrl, type Target } from '../core/network/database-url.ts';
import { backendPid } from './driver/pg-client.ts';

/** What a server is right now. */
type Role = { readonly isStandby: boolean; readonly isReadOnly: boolean };
export type Server = {
  readonly host: string;
  readonly port: number;
  /** A connection isn't one with a backend of its own. */
  readonly isPooled: boolean;
  /** A statement that was prepared by name is there in the next transaction. */
  readonly keepsPrepared: boolean;
};

export type ServerFinder = {
  /** The address with its first host, for user, password, database and TLS. */
  readonly url: string;
  /** Whether there may be a server elsewhere when this one fails. */
  readonly hasOthers: boolean;
  /** The server for new connections. Rejects with the error of the only host, or with NoSuitableServer. */
  find(): Promise<Server>;
  /** The server failed: the next `find` searches. */
  discard(server: Server): void;
  /** Whether another server is suitable now; then new connections use it. Never rejects. */
  findOther(): Promise<boolean>;
  /** Rejects with NoSuitableServer when this connection's server isn't (any more) what the address wants. */
  assertSuitable(client: Client, server: Server): Promise<void>;
};

export class NoSuitableServer extends Error {
  override readonly name = 'NoSuitableServer';
  /** SQLSTATE: the client was unable to establish the connection. */
  readonly code = '08001';
}

const probeTimeoutMs = 2_000;
/** As long as a connection may take: there is no other server to try. */
const onlyProbeTimeoutMs = 5_000;
/** Requests that arrive while no server is suitable share the outcome of one search. */
const failureHoldMs = 200;
const nothing = (): void => undefined;

/** In order of preference; a later one counts only when no server has the earlier. */
const suitable: Readonly<Record<Target, readonly ((role: Role) => boolean)[]>> = {
  any: [() => true],
  'read-write': [({ isReadOnly }) => !isReadOnly],
  'read-only': [({ isReadOnly }) => isReadOnly],
  primary: [({ isStandby }) => !isStandby],
  standby: [({ isStandby }) => isStandby],
  'prefer-standby': [({ isStandby }) => isStandby, () => true],
};

const readRole = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
  pg_backend_pid() as backend`;
/** A pooler that keeps prepared statements renames them, because clients may use the same names. */
const readOwnName = {
  name: 'portal_probe',
  text: "select from pg_prepared_statements where name = 'portal_probe'",
};

type Probed = { readonly server: Server; readonly role: Role };

async function probe(url: string, timeoutMs: number): Promise<Probed> {
  const timeouts = { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
  const client = new Client({ connectionString: url, application_name: 'portal-service', ...timeouts });
  client.on('error', nothing);
  try {
    await client.connect();
    const { rows } = await client.query<Role & { backend: number }>(readRole);
    const role = rows[0] ?? { isStandby: false, isReadOnly: false, backend: 0 };
    // A pooler makes up the process ids that it sends to clients.
    const isPooled = backendPid(client) !== role.backend;
    const keepsPrepared =
      !isPooled || (await client.query(readOwnName).catch(() => undefined))?.rowCount === 0;
    return { server: { host: client.host, port: client.port, isPooled, keepsPrepared }, role };
  } finally {
    void client.end().catch(nothing);
  }
}

/** Resolves as soon as one is suitable, without waiting for hosts that don't respond. */
async function chooseServer(probes: readonly Promise<Probed>[], target: Target): Promise<Server> {
  for (const isSuitable of suitable[target]) {
    const matching = probes.map(async (probing) => {
      const { server, role } = await probing;
      if (!isSuitable(role))
        throw new NoSuitableServer(
          role.isStandby ? 'is a standby' : role.isReadOnly ? 'is read-only' : 'takes writes',
        );
      return server;
    });
    const found = await Promise.any(matching).catch((error: AggregateError) => error);
    if (!(found instanceof AggregateError)) return found;
    if (isSuitable === suitable[target].at(-1)) throw found;
  }
  throw new NoSuitableServer('no servers');
}

const describeError = (error: Error & { code?: string }): string =>
  error instanceof NoSuitableServer
    ? error.message
    : error instanceof DatabaseError
      ? error.message
      : (error.code ?? error.message);

async function search({ hosts, target, buildUrl }: DatabaseUrl): Promise<Server> {
  const probes = hosts.map((host) =>
    probe(buildUrl(host), hosts.length > 1 ? probeTimeoutMs : onlyProbeTimeoutMs),
  );
  try {
    return await chooseServer(probes, target);
  } catch (error) {
    const reasons = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
    const [only] = reasons;
    if (reasons.length === 1 && only !== undefined && !(only instanceof NoSuitableServer)) throw only;
    const listed = hosts.map(
      ({ host, port }, index) =>
        `${host ?? 'the default host'}:${port ?? 5432} ${describeError(reasons[index] as Error)}`,
    );
    throw new NoSuitableServer(
      `No server accepts connections with target_session_attrs=${target}: ${listed.join(', ')}`,
    );
  }
}

/** Connects on first use. Throws an Error when the URL isn't an address. */
export function createServerFinder(text: string): ServerFinder {
  const url = parseDatabaseUrl(text);
  const [first] = typeof url === 'string' ? [] : url.hosts;
  if (typeof url === 'string' || first === undefined) throw new Error(`The address of the database ${url}`);
  let current: Server | undefined;
  let searching: Promise<Server> | undefined;
  const find = (): Promise<Server> => {
    if (current !== undefined) return Promise.resolve(current);
    searching ??= search(url).then(
      (server) => {
        [current, searching] = [server, undefined];
        return server;
      },
      (error: unknown) => {
        setTimeout(() => {
          searching = undefined;
        }, failureHoldMs).unref();
        throw error;
      },
    );
    return searching;
  };
  const discard = (server: Server): void => {
    if (current === server) current = undefined;
  };
  return {
    url: url.buildUrl(first),
    hasOthers: url.hosts.length > 1,
    find,
    discard,
    findOther: async () => {
      const found = await search(url).catch(() => undefined);
      if (found === undefined || (found.host === current?.host && found.port === current.port)) return false;
      current = found;
      return true;
    },
    assertSuitable: async (client, server) => {
      if (url.target === 'any' || url.target === 'prefer-standby') return;
      const { rows } = await client.query<Role>(readRole);
      const [role] = rows;
      if (role !== undefined && suitable[url.target].some((isSuitable) => isSuitable(role))) return;
      discard(server);
      throw new NoSuitableServer(
        `${server.host}:${server.port} is no longer what target_session_attrs=${url.target} asks for`,
      );
    },
  };
}
