// Payments with their checkouts, invoices and refunds; the only writer. Amounts: integer minor units as text.

import { accountRealm } from '../../../connectors/netsuite/connection.ts';
import { netsuiteName } from '../../../connectors/secret-binding.ts';
import { readPage, type SortRequest, sortList } from '../../../db/page.ts';
import { notifyTopic } from '../../../db/topic-notifications.ts';
import type { Tx } from '../../../db/transaction.ts';
import type { RefundState } from '../../../gateways/payments/provider.ts';
import type { ProviderName } from '../../../gateways/payments/providers.ts';
import type { PageQuery } from '../../../http/page.ts';
import { type ConnectionName, connectionOf, selectConnection } from '../../../sync/index.ts';
import { findPayConfig } from './config.store.ts';
import { type ErpState, filterByErpStatus } from './erp-states.store.ts';
import type { PaymentStatus } from './payment-state.ts';

/** A visitor of the portal who pays. `address`: of the receipt, as the ERP or the organization wrote it. */
export type PayingVisitor = {
  readonly email: string;
  readonly address: string;
  readonly language: string;
};

export type PaymentRow = {
  id: string;
  account_id: string;
  status: PaymentStatus;
  /** Of the invoices; null for a payment of an earlier version. */
  erp_account: string | null;
  customer_id: string;
  /** Null where an API caller created the checkout. */
  visitor: PayingVisitor | null;
  currency: string;
  /** Integer minor units as text, since the column is a bigint. */
  amount_minor: string;
  received_minor: string;
  refunded_minor: string;
  session_id: string | null;
  provider_payment_id: string | null;
  method_type: string | null;
  method_last4: string | null;
  failure_code: string | null;
  failure_message: string | null;
  created_at: Date;
  updated_at: Date;
  succeeded_at: Date | null;
};
const paymentColumns = [
  'id',
  'account_id',
  'status',
  'erp_account',
  'customer_id',
  'visitor',
  'currency',
  'amount_minor',
  'received_minor',
  'refunded_minor',
  'session_id',
  'provider_payment_id',
  'method_type',
  'method_last4',
  'failure_code',
  'failure_message',
  'created_at',
  'updated_at',
  'succeeded_at',
] as const;

export type CheckoutRow = {
  id: string;
  payment_id: string;
  title: string;
  success_url: string;
  cancel_url: string;
  url: string | null;
  expires_at: Date;
  created_at: Date;
  /** Whether the provider was given this service's record of the payment. */
  record_kept: boolean;
};
const checkoutColumns = [
  'id',
  'payment_id',
  'title',
  'success_url',
  'cancel_url',
  'url',
  'expires_at',
  'created_at',
  'record_kept',
] as const;

export type InvoiceRow = {
  payment_id: string;
  record_id: string;
  number: string;
  amount_minor: string;
  due_minor: string;
  read_at: Date;
};

export type RefundRow = {
  id: string;
  payment_id: string;
  status: RefundState;
  amount_minor: string;
  reason: string | null;
  provider_refund_id: string | null;
  failure_code: string | null;
  failure_message: string | null;
  created_at: Date;
};
const refundColumns = [
  'id',
  'payment_id',
  'status',
  'amount_minor',
  'reason',
  'provider_refund_id',
  'failure_code',
  'failure_message',
  'created_at',
] as const;

const payments = (tx: Tx, organizationId: string) =>
  tx('pay_payments').where({ organization_id: organizationId });

/** The connection from which invoices come that are paid. */
export const findPayConnection = async (tx: Tx, organizationId: string): Promise<ConnectionName> =>
  connectionOf((await findPayConfig(tx, organizationId))?.invoices.recordType ?? '');

/** A connection called `netsuite` whose record types have no bare names. */
const hasNetsuite = async (tx: Tx, organizationId: string): Promise<boolean> =>
  (await selectConnection(tx, organizationId, netsuiteName).first('name')) !== undefined;

/** The ERP account of its connection that is, or was last, connected; null when there never was one. */
export async function findErpAccount(tx: Tx, organizationId: string): Promise<string | null> {
  const connection = await findPayConnection(tx, organizationId);
  const connected = await selectConnection(tx, organizationId, connection).first<
    { account_id: string } | undefined
  >('account_id');
  const last = tx('organizations')
    .where({ id: organizationId })
    .first<{ account_id: string | null } | undefined>({ account_id: 'erp_account_id' });
  const account =
    (connected ?? (connection === null && !(await hasNetsuite(tx, organizationId)) ? await last : undefined))
      ?.account_id ?? null;
  return account === null ? null : accountRealm(account);
}

export const paymentSorts = ['createdAt', 'customerId'] as const;
const sorting = {
  columns: { createdAt: 'created_at', customerId: 'customer_id' },
  newest: 'createdAt',
  id: 'id',
} as const;

export type PaymentFilter = SortRequest<(typeof paymentSorts)[number]> & {
  readonly status?: PaymentStatus | undefined;
  readonly customerId?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
  readonly erpStatus?: ErpState['status'] | undefined;
};

