// Alerts an organization by mail about payments that are not in the ERP as intended, and when they are after
// all. Each change of a document's status is reported once, and the changes of an hour share one mail: a
// closed accounting period may stop hundreds of payments. Any number of processes may run it; the mails and
// the record of what was reported are one transaction.
import type { Ctx, TenantCtx } from '../../../core/ctx.ts';
import { formatAmount } from '../../../core/text/money.ts';
import { type Recurring, startRecurring } from '../../../core/work/recurring.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { enqueueAlertMails, listAlertRecipients } from '../../../sync/index.ts';
import { listErpStates } from '../ledger/erp-states.store.ts';
import { findPayments } from '../ledger/payments.store.ts';
import { findMaskedParts, listShownInvoices } from '../ledger/shown-invoices.ts';
import { type AlertedPayment, writeBackMail } from './alert-mail.ts';
import { lockPendingAlerts, markAlerted } from './erp-documents.store.ts';

const defaults = { everyMs: 60_000, quietMs: 3_600_000 };

async function readPayments(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<AlertedPayment[]> {
  const states = await listErpStates(tx, organizationId, ids);
  const invoices = Map.groupBy(
    await listShownInvoices(tx, organizationId, ids, { unmasked: false }),
    ({ payment_id: id }) => id,
  );
  const masked = await findMaskedParts(tx, organizationId);
  return (await findPayments(tx, organizationId, ids)).flatMap((payment) => {
    const { id, currency } = payment;
    const customerId = masked.customer ? '' : payment.customer_id;
    const erp = states.get(id);
    if (erp === undefined) return [];
    const amount = `${formatAmount({ amountMinor: BigInt(payment.received_minor), currency })} ${currency}`;
    return [
      { id, amount, customerId, invoiceNumbers: (invoices.get(id) ?? []).map(({ number }) => number), erp },
    ];
  });
}

const alertOrganization = (ctx: TenantCtx): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const recipients = await listAlertRecipients(tx, ctx.organizationId);
    // Without recipients the alerts stay pending until there are some.
    if (recipients.length === 0) return;
    const pending = await lockPendingAlerts(tx, ctx.organizationId);
    if (pending.length === 0) return;
    const payments = await readPayments(tx, ctx.organizationId, [
      ...new Set(pending.map(({ payment_id: id }) => id)),
    ]);
    await markAlerted(
      tx,
      ctx.organizationId,
      pending.map(({ id }) => id),
    );
    const isLanded = ({ erp }: AlertedPayment): boolean => erp.status === 'LANDED';
    const [troubled, resolved] = [
      payments.filter((payment) => !isLanded(payment)),
      payments.filter(isLanded),
    ];
    const organization = await tx('organizations')
      .where('id', ctx.organizationId)
      .first<{ name: string }>('name');
    const content = writeBackMail(organization.name, { troubled, resolved }, ctx.settings.publicUrl);
    await enqueueAlertMails(tx, ctx, 'payment-alert', recipients, content);
  });

async function alertAll(ctx: Ctx, quietMs: number, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
    "select organization_id from organizations_with_erp_news(? * interval '1 millisecond')",
    [quietMs],
  );
  for (const { organization_id: organizationId } of rows) {
    if (signal.aborted) return;
    try {
      await alertOrganization({ ...ctx, organizationId });
    } catch (error) {
      // One organization's failure must not stop the alerts of the others.
      ctx.log.error({ err: error, organizationId }, 'write-back alerts could not be sent');
    }
  }
}

/** `tick` checks now. After an alert, an organization gets no further one for `quietMs`. */
export function startWriteBackAlerts(ctx: Ctx, options: Partial<typeof defaults> = {}): Recurring {
  const { everyMs, quietMs } = { ...defaults, ...options };
  return startRecurring(
    everyMs,
    (stopping) => alertAll(ctx, quietMs, stopping),
    (error) => ctx.log.warn({ err: error }, 'write-back alerts could not be checked'),
  );
}
