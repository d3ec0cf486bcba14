// Payouts: what the provider sends to the organization's bank, and which payments are in it. The entries always add up to the amount.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { notFound } from '../../core/errors.ts';
import { isId, newId } from '../../core/id.ts';
import { formatAmount } from '../../core/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type PayoutSnapshot, type PayoutState, ProviderError } from '../../gateways/payments/provider.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import type { PayoutView } from './pay.schemas.ts';
import * as store from './payouts.store.ts';

/** A payout that was paid may still come back from the bank. */
const ranks: Readonly<Record<PayoutState, number>> = { PENDING: 0, IN_TRANSIT: 1, PAID: 2, FAILED: 3, CANCELED: 3 };

const sumOf = (entries: readonly { readonly amount_minor: string }[]): bigint =>
  entries.reduce((sum, { amount_minor: minor }) => sum + BigInt(minor), 0n);

function shown(row: store.PayoutRow, entries: readonly store.EntryRow[]): PayoutView {
  const amount = (minor: bigint): string => formatAmount({ amountMinor: minor, currency: row.currency });
  const sum = (kind: store.EntryRow['kind'], of = entries): bigint => sumOf(of.filter((entry) => entry.kind === kind));
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
    sums: { payments: amount(sum('payment')), refunds: amount(sum('refund')), fees: amount(sum('fee')), other: amount(sum('other')) },
    payments: [...ours].map(([paymentId, of]) => ({
      paymentId,
      amount: amount(sum('payment', of)),
      refundedAmount: amount(sum('refund', of)),
    })),
    failure: row.failure_code === null ? null : { code: row.failure_code, message: row.failure_message ?? '' },
    createdAt: instant(row.created_at),
  };
}

async function showAll(tx: Tx, ctx: RequestCtx, rows: readonly store.PayoutRow[]): Promise<PayoutView[]> {
  const ids = rows.map(({ id }) => id);
  const entries = Map.groupBy(await store.listEntries(tx, ctx.organizationId, ids), ({ payout_id: id }) => id);
  return rows.map((row) => shown(row, entries.get(row.id) ?? []));
}

export const listPayouts = (ctx: RequestCtx, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listPayouts(tx, ctx.organizationId, page);
    return toPage(await showAll(tx, ctx, rows), total, page);
  });

export const getPayout = (ctx: RequestCtx, id: string): Promise<PayoutView> =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findPayout(tx, ctx.organizationId, id);
    const [view] = row === undefined ? [] : await showAll(tx, ctx, [row]);
    if (view === undefined) throw notFound('Payout');
    return view;
  });

/** Throws ProviderError for an answer whose sums don't agree. */
export async function mergePayout(ctx: TenantCtx, accountId: string, told: PayoutSnapshot): Promise<void> {
  const { currency, amountMinor } = told.amount;
  if (told.entries.some(({ amount }) => amount.currency !== currency))
    throw new ProviderError('malformed-answer', 'a payout has entries in another currency');
  const sum = told.entries.reduce((total, { amount }) => total + amount.amountMinor, 0n);
  if (sum !== amountMinor) throw new ProviderError('malformed-answer', `the entries of a payout add up to ${sum}, not to ${amountMinor}`);
  const entries = told.entries.map((entry) => ({
    ...entry,
    paymentId: entry.paymentId !== null && isId(entry.paymentId) ? entry.paymentId : null,
  }));
  await inTransaction(ctx, async (tx) => {
    // The account's row lines up those who see a payout for the first time.
    await tx('pay_accounts').where({ organization_id: ctx.organizationId, id: accountId }).forNoKeyUpdate().first('id');
    const held = await store.lockPayout(tx, ctx.organizationId, accountId, told.id);
    const id = held?.id ?? newId();
    const isOlder = held !== undefined && ranks[held.status] > ranks[told.state];
    await store.upsertPayout(tx, ctx.organizationId, id, accountId, isOlder ? held.status : told.state, told);
    await store.replaceEntries(tx, ctx.organizationId, id, { ...told, entries });
  });
}
