// The only writer of the sandbox_… tables. An event for the webhook is queued in the transaction of the
// change that it reports.
import { createId } from '../../../core/id.ts';
import { enqueueJob } from '../../../db/jobs.ts';
import type { Tx } from '../../../db/transaction.ts';
import type { Failure } from '../provider.ts';

export type PaymentState = 'OPEN' | 'PROCESSING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';
export type SandboxPaymentRow = {
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
export type SandboxRefundRow = {
  id: string;
  session_id: string;
  refund_id: string | null;
  amount_minor: string;
  reason: string | null;
  state: 'PENDING' | 'SUCCEEDED' | 'FAILED';
  failure: Failure | null;
  due_at: Date | null;
};
export type SandboxPayoutRow = {
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
const refundColumns = [
  'id',
  'session_id',
  'refund_id',
  'amount_minor',
  'reason',
  'state',
  'failure',
  'due_at',
] as const;
const payoutColumns = [
  'id',
  'account_id',
  'amount_minor',
  'currency',
  'state',
  'arrival_date',
  'due_at',
  'created_at',
] as const;

/** Ids have a prefix by kind: cs checkout session, py payment, re refund, po payout, evt event. */
export const createSandboxId = (kind: 'cs' | 'py' | 're' | 'po' | 'evt'): string =>
  `${kind}_${createId().replaceAll('-', '')}`;

type NewPayment = Omit<SandboxPaymentRow, 'items' | 'state' | 'card' | 'failure' | 'provider_payment_id'> & {
  items: string;
  token_hash: Buffer;
};

/** Does nothing when the checkout already has a session. */
export const insertPayment = (tx: Tx, row: NewPayment) =>
  tx('sandbox_payments').insert(row).onConflict(['organization_id', 'account_id', 'checkout_id']).ignore();

/** `where` has the columns to match. */
export const findPayment = (tx: Tx, organizationId: string, where: Record<string, string | Buffer>) =>
  tx('sandbox_payments')
    .where({ ...where, organization_id: organizationId })
    .first<SandboxPaymentRow | undefined>(...paymentColumns);

/** With a row lock: every change of a payment and its refunds is decided under this lock. */
export const lockPayment = (...of: Parameters<typeof findPayment>) => findPayment(...of).forUpdate();

type PaymentUpdate = Partial<
  Pick<SandboxPaymentRow, 'state' | 'card' | 'failure' | 'provider_payment_id' | 'due_at'>
> & {
  payout_id?: string;
};

const storedFailure = ({ failure }: { failure?: Failure | null }) =>
  failure === undefined ? {} : { failure: failure === null ? null : JSON.stringify(failure) };

export const updatePayment = (tx: Tx, { id, organization_id }: SandboxPaymentRow, change: PaymentUpdate) =>
  tx('sandbox_payments')
    .where({ id, organization_id })
    .update({ ...change, ...storedFailure(change), changed_at: tx.raw('clock_timestamp()') });

/** The refunds of these sessions, oldest first. */
export const listRefunds = (
  tx: Tx,
  organizationId: string,
  sessionIds: readonly string[],
): Promise<SandboxRefundRow[]> =>
  tx('sandbox_refunds')
    .where({ organization_id: organizationId })
    .whereIn('session_id', sessionIds)
    .orderBy(['created_at', 'id'])
    .select<SandboxRefundRow[]>(...refundColumns);

export async function insertRefund(tx: Tx, payment: SandboxPaymentRow, row: SandboxRefundRow): Promise<void> {
  await tx('sandbox_refunds').insert({ ...row, failure: null, organization_id: payment.organization_id });
  await updatePayment(tx, payment, {});
}

type RefundUpdate = Partial<Pick<SandboxRefundRow, 'state' | 'failure' | 'due_at'>> & { payout_id?: string };

export const updateRefund = (tx: Tx, organizationId: string, id: string, change: RefundUpdate) =>
  tx('sandbox_refunds')
    .where({ organization_id: organizationId, id })
    .update({ ...change, ...storedFailure(change) });

const maxRowsPerStep = 500;

/** Rows whose `due_at` has passed, locked, the longest due first. */
const lockDue = (tx: Tx, table: string, organizationId: string, at: Date) =>
  tx(table)
    .where({ organization_id: organizationId })
    .where('due_at', '<=', at)
    .orderBy(['due_at', 'id'])
    .limit(maxRowsPerStep)
    .forUpdate();
export const lockDuePayments = (tx: Tx, organizationId: string, at: Date): Promise<SandboxPaymentRow[]> =>
  lockDue(tx, 'sandbox_payments', organizationId, at).select<SandboxPaymentRow[]>(...paymentColumns);
export const lockDueRefunds = (tx: Tx, organizationId: string, at: Date): Promise<SandboxRefundRow[]> =>
  lockDue(tx, 'sandbox_refunds', organizationId, at).select<SandboxRefundRow[]>(...refundColumns);
export const lockDuePayouts = (tx: Tx, organizationId: string, at: Date): Promise<SandboxPayoutRow[]> =>
  lockDue(tx, 'sandbox_payouts', organizationId, at).select<SandboxPayoutRow[]>(...payoutColumns);

export const insertPayout = (tx: Tx, organizationId: string, row: SandboxPayoutRow) =>
  tx('sandbox_payouts').insert({ ...row, organization_id: organizationId });

export const updatePayout = (
  tx: Tx,
  organizationId: string,
  id: string,
  change: Pick<SandboxPayoutRow, 'state' | 'due_at'>,
) =>
  tx('sandbox_payouts')
    .where({ organization_id: organizationId, id })
    .update({ ...change, changed_at: tx.raw('clock_timestamp()') });

export const findPayout = (
  tx: Tx,
  organizationId: string,
  accountId: string,
  id: string,
): Promise<SandboxPayoutRow | undefined> =>
  tx('sandbox_payouts')
    .where({ organization_id: organizationId, account_id: accountId, id })
    .first<SandboxPayoutRow | undefined>(...payoutColumns);

export type SandboxEntryRow = {
  kind: 'payment' | 'refund';
  payment_id: string;
  refund: string | null;
  amount_minor: string;
};

export async function listPayoutEntries(
  tx: Tx,
  organizationId: string,
  payoutId: string,
): Promise<SandboxEntryRow[]> {
  const { rows } = await tx.raw<{ rows: SandboxEntryRow[] }>(
    `select 'payment' as kind, p.payment_id, null as refund, p.amount_minor, p.id from sandbox_payments p
     where p.organization_id = :organizationId and p.payout_id = :payoutId
     union all
     select 'refund', p.payment_id, r.id, -r.amount_minor, r.id from sandbox_refunds r join sandbox_payments p on p.id = r.session_id
     where r.organization_id = :organizationId and r.payout_id = :payoutId order by kind, id`,
    { organizationId, payoutId },
  );
  return rows;
}

export type ChangedObject = { kind: 'session' | 'payout'; id: string; changed_at: string };

/**
 * A page of the account's changed objects after the cursor, in the order of their changes. `changed_at` is
 * text to keep its microseconds.
 */
export async function listChanged(
  tx: Tx,
  organizationId: string,
  accountId: string,
  after: { changedAt: string; id: string },
  limit: number,
): Promise<ChangedObject[]> {
  const { rows } = await tx.raw<{ rows: ChangedObject[] }>(
    `select kind, id, changed_at::text from (
       (select 'session' as kind, id, changed_at from sandbox_payments
        where organization_id = :organizationId and account_id = :accountId and (changed_at, id) > (:changedAt::timestamptz, :id)
        order by changed_at, id limit :limit)
       union all
       (select 'payout', id, changed_at from sandbox_payouts
        where organization_id = :organizationId and account_id = :accountId and (changed_at, id) > (:changedAt::timestamptz, :id)
        order by changed_at, id limit :limit)) c
     order by c.changed_at, c.id limit :limit`,
    { organizationId, accountId, ...after, limit },
  );
  return rows;
}

/** Queues one event for the account's webhook: its type, and the object that it concerns. */
export async function queueEvent(
  tx: Tx,
  organizationId: string,
  accountId: string,
  event: { type: string; kind: 'session' | 'payout'; objectId: string; at: Date },
): Promise<void> {
  const id = createSandboxId('evt');
  const object = { kind: event.kind, id: event.objectId };
  const body = JSON.stringify({ id, type: event.type, createdAt: event.at.toISOString(), object });
  const row = { id, organization_id: organizationId, account_id: accountId, body, next_attempt_at: null };
  await tx('sandbox_events').insert(row);
  await enqueueJob(tx, { kind: 'sandbox_events', organizationId, key: id });
}
