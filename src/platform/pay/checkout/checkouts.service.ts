// Checkouts. A payer is never asked for more than the ERP shows as due, less the amounts that other payments
// have in flight. The amounts are decided and the payment is stored in one transaction, serialized with all
// other checkouts of the organization. The provider is called after it.
import type { RequestCtx, TenantCtx } from '../../../core/ctx.ts';
import { invalid, notFound, unavailable } from '../../../core/errors.ts';
import { createId } from '../../../core/id.ts';
import { isLoopbackHttp } from '../../../core/network/loopback.ts';
import { formatAmount } from '../../../core/text/money.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { instant } from '../../../http/fields.ts';
import { writeAudit } from '../../../identity/audit.store.ts';
import { listVerifiedHostnames } from '../../domains/domains.store.ts';
import { assertQuota } from '../../quotas.ts';
import { findPayConfig, lockPayConfig, type PayConfigRow } from '../ledger/config.store.ts';
import * as store from '../ledger/payments.store.ts';
import type { Checkout, CheckoutInput } from '../pay.schemas.ts';
import { assertChecked, findAccount } from '../provider/accounts.store.ts';
import {
  assertProviderOffered,
  getProvider,
  isProviderRefusal,
  providerErrorToAppError,
  providerSignal,
} from '../provider/accounts.ts';
import { toCheckoutOrder } from '../provider/checkout-order.ts';
import { failPayment } from '../provider/merge.ts';
import { enqueueTask } from '../provider/tasks.store.ts';
import { type OpenInvoices, readOpenInvoices } from './open-invoices.ts';
import type { PayerCtx } from './payer.ts';
import { type CheckoutOrder, type Line, type PricedLine, priceLines } from './price-lines.ts';

/** The 30 minutes that providers require as a minimum, plus a minute for delays on the way. */
const lifetimeMs = 31 * 60_000;
/** A checkout without a session by then is abandoned: the queue expires it. Longer than provider requests. */
const abandonedAfterMs = 120_000;

const toCheckout = (ctx: RequestCtx, payment: store.PaymentRow, checkout: store.CheckoutRow): Checkout => ({
  id: checkout.id,
  paymentId: payment.id,
  url: payment.status === 'PENDING' && checkout.expires_at > ctx.clock.now() ? checkout.url : null,
  status: payment.status,
  amount: formatAmount({ amountMinor: BigInt(payment.amount_minor), currency: payment.currency }),
  currency: payment.currency,
  expiresAt: instant(checkout.expires_at),
  createdAt: instant(checkout.created_at),
});

/** Throws 404 when the organization has no such checkout. */
async function readCheckout(tx: Tx, ctx: RequestCtx, id: string): Promise<Checkout> {
  const checkout = await store.findCheckout(tx, ctx.organizationId, { id });
  const payment = checkout && (await store.findPayment(tx, ctx.organizationId, checkout.payment_id));
  if (checkout === undefined || payment === undefined) throw notFound('Checkout');
  return toCheckout(ctx, payment, checkout);
}

/** Throws 404 when the organization has no such checkout. */
export const getCheckout = (ctx: RequestCtx, id: string): Promise<Checkout> =>
  inTransaction(ctx, (tx) => readCheckout(tx, ctx, id));

/** Payers are only sent to the organization's own pages. Throws 422 `foreign_address` for any other URL. */
async function assertReturnUrls(ctx: RequestCtx, { successUrl, cancelUrl }: CheckoutInput): Promise<void> {
  const hostnames = await inTransaction(ctx, (tx) => listVerifiedHostnames(tx, ctx.organizationId));
  const isOwn = (address: string): boolean => {
    if (!ctx.settings.production && isLoopbackHttp(address)) return true;
    const { protocol, hostname, username, password } = new URL(address);
    if (protocol !== 'https:' || username !== '' || password !== '') return false;
    return hostnames.some((own) => hostname === own || hostname.endsWith(`.${own}`));
  };
  const details = Object.entries({ successUrl, cancelUrl })
    .filter(([, address]) => !isOwn(address))
    .map(([path]) => ({
      path,
      code: 'foreign_address',
      message: 'Must be an https URL on a verified domain of the organization',
    }));
  if (details.length > 0)
    throw invalid('Payers can only be sent to a verified domain of the organization', details);
}

type PaySetup = { readonly config: PayConfigRow; readonly erpAccount: string | null };

