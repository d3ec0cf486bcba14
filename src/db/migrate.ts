// Migrates a database to this version of the schema. When several processes start at once, one migrates and the others wait for it.
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';
import { type DatabaseAddress, locate, openKnex, poolConfig } from './connect.ts';
import { appliedRelease, applyFunctions, currentRelease } from './functions.ts';
import { monitorDatabaseLiveness } from './liveness.ts';
import { type AddressVariable, assertSupportedServer, explainDatabaseError, UnusableDatabase } from './unusable-database.ts';

const directory = fileURLToPath(new URL('../../migrations', import.meta.url));
/**
 * During a rolling deployment or a rollback an older version may start against a database that a newer one has migrated. It ignores
 * migrations that it doesn't know, so each migration must leave in place what the previous version needs.
 */
const migrations = { directory, loadExtensions: ['.ts'], disableMigrationsListValidation: true };
/** Key of the advisory lock: an arbitrary number that nothing else uses; the same in every process of every version. */
const migrationLock = 7_205_119_204;

/** How a database compares with this code. */
export type MigrationStatus = 'behind' | 'level' | 'ahead';

/**
 * Reads the names of this code's migrations once, and returns a function that compares the migrations applied to a database with them. A
 * database that lacks any of them is `behind`, even if it also has newer ones.
 */
export async function readMigrationStatus(): Promise<(applied: readonly string[]) => MigrationStatus> {
  const own = (await readdir(directory)).filter((name) => name.endsWith('.ts'));
  return (applied) => {
    const present = new Set(applied);
    if (own.some((name) => !present.has(name))) return 'behind';
    return present.size > own.length ? 'ahead' : 'level';
  };
}

/**
 * Privileges on the database itself: neither a clone nor a restored dump carries them, so they are granted at every start. And on knex's
 * own table, from which the service reads whether the database matches the code.
 */
const databaseGrants = `do $$ begin
  execute format('grant create, connect on database %I to portal_owner', current_database());
  execute format('grant create, connect on database %I to portal_service', current_database());
  grant select on public.knex_migrations to portal_service;
end $$`;

/** Compares the applied migrations and the release of the SQL functions with this code's: 'behind' when either is. */
async function compareDatabase(knex: Knex, applied: readonly string[]): Promise<MigrationStatus> {
  const status = (await readMigrationStatus())(applied);
  const releasesAhead = (await appliedRelease(knex)) - (await currentRelease());
  if (status === 'behind' || releasesAhead < 0) return 'behind';
  return releasesAhead > 0 ? 'ahead' : status;
}

/**
 * Throws UnusableDatabase unless the database has exactly this version's migrations, and changes nothing. A command that calls it never
 * migrates a database on which a service of another version is running.
 */
export async function assertMigrated(address: DatabaseAddress, variable?: AddressVariable): Promise<void> {
  const knex = openKnex(address, null, 1);
  try {
    await assertSupportedServer(knex);
    const { rows } = await knex.raw<{ rows: { there: boolean }[] }>("select to_regclass('public.knex_migrations') is not null as there");
    const done = rows[0]?.there === true ? await knex('knex_migrations').pluck<string[]>('name') : [];
    if (done.length === 0)
      throw new UnusableDatabase('The database is empty. Start the service first, or run the create-organization command.');
    const status = await compareDatabase(knex, done);
    if (status === 'level') return;
    const other = status === 'ahead' ? 'a newer' : 'an older';
    throw new UnusableDatabase(
      `The database was migrated by ${other} version of this service. Run the command with the version that is deployed, or start this version first.`,
    );
  } catch (error) {
    throw explainDatabaseError(error, variable);
  } finally {
    await knex.destroy();
  }
}

/** Returns how many migrations ran. Throws UnusableDatabase when the server can't be used (see `assertSupportedServer`). */
export async function migrate(address: DatabaseAddress, variable?: AddressVariable): Promise<{ applied: number }> {
  const server = locate(address);
  // A migration may take long, but must not wait for a server that no longer responds.
  const liveness = monitorDatabaseLiveness(poolConfig(server, null));
  const knex = openKnex(server, null, 2, { stream: liveness.openSocket });
  try {
    await assertSupportedServer(knex);
    return await knex.transaction(async (guard: Knex.Transaction) => {
      await guard.raw('select pg_advisory_xact_lock(?)', [migrationLock]);
      // knex's own lock row fails instead of waiting, and remains after a kill; the advisory lock replaces it.
      await knex.migrate.forceFreeMigrationsLock(migrations);
      const [, names] = (await knex.migrate.latest(migrations)) as [number, string[]];
      await applyFunctions(guard);
      await knex.raw(databaseGrants);
      return { applied: names.length };
    });
  } catch (error) {
    throw explainDatabaseError(error, variable);
  } finally {
    await knex.destroy();
    await liveness.close();
  }
}
