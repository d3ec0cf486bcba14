// Rows of the sandbox_… tables; their only writer. Whatever a webhook shall tell is queued in the transaction that made it true.
import { newId } from '../../../core/id.ts';
import type { Tx } from '../../../db/transaction.ts';
import type { Failure } from '../provider.ts';

export const eventChannel = 'sandbox_events';

export type PaymentState = 'OPEN' | 'PROCESSING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';
export type PaymentRow = {
  id: string;
  organization_id: string;
  account_id: string;
  checkout_id: string;
  payment_id: string;
  token: string;
  title: string;
  items: { label: string; amountMinor: string }[];
  /** bigint, as text. */
  amount_minor: string;
  currency: string;
  success_url: string;
  cancel_url: string;
  state: PaymentState;
  card: string | null;
  failure: Failure | null;
  provider_payment_id: string | null;
  expires_at: Date;
  due_at: Date | null;
};
export type RefundRow = {
  id: string;
  session_id: string;
  refund_id: string | null;
  amount_minor: string;
  reason: string | null;
  state: 'PENDING' | 'SUCCEEDED' | 'FAILED';
  failure: Failure | null;
  due_at: Date | null;
};
export type PayoutRow = {
  id: string;
  account_id: string;
  amount_minor: string;
  currency: string;
  state: 'PENDING' | 'IN_TRANSIT' | 'PAID';
  arrival_date: string;
  due_at: Date | null;
  created_at: Date;
};

const paymentColumns = [
  'id',
  'organization_id',
  'account_id',
  'checkout_id',
  'payment_id',
  'token',
  'title',
  'items',
  'amount_minor',
  'currency',
  'success_url',
  'cancel_url',
  'state',
  'card',
  'failure',
  'provider_payment_id',
  'expires_at',
  'due_at',
] as const;
const refundColumns = ['id', 'session_id', 'refund_id', 'amount_minor', 'reason', 'state', 'failure', 'due_at'] as const;
const payoutColumns = ['id', 'account_id', 'amount_minor', 'currency', 'state', 'arrival_date', 'due_at', 'created_at'] as const;

/** The sandbox's own ids tell by their beginning what they name. */
export const newSandboxId = (kind: 'cs' | 'py' | 're' | 'po' | 'evt'): string => `${kind}_${newId().replaceAll('-', '')}`;

type NewPayment = Omit<PaymentRow, 'items' | 'state' | 'card' | 'failure' | 'provider_payment_id'> & { items: string; token_hash: Buffer };

/** Does nothing when the checkout has its session already. */
export const insertPayment = (tx: Tx, row: NewPayment) =>
  tx('sandbox_payments').insert(row).onConflict(['organization_id', 'account_id', 'checkout_id']).ignore();

/** Locked: whatever becomes of a payment and its refunds is decided under this lock. */
export const lockPayment = (tx: Tx, organizationId: string, found: Record<string, string | Buffer>): Promise<PaymentRow | undefined> =>
  tx('sandbox_payments')
    .where({ ...found, organization_id: organizationId })
    .forUpdate()
    .first<PaymentRow | undefined>(...paymentColumns);

export const findPayment = (tx: Tx, organizationId: string, found: Record<string, string | Buffer>): Promise<PaymentRow | undefined> =>
  tx('sandbox_payments')
    .where({ ...found, organization_id: organizationId })
    .first<PaymentRow | undefined>(...paymentColumns);

type PaymentChange = Partial<Pick<PaymentRow, 'state' | 'card' | 'failure' | 'provider_payment_id' | 'due_at'>> & { payout_id?: string };

export const changePayment = (tx: Tx, { id, organization_id }: PaymentRow, change: PaymentChange) =>
  tx('sandbox_payments')
    .where({ id, organization_id })
    .update({
      ...change,
      ...(change.failure !== undefined && { failure: change.failure === null ? null : JSON.stringify(change.failure) }),
      changed_at: tx.raw('clock_timestamp()'),
    });

/** Of these sessions, oldest first. */
export const listRefunds = (tx: Tx, organizationId: string, sessionIds: readonly string[]): Promise<RefundRow[]> =>
  tx('sandbox_refunds')
    .where({ organization_id: organizationId })
    .whereIn('session_id', sessionIds)
    .orderBy(['created_at', 'id'])
    .select<RefundRow[]>(...refundColumns);

export async function insertRefund(tx: Tx, payment: PaymentRow, row: RefundRow): Promise<void> {
  await tx('sandbox_refunds').insert({ ...row, failure: null, organization_id: payment.organization_id });
  await changePayment(tx, payment, {});
}

type RefundChange = Partial<Pick<RefundRow, 'state' | 'failure' | 'due_at'>> & { payout_id?: string };

