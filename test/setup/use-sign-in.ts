// The service with a real identity provider on a database of its own for one test file, and an organization
// whose owner can sign in there as `owner`.
import type { Knex } from 'knex';
import { afterAll, beforeAll } from 'vitest';
import type { DemoPerson } from '../../demo/identity-provider/identity-provider.ts';
import { createLog } from '../../src/core/log.ts';
import type { TestDatabase, TestDatabaseOptions } from './database.ts';
import { type SignInSite, startSignInSite } from './identity-provider.ts';
import { makeOrganization } from './organization.ts';
import { useDatabase } from './use-database.ts';

export const ownerEmail = 'owner@acme.example';

type Site = SignInSite & {
  readonly database: TestDatabase;
  /** The database with the login of the superuser. */
  readonly admin: Knex;
  readonly organization: Awaited<ReturnType<typeof makeOrganization>>;
};

/** For the top level of a test file. Log lines are added to `lines`. */
export function useSignIn({
  lines,
  people = [],
  ...options
}: TestDatabaseOptions & { lines?: string[]; people?: readonly DemoPerson[] } = {}): Site {
  const site = {} as Site;
  const database = useDatabase(options);
  beforeAll(async () => {
    const log = lines && createLog('trace', { write: (line: string) => void lines.push(line) });
    const organization = await makeOrganization(database.ctx, { name: 'Acme', ownerEmail });
    const owner = { id: 'owner', email: ownerEmail, name: 'Owner of Acme', about: '' };
    const served = await startSignInSite({
      ctx: { ...database.ctx, ...(log !== undefined && { log }) },
      people: [owner, ...people],
    });
    Object.assign(site, { ...served, database, organization, admin: database.admin });
  });
  afterAll(() => site.stop());
  return site;
}
