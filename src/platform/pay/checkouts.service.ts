// Checkouts: what is asked of a payer never exceeds what the ERP shows as due, less what other payments have in flight. The decision and
// the payment are one transaction, in line with all other checkouts of the organization; the provider is asked after it.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound, unavailable } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { isLoopbackHttp } from '../../core/loopback.ts';
import { formatAmount, parseAmount } from '../../core/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { CheckoutOrder, CheckoutSession } from '../../gateways/payments/provider.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { verifiedHostnames } from '../domains/domains.store.ts';
import { makeRoom } from '../room.ts';
import { asAnswer, findAccount, isRefusal, openAccountOf, providerSignal, requireOffered } from './accounts.ts';
import { type ConfigRow, findConfig, lockConfig } from './config.store.ts';
import { erpStates } from './erp-documents.store.ts';
import { inFlight, type Share } from './in-flight.ts';
import { failPayment } from './merge.ts';
import { type OpenInvoices, readOpenInvoices } from './open-invoices.ts';
import type { CheckoutInput, CheckoutView } from './pay.schemas.ts';
import * as store from './payments.store.ts';
import { wake } from './tasks.store.ts';

/** Half an hour, and what a provider that wants no less may lose on the way. */
const lifetimeMs = 31 * 60_000;
/** A checkout without a session by then was left by its process: the queue ends it. Longer than any request asks a provider. */
const abandonedAfterMs = 120_000;
/** When an open payment is asked for without a word of the provider. */
export const lookEveryMs = 300_000;

export const orderOf = (payment: store.PaymentRow, checkout: store.CheckoutRow, invoices: readonly store.InvoiceRow[]): CheckoutOrder => {
  const money = (minor: string) => ({ amountMinor: BigInt(minor), currency: payment.currency });
  return {
    checkoutId: checkout.id,
    paymentId: payment.id,
    amount: money(payment.amount_minor),
    title: checkout.title,
    items: invoices.map(({ number, amount_minor: minor }) => ({ label: `Invoice ${number}`, amount: money(minor) })),
    successUrl: checkout.success_url,
    cancelUrl: checkout.cancel_url,
    expiresAt: checkout.expires_at,
  };
};

const shown = (ctx: RequestCtx, payment: store.PaymentRow, checkout: store.CheckoutRow): CheckoutView => ({
  id: checkout.id,
  paymentId: payment.id,
  url: payment.status === 'PENDING' && checkout.expires_at > ctx.clock.now() ? checkout.url : null,
  status: payment.status,
  amount: formatAmount({ amountMinor: BigInt(payment.amount_minor), currency: payment.currency }),
  currency: payment.currency,
  expiresAt: instant(checkout.expires_at),
  createdAt: instant(checkout.created_at),
});

async function readCheckout(tx: Tx, ctx: RequestCtx, id: string): Promise<CheckoutView> {
  const checkout = await store.findCheckout(tx, ctx.organizationId, { id });
  const payment = checkout && (await store.findPayment(tx, ctx.organizationId, checkout.payment_id));
  if (checkout === undefined || payment === undefined) throw notFound('Checkout');
  return shown(ctx, payment, checkout);
}

export const getCheckout = (ctx: RequestCtx, id: string): Promise<CheckoutView> => inTransaction(ctx, (tx) => readCheckout(tx, ctx, id));

/** Payers are sent to pages of the organization alone. */
async function checkReturns(ctx: RequestCtx, { successUrl, cancelUrl }: CheckoutInput): Promise<void> {
  const hostnames = await inTransaction(ctx, (tx) => verifiedHostnames(tx, ctx.organizationId));
  const isOwn = (address: string): boolean => {
    if (!ctx.settings.production && isLoopbackHttp(address)) return true;
    const { protocol, hostname, username, password } = new URL(address);
    if (protocol !== 'https:' || username !== '' || password !== '') return false;
    return hostnames.some((own) => hostname === own || hostname.endsWith(`.${own}`));
  };
  const details = Object.entries({ successUrl, cancelUrl })
    .filter(([, address]) => !isOwn(address))
    .map(([path]) => ({ path, code: 'foreign_address', message: 'It must be https on a verified domain of the organization' }));
  if (details.length > 0) throw invalid('Payers are not sent there', details);
}

type SetUp = { readonly config: ConfigRow; readonly erpAccount: string | null };

async function readySetUp(ctx: RequestCtx): Promise<SetUp> {
  const { config, account, erpAccount } = await inTransaction(ctx, async (tx) => {
    const found = await findConfig(tx, ctx.organizationId);
    return {
      config: found,
      account: found && (await findAccount(tx, ctx.organizationId, found.account_id)),
      erpAccount: await store.erpAccount(tx, ctx.organizationId),
    };
  });
  if (config?.enabled !== true) {
    const code = config === undefined ? 'pay_not_set_up' : 'pay_disabled';
    throw invalid('Payments are off', [{ path: '', code, message: 'Set them up, or switch them on, with PUT /pay/config' }]);
  }
  if (account !== undefined) requireOffered(ctx, account.provider, '');
  return { config, erpAccount };
}

