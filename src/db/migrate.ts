// Brings a database to this version's state. Several processes may start at once: the first one works, the others wait.
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';
import { type Address, checkServer, explainDatabase, openKnex, poolConfig, UnfitDatabase } from './connect.ts';
import { watchSilence } from './silence.ts';

const directory = fileURLToPath(new URL('../../migrations', import.meta.url));
/**
 * Migrations of a later version are no concern of an earlier one, which may start beside it while a deployment goes on or is taken
 * back. So each migration leaves what the version before it needs.
 */
const migrations = { directory, loadExtensions: ['.ts'], disableMigrationsListValidation: true };
/** Any number that nothing else locks; shared by every process of every version. */
const migrationLock = 7_205_119_204;

export type Standing = 'behind' | 'level' | 'ahead';

/**
 * Reads this code's migrations once, and says of the names of those that a database has how it stands to them. One that lacks any is behind,
 * whatever else it has.
 */
export async function openStanding(): Promise<(applied: readonly string[]) => Standing> {
  const own = (await readdir(directory)).filter((name) => name.endsWith('.ts'));
  return (applied) => {
    const there = new Set(applied);
    if (own.some((name) => !there.has(name))) return 'behind';
    return there.size > own.length ? 'ahead' : 'level';
  };
}

/**
 * Rights on the database itself: neither a clone nor a restored dump carries them, so they are given at every start. And on what knex
 * made, which says whether the database fits the code.
 */
const databaseGrants = `do $$ begin
  execute format('grant create, connect on database %I to portal_owner', current_database());
  execute format('grant create, connect on database %I to portal_service', current_database());
  grant select on public.knex_migrations to portal_service;
end $$`;

/**
 * Changes nothing: throws UnfitDatabase unless the database is in this version's state, so that a command never migrates a database that a
 * service of another version works on.
 */
export async function assertMigrated(address: Address): Promise<void> {
  const knex = openKnex(address, null, 1);
  try {
    await checkServer(knex);
    const { rows } = await knex.raw<{ rows: { there: boolean }[] }>("select to_regclass('public.knex_migrations') is not null as there");
    const done = rows[0]?.there === true ? await knex('knex_migrations').pluck<string[]>('name') : [];
    const standing = (await openStanding())(done);
    if (standing === 'level') return;
    if (done.length === 0) throw new UnfitDatabase('The database is empty: start the service first, or make an organization');
    const other = standing === 'ahead' ? 'a newer' : 'an older';
    throw new UnfitDatabase(
      `The database was prepared by ${other} version of this service: run the command with the version that serves, or start this one first`,
    );
  } catch (error) {
    throw explainDatabase(error);
  } finally {
    await knex.destroy();
  }
}

/** Says how many migrations ran. Throws UnfitDatabase for a server that can't be used. */
export async function migrate(address: Address): Promise<{ applied: number }> {
  // A migration may last, but not for a server that says nothing any more.
  const watch = watchSilence(poolConfig(address, null));
  const knex = openKnex(address, null, 2, { stream: watch.openSocket });
  try {
    await checkServer(knex);
    return await knex.transaction(async (guard: Knex.Transaction) => {
      await guard.raw('select pg_advisory_xact_lock(?)', [migrationLock]);
      // knex's own lock row errors instead of waiting and stays behind after a kill; the advisory lock does its work.
      await knex.migrate.forceFreeMigrationsLock(migrations);
      const [, names] = (await knex.migrate.latest(migrations)) as [number, string[]];
      await knex.raw(databaseGrants);
      return { applied: names.length };
    });
  } catch (error) {
    throw explainDatabase(error);
  } finally {
    await knex.destroy();
    await watch.close();
  }
}
