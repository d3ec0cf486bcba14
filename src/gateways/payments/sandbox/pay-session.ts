// What a payer does on the page of a session: look, try a card, give up. Whoever holds the token of its address is the payer.
import type { Ctx } from '../../../core/ctx.ts';
import { formatAmount } from '../../../core/money.ts';
import { hashSecretToken, secretTokenForm } from '../../../core/secret-token.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { changePayment, findPayment, insertRefund, lockPayment, newSandboxId, type PaymentRow, queueEvent } from './ledger.store.ts';
import { windowEnd } from './payout-days.ts';
import { findTestCard, type TestCard, testCards } from './test-cards.ts';

export type PaySession = {
  readonly payee: string;
  readonly title: string;
  readonly items: readonly { readonly label: string; readonly amount: string }[];
  readonly amount: string;
  readonly currency: string;
  /** What can be done, or what became of it. */
  readonly state: 'open' | 'expired' | 'processing' | 'paid' | 'failed' | 'canceled';
  readonly failure: string | null;
  /** Last four digits of the card that was used last. */
  readonly last4: string | null;
  readonly expiresAt: Date;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly cards: readonly Pick<TestCard, 'id' | 'last4' | 'title' | 'says'>[];
};
/** `refused`: the session could no longer be paid, or the card is none; `session` says how it stands. */
export type PayAnswer = { readonly outcome: 'done' | 'declined' | 'refused'; readonly session: PaySession };

const endings = {
  expired: { code: 'expired', message: 'It was not paid in time.' },
  canceled: { code: 'canceled_by_payer', message: 'The payer canceled it.' },
} as const;

/** Of one that is OPEN and locked: nobody can pay it any more. */
export async function endSession(tx: Tx, row: PaymentRow, why: keyof typeof endings, at: Date): Promise<void> {
  await changePayment(tx, row, { state: 'CANCELED', failure: endings[why], due_at: null });
  await tell(tx, row, `payment.${why}`, at);
}

const tell = (tx: Tx, row: PaymentRow, type: string, at: Date): Promise<void> =>
  queueEvent(tx, row.organization_id, row.account_id, { type, kind: 'session', objectId: row.id, at });

const stateNames = { PROCESSING: 'processing', SUCCEEDED: 'paid', FAILED: 'failed' } as const;

function stateOf(row: PaymentRow, now: Date): PaySession['state'] {
  if (row.state === 'OPEN') return row.expires_at.getTime() <= now.getTime() ? 'expired' : 'open';
  if (row.state === 'CANCELED') return row.failure?.code === endings.canceled.code ? 'canceled' : 'expired';
  return stateNames[row.state];
}

async function toSession(tx: Tx, row: PaymentRow, now: Date): Promise<PaySession> {
  const { currency } = row;
  const organization = await tx('organizations').where({ id: row.organization_id }).first<{ name: string }>('name');
  return {
    payee: organization.name,
    title: row.title,
    items: row.items.map(({ label, amountMinor }) => ({ label, amount: formatAmount({ amountMinor: BigInt(amountMinor), currency }) })),
    amount: formatAmount({ amountMinor: BigInt(row.amount_minor), currency }),
    currency,
    state: stateOf(row, now),
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
  work: (tx: Tx, row: PaymentRow) => Promise<T>,
  find: typeof findPayment,
): Promise<T | undefined> {
  if (!ctx.settings.sandbox.allowed || !secretTokenForm.test(token)) return undefined;
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

const again = async (tx: Tx, { organization_id, id }: PaymentRow, now: Date): Promise<PaySession> => {
  const row = await findPayment(tx, organization_id, { id });
  if (row === undefined) throw new Error('the session is gone while it was locked');
  return toSession(tx, row, now);
};

/** Undefined for a token that is not known. */
export const lookAtSession = (ctx: Ctx, token: string): Promise<PaySession | undefined> =>
  withSession(ctx, token, (tx, row) => toSession(tx, row, ctx.clock.now()), findPayment);

async function charge(ctx: Ctx, tx: Tx, row: PaymentRow, card: TestCard): Promise<PayAnswer['outcome']> {
  const now = ctx.clock.now();
  const { laterMs, payoutEveryMs } = ctx.settings.sandbox;
  const later = new Date(now.getTime() + laterMs);
  const { atOnce } = card;
  if ('declined' in atOnce) {
    await changePayment(tx, row, { card: card.id, failure: atOnce.declined });
    await tell(tx, row, 'payment.declined', now);
    return 'declined';
  }
  const isPaid = atOnce.state === 'SUCCEEDED';
  await changePayment(tx, row, {
    state: atOnce.state,
    card: card.id,
    failure: null,
    provider_payment_id: newSandboxId('py'),
    due_at: isPaid ? windowEnd(now, payoutEveryMs) : later,
  });
  if (card.isGivenBack) await planGivingBack(tx, row, later);
  await tell(tx, row, isPaid ? 'payment.succeeded' : 'payment.processing', now);
  return 'done';
}

const planGivingBack = (tx: Tx, row: PaymentRow, later: Date): Promise<void> =>
  insertRefund(tx, row, {
    id: newSandboxId('re'),
    session_id: row.id,
    refund_id: null,
    amount_minor: row.amount_minor,
    reason: 'The bank took it back',
    state: 'PENDING',
    failure: null,
    due_at: later,
  });

/** Tries the card; a second try of a session that was paid changes nothing. Undefined for a token that is not known. */
export const payByCard = (ctx: Ctx, token: string, cardId: string): Promise<PayAnswer | undefined> =>
  withSession(
    ctx,
    token,
    async (tx, row) => {
      const now = ctx.clock.now();
      const card = findTestCard(cardId);
      const canPay = card !== undefined && stateOf(row, now) === 'open';
      const outcome = canPay ? await charge(ctx, tx, row, card) : 'refused';
      return { outcome, session: await again(tx, row, now) };
    },
    lockPayment,
  );

/** Ends the session for good. Undefined for a token that is not known. */
export const giveUpPaying = (ctx: Ctx, token: string): Promise<PayAnswer | undefined> =>
  withSession(
    ctx,
    token,
    async (tx, row) => {
      const now = ctx.clock.now();
      const isOpen = stateOf(row, now) === 'open';
      if (isOpen) await endSession(tx, row, 'canceled', now);
      return { outcome: isOpen ? 'done' : 'refused', session: await again(tx, row, now) };
    },
    lockPayment,
  );
