// Payouts: transfers from provider to bank, and the payments in them. Entries always add up to the amount.
import type { RequestCtx, TenantCtx } from '../../../core/ctx.ts';
import { notFound } from '../../../core/errors.ts';
import { createId, isId } from '../../../core/id.ts';
import { formatAmount } from '../../../core/text/money.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { type PayoutSnapshot, type PayoutState, ProviderError } from '../../../gateways/payments/provider.ts';
import { instant } from '../../../http/fields.ts';
import { type PageQuery, toPage } from '../../../http/page.ts';
import type { Payout } from '../pay.schemas.ts';
import * as store from './payouts.store.ts';

/** The bank may still return a payout that was paid, so FAILED ranks above PAID. */
const ranks: Readonly<Record<PayoutState, number>> = {
  PENDING: 0,
  IN_TRANSIT: 1,
  PAID: 2,
  FAILED: 3,
  CANCELED: 3,
};

const sumAmounts = (entries: readonly { readonly amount_minor: string }[]): bigint =>
  entries.reduce((sum, { amount_minor: minor }) => sum + BigInt(minor), 0n);

function toPayout(row: store.PayoutRow, entries: readonly store.EntryRow[]): Payout {
  const amount = (minor: bigint): string => formatAmount({ amountMinor: minor, currency: row.currency });
  const sum = (kind: store.EntryRow['kind'], of = entries): bigint =>
    sumAmounts(of.filter((entry) => entry.kind === kind));
  const ours = Map.groupBy(
    entries.filter(({ payment_id: id }) => id !== null),
    ({ payment_id: id }) => id ?? '',
  );
  return {
    id: row.id,
    status: row.status,
    amount: amount(BigInt(row.amount_minor)),
    currency: row.currency,
    arrivalDate: row.arrival_date,
    provider: row.provider,
    providerPayoutId: row.provider_payout_id,
    sums: {
      payments: amount(sum('payment')),
      refunds: amount(sum('refund')),
      fees: amount(sum('fee')),
      other: amount(sum('other')),
    },
    payments: [...ours].map(([paymentId, of]) => ({
      paymentId,
      amount: amount(sum('payment', of)),
      refundedAmount: amount(sum('refund', of)),
    })),
    failure:
      row.failure_code === null ? null : { code: row.failure_code, message: row.failure_message ?? '' },
    createdAt: instant(row.created_at),
  };
}

async function toPayouts(tx: Tx, ctx: RequestCtx, rows: readonly store.PayoutRow[]): Promise<Payout[]> {
  const ids = rows.map(({ id }) => id);
  const entries = Map.groupBy(
    await store.listEntries(tx, ctx.organizationId, ids),
    ({ payout_id: id }) => id,
  );
  return rows.map((row) => toPayout(row, entries.get(row.id) ?? []));
}

export const listPayouts = (ctx: RequestCtx, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listPayouts(tx, ctx.organizationId, page);
    return toPage(await toPayouts(tx, ctx, rows), total, page);
  });

/** Throws 404 when the organization has no such payout. */
export const getPayout = (ctx: RequestCtx, id: string): Promise<Payout> =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findPayout(tx, ctx.organizationId, id);
    const [view] = row === undefined ? [] : await toPayouts(tx, ctx, [row]);
    if (view === undefined) throw notFound('Payout');
    return view;
  });

/** Stores the payout, replaces its entries. Throws ProviderError for another currency or sums that differ. */
export async function mergePayout(ctx: TenantCtx, accountId: string, snapshot: PayoutSnapshot) {
  const { currency, amountMinor } = snapshot.amount;
  if (snapshot.entries.some(({ amount }) => amount.currency !== currency))
    throw new ProviderError('malformed-answer', 'A payout has entries in another currency');
  const sum = snapshot.entries.reduce((total, { amount }) => total + amount.amountMinor, 0n);
  if (sum !== amountMinor)
    throw new ProviderError(
      'malformed-answer',
      `The entries of a payout add up to ${sum} instead of ${amountMinor}`,
    );
  const entries = snapshot.entries.map((entry) => ({
    ...entry,
    paymentId: entry.paymentId !== null && isId(entry.paymentId) ? entry.paymentId : null,
  }));
  await inTransaction(ctx, async (tx) => {
    // The lock on the account's row serializes concurrent first inserts of the same payout.
    await tx('pay_accounts')
      .where({ organization_id: ctx.organizationId, id: accountId })
      .forNoKeyUpdate()
      .first('id');
    const stored = await store.lockPayout(tx, ctx.organizationId, accountId, snapshot.id);
    const id = stored?.id ?? createId();
    const isOlder = stored !== undefined && ranks[stored.status] > ranks[snapshot.state];
    await store.upsertPayout(
      tx,
      ctx.organizationId,
      id,
      accountId,
      isOlder ? stored.status : snapshot.state,
      snapshot,
    );
    await store.replaceEntries(tx, ctx.organizationId, id, { ...snapshot, entries });
  });
}
