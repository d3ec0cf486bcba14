// Rows of payouts and their entries; the only writer of those tables.
import { newestFirst, readPage } from '../../../db/page.ts';
import type { Tx } from '../../../db/transaction.ts';
import type { PayoutSnapshot, PayoutState } from '../../../gateways/payments/provider.ts';
import type { ProviderName } from '../../../gateways/payments/providers.ts';
import type { PageQuery } from '../../../http/page.ts';
import { failureColumns } from './merge.ts';

export type PayoutRow = {
  id: string;
  account_id: string;
  provider: ProviderName;
  provider_payout_id: string;
  status: PayoutState;
  currency: string;
  amount_minor: string;
  arrival_date: string;
  failure_code: string | null;
  failure_message: string | null;
  created_at: Date;
};
export type EntryRow = {
  payout_id: string;
  kind: 'payment' | 'refund' | 'fee' | 'other';
  payment_id: string | null;
  amount_minor: string;
};

const select = (tx: Tx, organizationId: string) =>
  tx('pay_payouts as o')
    .join('pay_accounts as a', (on) =>
      on.on('a.organization_id', 'o.organization_id').on('a.id', 'o.account_id'),
    )
    .where('o.organization_id', organizationId)
    .select(
      'o.id',
      'o.account_id',
      'a.provider',
      'o.provider_payout_id',
      'o.status',
      'o.currency',
      'o.amount_minor',
      tx.raw('o.arrival_date::text as arrival_date'),
      'o.failure_code',
      'o.failure_message',
      'o.created_at',
    );

export const listPayouts = (tx: Tx, organizationId: string, page: PageQuery) =>
  readPage<PayoutRow>(select(tx, organizationId).orderBy(newestFirst('o.created_at', 'o.id')), page);
export const findPayout = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where('o.id', id).first()) as PayoutRow | undefined;

export const listEntries = async (tx: Tx, organizationId: string, payoutIds: readonly string[]) =>
  tx('pay_payout_entries')
    .where({ organization_id: organizationId })
    .whereIn('payout_id', payoutIds)
    .orderBy(['payout_id', 'position'])
    .select<EntryRow[]>('payout_id', 'kind', 'payment_id', 'amount_minor');

type StoredPayout = { id: string; status: PayoutState };
export const lockPayout = async (
  tx: Tx,
  organizationId: string,
  accountId: string,
  providerPayoutId: string,
): Promise<StoredPayout | undefined> =>
  tx('pay_payouts')
    .where({ organization_id: organizationId, account_id: accountId, provider_payout_id: providerPayoutId })
    .forUpdate()
    .first<StoredPayout | undefined>('id', 'status');

export const upsertPayout = (
  tx: Tx,
  organizationId: string,
  id: string,
  accountId: string,
  status: PayoutState,
  snapshot: PayoutSnapshot,
) =>
  tx('pay_payouts')
    .insert({
      organization_id: organizationId,
      id,
      account_id: accountId,
      provider_payout_id: snapshot.id,
      status,
      currency: snapshot.amount.currency,
      amount_minor: String(snapshot.amount.amountMinor),
      arrival_date: snapshot.arrivalDate,
      created_at: snapshot.createdAt,
      seen_at: tx.raw('clock_timestamp()'),
      ...failureColumns(snapshot.failure),
    })
    .onConflict('id')
    .merge();

/** Replaces a payout's entries. Payments that don't belong to this organization are stored without an id. */
export async function replaceEntries(
  tx: Tx,
  organizationId: string,
  payoutId: string,
  { entries }: PayoutSnapshot,
): Promise<void> {
  await tx('pay_payout_entries').where({ organization_id: organizationId, payout_id: payoutId }).delete();
  const paymentIds = entries.map(({ paymentId }) => paymentId).filter((id) => id !== null);
  const known = new Set(
    await tx('pay_payments')
      .where({ organization_id: organizationId })
      .whereRaw('id = any(?::uuid[])', [paymentIds])
      .pluck<string[]>('id'),
  );
  const rows = entries.map(({ kind, paymentId, providerRefundId, amount }, position) => ({
    organization_id: organizationId,
    payout_id: payoutId,
    position,
    kind,
    payment_id: paymentId !== null && known.has(paymentId) ? paymentId : null,
    provider_refund_id: providerRefundId,
    amount_minor: String(amount.amountMinor),
  }));
  await tx.batchInsert('pay_payout_entries', rows, 1_000);
}

/** Provider ids of payouts that may still change and were not read for `afterMs`. */
export const listStaleOpenPayouts = async (
  tx: Tx,
  organizationId: string,
  accountId: string,
  afterMs: number,
): Promise<string[]> =>
  tx('pay_payouts')
    .where({ organization_id: organizationId, account_id: accountId })
    .whereIn('status', ['PENDING', 'IN_TRANSIT'])
    .whereRaw('seen_at < clock_timestamp() - make_interval(secs => ?)', [afterMs / 1000])
    .pluck<string[]>('provider_payout_id');
