// Opens the two doors to PostgreSQL and refuses a server that can't keep the service's promises. Every connection works as
// portal_service, whoever logs in, so that row-level security binds the service itself.
import knexModule, { type Knex } from 'knex';
import { type Client, Pool, type PoolConfig, types } from 'pg';
import type { Db } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { type Presence, showPresence } from './presence.ts';
import { watchSilence } from './silence.ts';
import { standBack } from './stand-back.ts';

/** Either an address (`postgres://…`) or the parts of one. */
export type Address =
  | string
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string; readonly password?: string };

export type PoolSizes = { readonly control: number; readonly lookups?: number; readonly data: number; readonly exports?: number };

const usualExports = 4;
const usualLookups = 2;

// bigint, numeric, date and timestamps stay text: binary floats and millisecond dates would lose digits. 20, 1700, 1082, 1114.
const asText = (text: string): string => text;
const exactTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    [20, 1700, 1082, 1114].includes(oid) ? asText : types.getTypeParser(oid, format as 'text'),
};

const addressParts = (address: Address): PoolConfig => (typeof address === 'string' ? { connectionString: address } : { ...address });

/** What a connection works as; null stays whoever logged in. `portal_owner` sees every organization: for operators' commands alone. */
type Role = 'portal_service' | 'portal_owner' | null;

export function poolConfig(address: Address, role: Role, extra: PoolConfig = {}): PoolConfig {
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

export function openKnex(address: Address, role: Role, max: number, extra: PoolConfig = {}): Knex {
  return knexModule({
    client: 'pg',
    connection: poolConfig(address, role, extra) as Knex.PgConnectionConfig,
    pool: { min: 0, max, acquireTimeoutMillis: 10_000 },
    // knex would print to the console beside the log; what fails is thrown anyway.
    log: silent,
  });
}

type DbOptions = {
  readonly isOwn?: boolean;
  readonly log?: Pick<Log, 'warn'>;
  /** What others on this database are to see of the process. */
  readonly presence?: Presence;
};
export type OpenDb = Db & {
  /** Resolves when others see the process, or can't, as the database does not answer: then they do once it does. */
  show(): Promise<void>;
  close(): Promise<void>;
};

export function openDb(
  control: Address,
  data: Address,
  sizes: PoolSizes,
  readTimeoutMs: number,
  { isOwn = false, log, presence }: DbOptions = {},
): OpenDb {
  const greet = presence && ((client: Client) => showPresence(client, presence));
  const ofControl = watchSilence(poolConfig(control, 'portal_service'), log, undefined, greet);
  const ofData = data === control ? ofControl : watchSilence(poolConfig(data, 'portal_service'), log);
  const knex = openKnex(control, 'portal_service', sizes.control, { stream: ofControl.openSocket });
  const lookups = openKnex(control, 'portal_service', sizes.lookups ?? usualLookups, { stream: ofControl.openSocket });
  // A backend's memory grows with the tables it has seen; a bounded lifetime gives it back.
  // Until then it is kept: closing it when it rests for a while takes a timer with each statement, and a new backend after each rest.
  const kept: PoolConfig = { stream: ofData.openSocket, min: sizes.data, max: sizes.data, maxLifetimeSeconds: 600 };
  const reads = poolConfig(data, 'portal_service', { ...kept, statement_timeout: readTimeoutMs });
  // Many read at once, and a count that takes a second process for itself takes it from the others.
  const pool = new Pool({ ...reads, options: `${reads.options} -c max_parallel_workers_per_gather=0` });
  // An idle connection that breaks (a restarted server) is replaced by the pool; without a listener it would end the process.
  pool.on('error', nothing);
  // One that breaks while it is lent out fails the query under way, and says so here as well.
  pool.on('connect', (client) => client.on('error', nothing));
  const ofExports: PoolConfig = { stream: ofData.openSocket, max: sizes.exports ?? usualExports, maxLifetimeSeconds: 600 };
  const exports = new Pool(poolConfig(data, 'portal_service', ofExports));
  exports.on('error', nothing);
  if (isOwn) exports.on('connect', standBack);
  return {
    control: knex,
    lookups,
    data: pool,
    exports,
    isOwn,
    show: ofControl.ask,
    close: async () => {
      await Promise.all([knex.destroy(), lookups.destroy(), pool.end(), exports.end()]);
      // Last: until then it breaks what a silent server keeps from ending.
      await Promise.all([ofControl.close(), ofData === ofControl ? undefined : ofData.close()]);
    },
  };
}

/** Milliseconds. */
const operatorsWait = 2_000;

/**
 * For what an operator asks of the process while everything else may be busy: two connections that nothing else takes, once made kept, and
 * no question that lasts. A question that is not answered in time, by a server that stands still say, costs its connection.
 */
export function openOperatorsPool(address: Address): Pool {
  const pool = new Pool(
    poolConfig(address, 'portal_service', {
      max: 2,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: operatorsWait,
      statement_timeout: operatorsWait,
      query_timeout: operatorsWait + 500,
    }),
  );
  pool.on('error', nothing);
  pool.on('connect', (client) => client.on('error', nothing));
  return pool;
}

export class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase';
}

const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;
const refusedLogin = /^(28|3D)/;

/** An operator's words for what keeps a database from being used at all; any other error stays as it is. */
export function explainDatabase(error: unknown): unknown {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  if (unreachable.test(code)) {
    return new UnfitDatabase(
      `PostgreSQL at DATABASE_URL can't be reached (${code}): check host and port; a password with @ / : or # must be percent-encoded in the address`,
    );
  }
  if (refusedLogin.test(code)) return new UnfitDatabase(`PostgreSQL at DATABASE_URL refused: ${message}`);
  if (code === '42501') {
    return new UnfitDatabase(
      `The login of DATABASE_URL lacks a right: ${message.split(' - ').at(-1)}. It must own its database and may create roles (CREATEROLE), ` +
        'or the roles portal_owner, portal_service and portal_simulator exist and are granted to it',
    );
  }
  return error;
}

/** Refuses, in words for an operator, a server that is too old or lacks pg_trgm or UTF-8. */
export async function checkServer(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{ rows: { version: number; shown: string; trgm: boolean; encoding: string }[] }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as shown,
            exists (select from pg_available_extensions where name = 'pg_trgm') as trgm, current_setting('server_encoding') as encoding`,
  );
  const server = rows[0];
  if (server === undefined || server.version < 170_000)
    throw new UnfitDatabase(`PostgreSQL 17 or later is required; this server is ${server?.shown ?? 'unknown'}`);
  if (!server.trgm) throw new UnfitDatabase('The PostgreSQL server lacks the extension pg_trgm; install its contrib package');
  if (server.encoding !== 'UTF8') throw new UnfitDatabase(`The database must be encoded in UTF8; this one is ${server.encoding}`);
}
