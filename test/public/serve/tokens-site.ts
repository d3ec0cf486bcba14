// A company with invoices of three customers, whose owner holds the column of the customer scopable, and the
// whole service in front of it.
import type { Express } from 'express';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { startUsageCounter } from '../../../src/public/index.ts';
import { type Answer, createApi } from '../../setup/api.ts';
import { type TestDatabase, type TestDatabaseOptions, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { createCaller, fieldsWith, invoicesEndpoint, loadInvoices, publishVersion } from '../fixture.ts';

export const scopableInvoices = {
  ...invoicesEndpoint,
  fields: fieldsWith({ customer: { scopable: true }, customerName: { mask: 'last4' } }),
  filters: invoicesEndpoint.filters.filter(({ field }) => field !== 'customerName'),
};

const rows = ['ann', 'bob', 'ann', 'eve', 'bob', 'ann'].map((entity, index) => ({
  id: index + 1,
  tranid: `INV-${index + 1}`,
  status: index % 2 === 0 ? 'open' : 'paid',
  entity,
  entityName: `Customer ${entity}`,
}));
/** Ids of the invoices of one customer. */
export const idsOfCustomer = (entity: string): string[] =>
  rows.flatMap((row) => (row.entity === entity ? [String(row.id)] : []));

export const ofCustomer = (...customers: string[]) => ({
  rows: { invoices: [{ field: 'customer', in: customers }] },
});

export type TokenSite = Awaited<ReturnType<typeof openTokenSite>>;

export async function openTokenSite(
  options: TestDatabaseOptions & { log?: (database: TestDatabase) => Ctx } = {},
) {
  const database = await testDatabase(options);
  const ctx = options.log?.(database) ?? database.ctx;
  const organization = await makeOrganization(ctx);
  await loadInvoices(ctx, organization.id, rows);
  await publishVersion(ctx, organization.id, {
    endpoints: [scopableInvoices, { ...scopableInvoices, name: 'bills' }],
  });
  const usage = startUsageCounter(ctx);
  const app: Express = createApp(ctx, { usage });
  const owner = createApi(app, (await makeKey(ctx, organization.id, { permissions: ['write'] })).secret);
  return {
    database,
    ctx,
    app,
    usage,
    organization,
    owner,
    key: (scopes: Parameters<typeof makeKey>[2] = {}) => makeKey(ctx, organization.id, scopes),
    sql: <T>(work: Parameters<typeof inTransaction<T>>[1]) =>
      inTransaction({ db: ctx.db, organizationId: organization.id }, work),
    /** Mints as the holder of a credential. */
    mint: (
      secret: string,
      keyId: string,
      tokens: unknown,
      headers: Record<string, string> = {},
    ): Promise<Answer> => createApi(app, secret)('post', `/api-keys/${keyId}/tokens`, { tokens }, headers),
    /** A request of the public interface. */
    get: (credential: string, path: string, headers: Record<string, string> = {}) =>
      createCaller(app, { secret: credential, organizationId: organization.id })(path, headers),
    close: async () => {
      await usage.stop();
      await database.close();
    },
  };
}

/** The token of a mint request for one. */
export async function oneToken(
  site: TokenSite,
  key: { id: string; secret: string },
  token: object,
): Promise<string> {
  const answer = await site.mint(key.secret, key.id, [token]);
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body.tokens[0].token;
}

/** The parts of a token. */
export function decoded(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header = '', claims = ''] = token
    .slice(4)
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString());
  return { header: JSON.parse(header), claims: JSON.parse(claims.startsWith('{') ? claims : '{}') };
}
