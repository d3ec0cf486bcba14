// Opens the four connection pools to PostgreSQL (see `Db`). Every pooled connection has the role portal_service, whatever user logs in, so
// that row-level security applies to the service itself; a connection that hasn't is refused.
import type { Socket } from 'node:net';
import knexModule, { type Knex } from 'knex';
import { Client, Pool, type PoolConfig, types } from 'pg';
import type { Db } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { lowerBackendPriority } from './backend-priority.ts';
import { monitorDatabaseLiveness } from './liveness.ts';
import { type ConnectClient, createNotificationListener } from './notifications.ts';
import { announcePresence, type Presence } from './presence.ts';
import { assertSession, startupOptions } from './session.ts';

/** Either a URL (`postgres://…`) or its parts. */
export type DatabaseAddress =
  | string
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string; readonly password?: string };

export type PoolSizes = { readonly control: number; readonly lookups?: number; readonly data: number; readonly exports?: number };

const defaultSizes = { lookups: 2, exports: 4 };

// bigint (OID 20), numeric (1700), date (1082) and timestamp (1114) stay text: floats and millisecond dates would lose digits.
const asText = (text: string): string => text;
const exactTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    [20, 1700, 1082, 1114].includes(oid) ? asText : types.getTypeParser(oid, format as 'text'),
};

const addressParts = (address: DatabaseAddress): PoolConfig =>
  typeof address === 'string' ? { connectionString: address } : { ...address };

/**
 * The role that a connection switches to; null keeps the login. `portal_owner` sees every organization and is only for operators'
 * commands.
 */
type Role = 'portal_service' | 'portal_owner' | null;

/** Connection settings of node-postgres, for pools and single clients. */
export function poolConfig(address: DatabaseAddress, role: Role, extra: PoolConfig = {}): PoolConfig {
  return {
    ...addressParts(address),
    types: exactTypes as PoolConfig['types'],
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: startupOptions(role),
    application_name: 'portal-service',
    ...extra,
  };
}

const nothing = () => undefined;
const silent = { warn: nothing, error: nothing, deprecate: nothing, debug: nothing };

/** Opens a knex pool of at most `max` connections, which connect on first use. A connection with another role or other settings is refused. */
export function openKnex(address: DatabaseAddress, role: Role, max: number, extra: PoolConfig = {}): Knex {
  return knexModule({
    client: 'pg',
    connection: poolConfig(address, role, extra) as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max,
      acquireTimeoutMillis: 10_000,
      afterCreate: (client: Client, done: (error?: unknown) => void) => {
        assertSession(client, role).then(
          () => done(),
          (error: unknown) => client.end(() => done(error)),
        );
      },
    },
    // knex would print to the console in addition to the log; failures are thrown anyway.
    log: silent,
  });
}

/** Opens a connection outside the pools. Rejects when the server can't be reached or refuses it. */
export const connectClient =
  (config: PoolConfig): ConnectClient =>
  async () => {
    const client = new Client(config);
    await client.connect();
    return client;
  };

/** Opens a pool of the service. A connection with another role or other settings is refused. */
function openPool(address: DatabaseAddress, extra: PoolConfig): Pool {
  const timeoutMs = extra.statement_timeout === false ? undefined : extra.statement_timeout;
  const config = poolConfig(address, 'portal_service', extra);
  const pool = new Pool({ ...config, onConnect: (client) => assertSession(client, 'portal_service', timeoutMs) });
  // When an idle connection breaks (e.g. the server restarts), the pool replaces it; without a listener the event would end the process.
  pool.on('error', nothing);
  // A connection that breaks while in use fails its query, and emits the event as well.
  pool.on('connect', (client) => client.on('error', nothing));
  return pool;
}

/**
 * The pool for reads. A backend's memory grows with the number of tables it has read; a limited lifetime frees it. Until then idle
 * connections stay open: an idle timeout costs a timer per statement and a new backend after each idle period.
 */
const openDataPool = (address: DatabaseAddress, size: number, readTimeoutMs: number, stream: () => Socket): Pool =>
  openPool(address, {
    stream,
    min: size,
    max: size,
    maxLifetimeSeconds: 600,
    statement_timeout: readTimeoutMs,
    // Reads run concurrently: a count that takes a parallel worker takes processor time from the others.
    options: `${startupOptions('portal_service')} -c max_parallel_workers_per_gather=0`,
  });

type DbOptions = {
  readonly isEmbedded?: boolean;
  readonly log?: Pick<Log, 'warn'>;
  /** What other processes on this database can see of this one. */
  readonly presence?: Presence;
};
export type OpenDb = Db & {
  /**
   * Makes the process visible to others as `presence` describes it. Also resolves when the database doesn't respond; the process then
   * becomes visible as soon as it does.
   */
  announce(): Promise<void>;
  close(): Promise<void>;
};

/** Opens all pools of the service. Connects on first use, apart from the liveness checks; `close` ends all connections. */
export function openDb(
  control: DatabaseAddress,
  data: DatabaseAddress,
  sizes: PoolSizes,
  readTimeoutMs: number,
  { isEmbedded = false, log, presence }: DbOptions = {},
): OpenDb {
  const onConnect = presence && ((client: Client) => announcePresence(client, presence));
  const controlLiveness = monitorDatabaseLiveness(poolConfig(control, 'portal_service'), log, undefined, onConnect);
  const dataLiveness = data === control ? controlLiveness : monitorDatabaseLiveness(poolConfig(data, 'portal_service'), log);
  const maxConnections = { ...defaultSizes, ...sizes };
  const onControl: PoolConfig = { stream: controlLiveness.openSocket };
  const knex = openKnex(control, 'portal_service', maxConnections.control, onControl);
  const lookups = openKnex(control, 'portal_service', maxConnections.lookups, onControl);
  const pool = openDataPool(data, maxConnections.data, readTimeoutMs, dataLiveness.openSocket);
  const exports = openPool(data, { stream: dataLiveness.openSocket, max: maxConnections.exports, maxLifetimeSeconds: 600 });
  if (isEmbedded) exports.on('connect', lowerBackendPriority);
  return {
    control: knex,
    lookups,
    data: pool,
    exports,
    maxConnections,
    notifications: createNotificationListener(connectClient(poolConfig(control, 'portal_service', onControl)), log),
    isEmbedded,
    announce: controlLiveness.check,
    close: async () => {
      await Promise.all([knex.destroy(), lookups.destroy(), pool.end(), exports.end()]);
      // Last, because until then the monitors break connections that an unresponsive server keeps from closing.
      await Promise.all([controlLiveness.close(), dataLiveness === controlLiveness ? undefined : dataLiveness.close()]);
    },
  };
}

const operatorTimeoutMs = 2_000;

/**
 * Opens the pool for health checks and metrics, which must work while all other pools are busy: two reserved connections that stay open,
 * and short timeouts. A query that times out, such as one to a frozen server, loses its connection.
 */
export const openOperatorPool = (address: DatabaseAddress): Pool =>
  openPool(address, {
    max: 2,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: operatorTimeoutMs,
    statement_timeout: operatorTimeoutMs,
    query_timeout: operatorTimeoutMs + 500,
  });
