// Migrates a database to this version of the schema. When several processes start at once, one migrates and
// the others wait for it.
import { readdir } from 'node:fs/promises';
import type { Knex } from 'knex';
import { inRoot } from '../core/root.ts';
import { type DatabaseAddress, locate, openKnex, poolConfig } from './connect.ts';
import { appliedRelease, applyFunctions, currentRelease } from './functions.ts';
import { monitorDatabaseLiveness } from './liveness.ts';
import { sessionSettings } from './session.ts';
import {
  type AddressVariable,
  assertSupportedServer,
  explainDatabaseError,
  UnusableDatabase,
} from './unusable-database.ts';

const directory = inRoot('migrations');
/**
 * During a rolling deployment or a rollback an older version may start against a database that a newer one
 * has migrated. It ignores migrations that it doesn't know, so each migration must leave in place what the
 * previous version needs.
 */
const migrations = { directory, loadExtensions: ['.ts'], disableMigrationsListValidation: true };
/** Key of the advisory lock: arbitrary, used by nothing else, the same in every version. */
const migrationLock = 7_205_119_204;

/** How a database compares with this code. */
export type MigrationStatus = 'behind' | 'level' | 'ahead';

/**
 * Reads the names of this code's migrations once, and returns a function that compares the migrations applied
 * to a database with them. A database that lacks any of them is `behind`, even if it also has newer ones.
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
 * Privileges on the database itself: neither a clone nor a restored dump carries them, so they are granted at
 * every start where they are missing. And on knex's own table, from which the service reads whether the
 * database matches the code. What is granted already isn't granted again: on Citus that would take all nodes,
 * and a process must be able to start while one of them is down.
 */
const databaseGrants = `do $$ declare role text; begin
  foreach role in array array['portal_owner', 'portal_service'] loop
    if (select count(distinct a.privilege_type) from pg_database d, aclexplode(d.datacl) a
        where d.datname = current_database() and a.grantee = role::regrole and a.privilege_type in ('CREATE', 'CONNECT')) < 2 then
      execute format('grant create, connect on database %I to %I', current_database(), role);
    end if;
  end loop;
  if not has_table_privilege('portal_service', 'public.knex_migrations', 'SELECT') then
    grant select on public.knex_migrations to portal_service;
  end if;
end $$`;

/**
 * Defaults of portal_service on the nodes of a Citus cluster: names and values. No parallel workers, as in
 * the pool for reads. The others are PostgreSQL's own, so that what an operator has set for a server or a
 * database doesn't end or refuse the service's statements.
 */
export const nodeSettings = Object.entries({
  ...sessionSettings,
  max_parallel_workers_per_gather: '0',
  default_transaction_read_only: 'off',
  default_transaction_isolation: 'read committed',
  statement_timeout: '0',
  transaction_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
});

/**
 * Tables of organizations are read and written in sessions that Citus opens on its nodes as portal_service.
 * The settings of the service's own sessions don't reach these, so they are defaults of the role. Set only
 * when they differ, because setting them needs all nodes; Citus copies them to nodes that are added later.
 */
const nodeDefaults = `do $$ begin
  if to_regclass('pg_catalog.pg_dist_local_group') is null or exists (
    select from pg_roles where rolname = 'portal_service' and (select array_agg(lower(setting)) from unnest(rolconfig) setting)
      @> array[${nodeSettings.map(([name, value]) => `'${name}=${value.toLowerCase()}'`).join(', ')}]) then return; end if;
  ${nodeSettings.map(([name, value]) => `alter role portal_service set ${name} = '${value}';`).join('\n  ')}
end $$`;

/** The names of the applied migrations; none in an empty database. */
async function listApplied(knex: Knex): Promise<readonly string[]> {
  const { rows } = await knex.raw<{ rows: { there: boolean }[] }>(
    "select to_regclass('public.knex_migrations') is not null as there",
  );
  return rows[0]?.there === true ? knex('public.knex_migrations').pluck<string[]>('name') : [];
}

/** Compares the applied migrations and the SQL functions' release with this code: 'behind' if either is. */
async function compareDatabase(knex: Knex, applied: readonly string[]): Promise<MigrationStatus> {
  const status = (await readMigrationStatus())(applied);
  const releasesAhead = (await appliedRelease(knex)) - (await currentRelease());
  if (status === 'behind' || releasesAhead < 0) return 'behind';
  return releasesAhead > 0 ? 'ahead' : status;
}

/**
 * Throws UnusableDatabase unless the database has exactly this version's migrations, and changes nothing. A
 * command that calls it never migrates a database on which a service of another version is running.
 */
export async function assertMigrated(address: DatabaseAddress, variable?: AddressVariable): Promise<void> {
  const knex = openKnex(address, null, 1);
  try {
    await assertSupportedServer(knex);
    const done = await listApplied(knex);
    if (done.length === 0)
      throw new UnusableDatabase(
        'The database is empty. Start the service first, or run the create-organization command.',
      );
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

/**
 * Runs the migrations that are missing, and returns their names. A database in use gets each in a transaction
 * of its own: one that holds the locks of several until it ends would deadlock with the writes of running
 * processes. An empty one gets all at once, which is faster.
 */
async function runMigrations(knex: Knex): Promise<readonly string[]> {
  // knex's lock row fails instead of waiting, and remains after a kill; the caller's advisory lock replaces it.
  await knex.migrate.forceFreeMigrationsLock(migrations);
  const [completed] = (await knex.migrate.list(migrations)) as [readonly unknown[]];
  const isInUse = completed.length > 0;
  const applied: string[] = [];
  for (;;) {
    const [, names] = (await (isInUse ? knex.migrate.up(migrations) : knex.migrate.latest(migrations))) as [
      number,
      string[],
    ];
    applied.push(...names);
    if (names.length === 0 || !isInUse) return applied;
  }
}

/** Returns how many ran. Throws UnusableDatabase when the server can't be used (`assertSupportedServer`). */
export async function migrate(
  address: DatabaseAddress,
  variable?: AddressVariable,
): Promise<{ applied: number }> {
  const server = locate(address);
  // A migration may take long, but must not wait for a server that no longer responds.
  const liveness = monitorDatabaseLiveness(poolConfig(server, null));
  const knex = openKnex(server, null, 2, { stream: liveness.openSocket });
  try {
    await assertSupportedServer(knex);
    return await knex.transaction(async (guard: Knex.Transaction) => {
      await guard.raw('select pg_advisory_xact_lock(?)', [migrationLock]);
      const status = await compareDatabase(guard, await listApplied(guard));
      const names = status === 'behind' ? await runMigrations(knex) : [];
      await applyFunctions(guard);
      await guard.raw(`${databaseGrants}; ${nodeDefaults}`);
      return { applied: names.length };
    });
  } catch (error) {
    throw explainDatabaseError(error, variable);
  } finally {
    await knex.destroy();
    await liveness.close();
  }
}
