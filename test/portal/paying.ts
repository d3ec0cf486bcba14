// An organization that takes payments and whose portal shows the invoices that can be paid.
import type { Express } from 'express';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import type { Api } from '../setup/api.ts';
import { loadRecords, settings } from './company.ts';
import { switchOn } from './served-portal.ts';
import { openBrowser, startVisit, type VisitorBrowser } from './visiting.ts';

const invoiceTypes = {
  tranid: 'text',
  trandate: 'date',
  duedate: 'date',
  foreigntotal: 'number',
  foreignamountunpaid: 'number',
  entity: 'integer',
  currency: 'text',
} as const;
const customerTypes = { name: 'text', email: 'text', isinactive: 'boolean' } as const;
const customers = [
  { id: 1, name: 'Aster', email: 'Ann@aster.example, bob@aster.example', isinactive: false },
  { id: 2, name: 'Briar', email: 'eve@briar.example', isinactive: false },
];
/** How the portal shows the account's invoices. */
export const records = settings.records.map((shown) => ({
  ...shown,
  fields: {
    ...{ number: 'tranid', date: 'trandate', dueDate: 'duedate', amount: 'foreigntotal' },
    ...{ amountDue: 'foreignamountunpaid', currency: 'currency' },
  },
}));

export type SyncedInvoice = { id: string; due: number; entity?: number; currency?: string };

export async function openPayingPortal({ ctx, app, api }: { ctx: TenantCtx; app: Express; api: Api }) {
  const { organizationId } = ctx;
  /** As the last sync left them. */
  const sync = (invoices: readonly SyncedInvoice[]) =>
    loadRecords(
      ctx,
      organizationId,
      'invoice',
      invoiceTypes,
      invoices.map(({ id, due, entity = 1, currency = 'GBP' }) => ({
        ...{ id: Number(id), tranid: `INV-${id}`, trandate: '2026-01-15', duedate: '2026-02-15' },
        ...{ foreigntotal: due, foreignamountunpaid: due, entity, currency },
      })),
    );
  // Of the invoices that fixtures of payments load.
  await ctx.db.data.query(`delete from ${tenantSchema(organizationId)}.record_columns`);
  await loadRecords(ctx, organizationId, 'customer', customerTypes, customers);
  await sync([]);
  await switchOn({ api }, { records, people: settings.people.slice(0, 1) });
  const { slug } = await inTransaction(ctx, (tx) => tx('organizations').first<{ slug: string }>('slug'));
  return {
    sync,
    /** A signed-in visitor; a member who sees the portal as the visitor when `viewer` is one. */
    visit: async (email: string, viewer: string | null = null): Promise<VisitorBrowser> => {
      const browser = openBrowser({ app, ctx, slug, mails: { delivered: [] } as never });
      const { name, token } = await startVisit(ctx, email, viewer);
      browser.held.set(name, token);
      return browser;
    },
  };
}

export type PayingPortal = Awaited<ReturnType<typeof openPayingPortal>>;

/** The chosen invoices by id, with what is typed as the amount to pay of each. */
export const payForm = (amounts: Readonly<Record<string, string | null>>) =>
  Object.fromEntries([
    ['invoice', Object.keys(amounts)],
    ...Object.entries(amounts).flatMap(([id, amount]) => (amount === null ? [] : [[`amount.${id}`, amount]])),
  ]);
