// What keeps the service from using a database, as messages for the operator.
import type { Knex } from 'knex';
import { NoSuitableServer } from './server-finder.ts';

export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
  /** SQLSTATE of a connection that can't be used: requests get 503 meanwhile, and runs wait. */
  readonly code = '08000';
}

const unreachable =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;
const refusedLogin = /^(28|3D)/;

/** The environment variable with the address of the database. */
export type AddressVariable =
  | 'DATABASE_URL'
  | 'MIGRATION_DATABASE_URL'
  | 'WAREHOUSE_URL'
  | 'WAREHOUSE_FROM_URL';

function adviceForCluster(message: string, variable: AddressVariable): string | undefined {
  if (/connection to the remote node [\s\S]*role "portal_\w+" does not exist/.test(message))
    return `The nodes of the Citus cluster at ${variable} are not prepared: run npm run admin -- prepare-citus first, see docs/citus.md.`;
  const [, node] = /connection to the remote node (?:[^\s@]*@)?(\S+) failed/.exec(message) ?? [];
  if (node !== undefined)
    return (
      `The node ${node} of the Citus cluster at ${variable} can't be used: ${message.split('error: ').at(-1)?.split('\n')[0]}. A new version changes ` +
      'all nodes of the cluster when it starts: see that they respond, then start it again.'
    );
  return undefined;
}

function adviceFor(error: unknown, variable: AddressVariable): string | undefined {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  if (unreachable.test(code)) {
    return `PostgreSQL at ${variable} can't be reached (${code}). Check host and port; a password with @ / : or # must be percent-encoded in the URL.`;
  }
  if (error instanceof NoSuitableServer) return `${variable}: ${message}.`;
  if (code === '25006')
    return (
      `PostgreSQL at ${variable} is read-only: it is a standby, or was made read-only. Name the server that takes writes, or all of them with ` +
      'target_session_attrs=read-write: docs/scaling.md#several-servers-in-one-address.'
    );
  const ofCluster = adviceForCluster(message, variable);
  if (ofCluster !== undefined) return ofCluster;
  if (refusedLogin.test(code)) return `PostgreSQL at ${variable} rejected the login: ${message}`;
  if (code === '08P01' && message.includes('startup parameter'))
    return `The connection pooler at ${variable} rejects a setting that the service needs: ${message}. See docs/operations.md#connection-poolers.`;
  if (code === '42501') {
    return (
      `The login of ${variable} lacks a privilege: ${message.split(' - ').at(-1)}. The login that migrates must own its database and either ` +
      'have CREATEROLE, or be a member of the existing roles portal_owner, portal_service and portal_simulator. If the service connects as ' +
      'a plain login, set MIGRATION_DATABASE_URL: docs/operations.md#database-logins.'
    );
  }
  return undefined;
}

/**
 * Returns an UnusableDatabase with advice for the operator when the error means that the database can't be
 * used at all, else the error itself.
 */
export function explainDatabaseError(error: unknown, variable: AddressVariable = 'DATABASE_URL'): unknown {
  const advice = adviceFor(error, variable);
  return advice === undefined ? error : new UnusableDatabase(advice);
}

/**
 * Throws UnusableDatabase, with advice for the operator, when the server is older than 17, lacks pg_trgm, or
 * the database isn't UTF-8.
 */
export async function assertSupportedServer(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{
    rows: { version: number; shown: string; trgm: boolean; encoding: string }[];
  }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as shown,
            exists (select from pg_available_extensions where name = 'pg_trgm') as trgm, current_setting('server_encoding') as encoding`,
  );
  const server = rows[0];
  if (server === undefined || server.version < 170_000)
    throw new UnusableDatabase(
      `PostgreSQL 17 or later is required; this server is ${server?.shown ?? 'of an unknown version'}.`,
    );
  if (!server.trgm)
    throw new UnusableDatabase(
      'The PostgreSQL server lacks the extension pg_trgm. Install its contrib package.',
    );
  if (server.encoding !== 'UTF8')
    throw new UnusableDatabase(
      `The encoding of the database must be UTF8; it is ${server.encoding}. Create a new database with ENCODING UTF8.`,
    );
}
