// The built-in provider: it behaves as a real one, with books of its own, and moves no money. Its other sides are the page that payers
// see (pay-session.ts), the clock (let-time-pass.ts) and the delivery of what it tells (deliver-events.ts).
import { z } from 'zod';
import type { TenantCtx } from '../../../core/ctx.ts';
import type { Money } from '../../../core/money.ts';
import { hashSecretToken, newSecretToken } from '../../../core/secret-token.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import {
  type CheckoutOrder,
  type CheckoutSession,
  type PaymentProvider,
  type PaymentSnapshot,
  type PayoutSnapshot,
  type ProviderAccount,
  ProviderError,
  type ProviderEvent,
  type ProviderKind,
  type ProviderObject,
  type RefundSnapshot,
} from '../provider.ts';
import {
  findPayment,
  findPayout,
  insertPayment,
  insertRefund,
  listChanged,
  listPayoutEntries,
  listRefunds,
  lockPayment,
  newSandboxId,
  type PaymentRow,
  queueEvent,
  type RefundRow,
} from './ledger.store.ts';
import { endSession } from './pay-session.ts';
import { windowEnd } from './payout-days.ts';
import { findTestCard } from './test-cards.ts';
import { checkWebhook, signatureHeader } from './webhook-signature.ts';

const money = (amountMinor: string | bigint, currency: string): Money => ({ amountMinor: BigInt(amountMinor), currency });

const toRefund = (row: RefundRow, currency: string): RefundSnapshot => ({
  id: row.id,
  refundId: row.refund_id,
  amount: money(row.amount_minor, currency),
  state: row.state,
  failure: row.failure,
});

function toPayment(row: PaymentRow, refunds: readonly RefundRow[]): PaymentSnapshot {
  const card = findTestCard(row.card);
  return {
    paymentId: row.payment_id,
    sessionId: row.id,
    providerPaymentId: row.provider_payment_id,
    state: row.state,
    received: money(row.state === 'SUCCEEDED' ? row.amount_minor : 0n, row.currency),
    refunds: refunds.map((refund) => toRefund(refund, row.currency)),
    method: card === undefined ? null : { type: 'card', last4: card.last4 },
    failure: row.failure,
  };
}

/** What the sealed token of a session is bound to. */
export const sandboxTokenBinding = (sessionId: string): string => `sandbox session ${sessionId}`;

async function createCheckout(ctx: TenantCtx, account: ProviderAccount, order: CheckoutOrder): Promise<CheckoutSession> {
  const { organizationId } = ctx;
  const id = newSandboxId('cs');
  const token = newSecretToken();
  const row = await inTransaction(ctx, async (tx) => {
    await insertPayment(tx, {
      id,
      organization_id: organizationId,
      account_id: account.id,
      checkout_id: order.checkoutId,
      payment_id: order.paymentId,
      token_hash: hashSecretToken(token),
      token: ctx.keyring.seal(token, sandboxTokenBinding(id)),
      title: order.title,
      items: JSON.stringify(order.items.map(({ label, amount }) => ({ label, amountMinor: amount.amountMinor.toString() }))),
      amount_minor: order.amount.amountMinor.toString(),
      currency: order.amount.currency,
      success_url: order.successUrl,
      cancel_url: order.cancelUrl,
      expires_at: order.expiresAt,
      due_at: order.expiresAt,
    });
    return findPayment(tx, organizationId, { account_id: account.id, checkout_id: order.checkoutId });
  });
  if (row === undefined) throw new ProviderError('unavailable', 'The session is gone');
  const isSame =
    row.payment_id === order.paymentId && BigInt(row.amount_minor) === order.amount.amountMinor && row.currency === order.amount.currency;
  if (!isSame) throw new ProviderError('rejected', 'This checkout has a session with another order already');
  const held = ctx.keyring.open(row.token, sandboxTokenBinding(row.id));
  return { id: row.id, url: `${account.publicUrl}/pay/sandbox/${held}`, expiresAt: row.expires_at };
}

async function snapshotOf(tx: Tx, row: PaymentRow | undefined): Promise<PaymentSnapshot | null> {
  return row === undefined ? null : toPayment(row, await listRefunds(tx, row.organization_id, [row.id]));
}

async function expireCheckout(ctx: TenantCtx, account: ProviderAccount, sessionId: string): Promise<PaymentSnapshot> {
  const { organizationId } = ctx;
  const found = { account_id: account.id, id: sessionId };
  const snapshot = await inTransaction(ctx, async (tx) => {
    const row = await lockPayment(tx, organizationId, found);
    if (row?.state === 'OPEN') await endSession(tx, row, 'expired', ctx.clock.now());
    return snapshotOf(tx, await findPayment(tx, organizationId, found));
  });
  if (snapshot === null) throw new ProviderError('rejected', 'There is no such session');
  return snapshot;
}

type RefundOrder = Parameters<PaymentProvider['refund']>[0];

