// What a payer does on a session's payment page: view it, pay by a test card, cancel. The token in the page's
// address is the only credential.
import type { Ctx } from '../../../core/ctx.ts';
import { hashSecretToken, secretTokenPattern } from '../../../core/secrets/secret-token.ts';
import { formatAmount } from '../../../core/text/money.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import type { SandboxPaymentRow } from './ledger.store.ts';
import * as ledger from './ledger.store.ts';
import { windowEnd } from './payout-days.ts';
import { findTestCard, type TestCard, testCards } from './test-cards.ts';

/** What the payment page shows. Amounts are decimal strings; the URLs are those of the checkout. */
export type PaySession = {
  readonly payee: string;
  readonly title: string;
  readonly items: readonly { readonly label: string; readonly amount: string }[];
  readonly amount: string;
  readonly currency: string;
  /** `open`: it can be paid. All others: why it can't. */
  readonly state: 'open' | 'expired' | 'processing' | 'paid' | 'failed' | 'canceled';
  readonly failure: string | null;
  /** Last four digits of the card that was used last. */
  readonly last4: string | null;
  readonly expiresAt: Date;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly cards: readonly Pick<TestCard, 'id' | 'last4' | 'title' | 'description'>[];
};
/** `refused`: no longer payable, or the card is unknown; `session` is the current state either way. */
type PayResult = { readonly outcome: 'done' | 'declined' | 'refused'; readonly session: PaySession };

const endings = {
  expired: { code: 'expired', message: 'It was not paid in time.' },
  canceled: { code: 'canceled_by_payer', message: 'The payer canceled it.' },
} as const;

/** Ends a session, so that it can no longer be paid. The row must be OPEN and locked. */
export async function endSession(tx: Tx, row: SandboxPaymentRow, why: keyof typeof endings, at: Date) {
  await ledger.updatePayment(tx, row, { state: 'CANCELED', failure: endings[why], due_at: null });
  await queuePaymentEvent(tx, row, `payment.${why}`, at);
}

export const queuePaymentEvent = (tx: Tx, row: SandboxPaymentRow, type: string, at: Date): Promise<void> =>
  ledger.queueEvent(tx, row.organization_id, row.account_id, { type, kind: 'session', objectId: row.id, at });

const stateNames = { PROCESSING: 'processing', SUCCEEDED: 'paid', FAILED: 'failed' } as const;

function computeState(row: SandboxPaymentRow, now: Date): PaySession['state'] {
  if (row.state === 'OPEN') return row.expires_at.getTime() <= now.getTime() ? 'expired' : 'open';
  if (row.state === 'CANCELED') return row.failure?.code === endings.canceled.code ? 'canceled' : 'expired';
  return stateNames[row.state];
}

async function toSession(tx: Tx, row: SandboxPaymentRow, now: Date): Promise<PaySession> {
  const { currency } = row;
  const organization = await tx('organizations')
    .where({ id: row.organization_id })
    .first<{ name: string }>('name');
  return {
    payee: organization.name,
    title: row.title,
    items: row.items.map(({ label, amountMinor }) => ({
      label,
      amount: formatAmount({ amountMinor: BigInt(amountMinor), currency }),
    })),
    amount: formatAmount({ amountMinor: BigInt(row.amount_minor), currency }),
    currency,
    state: computeState(row, now),
    failure: row.failure?.message ?? null,
    last4: findTestCard(row.card)?.last4 ?? null,
    expiresAt: row.expires_at,
    successUrl: row.success_url,
    cancelUrl: row.cancel_url,
    cards: testCards,
  };
}

async function withSession<T>(
  ctx: Ctx,
  token: string,
  work: (tx: Tx, row: SandboxPaymentRow) => Promise<T>,
  find: typeof ledger.findPayment,
): Promise<T | undefined> {
  if (!ctx.settings.sandbox.allowed || !secretTokenPattern.test(token)) return undefined;
  const hash = hashSecretToken(token);
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
    'select organization_id from find_sandbox_payment(?)',
    [hash],
  );
  const organizationId = rows[0]?.organization_id;
  if (organizationId === undefined) return undefined;
  return inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const row = await find(tx, organizationId, { token_hash: hash });
    return row === undefined ? undefined : work(tx, row);
  });
}

const reload = async (tx: Tx, { organization_id, id }: SandboxPaymentRow, now: Date): Promise<PaySession> => {
  const row = await ledger.findPayment(tx, organization_id, { id });
  if (row === undefined) throw new Error('the session disappeared while it was locked');
  return toSession(tx, row, now);
};

/** Undefined for an unknown token. */
export const findPaySession = (ctx: Ctx, token: string): Promise<PaySession | undefined> =>
  withSession(ctx, token, (tx, row) => toSession(tx, row, ctx.clock.now()), ledger.findPayment);

async function charge(
  ctx: Ctx,
  tx: Tx,
  row: SandboxPaymentRow,
  card: TestCard,
): Promise<PayResult['outcome']> {
  const now = ctx.clock.now();
  const { delayMs, payoutEveryMs } = ctx.settings.sandbox;
  const later = new Date(now.getTime() + delayMs);
  const { immediate } = card;
  if ('declined' in immediate) {
    await ledger.updatePayment(tx, row, { card: card.id, failure: immediate.declined });
    await queuePaymentEvent(tx, row, 'payment.declined', now);
    return 'declined';
  }
  const isPaid = immediate.state === 'SUCCEEDED';
  await ledger.updatePayment(tx, row, {
    state: immediate.state,
    card: card.id,
    failure: null,
    provider_payment_id: ledger.createSandboxId('py'),
    due_at: isPaid ? windowEnd(now, payoutEveryMs) : later,
  });
  if (card.isReversed) await scheduleBankReversal(tx, row, later);
  await queuePaymentEvent(tx, row, isPaid ? 'payment.succeeded' : 'payment.processing', now);
  return 'done';
}

const scheduleBankReversal = (tx: Tx, row: SandboxPaymentRow, later: Date): Promise<void> =>
  ledger.insertRefund(tx, row, {
    id: ledger.createSandboxId('re'),
    session_id: row.id,
    refund_id: null,
    amount_minor: row.amount_minor,
    reason: 'The bank reversed the payment',
    state: 'PENDING',
    failure: null,
    due_at: later,
  });

/** Tries the card; does nothing more once the session is paid. Undefined for an unknown token. */
export const payByCard = (ctx: Ctx, token: string, cardId: string): Promise<PayResult | undefined> =>
  withSession(
    ctx,
    token,
    async (tx, row) => {
      const now = ctx.clock.now();
      const card = findTestCard(cardId);
      const canPay = card !== undefined && computeState(row, now) === 'open';
      const outcome = canPay ? await charge(ctx, tx, row, card) : 'refused';
      return { outcome, session: await reload(tx, row, now) };
    },
    ledger.lockPayment,
  );

/** Cancels an open session for good. Undefined for an unknown token. */
export const cancelPaySession = (ctx: Ctx, token: string): Promise<PayResult | undefined> =>
  withSession(
    ctx,
    token,
    async (tx, row) => {
      const now = ctx.clock.now();
      const isOpen = computeState(row, now) === 'open';
      if (isOpen) await endSession(tx, row, 'canceled', now);
      return { outcome: isOpen ? 'done' : 'refused', session: await reload(tx, row, now) };
    },
    ledger.lockPayment,
  );
