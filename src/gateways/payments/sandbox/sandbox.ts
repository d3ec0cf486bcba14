// The built-in provider: it behaves like a real one, with its own ledger, and moves no money. Its other parts
// are the payers' page (pay-session.ts), the changes that become due with time (process-due-changes.ts) and
// the delivery of events (deliver-events.ts).
import { z } from 'zod';
import type { TenantCtx } from '../../../core/ctx.ts';
import { createSecretToken, hashSecretToken } from '../../../core/secrets/secret-token.ts';
import type { Money } from '../../../core/text/money.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import {
  type CheckoutOrder,
  type CheckoutSession,
  type PaymentSnapshot,
  type PayoutSnapshot,
  type ProviderAccount,
  ProviderError,
  type ProviderEvent,
  type ProviderKind,
  type ProviderObject,
  type ProviderRefundOrder,
  type RefundSnapshot,
} from '../provider.ts';
import type { SandboxPaymentRow, SandboxRefundRow } from './ledger.store.ts';
import * as ledger from './ledger.store.ts';
import { endSession, queuePaymentEvent } from './pay-session.ts';
import { windowEnd } from './payout-days.ts';
import { findTestCard, type TestCard } from './test-cards.ts';
import { assertWebhookSignature, signatureHeader } from './webhook-signature.ts';

const money = (amountMinor: string | bigint, currency: string): Money => ({
  amountMinor: BigInt(amountMinor),
  currency,
});

const toRefundSnapshot = (row: SandboxRefundRow, currency: string): RefundSnapshot => ({
  id: row.id,
  refundId: row.refund_id,
  amount: money(row.amount_minor, currency),
  state: row.state,
  failure: row.failure,
});

function toPaymentSnapshot(row: SandboxPaymentRow, refunds: readonly SandboxRefundRow[]): PaymentSnapshot {
  const card = findTestCard(row.card);
  return {
    paymentId: row.payment_id,
    sessionId: row.id,
    providerPaymentId: row.provider_payment_id,
    state: row.state,
    received: money(row.state === 'SUCCEEDED' ? row.amount_minor : 0n, row.currency),
    refunds: refunds.map((refund) => toRefundSnapshot(refund, row.currency)),
    method: card === undefined ? null : { type: 'card', last4: card.last4 },
    failure: row.failure,
    // The sandbox's payments are in the same database, so that both are lost together.
    record: null,
  };
}

/** What a session's encrypted token is bound to (additional authenticated data). */
export const sandboxTokenBinding = (sessionId: string): string => `sandbox session ${sessionId}`;

async function createCheckout(
  ctx: TenantCtx,
  account: ProviderAccount,
  order: CheckoutOrder,
): Promise<CheckoutSession> {
  const { organizationId } = ctx;
  const id = ledger.createSandboxId('cs');
  const token = createSecretToken();
  const row = await inTransaction(ctx, async (tx) => {
    await ledger.insertPayment(tx, {
      id,
      organization_id: organizationId,
      account_id: account.id,
      checkout_id: order.checkoutId,
      payment_id: order.paymentId,
      token_hash: hashSecretToken(token),
      token: ctx.keyring.encrypt(token, sandboxTokenBinding(id)),
      title: order.title,
      items: JSON.stringify(
        order.items.map(({ label, amount }) => ({ label, amountMinor: amount.amountMinor.toString() })),
      ),
      amount_minor: order.amount.amountMinor.toString(),
      currency: order.amount.currency,
      success_url: order.successUrl,
      cancel_url: order.cancelUrl,
      expires_at: order.expiresAt,
      due_at: order.expiresAt,
    });
    return ledger.findPayment(tx, organizationId, { account_id: account.id, checkout_id: order.checkoutId });
  });
  if (row === undefined) throw new ProviderError('unavailable', 'The session could not be created');
  const isSame =
    row.payment_id === order.paymentId &&
    BigInt(row.amount_minor) === order.amount.amountMinor &&
    row.currency === order.amount.currency;
  if (!isSame) throw new ProviderError('rejected', 'This checkout already has a session with another order');
  const held = ctx.keyring.decrypt(row.token, sandboxTokenBinding(row.id));
  return { id: row.id, url: `${account.publicUrl}/pay/sandbox/${held}`, expiresAt: row.expires_at };
}

async function readSnapshot(tx: Tx, row: SandboxPaymentRow | undefined): Promise<PaymentSnapshot | null> {
  return row === undefined
    ? null
    : toPaymentSnapshot(row, await ledger.listRefunds(tx, row.organization_id, [row.id]));
}

async function expireCheckout(ctx: TenantCtx, account: ProviderAccount, sessionId: string) {
  const { organizationId } = ctx;
  const found = { account_id: account.id, id: sessionId };
  const snapshot = await inTransaction(ctx, async (tx) => {
    const row = await ledger.lockPayment(tx, organizationId, found);
    if (row?.state === 'OPEN') await endSession(tx, row, 'expired', ctx.clock.now());
    return readSnapshot(tx, await ledger.findPayment(tx, organizationId, found));
  });
  if (snapshot === null) throw new ProviderError('rejected', 'Unknown checkout session');
  return snapshot;
}

