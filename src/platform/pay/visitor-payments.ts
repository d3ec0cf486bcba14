// Payments of the portal's visitors: whether they can pay, what is left to pay, and what became of it.
import type { TenantCtx } from '../../core/ctx.ts';
import { orNotFound } from '../../core/errors.ts';
import { formatAmount, readAmount } from '../../core/text/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { findProviderKind } from '../../gateways/payments/providers.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import type { PageQuery } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { listMaskedSources } from '../../sync/index.ts';
import { matchesCurrency, syncedSince } from './checkout/open-invoices.ts';
import type { PayerCtx } from './checkout/payer.ts';
import { readFreeAmounts } from './checkout/price-lines.ts';
import { findEnabledConfig, findPayConfig, type PayConfigRow } from './ledger/config.store.ts';
import { type ErpState, listErpStates } from './ledger/erp-states.store.ts';
import type { PaymentStatus } from './ledger/payment-state.ts';
import * as store from './ledger/payments.store.ts';
import { listShownInvoices } from './ledger/shown-invoices.ts';
import { getProvider, providerErrorToAppError, providerSignal } from './provider/accounts.ts';
import { mergePayment } from './provider/merge.ts';
import { enqueueTask } from './provider/tasks.store.ts';

export type PayOffer = Pick<PayConfigRow, 'currency' | 'invoices'> & {
  /** No money moves. */
  readonly isTest: boolean;
};

/** Undefined while the organization takes no payments, and where a version masks what is open: visitors don't see it. */
export const findPayOffer = (ctx: TenantCtx): Promise<PayOffer | undefined> =>
  inTransaction(ctx, async (tx) => {
    const config = await findEnabledConfig(tx, ctx.organizationId);
    if (config === undefined) return undefined;
    const { currency, invoices, provider } = config;
    if (findProviderKind(provider)?.unavailableReason(ctx.settings) !== null) return undefined;
    const masks = await listMaskedSources(tx, ctx.organizationId, invoices.recordType);
    return masks.has(invoices.amountDue) ? undefined : { currency, invoices, isTest: provider === 'sandbox' };
  });

/** An invoice as it was synced: the open amount as the ERP wrote it, and what the ERP calls its currency. */
export type SyncedDue = { readonly id: string; readonly due: string; readonly currency: string | null };

/**
 * By record id, what is left to pay as decimal text: zero where payments in flight cover the open amount. Invoices in
 * another currency than the offer's are absent.
 */
export async function readLeftToPay(
  ctx: TenantCtx,
  { currency, invoices }: PayOffer,
  rows: readonly SyncedDue[],
): Promise<ReadonlyMap<string, string>> {
  const dues = new Map(
    rows.flatMap(({ id, due, currency: named }) => {
      const dueMinor = readAmount(due, currency);
      const fits = named === null || matchesCurrency(currency, [named]);
      return fits && dueMinor !== undefined && dueMinor > 0n ? [[id, dueMinor]] : [];
    }),
  );
  const readAt = await syncedSince(ctx, invoices.recordType);
  return inTransaction(ctx, async (tx) => {
    const erpAccount = await store.findErpAccount(tx, ctx.organizationId);
    const free = await readFreeAmounts(tx, ctx.organizationId, { currency, erpAccount }, dues, readAt);
    return new Map([...free].map(([id, amountMinor]) => [id, formatAmount({ amountMinor, currency })]));
  });
}

export type VisitorPayment = {
  readonly id: string;
  readonly status: PaymentStatus;
  readonly amount: string;
  readonly refunded: string;
  readonly currency: string;
  readonly recordType: string | null;
  readonly invoices: readonly {
    readonly recordId: string;
    readonly number: string;
    readonly amount: string;
  }[];
  readonly method: { readonly type: string; readonly last4: string | null } | null;
  /** Why the last attempt failed, in the provider's words. */
  readonly failure: string | null;
  readonly erp: ErpState['status'];
  /** Where it can still be paid; null for one that an API caller started. */
  readonly url: string | null;
  readonly createdAt: string;
  readonly succeededAt: string | null;
};

/** Visitors never see more than a published version shows. */
const masked = { unmasked: false };

async function toVisitorPayments(
  tx: Tx,
  { clock, organizationId }: TenantCtx,
  rows: readonly store.PaymentRow[],
): Promise<VisitorPayment[]> {
  const ids = rows.map(({ id }) => id);
  const invoices = await listShownInvoices(tx, organizationId, ids, masked);
  const byPayment = Map.groupBy(invoices, ({ payment_id: id }) => id);
  const erp = await listErpStates(tx, organizationId, ids);
  const urls = await store.listPayableUrls(tx, organizationId, ids, clock.now());
  const recordType = (await findPayConfig(tx, organizationId))?.invoices.recordType ?? null;
  return rows.map(({ id, status, currency, ...row }) => {
    const amount = (minor: string): string => formatAmount({ amountMinor: BigInt(minor), currency });
    return {
      ...{ id, status, currency, recordType },
      amount: amount(row.amount_minor),
      refunded: amount(row.refunded_minor),
      invoices: (byPayment.get(id) ?? []).map(({ record_id: recordId, number, amount_minor: minor }) => ({
        ...{ recordId, number },
        amount: amount(minor),
      })),
      method: row.method_type === null ? null : { type: row.method_type, last4: row.method_last4 },
      failure: row.failure_message,
      erp: erp.get(id)?.status ?? 'OFF',
      url: status === 'PENDING' && row.visitor !== null ? (urls.get(id) ?? null) : null,
      createdAt: instant(row.created_at),
      succeededAt: instantOrNull(row.succeeded_at),
    };
  });
}

