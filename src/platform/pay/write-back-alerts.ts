// Tells an organization's people which payments are not in the ERP as they should be, and when they are. Each change of a document is
// told once, and what changes within an hour in one mail: a closed period may stop hundreds. Any number of processes may look; what is
// noted as told and the mails about it are one transaction.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { formatAmount } from '../../core/money.ts';
import { type Recurring, recurring } from '../../core/recurring.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { allRecipients, mailEach } from '../../sync/index.ts';
import { erpStates, lockNews, noteTold } from './erp-documents.store.ts';
import { findPayments, listInvoices } from './payments.store.ts';
import { type ToldPayment, writeBackMail } from './write-back-mail.ts';

const usual = { everyMs: 60_000, quietMs: 3_600_000 };

async function readPayments(tx: Tx, organizationId: string, ids: readonly string[]): Promise<ToldPayment[]> {
  const states = await erpStates(tx, organizationId, ids);
  const invoices = Map.groupBy(await listInvoices(tx, organizationId, ids), ({ payment_id: id }) => id);
  return (await findPayments(tx, organizationId, ids)).flatMap((payment) => {
    const { id, currency, customer_id: customerId } = payment;
    const erp = states.get(id);
    if (erp === undefined) return [];
    const amount = `${formatAmount({ amountMinor: BigInt(payment.received_minor), currency })} ${currency}`;
    return [{ id, amount, customerId, invoiceNumbers: (invoices.get(id) ?? []).map(({ number }) => number), erp }];
  });
}

const tell = (ctx: TenantCtx): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const recipients = await allRecipients(tx, ctx.organizationId);
    // With nobody to tell it stays news for whoever comes onto a list.
    if (recipients.length === 0) return;
    const news = await lockNews(tx, ctx.organizationId);
    if (news.length === 0) return;
    const payments = await readPayments(tx, ctx.organizationId, [...new Set(news.map(({ payment_id: id }) => id))]);
    await noteTold(
      tx,
      ctx.organizationId,
      news.map(({ id }) => id),
    );
    const isWell = ({ erp }: ToldPayment): boolean => erp.status === 'LANDED';
    const [troubled, well] = [payments.filter((payment) => !isWell(payment)), payments.filter(isWell)];
    const organization = await tx('organizations').where('id', ctx.organizationId).first<{ name: string }>('name');
    const content = writeBackMail(organization.name, { troubled, well }, ctx.settings.publicUrl);
    await mailEach(tx, ctx, 'payment-alert', recipients, content);
  });

async function tellAll(ctx: Ctx, quietMs: number, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
    "select organization_id from organizations_with_erp_news(? * interval '1 millisecond')",
    [quietMs],
  );
  for (const { organization_id: organizationId } of rows) {
    if (signal.aborted) return;
    try {
      await tell({ ...ctx, organizationId });
    } catch (error) {
      // One organization's trouble must not keep the others from being told.
      ctx.log.error({ err: error, organizationId }, 'payments on their way into the ERP could not be told of');
    }
  }
}

/** `tick` looks at once. An organization that was told something hears nothing more for `quietMs`. */
export function startWriteBackNews(ctx: Ctx, given: Partial<typeof usual> = {}): Recurring {
  const { everyMs, quietMs } = { ...usual, ...given };
  return recurring(
    everyMs,
    (stopping) => tellAll(ctx, quietMs, stopping),
    (error) => ctx.log.warn({ err: error }, 'payments on their way into the ERP could not be looked at'),
  );
}