type Wanted = CheckoutInput['invoices'][number];
type Line = { readonly recordId: string; readonly number: string; readonly dueMinor: bigint; readonly asked: bigint | undefined };
const at = (index: number, field: keyof Wanted, code: string, message: string): ErrorDetail => ({
  path: `invoices[${index}].${field}`,
  code,
  message,
});

/** One wanted invoice against what the ERP says of it, before anything in flight. */
function lineOf(
  wanted: Wanted,
  index: number,
  { customerId, invoices }: CheckoutInput,
  { found }: OpenInvoices,
  currency: string,
): Line | ErrorDetail {
  const { recordId, amount } = wanted;
  const invoice = found.get(recordId);
  if (invoices.findIndex((other) => other.recordId === recordId) < index)
    return at(index, 'recordId', 'duplicate', 'It stands there already');
  // An invoice of somebody else is none of this customer's business.
  if (invoice === undefined || invoice.customerId !== customerId)
    return at(index, 'recordId', 'unknown_invoice', 'This customer has no invoice of this id');
  if (!invoice.isInCurrency) return at(index, 'recordId', 'other_currency', `It is not in ${currency}, the currency of the configuration`);
  if (invoice.dueMinor === undefined) return at(index, 'recordId', 'inexact_amount', `What is due is no amount of ${currency}`);
  if (invoice.dueMinor <= 0n) return at(index, 'recordId', 'nothing_due', 'Nothing is due on it');
  const asked = amount === undefined ? undefined : parseAmount(amount, currency);
  if (amount !== undefined && (asked === undefined || asked <= 0n))
    return at(index, 'amount', 'invalid_amount', `It must be a positive amount of ${currency}, with no more digits than it has`);
  return { recordId, number: invoice.number, dueMinor: invoice.dueMinor, asked };
}

function linesOf(input: CheckoutInput, read: OpenInvoices, currency: string): Line[] {
  const lines = input.invoices.map((wanted, index) => lineOf(wanted, index, input, read, currency));
  const details = lines.filter((line) => 'code' in line);
  if (details.length > 0) throw invalid("These invoices can't be paid", details.slice(0, 100));
  return lines.filter((line) => 'dueMinor' in line);
}

/** Which invoice a part was given back of is known where the payment was for that one alone, or where nothing is left of it. */
function givenBack(row: store.ShareRow): bigint {
  const [amount, received, refunded] = [row.amount_minor, row.received_minor, row.refunded_minor].map(BigInt) as [bigint, bigint, bigint];
  if (amount === received) return refunded;
  return refunded > 0n && refunded === received ? amount : 0n;
}

async function sharesOf(
  tx: Tx,
  organizationId: string,
  erpAccount: string | null,
  recordIds: readonly string[],
): Promise<ReadonlyMap<string, (Share & { currency: string })[]>> {
  const rows = await store.listShares(tx, organizationId, erpAccount, recordIds);
  const states = await erpStates(tx, organizationId, [...new Set(rows.map(({ payment_id: id }) => id))]);
  const shares = rows.map((row) => {
    const state = states.get(row.payment_id);
    return {
      recordId: row.record_id,
      status: row.status,
      currency: row.currency,
      amountMinor: BigInt(row.amount_minor),
      dueMinor: BigInt(row.due_minor),
      readAt: row.read_at,
      givenBackMinor: givenBack(row),
      erp: state === undefined || state.status === 'OFF' ? null : { landedAt: state.landedAt },
    };
  });
  return Map.groupBy(shares, ({ recordId }) => recordId);
}

type Priced = { readonly line: Line; readonly amountMinor: bigint };

/** How much of each line is taken: what is asked, or all that is free; never more than that. */
async function price(tx: Tx, ctx: RequestCtx, { config, erpAccount }: SetUp, lines: readonly Line[], readAt: Date): Promise<Priced[]> {
  const { currency } = config;
  const shares = await sharesOf(
    tx,
    ctx.organizationId,
    erpAccount,
    lines.map(({ recordId }) => recordId),
  );
  const priced = lines.map((line, index): Priced | ErrorDetail => {
    const others = shares.get(line.recordId) ?? [];
    const taken = inFlight(others, { dueMinor: line.dueMinor, readAt });
    // Amounts of another currency can't be compared: nothing is free beside them.
    const mixed = taken > 0n && others.some((share) => share.currency !== currency);
    const free = mixed || taken >= line.dueMinor ? 0n : line.dueMinor - taken;
    const left = formatAmount({ amountMinor: free, currency });
    if (free === 0n) return at(index, 'recordId', 'in_flight', 'Other payments that are under way cover what is due on it');
    if (line.asked !== undefined && line.asked > free)
      return at(index, 'amount', 'more_than_due', `At most ${left} ${currency} is left to pay`);
    return { line, amountMinor: line.asked ?? free };
  });
  const details = priced.filter((one) => 'code' in one);
  if (details.length > 0) throw invalid('That is more than what is due', details.slice(0, 100));
  return priced.filter((one) => 'line' in one);
}

