// The account's own database and its two connection pools: `setup` as its owner, for loading and
// administration, and `reader` for the callers' queries. A reader runs as READER_ROLE: read-only, with a time
// limit, and with access to the suiteql views only.
import { randomBytes } from 'node:crypto';
import { Client, Pool, type PoolConfig } from 'pg';
import { quoteSqlName } from '../tables/table.ts';

export type AdminConnection = {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
};
export type AccountDatabase = { setup: Pool; reader: Pool; close(): Promise<void> };
export type ReaderOptions = { timeZone: string; dateOrder: 'MDY' | 'DMY'; statementTimeoutMs: number };

/**
 * Owns nothing and can't log in; all accounts of a cluster share it. Each account's login for its readers may
 * only become this role.
 */
export const READER_ROLE = 'netsuite_simulator';

const LOCK_TIMEOUT_MS = 2_000;
const ACCOUNT_LOCK = 7_311_002;

const SETUP_TABLES = `
CREATE SCHEMA IF NOT EXISTS setup;
DROP TABLE IF EXISTS setup.load;
CREATE TABLE IF NOT EXISTS setup.loaded (data text NOT NULL, views text NOT NULL, startsat timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS setup.setting (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS setup.integration (client_id text PRIMARY KEY, name text NOT NULL, created_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS setup.certificate (certificate_id text PRIMARY KEY, client_id text NOT NULL REFERENCES setup.integration,
  pem text NOT NULL, not_after timestamptz NOT NULL, created_at timestamptz NOT NULL, revoked_at timestamptz);
CREATE TABLE IF NOT EXISTS setup.token (token_id text PRIMARY KEY, token_secret text NOT NULL, consumer_key text NOT NULL,
  consumer_secret text NOT NULL, name text NOT NULL, created_at timestamptz NOT NULL, revoked_at timestamptz,
  integration_on boolean NOT NULL DEFAULT true)`;

/**
 * Opens the account's database, creating it and the reader's role if necessary, and locks it for this process
 * until `close`. Rejects with an Error when another process holds the lock.
 */
export async function openAccountDatabase(
  admin: AdminConnection,
  database: string,
  options: ReaderOptions,
): Promise<AccountDatabase> {
  const reader = `${database}_reader`.slice(0, 63);
  const password = randomBytes(24).toString('base64url');
  await createDatabase(admin, database);
  const lock = await lockAccount({ ...admin, database });
  try {
    await lock.query(SETUP_TABLES);
    await createReaderRole(lock, database, reader, password);
  } catch (error) {
    await lock.end();
    throw error;
  }
  const setup = createPool({ ...admin, database, max: 3 });
  const { password: _adminPassword, ...address } = admin;
  const pool = createPool({
    ...address,
    database,
    user: reader,
    password,
    max: 8,
    options: readerSettings(options),
  });
  return {
    setup,
    reader: pool,
    async close() {
      await Promise.all([setup.end(), pool.end()]);
      await lock.query(`DROP ROLE IF EXISTS ${quoteSqlName(reader)}`);
      await lock.end();
    },
  };
}

async function createDatabase(admin: AdminConnection, database: string): Promise<void> {
  const client = new Client(admin);
  await client.connect();
  try {
    const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    // file_copy is twice as fast as the default wal_log, and a mostly idle cluster has little to flush in its
    // checkpoints.
    if (rows.length === 0)
      await client.query(`CREATE DATABASE ${quoteSqlName(database)} TEMPLATE template0 STRATEGY file_copy`);
  } catch (error) {
    if (!hasCode(error, '42P04', '23505')) throw error; // another process created it first
  } finally {
    await client.end();
  }
}

/** Another process runs the account. */
export class AccountInUse extends Error {}

/**
 * One process per account, which holds tokens, faults and business time in memory. PostgreSQL releases the
 * lock of a killed process within moments, so the lock is retried for two seconds.
 */
async function lockAccount(config: AdminConnection): Promise<Client> {
  const client = new Client(config);
  client.on('error', () => undefined); // a lost connection fails the next query
  await client.connect();
  for (let waitedMs = 0; ; waitedMs += 100) {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
      ACCOUNT_LOCK,
    ]);
    if (rows[0]?.held) return client;
    if (waitedMs >= LOCK_TIMEOUT_MS) {
      await client.end();
      throw new AccountInUse(
        `Another process is running the account in database ${config.database}. Stop it first.`,
      );
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
}

/** The login's only right is to become READER_ROLE, so that not even an injected query would gain more. */
async function createReaderRole(
  client: Client,
  database: string,
  reader: string,
  password: string,
): Promise<void> {
  await client.query(`DO $$ BEGIN
    CREATE ROLE ${READER_ROLE} NOLOGIN NOINHERIT;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`);
  // A killed process leaves its login behind.
  await client.query(`DROP ROLE IF EXISTS ${quoteSqlName(reader)}`);
  await client.query(`CREATE ROLE ${quoteSqlName(reader)} LOGIN PASSWORD '${password}'`);
  await client.query(`GRANT ${READER_ROLE} TO ${quoteSqlName(reader)}`);
  await client.query(`REVOKE ALL ON DATABASE ${quoteSqlName(database)} FROM PUBLIC`);
  await client.query(`GRANT CONNECT ON DATABASE ${quoteSqlName(database)} TO ${READER_ROLE}`);
}

function readerSettings({ timeZone, dateOrder, statementTimeoutMs }: ReaderOptions): string {
  const settings = {
    role: READER_ROLE,
    default_transaction_read_only: 'on',
    statement_timeout: String(statementTimeoutMs),
    idle_in_transaction_session_timeout: String(statementTimeoutMs),
    search_path: 'suiteql,pg_catalog',
    TimeZone: timeZone,
    DateStyle: `ISO,${dateOrder}`,
    jit: 'off', // costs more than it saves on pages of a thousand rows
    max_parallel_workers_per_gather: '0',
  };
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

function createPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  // A lost connection fails the query that uses it, and the pool opens another. Without a listener the event
  // would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
  });
  return pool;
}

/** Whether this is a PostgreSQL or system error with one of these codes. */
export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