async function refund(ctx: TenantCtx, account: ProviderAccount, order: RefundOrder): Promise<RefundSnapshot> {
  const { organizationId } = ctx;
  const now = ctx.clock.now();
  const { laterMs, payoutEveryMs } = ctx.settings.sandbox;
  return inTransaction(ctx, async (tx) => {
    const payment = await lockPayment(tx, organizationId, { account_id: account.id, provider_payment_id: order.providerPaymentId });
    const card = findTestCard(payment?.card ?? null);
    if (payment === undefined || card === undefined || payment.state !== 'SUCCEEDED')
      throw new ProviderError('rejected', 'There is no such payment that money was taken by');
    if (payment.currency !== order.amount.currency || order.amount.amountMinor <= 0n)
      throw new ProviderError('rejected', 'A refund is a positive amount in the currency of its payment');
    const before = await listRefunds(tx, organizationId, [payment.id]);
    const known = before.find(({ refund_id }) => refund_id === order.refundId);
    if (known !== undefined) {
      if (BigInt(known.amount_minor) === order.amount.amountMinor) return toRefund(known, payment.currency);
      throw new ProviderError('rejected', 'This refund was asked for with another amount already');
    }
    const given = before.filter(({ state }) => state !== 'FAILED').reduce((sum, { amount_minor }) => sum + BigInt(amount_minor), 0n);
    if (given + order.amount.amountMinor > BigInt(payment.amount_minor))
      throw new ProviderError('too-much-refunded', 'More would be given back than was taken');
    const isDone = card.refunds === 'at-once';
    const row: RefundRow = {
      id: newSandboxId('re'),
      session_id: payment.id,
      refund_id: order.refundId,
      amount_minor: order.amount.amountMinor.toString(),
      reason: order.reason,
      state: isDone ? 'SUCCEEDED' : 'PENDING',
      failure: null,
      due_at: isDone ? windowEnd(now, payoutEveryMs) : new Date(now.getTime() + laterMs),
    };
    await insertRefund(tx, payment, row);
    await queueEvent(tx, organizationId, account.id, { type: 'refund.created', kind: 'session', objectId: payment.id, at: now });
    return toRefund(row, payment.currency);
  });
}

const readPayout = (ctx: TenantCtx, account: ProviderAccount, id: string): Promise<PayoutSnapshot | null> =>
  inTransaction(ctx, async (tx) => {
    const row = await findPayout(tx, ctx.organizationId, account.id, id);
    if (row === undefined) return null;
    const entries = await listPayoutEntries(tx, ctx.organizationId, id);
    return {
      id,
      state: row.state,
      amount: money(row.amount_minor, row.currency),
      arrivalDate: row.arrival_date,
      createdAt: row.created_at,
      entries: entries.map((entry) => ({
        kind: entry.kind,
        paymentId: entry.payment_id,
        providerRefundId: entry.refund,
        amount: money(entry.amount_minor, row.currency),
      })),
      failure: null,
    };
  });

const pageSize = 100;

async function* changedSince(ctx: TenantCtx, account: ProviderAccount, since: Date, signal: AbortSignal): AsyncGenerator<ProviderObject> {
  let after = { changedAt: since.toISOString(), id: '' };
  for (;;) {
    refuseAborted(signal);
    const from = after;
    const page = await inTransaction(ctx, (tx) => listChanged(tx, ctx.organizationId, account.id, from, pageSize));
    for (const { kind, id } of page) yield { kind, id };
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = { changedAt: last.changed_at, id: last.id };
  }
}

const Event = z.object({ id: z.string(), type: z.string(), object: z.object({ kind: z.enum(['session', 'payout']), id: z.string() }) });

function readEvent(rawBody: Buffer): ProviderEvent {
  try {
    const { id, type, object } = Event.parse(JSON.parse(rawBody.toString('utf8')));
    return { id, type, concerns: object };
  } catch (error) {
    throw new ProviderError('malformed-answer', 'It is signed, but no event of the sandbox', { cause: error });
  }
}

function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ProviderError('aborted', 'The question was given up');
}

export const sandbox: ProviderKind = {
  name: 'sandbox',
  // Its webhook is signed by a secret that both sides derive.
  secrets: z.strictObject({}),
  refusedHere: ({ sandbox: { allowed } }) =>
    allowed ? null : 'The sandbox moves no money: here it is not allowed, unless an operator sets SANDBOX_PAYMENTS',
  open: (ctx, account) => ({
    name: 'sandbox',
    async check(signal) {
      refuseAborted(signal);
    },
    async createCheckout(order, signal) {
      refuseAborted(signal);
      return createCheckout(ctx, account, order);
    },
    async expireCheckout(sessionId, signal) {
      refuseAborted(signal);
      return expireCheckout(ctx, account, sessionId);
    },
    async payment(ref, signal) {
      refuseAborted(signal);
      const found = 'sessionId' in ref ? { id: ref.sessionId } : { provider_payment_id: ref.providerPaymentId };
      return inTransaction(ctx, async (tx) =>
        snapshotOf(tx, await findPayment(tx, ctx.organizationId, { ...found, account_id: account.id })),
      );
    },
    async refund(order, signal) {
      refuseAborted(signal);
      return refund(ctx, account, order);
    },
    async payout(id, signal) {
      refuseAborted(signal);
      return readPayout(ctx, account, id);
    },
    changedSince: (since, signal) => changedSince(ctx, account, since, signal),
    readEvent(rawBody, headers) {
      checkWebhook(ctx, account.id, rawBody, headers[signatureHeader]);
      return readEvent(rawBody);
    },
  }),
};