const titleOf = (lines: readonly Line[]): string => (lines.length === 1 ? `Invoice ${lines[0]?.number ?? ''}` : `${lines.length} invoices`);

type Placed = { readonly payment: store.PaymentRow; readonly checkout: store.CheckoutRow; readonly invoices: readonly store.InvoiceRow[] };

async function insertAll(
  tx: Tx,
  ctx: RequestCtx,
  input: CheckoutInput,
  { config, erpAccount }: SetUp,
  priced: readonly Priced[],
  readAt: Date,
): Promise<Placed> {
  const { organizationId } = ctx;
  const [paymentId, checkoutId] = [newId(), newId()];
  const { account_id: accountId, currency } = config;
  const total = priced.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const amounts = { currency, amount_minor: String(total) };
  const row = { id: paymentId, account_id: accountId, erp_account: erpAccount, customer_id: input.customerId, ...amounts };
  await makeRoom(tx, ctx, 'checkouts');
  await store.insertPayment(tx, organizationId, row);
  await store.insertCheckout(tx, organizationId, {
    id: checkoutId,
    payment_id: paymentId,
    title: titleOf(priced.map(({ line }) => line)),
    success_url: input.successUrl,
    cancel_url: input.cancelUrl,
    // Whole seconds: that is what providers keep.
    expires_at: new Date(Math.floor((ctx.clock.now().getTime() + lifetimeMs) / 1000) * 1000),
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
  await wake(tx, organizationId, { accountId, kind: 'payment', subject: paymentId }, abandonedAfterMs);
  const [payment, checkout] = [
    await store.findPayment(tx, organizationId, paymentId),
    await store.findCheckout(tx, organizationId, { id: checkoutId }),
  ];
  if (payment === undefined || checkout === undefined) throw new Error('the checkout was not stored');
  return { payment, checkout, invoices };
}

/** The decision. Who changes the configuration meanwhile makes the caller ask again. */
const place = (ctx: RequestCtx, input: CheckoutInput, setUp: SetUp, read: OpenInvoices): Promise<Placed> =>
  inTransaction(ctx, async (tx) => {
    const now = await lockConfig(tx, ctx.organizationId);
    const { config } = setUp;
    if (now?.updated_at.getTime() !== config.updated_at.getTime()) throw unavailable('The payment configuration has just changed', 1);
    const priced = await price(tx, ctx, setUp, linesOf(input, read, config.currency), read.readAt);
    const placed = await insertAll(tx, ctx, input, setUp, priced, read.readAt);
    const { payment, checkout, invoices } = placed;
    const amount = (minor: string): string => formatAmount({ amountMinor: BigInt(minor), currency: payment.currency });
    await writeAudit(tx, ctx, {
      action: 'checkout.create',
      target: { type: 'checkout', id: checkout.id },
      changes: {
        paymentId: payment.id,
        customerId: payment.customer_id,
        amount: amount(payment.amount_minor),
        currency: payment.currency,
        invoices: invoices.map(({ record_id: recordId, amount_minor: minor }) => ({ recordId, amount: amount(minor) })),
      },
    });
    return placed;
  });

/** What can't be said of the provider is left to the queue, which ends what was begun. */
async function askProvider(ctx: RequestCtx, { payment, checkout, invoices }: Placed): Promise<CheckoutSession> {
  try {
    const provider = await openAccountOf(ctx, payment.account_id);
    return await provider.createCheckout(orderOf(payment, checkout, invoices), providerSignal());
  } catch (error) {
    if (isRefusal(error)) await failPayment(ctx, payment.id, { code: error.kind, message: error.message });
    else await inTransaction(ctx, (tx) => wake(tx, ctx.organizationId, taskOf(payment)));
    throw asAnswer(error, '');
  }
}
const taskOf = ({ id, account_id: accountId }: store.PaymentRow) => ({ accountId, kind: 'payment' as const, subject: id });

export async function createCheckout(ctx: RequestCtx, input: CheckoutInput): Promise<CheckoutView> {
  const setUp = await readySetUp(ctx);
  const { invoices, currency } = setUp.config;
  await checkReturns(ctx, input);
  const ids = [...new Set(input.invoices.map(({ recordId }) => recordId))];
  const read = await readOpenInvoices(ctx, { mapping: invoices, currency }, ids, input.allowStale);
  const placed = await place(ctx, input, setUp, read);
  const session = await askProvider(ctx, placed);
  return inTransaction(ctx, async (tx) => {
    // Answered so late that the queue has ended it: nobody may be sent there.
    if (!(await store.noteSession(tx, ctx.organizationId, placed.payment.id, session.id)))
      throw unavailable('The payment provider answered too late', 1);
    await store.noteCheckoutUrl(tx, ctx.organizationId, placed.checkout.id, session.url, session.expiresAt);
    return readCheckout(tx, ctx, placed.checkout.id);
  });
}
