// An organization with its owner's key, and the whole application in front of it, in this process.
import { createApp } from '../../src/app.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { createApi } from './api.ts';
import { type TestDatabaseOptions, testDatabase } from './database.ts';
import { makeKey, makeOrganization } from './organization.ts';

export type Company = Awaited<ReturnType<typeof openCompany>>;

export async function openCompany(
  options: TestDatabaseOptions = {},
  organization: Parameters<typeof makeOrganization>[1] = {},
) {
  const database = await testDatabase(options);
  const { ctx } = database;
  const { id, ownerId } = await makeOrganization(ctx, organization);
  const key = (scopes: Parameters<typeof makeKey>[2] = { permissions: ['write'] }) =>
    makeKey(ctx, id, scopes);
  const { secret } = await key();
  const app = createApp(ctx);
  return {
    ...database,
    app,
    id,
    ownerId,
    /** A key, by default with all permissions of the owner. */
    key,
    secret,
    /** Calls the management interface with that secret. */
    owner: createApi(app, secret),
    /** Runs within the organization's rows, as the service does. */
    sql: <T>(work: Parameters<typeof inTransaction<T>>[1]) =>
      inTransaction({ db: ctx.db, organizationId: id }, work),
  };
}