export function listPayments(tx: Tx, organizationId: string, page: PageQuery, filter: PaymentFilter) {
  const { status, customerId, after, before, erpStatus } = filter;
  const query = sortList(payments(tx, organizationId).select(...paymentColumns), filter, sorting);
  if (status !== undefined) query.where({ status });
  if (customerId !== undefined) query.where({ customer_id: customerId });
  if (after !== undefined) query.where('created_at', '>', after);
  if (before !== undefined) query.where('created_at', '<', before);
  if (erpStatus !== undefined) filterByErpStatus(query, erpStatus);
  return readPage<PaymentRow>(query, page);
}

/** An unknown ERP account on either side matches any account. In another account the same ids name other records. */
const isOfAccount = "coalesce(erp_account, ?, '') = coalesce(?, erp_account, '')";
type Payers = { readonly erpAccount: string | null; readonly customers: readonly string[] };
const paymentsOf = (tx: Tx, organizationId: string, { erpAccount, customers }: Payers) =>
  payments(tx, organizationId)
    .whereIn('customer_id', customers)
    .whereRaw(isOfAccount, [erpAccount, erpAccount])
    .select<PaymentRow[]>(...paymentColumns);

export const findPaymentOf = async (tx: Tx, organizationId: string, payers: Payers, id: string) =>
  paymentsOf(tx, organizationId, payers).where({ id }).first<PaymentRow | undefined>();

/** Payments for these customers, newest first, without canceled ones. */
export function listPaymentsOf(
  tx: Tx,
  organizationId: string,
  payers: Payers,
  page: PageQuery,
  status: PaymentStatus | undefined,
) {
  const query = paymentsOf(tx, organizationId, payers)
    .whereNot({ status: 'CANCELED' })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ]);
  if (status !== undefined) query.where({ status });
  return readPage<PaymentRow>(query, page);
}

export const findPayment = async (tx: Tx, organizationId: string, id: string) =>
  payments(tx, organizationId)
    .where({ id })
    .first<PaymentRow | undefined>(...paymentColumns);

/** Oldest first. */
export const findPayments = async (tx: Tx, organizationId: string, ids: readonly string[]) =>
  payments(tx, organizationId)
    .whereIn('id', ids)
    .orderBy(['created_at', 'id'])
    .select<PaymentRow[]>(...paymentColumns);

/** Locks the payment until the transaction ends, so that nothing else decides about its money. */
export const lockPayment = async (tx: Tx, organizationId: string, id: string) =>
  payments(tx, organizationId)
    .where({ id })
    .forUpdate()
    .first<PaymentRow | undefined>(...paymentColumns);

/** By either of the provider's ids: the session's or the payment's. */
export const findByProviderId = async (
  tx: Tx,
  organizationId: string,
  accountId: string,
  providerId: string,
) =>
  payments(tx, organizationId)
    .where({ account_id: accountId })
    .where((either) => either.where({ session_id: providerId }).orWhere({ provider_payment_id: providerId }))
    .first<{ id: string } | undefined>('id');

/** The provider's session id of the account's newest payment that has one. */
export const findNewestSession = async (tx: Tx, organizationId: string, accountId: string) => {
  const row = await payments(tx, organizationId)
    .where({ account_id: accountId })
    .whereNotNull('session_id')
    .orderBy('created_at', 'desc')
    .first<{ session_id: string } | undefined>('session_id');
  return row?.session_id;
};

type NewPayment = Pick<
  PaymentRow,
  'id' | 'account_id' | 'erp_account' | 'customer_id' | 'currency' | 'amount_minor'
> &
  Partial<Pick<PaymentRow, 'visitor'>>;
export const insertPayment = (tx: Tx, organizationId: string, row: NewPayment) =>
  tx('pay_payments').insert({ organization_id: organizationId, ...row });

/** False when a concurrent caller has entered it. */
export const insertLostPayment = async (tx: Tx, organizationId: string, row: NewPayment): Promise<boolean> =>
  (
    await tx('pay_payments')
      .insert({ organization_id: organizationId, ...row })
      .onConflict('id')
      .ignore()
      .returning('id')
  ).length === 1;

/** What streams about a payment follow. */
export const paymentTopic = (id: string): string => `payment:${id}`;

export async function updatePayment(
  tx: Tx,
  organizationId: string,
  id: string,
  change: Partial<Omit<PaymentRow, 'id' | 'updated_at' | 'succeeded_at'>>,
  succeeds: boolean,
): Promise<void> {
  await payments(tx, organizationId)
    .where({ id })
    .update({
      ...change,
      updated_at: tx.raw('clock_timestamp()'),
      ...(succeeds && { succeeded_at: tx.raw('clock_timestamp()') }),
    });
  await notifyTopic(tx, paymentTopic(id));
}

