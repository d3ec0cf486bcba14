// Opens the database that the service or a command uses: the one at DATABASE_URL or the embedded one.
// Migrates it and creates the service's login.
import type { Config } from './config.ts';
import { type DatabaseAddress, openKnex } from './db/connect.ts';
import { assertDirectSessions } from './db/direct-sessions.ts';
import { type EmbeddedDatabase, startEmbedded } from './db/embedded/embedded.ts';
import { assertMigrated, migrate } from './db/migrate.ts';
import { assertNotMoved } from './db/moved-database.ts';
import { sqlState } from './db/pg-errors.ts';
import { ensureServiceLogin, toServiceLogin } from './db/service-login.ts';

const database = 'portal';

export type OpenedDatabase = {
  readonly control: DatabaseAddress;
  readonly data: DatabaseAddress;
  /** Of READ_URL. */
  readonly replicas?: readonly DatabaseAddress[];
  /**
   * The address for migrations and operators' commands, whose login owns the database. Nothing that serves
   * requests uses it.
   */
  readonly owner: DatabaseAddress;
  /** The embedded PostgreSQL; undefined with DATABASE_URL. */
  readonly embedded: EmbeddedDatabase | undefined;
};

async function ensureDatabase(server: EmbeddedDatabase['connection'], name: string): Promise<void> {
  const admin = openKnex(server, null, 1);
  try {
    const { rows } = await admin.raw<{ rows: unknown[] }>('select from pg_database where datname = ?', [
      name,
    ]);
    if (rows.length > 0) return;
    await admin.raw(`create database ${name}`).catch((error: unknown) => {
      // Another process that started at the same time has created it.
      if (!['42P04', '23505'].includes(sqlState(error) ?? '')) throw error;
    });
  } finally {
    await admin.destroy();
  }
}

type DatabaseConfig = Pick<Config, 'DATA_DIR'> &
  Partial<Pick<Config, 'DATABASE_URL' | 'MIGRATION_DATABASE_URL' | 'WAREHOUSE_URL' | 'READ_URL'>>;
/**
 * `migrate` migrates the database to this version; `check` changes nothing and rejects a database of another
 * version.
 */
type Preparation = 'migrate' | 'check';
const preparations = { migrate, check: assertMigrated };

async function openExternal(
  url: string,
  { MIGRATION_DATABASE_URL, WAREHOUSE_URL = url, READ_URL = [] }: DatabaseConfig,
  preparation: Preparation,
): Promise<OpenedDatabase> {
  const opened = {
    control: url,
    data: WAREHOUSE_URL,
    replicas: READ_URL,
    owner: MIGRATION_DATABASE_URL ?? url,
    embedded: undefined,
  };
  const ownerVariable = MIGRATION_DATABASE_URL === undefined ? 'DATABASE_URL' : 'MIGRATION_DATABASE_URL';
  await assertDirectSessions(opened.owner, ownerVariable);
  await assertNotMoved(opened.owner, ownerVariable);
  await preparations[preparation](opened.owner, ownerVariable);
  if (MIGRATION_DATABASE_URL === undefined) return opened;
  if (preparation === 'migrate') await ensureServiceLogin(opened.owner, toServiceLogin(url));
  await assertDirectSessions(url, 'DATABASE_URL');
  return opened;
}

async function openEmbedded(embedded: EmbeddedDatabase, preparation: Preparation): Promise<OpenedDatabase> {
  await ensureDatabase(embedded.connection, database);
  const owner = { ...embedded.connection, database };
  await preparations[preparation](owner);
  await ensureServiceLogin(owner, embedded.serviceLogin, { overwrite: true });
  const service = { ...owner, ...embedded.serviceLogin };
  return { control: service, data: service, owner, embedded };
}

/**
 * Opens the database at DATABASE_URL, or starts the embedded one in DATA_DIR, after preparing it as the login
 * of MIGRATION_DATABASE_URL if that is set. Rejects with UnusableDatabase when the server can't be used, and
 * with an Error when the embedded server can't be started.
 */
export async function openDatabase(
  config: DatabaseConfig,
  onProgress: (step: string) => void = () => undefined,
  preparation: Preparation = 'migrate',
): Promise<OpenedDatabase> {
  if (config.DATABASE_URL !== undefined) return openExternal(config.DATABASE_URL, config, preparation);
  const embedded = await startEmbedded(config.DATA_DIR, { onProgress });
  try {
    return await openEmbedded(embedded, preparation);
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

/** Stops the embedded server unless another process uses it. */
export const closeDatabase = async ({ embedded }: OpenedDatabase): Promise<unknown> => embedded?.stop();
