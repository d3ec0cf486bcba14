// Applies the changes that become due with time in the sandbox: sessions expire, delayed outcomes arrive, and
// balances are paid out.
import type { Ctx } from '../../../core/ctx.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import type { SandboxPaymentRow, SandboxPayoutRow, SandboxRefundRow } from './ledger.store.ts';
import * as ledger from './ledger.store.ts';
import { endSession, queuePaymentEvent } from './pay-session.ts';
import { nextBankingDay, pendingMs, windowEnd } from './payout-days.ts';
import { findTestCard, refundFailure } from './test-cards.ts';

type Step = {
  readonly tx: Tx;
  readonly organizationId: string;
  readonly at: Date;
  readonly payoutEveryMs: number;
};

async function completePayment({ tx, at, payoutEveryMs }: Step, row: SandboxPaymentRow) {
  const immediate = findTestCard(row.card)?.immediate;
  const later =
    immediate !== undefined && 'state' in immediate && immediate.state === 'PROCESSING'
      ? immediate.later
      : { state: 'SUCCEEDED' as const };
  if (later.state === 'FAILED')
    await ledger.updatePayment(tx, row, { state: 'FAILED', failure: later.failure, due_at: null });
  else await ledger.updatePayment(tx, row, { state: 'SUCCEEDED', due_at: windowEnd(at, payoutEveryMs) });
  const type = later.state === 'FAILED' ? 'payment.failed' : 'payment.succeeded';
  await queuePaymentEvent(tx, row, type, at);
}

async function completeRefund(
  { tx, organizationId, at, payoutEveryMs }: Step,
  row: SandboxRefundRow,
  payment: SandboxPaymentRow,
): Promise<void> {
  const isFailing = findTestCard(payment.card)?.refunds === 'fail';
  const change = isFailing
    ? ({ state: 'FAILED', failure: refundFailure, due_at: null } as const)
    : ({ state: 'SUCCEEDED', due_at: windowEnd(at, payoutEveryMs) } as const);
  await ledger.updateRefund(tx, organizationId, row.id, change);
  await ledger.updatePayment(tx, payment, {});
  const type = isFailing ? 'refund.failed' : 'refund.succeeded';
  await queuePaymentEvent(tx, payment, type, at);
}

/** A payment (positive) or refund (negative) whose money belongs into the next payout. */
type Share = {
  readonly accountId: string;
  readonly currency: string;
  readonly amountMinor: bigint;
  update(change: ShareUpdate): Promise<unknown>;
};
type ShareUpdate = { readonly due_at: Date | null; readonly payout_id?: string };

/** Creates one payout of an account and currency. If refunds exceed payments, all wait for the next one. */
async function createPayout(
  { tx, organizationId, at, payoutEveryMs }: Step,
  shares: readonly [Share, ...Share[]],
): Promise<void> {
  const [{ accountId, currency }] = shares;
  const amountMinor = shares.reduce((sum, share) => sum + share.amountMinor, 0n);
  if (amountMinor <= 0n) {
    for (const share of shares) await share.update({ due_at: windowEnd(at, payoutEveryMs) });
    return;
  }
  const row: SandboxPayoutRow = {
    id: ledger.createSandboxId('po'),
    account_id: accountId,
    amount_minor: amountMinor.toString(),
    currency,
    state: 'PENDING',
    arrival_date: nextBankingDay(at),
    due_at: new Date(at.getTime() + pendingMs(payoutEveryMs)),
    created_at: at,
  };
  await ledger.insertPayout(tx, organizationId, row);
  for (const share of shares) await share.update({ due_at: null, payout_id: row.id });
  await ledger.queueEvent(tx, organizationId, accountId, {
    type: 'payout.created',
    kind: 'payout',
    objectId: row.id,
    at,
  });
}

async function advancePayout({ tx, organizationId, at }: Step, row: SandboxPayoutRow): Promise<void> {
  const change =
    row.state === 'PENDING'
      ? ({ state: 'IN_TRANSIT', due_at: new Date(`${row.arrival_date}T00:00:00Z`) } as const)
      : ({ state: 'PAID', due_at: null } as const);
  await ledger.updatePayout(tx, organizationId, row.id, change);
  const type = `payout.${change.state.toLowerCase()}`;
  await ledger.queueEvent(tx, organizationId, row.account_id, { type, kind: 'payout', objectId: row.id, at });
}

async function processDuePayments(now: Step): Promise<Share[]> {
  const { tx, organizationId, at } = now;
  const shares: Share[] = [];
  for (const row of await ledger.lockDuePayments(tx, organizationId, at)) {
    if (row.state === 'OPEN') await endSession(tx, row, 'expired', at);
    else if (row.state === 'PROCESSING') await completePayment(now, row);
    else
      shares.push({
        accountId: row.account_id,
        currency: row.currency,
        amountMinor: BigInt(row.amount_minor),
        update: (change) => ledger.updatePayment(tx, row, change),
      });
  }
  return shares;
}

async function processDueRefunds(now: Step): Promise<Share[]> {
  const { tx, organizationId, at } = now;
  const shares: Share[] = [];
  for (const row of await ledger.lockDueRefunds(tx, organizationId, at)) {
    const payment = await ledger.findPayment(tx, organizationId, { id: row.session_id });
    if (payment === undefined) continue;
    if (row.state === 'PENDING') await completeRefund(now, row, payment);
    else
      shares.push({
        accountId: payment.account_id,
        currency: payment.currency,
        amountMinor: -BigInt(row.amount_minor),
        update: (change) => ledger.updateRefund(tx, organizationId, row.id, change),
      });
  }
  return shares;
}

/** Applies one step of everything that is due, unless another process does so for the organization. */
const processOrganization = (ctx: Ctx, organizationId: string): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const lock = 'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as held';
    const { rows } = await tx.raw<{ rows: { held: boolean }[] }>(lock, [`sandbox ${organizationId}`]);
    if (rows[0]?.held !== true) return;
    const now: Step = {
      tx,
      organizationId,
      at: ctx.clock.now(),
      payoutEveryMs: ctx.settings.sandbox.payoutEveryMs,
    };
    const shares = [...(await processDuePayments(now)), ...(await processDueRefunds(now))];
    const groups = Map.groupBy(shares, ({ accountId, currency }) => `${accountId} ${currency}`);
    for (const [first, ...rest] of groups.values())
      if (first !== undefined) await createPayout(now, [first, ...rest]);
    for (const row of await ledger.lockDuePayouts(tx, organizationId, now.at)) await advancePayout(now, row);
    await tx.raw(
      "delete from sandbox_events where organization_id = ? and created_at < now() - interval '30 days'",
      [organizationId],
    );
  });

/**
 * Brings every organization's books up to date, step by step: a long overdue payout is created, sent and
 * paid. An organization whose step fails is logged and skipped, and doesn't hold up the others. Rejects only
 * when the due organizations can't be read.
 */
export async function processDueChanges(ctx: Ctx, stopping: AbortSignal): Promise<void> {
  const failed = new Set<string>();
  for (let step = 0; step < 20 && !stopping.aborted; step += 1) {
    const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
      'select organization_id from due_in_sandbox(?)',
      [ctx.clock.now()],
    );
    const due = rows.filter(({ organization_id }) => !failed.has(organization_id));
    if (due.length === 0) return;
    for (const { organization_id: organizationId } of due) {
      if (stopping.aborted) return;
      await processOrganization(ctx, organizationId).catch((error: unknown) => {
        failed.add(organizationId);
        ctx.log.warn(
          { err: error, organizationId },
          "an organization's due sandbox changes could not be processed",
        );
      });
    }
  }
}