function createRefundRow(
  { clock, settings }: TenantCtx,
  sessionId: string,
  order: ProviderRefundOrder,
  card: TestCard,
): SandboxRefundRow {
  const { delayMs: laterMs, payoutEveryMs } = settings.sandbox;
  const now = clock.now();
  const isDone = card.refunds === 'at-once';
  return {
    id: ledger.createSandboxId('re'),
    session_id: sessionId,
    refund_id: order.refundId,
    amount_minor: order.amount.amountMinor.toString(),
    reason: order.reason,
    state: isDone ? 'SUCCEEDED' : 'PENDING',
    failure: null,
    due_at: isDone ? windowEnd(now, payoutEveryMs) : new Date(now.getTime() + laterMs),
  };
}

async function createRefund(ctx: TenantCtx, account: ProviderAccount, order: ProviderRefundOrder) {
  const { organizationId } = ctx;
  const now = ctx.clock.now();
  return inTransaction(ctx, async (tx) => {
    const payment = await ledger.lockPayment(tx, organizationId, {
      account_id: account.id,
      provider_payment_id: order.providerPaymentId,
    });
    const card = findTestCard(payment?.card ?? null);
    if (payment === undefined || card === undefined || payment.state !== 'SUCCEEDED')
      throw new ProviderError('rejected', 'There is no successful payment with this id');
    if (payment.currency !== order.amount.currency || order.amount.amountMinor <= 0n)
      throw new ProviderError(
        'rejected',
        'A refund must be a positive amount in the currency of its payment',
      );
    const existing = await ledger.listRefunds(tx, organizationId, [payment.id]);
    const known = existing.find(({ refund_id }) => refund_id === order.refundId);
    if (known !== undefined) {
      if (BigInt(known.amount_minor) === order.amount.amountMinor)
        return toRefundSnapshot(known, payment.currency);
      throw new ProviderError('rejected', 'This refund was already created with another amount');
    }
    const refunded = existing
      .filter(({ state }) => state !== 'FAILED')
      .reduce((sum, { amount_minor }) => sum + BigInt(amount_minor), 0n);
    if (refunded + order.amount.amountMinor > BigInt(payment.amount_minor))
      throw new ProviderError('too-much-refunded', 'The refunds would exceed the payment');
    const row = createRefundRow(ctx, payment.id, order, card);
    await ledger.insertRefund(tx, payment, row);
    await queuePaymentEvent(tx, payment, 'refund.created', now);
    return toRefundSnapshot(row, payment.currency);
  });
}

const readPayout = (ctx: TenantCtx, account: ProviderAccount, id: string): Promise<PayoutSnapshot | null> =>
  inTransaction(ctx, async (tx) => {
    const row = await ledger.findPayout(tx, ctx.organizationId, account.id, id);
    if (row === undefined) return null;
    const entries = await ledger.listPayoutEntries(tx, ctx.organizationId, id);
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

async function* listChangedSince(
  ctx: TenantCtx,
  account: ProviderAccount,
  since: Date,
  signal: AbortSignal,
): AsyncGenerator<ProviderObject> {
  let after = { changedAt: since.toISOString(), id: '' };
  for (;;) {
    assertNotAborted(signal);
    const from = after;
    const page = await inTransaction(ctx, (tx) =>
      ledger.listChanged(tx, ctx.organizationId, account.id, from, pageSize),
    );
    for (const { kind, id } of page) yield { kind, id };
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = { changedAt: last.changed_at, id: last.id };
  }
}

const Event = z.object({
  id: z.string(),
  type: z.string(),
  object: z.object({ kind: z.enum(['session', 'payout']), id: z.string() }),
});

function parseEvent(rawBody: Buffer): ProviderEvent {
  try {
    const { id, type, object } = Event.parse(JSON.parse(rawBody.toString('utf8')));
    return { id, type, concerns: object };
  } catch (error) {
    throw new ProviderError('malformed-answer', 'The signed body is not a sandbox event', { cause: error });
  }
}

function assertNotAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ProviderError('aborted', 'The request was aborted');
}

export const sandbox: ProviderKind = {
  // No credentials: the webhook's signing secret is derived from the service's key.
  secrets: z.strictObject({}),
  unavailableReason: ({ sandbox: { allowed } }) =>
    allowed
      ? null
      : 'The sandbox moves no money and is disabled on this installation. An operator can enable it with SANDBOX_PAYMENTS.',
  create: (ctx, account) => ({
    async checkCredentials(signal) {
      assertNotAborted(signal);
    },
    async createCheckout(order, signal) {
      assertNotAborted(signal);
      return createCheckout(ctx, account, order);
    },
    async expireCheckout(sessionId, signal) {
      assertNotAborted(signal);
      return expireCheckout(ctx, account, sessionId);
    },
    async findPayment(ref, signal) {
      assertNotAborted(signal);
      const found =
        'sessionId' in ref ? { id: ref.sessionId } : { provider_payment_id: ref.providerPaymentId };
      return inTransaction(ctx, async (tx) =>
        readSnapshot(
          tx,
          await ledger.findPayment(tx, ctx.organizationId, { ...found, account_id: account.id }),
        ),
      );
    },
    async createRefund(order, signal) {
      assertNotAborted(signal);
      return createRefund(ctx, account, order);
    },
    async findPayout(id, signal) {
      assertNotAborted(signal);
      return readPayout(ctx, account, id);
    },
    listChangedSince: (since, signal) => listChangedSince(ctx, account, since, signal),
    parseEvent(rawBody, headers) {
      assertWebhookSignature(ctx, account.id, rawBody, headers[signatureHeader]);
      return parseEvent(rawBody);
    },
  }),
};