/** Stores the provider's session id. False when the payment has another session or is no longer pending. */
export const saveSession = async (tx: Tx, organizationId: string, id: string, sessionId: string) =>
  (await payments(tx, organizationId)
    .where({ id, status: 'PENDING' })
    .whereRaw('coalesce(session_id, ?) = ?', [sessionId, sessionId])
    .update({ session_id: sessionId, updated_at: tx.raw('clock_timestamp()') })) === 1;

export const insertCheckout = (
  tx: Tx,
  organizationId: string,
  row: Omit<CheckoutRow, 'url' | 'created_at'>,
) => tx('pay_checkouts').insert({ organization_id: organizationId, ...row });
export const saveCheckoutUrl = (tx: Tx, organizationId: string, id: string, url: string, expiresAt: Date) =>
  tx('pay_checkouts').where({ organization_id: organizationId, id }).update({ url, expires_at: expiresAt });
export const findCheckout = async (
  tx: Tx,
  organizationId: string,
  by: { id: string } | { payment_id: string },
): Promise<CheckoutRow | undefined> =>
  tx('pay_checkouts')
    .where({ organization_id: organizationId, ...by })
    .first<CheckoutRow | undefined>(...checkoutColumns);

/** By payment, where it can be paid until its checkout expires. */
export async function listPayableUrls(
  tx: Tx,
  organizationId: string,
  paymentIds: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, string>> {
  const rows: { payment_id: string; url: string }[] = await tx('pay_checkouts')
    .where({ organization_id: organizationId })
    .whereIn('payment_id', paymentIds)
    .whereNotNull('url')
    .where('expires_at', '>', now)
    .select('payment_id', 'url');
  return new Map(rows.map(({ payment_id: id, url }) => [id, url]));
}

export const insertInvoices = (
  tx: Tx,
  organizationId: string,
  rows: readonly (InvoiceRow & { position: number })[],
) => tx('pay_payment_invoices').insert(rows.map((row) => ({ organization_id: organizationId, ...row })));
export const listInvoices = async (tx: Tx, organizationId: string, paymentIds: readonly string[]) =>
  tx('pay_payment_invoices')
    .where({ organization_id: organizationId })
    .whereIn('payment_id', paymentIds)
    .orderBy(['payment_id', 'position'])
    .select<InvoiceRow[]>('payment_id', 'record_id', 'number', 'amount_minor', 'due_minor', 'read_at');

export type ShareRow = InvoiceRow &
  Pick<PaymentRow, 'status' | 'currency' | 'received_minor' | 'refunded_minor'>;
/** Shares of payments, of any provider account, in one ERP account's invoices; no failed or canceled ones. */
export const listShares = async (
  tx: Tx,
  organizationId: string,
  account: string | null,
  recordIds: readonly string[],
): Promise<ShareRow[]> =>
  tx('pay_payment_invoices as i')
    .join('pay_payments as p', (on) =>
      on.on('p.organization_id', 'i.organization_id').on('p.id', 'i.payment_id'),
    )
    .where('i.organization_id', organizationId)
    .whereRaw('i.record_id = any(?::text[])', [recordIds as string[]])
    .whereNotIn('p.status', ['FAILED', 'CANCELED'])
    .whereRaw(isOfAccount, [account, account])
    .select<ShareRow[]>(
      'i.payment_id',
      'i.record_id',
      'i.number',
      'i.amount_minor',
      'i.due_minor',
      'i.read_at',
      'p.status',
      'p.currency',
      'p.received_minor',
      'p.refunded_minor',
    );

/** Oldest first. */
export const listRefunds = async (tx: Tx, organizationId: string, paymentIds: readonly string[]) =>
  tx('pay_refunds')
    .where({ organization_id: organizationId })
    .whereIn('payment_id', paymentIds)
    .orderBy(['created_at', 'id'])
    .select<RefundRow[]>(...refundColumns);
export const insertRefund = (
  tx: Tx,
  organizationId: string,
  row: Pick<RefundRow, 'id' | 'payment_id' | 'amount_minor'> & Partial<RefundRow>,
) => tx('pay_refunds').insert({ organization_id: organizationId, ...row });
export const updateRefund = (
  tx: Tx,
  organizationId: string,
  id: string,
  change: Partial<Omit<RefundRow, 'id' | 'payment_id'>>,
) =>
  tx('pay_refunds')
    .where({ organization_id: organizationId, id })
    .update({ ...change, updated_at: tx.raw('clock_timestamp()') });

export type OriginRow = { payment_id: string; checkout_id: string; provider: ProviderName };
/** The checkout and the provider of each payment. */
export const listOrigins = async (tx: Tx, organizationId: string, paymentIds: readonly string[]) =>
  tx('pay_checkouts as c')
    .join('pay_payments as p', (on) =>
      on.on('p.organization_id', 'c.organization_id').on('p.id', 'c.payment_id'),
    )
    .join('pay_accounts as a', (on) =>
      on.on('a.organization_id', 'p.organization_id').on('a.id', 'p.account_id'),
    )
    .where('c.organization_id', organizationId)
    .whereIn('c.payment_id', paymentIds)
    .select<OriginRow[]>('c.payment_id', 'c.id as checkout_id', 'a.provider');