/** Throws 422 `pay_not_set_up`, `pay_disabled` or `provider_not_offered` when no checkouts can be created. */
async function getActiveSetup(ctx: TenantCtx): Promise<PaySetup> {
  const { config, account, erpAccount } = await inTransaction(ctx, async (tx) => {
    const found = await findPayConfig(tx, ctx.organizationId);
    return {
      config: found,
      account: found && (await findAccount(tx, ctx.organizationId, found.account_id)),
      erpAccount: await store.findErpAccount(tx, ctx.organizationId),
    };
  });
  if (config?.enabled !== true) {
    const code = config === undefined ? 'pay_not_set_up' : 'pay_disabled';
    const message =
      config === undefined ? 'Set up payments first' : 'Enable payments in the payment configuration';
    throw invalid('Payments are not enabled', [{ path: '', code, message }]);
  }
  if (account !== undefined) assertProviderOffered(ctx, account.provider, '');
  return { config, erpAccount };
}

const checkoutTitle = (lines: readonly Line[]): string =>
  lines.length === 1 ? `Invoice ${lines[0]?.number ?? ''}` : `${lines.length} invoices`;

/** `returnUrls`: where the provider sends the payer, who is a visitor of the portal if there is one. */
export type NewCheckout = CheckoutOrder & {
  readonly returnUrls: (paymentId: string) => Pick<CheckoutInput, 'successUrl' | 'cancelUrl'>;
  readonly visitor?: store.PayingVisitor | null;
};

type StoredCheckout = {
  readonly payment: store.PaymentRow;
  readonly checkout: store.CheckoutRow;
  readonly invoices: readonly store.InvoiceRow[];
};

async function insertPayment(
  tx: Tx,
  ctx: PayerCtx,
  { customerId, visitor = null, returnUrls }: NewCheckout,
  { config, erpAccount }: PaySetup,
  priced: readonly PricedLine[],
  readAt: Date,
): Promise<StoredCheckout> {
  const { organizationId } = ctx;
  const [paymentId, checkoutId] = [createId(), createId()];
  const { account_id: accountId, currency } = config;
  const total = priced.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const { successUrl, cancelUrl } = returnUrls(paymentId);
  const amounts = { currency, amount_minor: String(total) };
  const row = {
    id: paymentId,
    account_id: accountId,
    erp_account: erpAccount,
    customer_id: customerId,
    visitor,
    ...amounts,
  };
  await assertQuota(tx, ctx, 'checkouts');
  await store.insertPayment(tx, organizationId, row);
  await store.insertCheckout(tx, organizationId, {
    id: checkoutId,
    payment_id: paymentId,
    title: checkoutTitle(priced.map(({ line }) => line)),
    success_url: successUrl,
    cancel_url: cancelUrl,
    // Whole seconds: providers keep no fractions.
    expires_at: new Date(Math.floor((ctx.clock.now().getTime() + lifetimeMs) / 1000) * 1000),
    record_kept: true,
  });
  const invoices = priced.map(({ line, amountMinor }, position) => ({
    payment_id: paymentId,
    position,
    record_id: line.recordId,
    number: line.number,
    amount_minor: String(amountMinor),
    due_minor: String(line.dueMinor),
    read_at: readAt,
  }));
  await store.insertInvoices(tx, organizationId, invoices);
  await enqueueTask(tx, organizationId, { accountId, kind: 'payment', subject: paymentId }, abandonedAfterMs);
  const [payment, checkout] = [
    await store.findPayment(tx, organizationId, paymentId),
    await store.findCheckout(tx, organizationId, { id: checkoutId }),
  ];
  if (payment === undefined || checkout === undefined) throw new Error('The checkout was not stored');
  return { payment, checkout, invoices };
}

/** Each holds the amounts of its invoices until it is paid or has expired. */
const maxPendingOfCustomer = 10;

/** Throws 422 `too_many_open` for a visitor whose customer has as many payments in progress as it may. */
async function assertFewPending(
  tx: Tx,
  organizationId: string,
  order: NewCheckout,
  erpAccount: string | null,
) {
  if (order.visitor == null) return;
  const payers = { erpAccount, customers: [order.customerId] };
  const page = { page: 1, pageSize: 1 };
  const { total } = await store.listPaymentsOf(tx, organizationId, payers, page, 'PENDING');
  if (total >= maxPendingOfCustomer)
    throw invalid('Too many payments have been started', [
      { path: '', code: 'too_many_open', message: 'End or finish one of them first' },
    ]);
}

