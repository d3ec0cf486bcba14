// An organization with random invoices, whose versions declare summaries: v1 is published before the account
// is known, v2 after it, and v3 is as versions were before summaries.

import { inTransaction } from '../../../src/db/transaction.ts';
import { createReadEngine, publicMetrics } from '../../../src/public/index.ts';
import { type TestDatabase, testClock, testDatabase } from '../../setup/database.ts';
import { setAccount } from '../../setup/erp-account.ts';
import {
  bumpGeneration,
  type Get,
  type InvoiceRow,
  invoicesEndpoint,
  openOrganization,
  publicApp,
} from '../fixture.ts';
import { randomInvoices, summarizedInvoices } from './summary-fixture.ts';

export type Row = Record<string, unknown>;

/** Of the account that v2 knows. */
export const utcOffsetMinutes = 330;
export const rows = randomInvoices(400, 7);

/** The currency of the total is the status, and the account is 5:30 hours ahead of UTC. */
async function describeAccount(database: TestDatabase, id: string, hasCurrencies: boolean): Promise<void> {
  const own = { organization_id: id };
  const account = { hasCurrencies, utcOffsetMinutes };
  await inTransaction({ db: database.ctx.db, organizationId: id }, async (tx) => {
    await setAccount(tx, id, account);
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

export async function openSummarySite() {
  const clock = testClock();
  const database = await testDatabase({ clock, settings: { maxAnswerBytes: 2 ** 21 } });
  const { ctx } = database;
  const reads = createReadEngine(ctx);
  const app = publicApp(ctx, undefined, reads);
  const versions = [{ endpoints: [summarizedInvoices] }];
  const organization = await openOrganization(ctx, app, { rows, versions });
  const { organizationId } = organization;
  await describeAccount(database, organizationId, true);
  await organization.publish({ version: 'v2', endpoints: [summarizedInvoices] });
  await organization.publish({ version: 'v3', endpoints: [invoicesEndpoint] });
  return {
    ...organization,
    ctx,
    app,
    close: database.close,
    /** Runs SQL in which `$t` is the table of the invoices. */
    inSql: organization.sql<Row>,
    /**
     * Calls another organization with these invoices and the version v1; `hasCurrencies` is as its account
     * has it, if that is known.
     */
    organizationWith: async (own: readonly InvoiceRow[], hasCurrencies?: boolean): Promise<Get> => {
      const other = await openOrganization(ctx, app, { rows: own, versions: [] });
      if (hasCurrencies !== undefined) await describeAccount(database, other.organizationId, hasCurrencies);
      await other.publish({ endpoints: [summarizedInvoices] });
      return other.get;
    },
    /** The number of statements that read records, so far. */
    statementsRun: (): number => {
      const { hits = 0, misses = 0 } = publicMetrics({ reads }).caches['statements'] ?? {};
      return hits + misses;
    },
    /** As a run publishes, a second after the last read. */
    publish: async (): Promise<void> => {
      await bumpGeneration(ctx, organizationId, rows.length);
      clock.advance(ctx.settings.cacheTtlMs + 1);
    },
  };
}
