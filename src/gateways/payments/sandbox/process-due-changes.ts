// What changes in the sandbox's books by the clock alone: sessions expire, delayed outcomes come in, and what was taken is paid out.
import type { Ctx } from '../../../core/ctx.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import {
  changePayment,
  changePayout,
  changeRefund,
  findPayment,
  insertPayout,
  lockDuePayments,
  lockDuePayouts,
  lockDueRefunds,
  newSandboxId,
  type PaymentRow,
  type PayoutRow,
  queueEvent,
  type RefundRow,
} from './ledger.store.ts';
import { endSession } from './pay-session.ts';
import { nextBankingDay, pendingMs, windowEnd } from './payout-days.ts';
import { findTestCard, refundFailure } from './test-cards.ts';

type Now = { readonly tx: Tx; readonly organizationId: string; readonly at: Date; readonly payoutEveryMs: number };

async function settlePayment({ tx, organizationId, at, payoutEveryMs }: Now, row: PaymentRow): Promise<void> {
  const atOnce = findTestCard(row.card)?.atOnce;
  const later = atOnce !== undefined && 'state' in atOnce && atOnce.state === 'PROCESSING' ? atOnce.later : { state: 'SUCCEEDED' as const };
  if (later.state === 'FAILED') await changePayment(tx, row, { state: 'FAILED', failure: later.failure, due_at: null });
  else await changePayment(tx, row, { state: 'SUCCEEDED', due_at: windowEnd(at, payoutEveryMs) });
  const type = later.state === 'FAILED' ? 'payment.failed' : 'payment.succeeded';
  await queueEvent(tx, organizationId, row.account_id, { type, kind: 'session', objectId: row.id, at });
}

async function settleRefund({ tx, organizationId, at, payoutEveryMs }: Now, row: RefundRow, payment: PaymentRow): Promise<void> {
  const isFailing = findTestCard(payment.card)?.refunds === 'fail';
  if (isFailing) await changeRefund(tx, organizationId, row.id, { state: 'FAILED', failure: refundFailure, due_at: null });
  else await changeRefund(tx, organizationId, row.id, { state: 'SUCCEEDED', due_at: windowEnd(at, payoutEveryMs) });
  await changePayment(tx, payment, {});
  const type = isFailing ? 'refund.failed' : 'refund.succeeded';
  await queueEvent(tx, organizationId, payment.account_id, { type, kind: 'session', objectId: payment.id, at });
}

type Share = { readonly accountId: string; readonly currency: string; readonly amountMinor: bigint; move(change: Moved): Promise<unknown> };
type Moved = { readonly due_at: Date | null; readonly payout_id?: string };

/** One payout of one account and currency; where more was given back than taken it waits for the next window. */
async function payOut({ tx, organizationId, at, payoutEveryMs }: Now, shares: readonly [Share, ...Share[]]): Promise<void> {
  const [{ accountId, currency }] = shares;
  const amountMinor = shares.reduce((sum, share) => sum + share.amountMinor, 0n);
  if (amountMinor <= 0n) {
    for (const share of shares) await share.move({ due_at: windowEnd(at, payoutEveryMs) });
    return;
  }
  const row: PayoutRow = {
    id: newSandboxId('po'),
    account_id: accountId,
    amount_minor: amountMinor.toString(),
    currency,
    state: 'PENDING',
    arrival_date: nextBankingDay(at),
    due_at: new Date(at.getTime() + pendingMs(payoutEveryMs)),
    created_at: at,
  };
  await insertPayout(tx, organizationId, row);
  for (const share of shares) await share.move({ due_at: null, payout_id: row.id });
  await queueEvent(tx, organizationId, accountId, { type: 'payout.created', kind: 'payout', objectId: row.id, at });
}

async function movePayout({ tx, organizationId, at }: Now, row: PayoutRow): Promise<void> {
  const change =
    row.state === 'PENDING'
      ? ({ state: 'IN_TRANSIT', due_at: new Date(`${row.arrival_date}T00:00:00Z`) } as const)
      : ({ state: 'PAID', due_at: null } as const);
  await changePayout(tx, organizationId, row.id, change);
  const type = `payout.${change.state.toLowerCase()}`;
  await queueEvent(tx, organizationId, row.account_id, { type, kind: 'payout', objectId: row.id, at });
}

async function passPayments(now: Now): Promise<Share[]> {
  const { tx, organizationId, at } = now;
  const shares: Share[] = [];
  for (const row of await lockDuePayments(tx, organizationId, at)) {
    if (row.state === 'OPEN') await endSession(tx, row, 'expired', at);
    else if (row.state === 'PROCESSING') await settlePayment(now, row);
    else
      shares.push({
        accountId: row.account_id,
        currency: row.currency,
        amountMinor: BigInt(row.amount_minor),
        move: (change) => changePayment(tx, row, change),
      });
  }
  return shares;
}

async function passRefunds(now: Now): Promise<Share[]> {
  const { tx, organizationId, at } = now;
  const shares: Share[] = [];
  for (const row of await lockDueRefunds(tx, organizationId, at)) {
    const payment = await findPayment(tx, organizationId, { id: row.session_id });
    if (payment === undefined) continue;
    if (row.state === 'PENDING') await settleRefund(now, row, payment);
    else
      shares.push({
        accountId: payment.account_id,
        currency: payment.currency,
        amountMinor: -BigInt(row.amount_minor),
        move: (change) => changeRefund(tx, organizationId, row.id, change),
      });
  }
  return shares;
}

/** One step of everything that is due by now; another process doing the same leaves it alone. */
const passIn = (ctx: Ctx, organizationId: string): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const lock = 'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as held';
    const { rows } = await tx.raw<{ rows: { held: boolean }[] }>(lock, [`sandbox ${organizationId}`]);
    if (rows[0]?.held !== true) return;
    const now: Now = { tx, organizationId, at: ctx.clock.now(), payoutEveryMs: ctx.settings.sandbox.payoutEveryMs };
    const shares = [...(await passPayments(now)), ...(await passRefunds(now))];
    const groups = Map.groupBy(shares, ({ accountId, currency }) => `${accountId} ${currency}`);
    for (const [first, ...rest] of groups.values()) if (first !== undefined) await payOut(now, [first, ...rest]);
    for (const row of await lockDuePayouts(tx, organizationId, now.at)) await movePayout(now, row);
    await tx.raw("delete from sandbox_events where organization_id = ? and created_at < now() - interval '30 days'", [organizationId]);
  });

/**
 * Brings every organization's books up to the present, step by step: a payout that was long due is made, sent and paid. Books in which a step
 * fails stay as they are, and hold nobody else up.
 */
export async function letTimePass(ctx: Ctx, stopping: AbortSignal): Promise<void> {
  const stuck = new Set<string>();
  for (let step = 0; step < 20 && !stopping.aborted; step += 1) {
    const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>('select organization_id from due_in_sandbox(?)', [
      ctx.clock.now(),
    ]);
    const due = rows.filter(({ organization_id }) => !stuck.has(organization_id));
    if (due.length === 0) return;
    for (const { organization_id: organizationId } of due) {
      if (stopping.aborted) return;
      await passIn(ctx, organizationId).catch((error: unknown) => {
        stuck.add(organizationId);
        ctx.log.warn({ err: error, organizationId }, 'books of the sandbox could not be brought up to the present');
      });
    }
  }
}
