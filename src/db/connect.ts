// Opens the four connection pools to PostgreSQL (see `Db`) and rejects a server that doesn't meet the requirements. Every pooled connection
// switches to the role portal_service, whatever user logs in, so that row-level security applies to the service itself.
import type { Socket } from 'node:net';
import knexModule, { type Knex } from 'knex';
import { Client, Pool, type PoolConfig, types } from 'pg';
import type { Db } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { lowerBackendPriority } from './backend-priority.ts';
import { monitorDatabaseLiveness } from './liveness.ts';
import { type ConnectClient, createNotificationListener } from './notifications.ts';
import { announcePresence, type Presence } from './presence.ts';

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
    options: `${role === null ? '' : `-c role=${role} `}-c timezone=UTC -c datestyle=ISO -c intervalstyle=iso_8601 -c search_path=public`,
    application_name: 'portal-service',
    ...extra,
  };
}

const nothing = () => undefined;
const silent = { warn: nothing, error: nothing, deprecate: nothing, debug: nothing };

/** Opens a knex pool of at most `max` connections, which connect on first use. */
export function openKnex(address: DatabaseAddress, role: Role, max: number, extra: PoolConfig = {}): Knex {
  return knexModule({
    client: 'pg',
    connection: poolConfig(address, role, extra) as Knex.PgConnectionConfig,
    pool: { min: 0, max, acquireTimeoutMillis: 10_000 },
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

/**
 * The pool for reads. A backend's memory grows with the number of tables it has read; a limited lifetime frees it. Until then idle
 * connections stay open: an idle timeout costs a timer per statement and a new backend after each idle period.
 */
function openDataPool(address: DatabaseAddress, size: number, readTimeoutMs: number, stream: () => Socket): Pool {
  const kept: PoolConfig = { stream, min: size, max: size, maxLifetimeSeconds: 600, statement_timeout: readTimeoutMs };
  const config = poolConfig(address, 'portal_service', kept);
  // Reads run concurrently: a count that takes a parallel worker takes processor time from the others.
  const pool = new Pool({ ...config, options: `${config.options} -c max_parallel_workers_per_gather=0` });
  // When an idle connection breaks (e.g. the server restarts), the pool replaces it; without a listener the event would end the process.
  pool.on('error', nothing);
  // A connection that breaks while in use fails its query, and emits the event as well.
  pool.on('connect', (client) => client.on('error', nothing));
  return pool;
}

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
  const ofExports: PoolConfig = { stream: dataLiveness.openSocket, max: maxConnections.exports, maxLifetimeSeconds: 600 };
  const exports = new Pool(poolConfig(data, 'portal_service', ofExports));
  exports.on('error', nothing);
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
export function openOperatorPool(address: DatabaseAddress): Pool {
  const pool = new Pool(
    poolConfig(address, 'portal_service', {
      max: 2,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: operatorTimeoutMs,
      statement_timeout: operatorTimeoutMs,
      query_timeout: operatorTimeoutMs + 500,
    }),
  );
  pool.on('error', nothing);
  pool.on('connect', (client) => client.on('error', nothing));
  return pool;
}

export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
}

const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;
const refusedLogin = /^(28|3D)/;

/**
 * Returns an UnusableDatabase with advice for the operator when the error means that the database can't be used at all, else the error
 * itself.
 */
export function explainDatabaseError(error: unknown): unknown {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  if (unreachable.test(code)) {
    return new UnusableDatabase(
      `PostgreSQL at DATABASE_URL can't be reached (${code}). Check host and port; a password with @ / : or # must be percent-encoded in the URL.`,
    );
  }
  if (refusedLogin.test(code)) return new UnusableDatabase(`PostgreSQL at DATABASE_URL rejected the login: ${message}`);
  if (code === '42501') {
    return new UnusableDatabase(
      `The login of DATABASE_URL lacks a privilege: ${message.split(' - ').at(-1)}. It must own its database and either have CREATEROLE, ` +
        'or be a member of the existing roles portal_owner, portal_service and portal_simulator.',
    );
  }
  return error;
}

/** Throws UnusableDatabase, with advice for the operator, when the server is older than 17, lacks pg_trgm, or the database isn't UTF-8. */
export async function assertSupportedServer(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{ rows: { version: number; shown: string; trgm: boolean; encoding: string }[] }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as shown,
            exists (select from pg_available_extensions where name = 'pg_trgm') as trgm, current_setting('server_encoding') as encoding`,
  );
  const server = rows[0];
  if (server === undefined || server.version < 170_000)
    throw new UnusableDatabase(`PostgreSQL 17 or later is required; this server is ${server?.shown ?? 'of an unknown version'}.`);
  if (!server.trgm) throw new UnusableDatabase('The PostgreSQL server lacks the extension pg_trgm. Install its contrib package.');
  if (server.encoding !== 'UTF8')
    throw new UnusableDatabase(
      `The encoding of the database must be UTF8; it is ${server.encoding}. Create a new database with ENCODING UTF8.`,
    );
}
