// Opens the four connection pools to PostgreSQL (see `Db`). Every pooled connection has the role
// portal_service, whatever user logs in, so that row-level security applies to the service itself; a
// connection that hasn't is refused.
import type { Socket } from 'node:net';
import knexModule, { type Knex } from 'knex';
import { type Client, type ClientBase, Pool, type PoolConfig, types } from 'pg';
import type { Db } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { createAvailability } from './availability.ts';
import { lowerBackendPriority } from './backend-priority.ts';
import { useClientClass } from './driver/knex-pool.ts';
import { clientOption } from './driver/pg-client.ts';
import { type LivenessMonitor, monitorDatabaseLiveness } from './liveness.ts';
import { createNotificationListener } from './notifications.ts';
import { announcePresence, type Presence } from './presence.ts';
import { isPooled, leaveReadOnlyServer, RoutedClient, type RoutedConfig } from './routed-client.ts';
import { createServerFinder, type ServerFinder } from './server-finder.ts';
import { assertSession, type SessionLimits, startupOptions } from './session.ts';

/** Either a URL (`postgres://…`), which may name several hosts, or the parts of one. */
export type DatabaseAddress =
  | string
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly database: string;
      readonly password?: string;
    };

export type PoolSizes = {
  readonly control: number;
  readonly lookups?: number;
  readonly data: number;
  readonly exports?: number;
};

const defaultSizes = { lookups: 2, exports: 4 };

// bigint (OID 20), numeric (1700), date (1082) and timestamp (1114) stay text: floats and millisecond dates
// would lose digits.
const asText = (text: string): string => text;
const exactTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    [20, 1700, 1082, 1114].includes(oid) ? asText : types.getTypeParser(oid, format as 'text'),
};

/** An address whose connections share one search for their server. */
export type LocatedAddress = DatabaseAddress | ServerFinder;
export type ConnectionSettings = PoolConfig & RoutedConfig;

/** Call it once for all connections of an address. Throws an Error when it is a URL that can't be parsed. */
export const locate = (address: LocatedAddress): Exclude<LocatedAddress, string> =>
  typeof address === 'string' ? createServerFinder(address) : address;

function addressParts(address: LocatedAddress): ConnectionSettings {
  const located = locate(address);
  if (!('find' in located)) return { ...located };
  return { connectionString: located.url, finder: located, Client: clientOption(RoutedClient) };
}

/**
 * The role that a connection switches to; null keeps the login. `portal_owner` sees every organization and is
 * only for operators' commands.
 */
type Role = 'portal_service' | 'portal_owner' | null;

/** Connection settings, for pools and `connectClient`. */
export function poolConfig(address: LocatedAddress, role: Role, extra: PoolConfig = {}): ConnectionSettings {
  return {
    ...addressParts(address),
    types: exactTypes as PoolConfig['types'],
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // The login may have a limit by default, for connections through a pooler.
    options: `${startupOptions(role)}${extra.statement_timeout === undefined ? ' -c statement_timeout=0' : ''}`,
    application_name: 'portal-service',
    ...extra,
  };
}

const nothing = () => undefined;
const silent = { warn: nothing, error: nothing, deprecate: nothing, debug: nothing };

/**
 * Opens a knex pool of at most `max` connections, which connect on first use. A connection with another role
 * or other settings is refused.
 */
export function openKnex(address: LocatedAddress, role: Role, max: number, extra: PoolConfig = {}): Knex {
  const knex = knexModule({
    client: 'pg',
    connection: poolConfig(address, role, extra) as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max,
      acquireTimeoutMillis: 10_000,
      afterCreate: (client: Client, done: (error?: unknown) => void) => {
        leaveReadOnlyServer(client);
        assertSession(client, role).then(
          () => done(),
          (error: unknown) => client.end(() => done(error)),
        );
      },
    },
    // knex would print to the console in addition to the log; failures are thrown anyway.
    log: silent,
  });
  useClientClass(knex, RoutedClient);
  return knex;
}

/** Opens a connection outside the pools. Rejects when the server can't be reached or refuses it. */
export const connectClient =
  (config: ConnectionSettings): (() => Promise<RoutedClient>) =>
  async () => {
    const client = new RoutedClient(config);
    await client.connect();
    return client;
  };

/** Opens a pool of the service. A connection with another role or other settings is refused. */
function openPool(address: LocatedAddress, extra: PoolConfig): Pool {
  const config = poolConfig(address, 'portal_service', extra);
  const limits = { statement_timeout: extra.statement_timeout, lock_timeout: extra.lock_timeout };
  // Through a pooler the limits are the login's; a connection that this side limits as well needs none.
  const limitsFor = (client: ClientBase): SessionLimits =>
    extra.query_timeout !== undefined && isPooled(client) ? {} : limits;
  const pool = new Pool({
    ...config,
    onConnect: (client) => assertSession(client, 'portal_service', limitsFor(client)),
  });
  // When an idle connection breaks (e.g. the server restarts), the pool replaces it; without a listener the
  // event would end the process.
  pool.on('error', nothing);
  pool.on('connect', (client) => {
    // A connection that breaks while in use fails its query, and emits the event as well.
    client.on('error', nothing);
    leaveReadOnlyServer(client);
  });
  return pool;
}

