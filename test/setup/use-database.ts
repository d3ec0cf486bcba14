import type { Knex } from 'knex';
import { afterAll, beforeAll } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type TestDatabase, type TestDatabaseOptions, testDatabase } from './database.ts';

export type DatabaseSite = TestDatabase & {
  /** The database with the login of the superuser. */
  readonly admin: Knex;
};

/**
 * A database for one test file, at its top level: it is there when the file's own hooks and tests run, and
 * dropped after them.
 */
export function useDatabase(options: TestDatabaseOptions = {}): DatabaseSite {
  const site = {} as DatabaseSite;
  beforeAll(async () => {
    const database = await testDatabase(options);
    Object.assign(site, database, { admin: openKnex(database.address, null, 2) });
  });
  afterAll(async () => {
    await site.admin.destroy();
    await site.close();
  });
  return site;
}
