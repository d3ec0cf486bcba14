// An organization with random invoices, whose versions declare summaries: v1 is published before the account
// is known, v2 after it, and v3 is as versions were before summaries.
import type { Express } from 'express';
import { inTransaction } from '../../../src/db/transaction.ts';
import { createReadEngine, publicMetrics } from '../../../src/public/index.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestClock, type TestDatabase, testClock, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import {
  bumpGeneration,
  callerOf,
  type InvoiceRow,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../fixture.ts';
import { randomInvoices, summarizedInvoices } from './summary-fixture.ts';

export type Row = Record<string, unknown>;
type Get = ReturnType<typeof callerOf>;

/** Of the account that v2 knows. */
export const utcOffsetMinutes = 330;
export const rows = randomInvoices(400, 7);

/** The currency of the total is the status, and the account is 5:30 hours ahead of UTC. */
async function describeAccount(database: TestDatabase, id: string, hasCurrencies: boolean): Promise<void> {
  const own = { organization_id: id };
  const account = { hasCurrencies, utcOffsetMinutes };
  await inTransaction({ db: database.ctx.db, organizationId: id }, async (tx) => {
    await tx('erp_metadata').insert({ ...own, refreshed_at: new Date(), account: JSON.stringify(account) });
    await tx('erp_record_types').insert({
      ...own,
      name: 'invoice',
      position: 1,
      described_at: new Date(),
      head: JSON.stringify({ name: 'invoice', label: 'Invoice' }),
      description: JSON.stringify({ fields: [{ name: 'tranid' }, { name: 'total', currency: 'status' }] }),
    });
  });
}

export type SummarySite = {
  readonly database: TestDatabase;
  readonly organizationId: string;
  readonly app: Express;
  /** With an unlimited key. */
  readonly get: Get;
  callerWith(scopes: Parameters<typeof makeKey>[2]): Promise<Get>;
  /** Runs SQL in which `$t` is the table of the invoices. */
  inSql(sql: string): Promise<Row[]>;
  /**
   * Another organization with these invoices and the version v1; `hasCurrencies` is as its account has it, if
   * that is known.
   */
  organizationWith(own: readonly InvoiceRow[], hasCurrencies?: boolean): Promise<Get>;
  /** The number of statements that read records, so far. */
  statementsRun(): number;
  /** As a run publishes, a second after the last read. */
  publish(): Promise<void>;
};

export async function openSummarySite(): Promise<SummarySite> {
  const clock: TestClock = testClock();
  const database = await testDatabase({ clock, settings: { maxAnswerBytes: 2 ** 21 } });
  const { ctx } = database;
  const organizationId = (await makeOrganization(ctx)).id;
  const table = `${tenantSchema(organizationId)}.${await loadInvoices(ctx, organizationId, rows)}`;
  await publishVersion(ctx, organizationId, { endpoints: [summarizedInvoices] });
  await describeAccount(database, organizationId, true);
  await publishVersion(ctx, organizationId, { version: 'v2', endpoints: [summarizedInvoices] });
  await publishVersion(ctx, organizationId, { version: 'v3', endpoints: [invoicesEndpoint] });
  const reads = createReadEngine(ctx);
  const app = publicApp(ctx, undefined, reads);
  const callerWith: SummarySite['callerWith'] = async (wanted) =>
    callerOf(app, { secret: (await makeKey(ctx, organizationId, wanted)).secret, organizationId });
  return {
    database,
    organizationId,
    app,
    get: await callerWith({}),
    callerWith,
    inSql: async (sql) => (await ctx.db.data.query<Row>(sql.replaceAll('$t', table))).rows,
    organizationWith: async (own, hasCurrencies) => {
      const { id } = await makeOrganization(ctx);
      await loadInvoices(ctx, id, own);
      if (hasCurrencies !== undefined) await describeAccount(database, id, hasCurrencies);
      await publishVersion(ctx, id, { endpoints: [summarizedInvoices] });
      return callerOf(app, { secret: (await makeKey(ctx, id)).secret, organizationId: id });
    },
    statementsRun: () => {
      const { hits = 0, misses = 0 } = publicMetrics({ reads }).caches['statements'] ?? {};
      return hits + misses;
    },
    publish: async () => {
      await bumpGeneration(ctx, organizationId, rows.length);
      clock.advance(ctx.settings.cacheTtlMs + 1);
    },
  };
}
