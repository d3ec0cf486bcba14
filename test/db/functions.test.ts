// The SQL functions in db/functions and the generated db/schema.sql, compared with a real database.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createSampleTenant, describeDatabase } from '../../db/write-schema.ts';
import { appliedRelease, currentRelease, readFunctions, readReleases } from '../../src/db/functions.ts';
import { assertMigrated, migrate } from '../../src/db/migrate.ts';
import { useDatabase } from '../setup/use-database.ts';

const database = useDatabase();

const definitions = async (): Promise<Record<string, string>> => {
  const { rows } = await database.admin.raw<{ rows: { name: string; text: string }[] }>(
    `select p.proname as name, pg_get_functiondef(p.oid) as text from pg_proc p
     where p.pronamespace = 'public'::regnamespace and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
     order by 1`,
  );
  return Object.fromEntries(rows.map(({ name, text }) => [name, text]));
};
const files = readdirSync('db/functions')
  .filter((name) => name.endsWith('.sql'))
  .sort();

describe('db/functions', () => {
  it('holds one definition per file, named as the file', () => {
    for (const file of files) {
      const created = [
        ...readFileSync(`db/functions/${file}`, 'utf8').matchAll(/^create or replace function (\w+)/gm),
      ];
      expect([file, created.map(([, name]) => `${name}.sql`)]).toEqual([file, [file]]);
    }
  });

  it('defines every function of the database, exactly as the database has it', async () => {
    const before = await definitions();
    expect(Object.keys(before).map((name) => `${name}.sql`)).toEqual(files);
    const { sql } = await readFunctions();
    await database.admin.raw('set check_function_bodies = off');
    await database.admin.raw(sql.replaceAll('?', '\\?'));
    expect(await definitions()).toEqual(before);
  });

  it('has a release that rises with each change: run `npm run generate`', async () => {
    const releases = await readReleases();
    expect(releases.map(({ release }) => release)).toEqual(releases.map((_, index) => index + 1));
    expect(releases.at(-1)?.sha256).toBe((await readFunctions()).sha256);
    expect(new Set(releases.map(({ sha256 }) => sha256)).size).toBe(releases.length);
  });
});

describe('migrate', () => {
  const breakFunction = () =>
    database.admin.raw(
      'create or replace function prune_drift_events() returns void language sql as $$ select $$',
    );
  const setRelease = (release: number) => database.admin('function_release').update({ release });

  it('replaces the functions of a database of an earlier release', async () => {
    const before = await definitions();
    await breakFunction();
    await setRelease((await currentRelease()) - 1);
    await expect(assertMigrated(database.address)).rejects.toThrow('migrated by an older version');
    await migrate(database.address);
    expect(await definitions()).toEqual(before);
    expect(await appliedRelease(database.admin)).toBe(await currentRelease());
    await assertMigrated(database.address);
  });

  it('moves a database over that was made before db/functions existed', async () => {
    const before = await definitions();
    await breakFunction();
    await database.admin.raw('drop table function_release');
    // 0039 creates that table, and 0040 comments on it; later migrations stay applied.
    await database.admin('knex_migrations').where('name', '~', '^00(39|40)_').delete();
    await migrate(database.address);
    expect(await definitions()).toEqual(before);
    expect(await appliedRelease(database.admin)).toBe(await currentRelease());
  });

  it('leaves the functions of a later release alone', async () => {
    await breakFunction();
    const later = await definitions();
    await setRelease((await currentRelease()) + 1);
    await migrate(database.address);
    expect(await definitions()).toEqual(later);
    await expect(assertMigrated(database.address)).rejects.toThrow('migrated by a newer version');
    await setRelease(0);
    await migrate(database.address);
  });

  it('lets only the service call a function that runs with the rights of its owner', async () => {
    await database.admin.raw('grant execute on function find_api_key to public');
    await setRelease(0);
    await migrate(database.address);
    const { rows } = await database.admin.raw<{ rows: { name: string }[] }>(
      `select p.proname as name from pg_proc p
       where p.pronamespace = 'public'::regnamespace and p.prosecdef
         and (has_function_privilege('portal_simulator', p.oid, 'execute') or not has_function_privilege('portal_service', p.oid, 'execute'))`,
    );
    expect(rows).toEqual([]);
  });
});

it('db/schema.sql is what a new database has: run `npm run generate`', async () => {
  const text = await describeDatabase(database.admin, await createSampleTenant(database.admin));
  expect(text).toBe(readFileSync('db/schema.sql', 'utf8'));
});