/**
 * The pool for reads. A backend's memory grows with the number of tables it has read; a limited lifetime
 * frees it. Until then idle connections stay open: an idle timeout costs a timer per statement and a new
 * backend after each idle period.
 */
const openDataPool = (
  address: LocatedAddress,
  size: number,
  readTimeoutMs: number,
  extra: PoolConfig,
  moreOptions = '',
): Pool =>
  openPool(address, {
    ...extra,
    min: size,
    max: size,
    maxLifetimeSeconds: 600,
    statement_timeout: readTimeoutMs,
    // Reads run concurrently: a count that takes a parallel worker takes processor time from the others.
    options: `${startupOptions('portal_service')} -c max_parallel_workers_per_gather=0${moreOptions}`,
  });

const readOnlyOption = ' -c default_transaction_read_only=on';

/** The pools for a server's records: reads and exports. With `readOnly` the server refuses every write. */
export const openReadPools = (
  address: LocatedAddress,
  sizes: { readonly data: number; readonly exports: number },
  readTimeoutMs: number,
  extra: PoolConfig & { readonly stream: () => Socket },
  { readOnly = false } = {},
): Pick<Db, 'data' | 'exports'> => ({
  data: openDataPool(address, sizes.data, readTimeoutMs, extra, readOnly ? readOnlyOption : ''),
  exports: openPool(address, {
    ...extra,
    max: sizes.exports,
    maxLifetimeSeconds: 600,
    ...(readOnly && {
      options: `${startupOptions('portal_service')} -c statement_timeout=0${readOnlyOption}`,
    }),
  }),
});

type DbOptions = {
  readonly isEmbedded?: boolean;
  readonly log?: Pick<Log, 'warn'>;
  /** What other processes on this database can see of this one. */
  readonly presence?: Presence;
};
export type OpenDb = Db & {
  /**
   * Makes the process visible to others as `presence` describes it. Also resolves when the database doesn't
   * respond; the process then becomes visible as soon as it does.
   */
  announce(): Promise<void>;
  close(): Promise<void>;
};

/** Opens all pools. They connect on first use, liveness checks at once; `close` ends all connections. */
export function openDb(
  control: DatabaseAddress,
  data: DatabaseAddress,
  sizes: PoolSizes,
  readTimeoutMs: number,
  { isEmbedded = false, log, presence }: DbOptions = {},
): OpenDb {
  const onConnect = presence && ((client: Client) => announcePresence(client, presence));
  const controlServer = locate(control);
  const dataServer = data === control ? controlServer : locate(data);
  const { availability, probing } = createAvailability(() => controlLiveness.check());
  const controlLiveness: LivenessMonitor = monitorDatabaseLiveness(
    poolConfig(controlServer, 'portal_service'),
    log,
    undefined,
    onConnect,
    probing,
  );
  const dataLiveness =
    data === control
      ? controlLiveness
      : monitorDatabaseLiveness(poolConfig(dataServer, 'portal_service'), log);
  const maxConnections = { ...defaultSizes, ...sizes };
  const onControl: PoolConfig = { stream: controlLiveness.openSocket };
  const knex = openKnex(controlServer, 'portal_service', maxConnections.control, onControl);
  const lookups = openKnex(controlServer, 'portal_service', maxConnections.lookups, onControl);
  const { data: pool, exports } = openReadPools(dataServer, maxConnections, readTimeoutMs, {
    stream: dataLiveness.openSocket,
  });
  if (isEmbedded) exports.on('connect', lowerBackendPriority);
  return {
    control: knex,
    lookups,
    data: pool,
    exports,
    replicas: [],
    maxConnections,
    notifications: createNotificationListener(
      connectClient(poolConfig(controlServer, 'portal_service', onControl)),
      log,
    ),
    controlAvailability: availability,
    isEmbedded,
    announce: controlLiveness.check,
    close: async () => {
      await Promise.all([knex.destroy(), lookups.destroy(), pool.end(), exports.end()]);
      // Last: until then the monitors break connections that an unresponsive server keeps open.
      await Promise.all([...new Set([controlLiveness, dataLiveness])].map((monitor) => monitor.close()));
    },
  };
}

const operatorTimeoutMs = 2_000;

/**
 * Opens the pool for health checks and metrics, which must work while all other pools are busy: two reserved
 * connections that stay open, and short timeouts. A query that times out, such as one to a frozen server,
 * loses its connection.
 */
export const openOperatorPool = (address: LocatedAddress): Pool =>
  openPool(address, {
    max: 2,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: operatorTimeoutMs,
    statement_timeout: operatorTimeoutMs,
    query_timeout: operatorTimeoutMs + 500,
  });