/**
 * Decides the amounts and stores the payment, under the lock of the configuration. Throws 503 when the
 * configuration changed since it was read or payments may be missing after a failover or restore, and 422 for
 * invoices that can't be paid, a full quota or too many payments of a visitor in progress.
 */
const storeCheckout = (ctx: PayerCtx, input: NewCheckout, setup: PaySetup, read: OpenInvoices) =>
  inTransaction(ctx, async (tx) => {
    await assertChecked(tx, ctx.organizationId, setup.config.account_id);
    const now = await lockPayConfig(tx, ctx.organizationId);
    const { config } = setup;
    await assertFewPending(tx, ctx.organizationId, input, setup.erpAccount);
    if (now?.updated_at.getTime() !== config.updated_at.getTime())
      throw unavailable('The payment configuration has just changed; try again', 1);
    const { erpAccount } = setup;
    const priced = await priceLines(
      tx,
      ctx.organizationId,
      { currency: config.currency, erpAccount },
      input,
      read,
    );
    const stored = await insertPayment(tx, ctx, input, setup, priced, read.readAt);
    const { payment, checkout, invoices } = stored;
    const amount = (minor: string): string =>
      formatAmount({ amountMinor: BigInt(minor), currency: payment.currency });
    await writeAudit(tx, ctx, 'checkout.create', ['checkout', checkout.id], {
      paymentId: payment.id,
      customerId: payment.customer_id,
      amount: amount(payment.amount_minor),
      currency: payment.currency,
      invoices: invoices.map(({ record_id: recordId, amount_minor: minor }) => ({
        recordId,
        amount: amount(minor),
      })),
    });
    return stored;
  });

/** Throws 422 when the provider rejects it, else 503: the queue finds out what it did, and expires it. */
async function createSession(ctx: TenantCtx, { payment, checkout, invoices }: StoredCheckout) {
  try {
    const provider = await getProvider(ctx, payment.account_id);
    return await provider.createCheckout(toCheckoutOrder(payment, checkout, invoices), providerSignal());
  } catch (error) {
    if (isProviderRefusal(error))
      await failPayment(ctx, payment.id, { code: error.kind, message: error.message });
    else await inTransaction(ctx, (tx) => enqueueTask(tx, ctx.organizationId, paymentTask(payment)));
    throw providerErrorToAppError(error, '');
  }
}
const paymentTask = ({ id, account_id: accountId }: store.PaymentRow) => ({
  accountId,
  kind: 'payment' as const,
  subject: id,
});

/**
 * Creates a payment and a checkout page at the provider; returns the payment's id. Throws as `createCheckout` does, but
 * not for return URLs.
 */
export async function startCheckout(ctx: PayerCtx, input: NewCheckout) {
  const setup = await getActiveSetup(ctx);
  const { invoices, currency } = setup.config;
  const ids = [...new Set(input.invoices.map(({ recordId }) => recordId))];
  // Before the ERP is asked; what holds is decided with the amounts.
  await inTransaction(ctx, (tx) => assertFewPending(tx, ctx.organizationId, input, setup.erpAccount));
  const read = await readOpenInvoices(ctx, { mapping: invoices, currency }, ids, input.allowStale);
  const stored = await storeCheckout(ctx, input, setup, read);
  const session = await createSession(ctx, stored);
  await inTransaction(ctx, async (tx) => {
    // The response came so late that the queue has already expired the checkout: no payer may be sent there.
    if (!(await store.saveSession(tx, ctx.organizationId, stored.payment.id, session.id)))
      throw unavailable('The payment provider responded too late; try again', 1);
    await store.saveCheckoutUrl(tx, ctx.organizationId, stored.checkout.id, session.url, session.expiresAt);
  });
  return { paymentId: stored.payment.id, checkoutId: stored.checkout.id };
}

/**
 * Creates a payment and a checkout page at the provider. Throws 422 when payments are off, a return URL is
 * foreign, an invoice can't be paid, the quota is full or the provider rejects the checkout; 503 when the ERP
 * (without `allowStale`) or the provider doesn't respond.
 */
export async function createCheckout(ctx: RequestCtx, input: CheckoutInput): Promise<Checkout> {
  await assertReturnUrls(ctx, input);
  const { checkoutId } = await startCheckout(ctx, { ...input, returnUrls: () => input });
  return getCheckout(ctx, checkoutId);
}