export const changeRefund = (tx: Tx, organizationId: string, id: string, change: RefundChange) =>
  tx('sandbox_refunds')
    .where({ organization_id: organizationId, id })
    .update({
      ...change,
      ...(change.failure !== undefined && { failure: change.failure === null ? null : JSON.stringify(change.failure) }),
    });

const mostAtOnce = 500;

/** What the clock changes by now, locked, the longest due first. */
const lockDue = (tx: Tx, table: string, organizationId: string, at: Date) =>
  tx(table).where({ organization_id: organizationId }).where('due_at', '<=', at).orderBy(['due_at', 'id']).limit(mostAtOnce).forUpdate();
export const lockDuePayments = (tx: Tx, organizationId: string, at: Date): Promise<PaymentRow[]> =>
  lockDue(tx, 'sandbox_payments', organizationId, at).select<PaymentRow[]>(...paymentColumns);
export const lockDueRefunds = (tx: Tx, organizationId: string, at: Date): Promise<RefundRow[]> =>
  lockDue(tx, 'sandbox_refunds', organizationId, at).select<RefundRow[]>(...refundColumns);
export const lockDuePayouts = (tx: Tx, organizationId: string, at: Date): Promise<PayoutRow[]> =>
  lockDue(tx, 'sandbox_payouts', organizationId, at).select<PayoutRow[]>(...payoutColumns);

export const insertPayout = (tx: Tx, organizationId: string, row: PayoutRow) =>
  tx('sandbox_payouts').insert({ ...row, organization_id: organizationId });

export const changePayout = (tx: Tx, organizationId: string, id: string, change: Pick<PayoutRow, 'state' | 'due_at'>) =>
  tx('sandbox_payouts')
    .where({ organization_id: organizationId, id })
    .update({ ...change, changed_at: tx.raw('clock_timestamp()') });

export const findPayout = (tx: Tx, organizationId: string, accountId: string, id: string): Promise<PayoutRow | undefined> =>
  tx('sandbox_payouts')
    .where({ organization_id: organizationId, account_id: accountId, id })
    .first<PayoutRow | undefined>(...payoutColumns);

export type EntryRow = { kind: 'payment' | 'refund'; payment_id: string; refund: string | null; amount_minor: string };

export async function listPayoutEntries(tx: Tx, organizationId: string, payoutId: string): Promise<EntryRow[]> {
  const { rows } = await tx.raw<{ rows: EntryRow[] }>(
    `select 'payment' as kind, p.payment_id, null as refund, p.amount_minor, p.id from sandbox_payments p
     where p.organization_id = :organizationId and p.payout_id = :payoutId
     union all
     select 'refund', p.payment_id, r.id, -r.amount_minor, r.id from sandbox_refunds r join sandbox_payments p on p.id = r.session_id
     where r.organization_id = :organizationId and r.payout_id = :payoutId order by kind, id`,
    { organizationId, payoutId },
  );
  return rows;
}

export type Changed = { kind: 'session' | 'payout'; id: string; changed_at: string };

/** Those of the account after that place, in the order of their changes, at most a page; `changed_at` keeps its microseconds. */
export async function listChanged(
  tx: Tx,
  organizationId: string,
  accountId: string,
  after: { changedAt: string; id: string },
  most: number,
): Promise<Changed[]> {
  const { rows } = await tx.raw<{ rows: Changed[] }>(
    `select kind, id, changed_at::text from (
       (select 'session' as kind, id, changed_at from sandbox_payments
        where organization_id = :organizationId and account_id = :accountId and (changed_at, id) > (:changedAt::timestamptz, :id)
        order by changed_at, id limit :most)
       union all
       (select 'payout', id, changed_at from sandbox_payouts
        where organization_id = :organizationId and account_id = :accountId and (changed_at, id) > (:changedAt::timestamptz, :id)
        order by changed_at, id limit :most)) c
     order by c.changed_at, c.id limit :most`,
    { organizationId, accountId, ...after, most },
  );
  return rows;
}

/** Queues one message to the account's webhook: what happened, and the object to look at. */
export async function queueEvent(
  tx: Tx,
  organizationId: string,
  accountId: string,
  event: { type: string; kind: 'session' | 'payout'; objectId: string; at: Date },
): Promise<void> {
  const id = newSandboxId('evt');
  const object = { kind: event.kind, id: event.objectId };
  const body = JSON.stringify({ id, type: event.type, createdAt: event.at.toISOString(), object });
  await tx('sandbox_events').insert({ id, organization_id: organizationId, account_id: accountId, body });
  await tx.raw(`notify ${eventChannel}`);
}