/** Payments for these customers, newest first, without those that were ended. */
export const listVisitorPayments = (
  ctx: TenantCtx,
  customers: readonly string[],
  page: PageQuery,
  status?: PaymentStatus,
) =>
  inTransaction(ctx, async (tx) => {
    const found = await store.listPaymentsOf(
      tx,
      ctx.organizationId,
      await payersOf(tx, ctx, customers),
      page,
      status,
    );
    return { total: found.total, payments: await toVisitorPayments(tx, ctx, found.rows) };
  });

const payersOf = async (tx: Tx, { organizationId }: TenantCtx, customers: readonly string[]) => ({
  erpAccount: await store.findErpAccount(tx, organizationId),
  customers,
});

async function findOwn(tx: Tx, ctx: TenantCtx, customers: readonly string[], id: string) {
  const payers = await payersOf(tx, ctx, customers);
  return orNotFound(await store.findPaymentOf(tx, ctx.organizationId, payers, id), 'Payment');
}

/** Throws 404 for a payment of another customer. */
export const getVisitorPayment = (ctx: TenantCtx, customers: readonly string[], id: string) =>
  inTransaction(ctx, async (tx) => {
    const [payment] = await toVisitorPayments(tx, ctx, [await findOwn(tx, ctx, customers, id)]);
    return orNotFound(payment, 'Payment');
  });

/** What decides what its page says. Throws 404 for a payment of another customer. */
export const getVisitorPaymentState = (
  ctx: TenantCtx,
  customers: readonly string[],
  id: string,
): Promise<Pick<VisitorPayment, 'status' | 'erp'>> =>
  inTransaction(ctx, async (tx) => {
    const { status } = await findOwn(tx, ctx, customers, id);
    const erp = (await listErpStates(tx, ctx.organizationId, [id])).get(id)?.status ?? 'OFF';
    return { status, erp };
  });

/** A payment with the visitor who made it, for the receipt; undefined for one without. `url`: of its page. */
export const getPaidVisit = (ctx: TenantCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findPayment(tx, ctx.organizationId, id);
    if (row === undefined || row.visitor === null) return undefined;
    const [payment] = await toVisitorPayments(tx, ctx, [row]);
    const checkout = await store.findCheckout(tx, ctx.organizationId, { payment_id: id });
    const organization = await tx('organizations')
      .where({ id: ctx.organizationId })
      .first<{ name: string }>('name');
    const url =
      checkout === undefined || checkout.success_url === '' ? null : checkout.success_url.split('?')[0];
    return (
      payment && { payment, visitor: row.visitor, url: url ?? null, organizationName: organization.name }
    );
  });

/** Has the provider asked now, once a payer can have been there: its event may be late or lost. */
export const checkVisitorPayment = (ctx: TenantCtx, customers: readonly string[], id: string) =>
  inTransaction(ctx, async (tx) => {
    const { account_id: accountId, session_id: sessionId } = await findOwn(tx, ctx, customers, id);
    if (sessionId !== null)
      await enqueueTask(tx, ctx.organizationId, { accountId, kind: 'payment', subject: id });
  });

/**
 * Ends a payment that a visitor started and that isn't paid, so that its invoices can be paid again; one that was paid
 * meanwhile stays so. Throws 404 for a payment of another customer, and 503 when the provider doesn't respond.
 */
export async function endVisitorPayment(
  ctx: PayerCtx,
  customers: readonly string[],
  id: string,
): Promise<void> {
  const payment = await inTransaction(ctx, async (tx) => {
    const found = await findOwn(tx, ctx, customers, id);
    const canEnd = found.visitor !== null && found.status === 'PENDING' && found.session_id !== null;
    if (canEnd) await writeAudit(tx, ctx, 'checkout.end', ['payment', id]);
    return canEnd ? found : undefined;
  });
  const sessionId = payment?.session_id;
  if (payment === undefined || sessionId == null) return;
  const { account_id: accountId } = payment;
  try {
    const provider = await getProvider(ctx, accountId);
    await mergePayment(ctx, accountId, await provider.expireCheckout(sessionId, providerSignal()));
  } catch (error) {
    throw providerErrorToAppError(error, '');
  }
}
