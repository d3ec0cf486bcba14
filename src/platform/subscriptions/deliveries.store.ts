// Rows of slots and deliveries; their only writer. A slot is created with its deliveries and its job, worked on
// under a lease, and finished in one transaction with its mails. A worker that lost the lease writes nothing.
import type { Ctx } from '../../core/ctx.ts';
import { createId } from '../../core/id.ts';
import { enqueueJob, finishJob, type Job, lockJob, releaseJob, retryJob } from '../../db/jobs.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { deliveryStatuses } from './subscriptions.schemas.ts';

export type Trigger = 'schedule' | 'manual';
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export type ScheduledRow = {
  organization_id: string;
  id: string;
  schedule: string;
  timezone: string;
  last_slot: Date | null;
  since: Date;
};
export const listScheduledSubscriptions = async (ctx: Pick<Ctx, 'db'>): Promise<ScheduledRow[]> =>
  (await ctx.db.control.raw<{ rows: ScheduledRow[] }>('select * from scheduled_subscriptions()')).rows;

type NewSlot = {
  readonly id: string;
  readonly subscriptionId: string;
  readonly trigger: Trigger;
  readonly slot: Date;
};

/** False when this time of the schedule already has a slot. */
export async function insertSlot(
  tx: Tx,
  organizationId: string,
  { id, subscriptionId, trigger, slot }: NewSlot,
): Promise<boolean> {
  const { rowCount } = await tx.raw<{ rowCount: number }>(
    `insert into subscription_slots (id, organization_id, subscription_id, trigger, slot) values (?, ?, ?, ?, ?)
     on conflict (subscription_id, slot) where trigger = 'schedule' do nothing`,
    [id, organizationId, subscriptionId, trigger, slot],
  );
  if (rowCount === 1) await enqueueJob(tx, { kind: 'subscription_slots', organizationId, key: id });
  return rowCount === 1;
}

/** For a slot that no worker has claimed. */
export const markSlotFailed = (tx: Tx, organizationId: string, id: string, error: string) =>
  tx('subscription_slots').where({ organization_id: organizationId, id }).update({ status: 'failed', error });

type NewDelivery = {
  readonly recipient_id: string;
  readonly message_id: string;
  readonly status: 'queued' | 'skipped' | 'unknown';
  readonly error?: string;
};
type OfSlot = { readonly slotId: string; readonly subscriptionId: string };
export async function insertDeliveries(
  tx: Tx,
  organizationId: string,
  of: OfSlot,
  rows: readonly NewDelivery[],
): Promise<void> {
  const own = { organization_id: organizationId, slot_id: of.slotId, subscription_id: of.subscriptionId };
  if (rows.length > 0)
    await tx('subscription_deliveries').insert(rows.map((row) => ({ ...row, ...own, id: createId() })));
}

export const countManualSlots = async (tx: Tx, organizationId: string, subscriptionId: string) => {
  const { rows } = await tx.raw<{ rows: { count: number }[] }>(
    `select count(*)::int as count from subscription_slots
     where organization_id = ? and subscription_id = ? and trigger = 'manual' and created_at > clock_timestamp() - interval '1 hour'`,
    [organizationId, subscriptionId],
  );
  return rows[0]?.count ?? 0;
};

const waiting = (tx: Tx, { organizationId, key: id }: Job) =>
  tx('subscription_slots').where({ organization_id: organizationId, id, status: 'waiting' });

export type SlotRow = { id: string; subscription_id: string; trigger: Trigger; slot: Date; attempts: number };

/** The slot, locked; undefined when the lease was lost, or nothing is to be sent any more. */
export async function lockSlot(tx: Tx, job: Job): Promise<SlotRow | undefined> {
  if (!(await lockJob(tx, job))) return undefined;
  const slot = await waiting(tx, job)
    .forUpdate()
    .first<Omit<SlotRow, 'attempts'> | undefined>('id', 'subscription_id', 'trigger', 'slot');
  return slot === undefined ? void (await finishJob(tx, job)) : { ...slot, attempts: job.attempts };
}

/** Changes the slot, and ends the job by `end`. No effect when the lease was lost. */
async function updateSlot(
  tx: Tx,
  job: Job,
  columns: object,
  end: (tx: Tx, job: Job) => Promise<unknown> = finishJob,
): Promise<boolean> {
  if (!(await lockJob(tx, job))) return false;
  await waiting(tx, job).update(columns);
  await end(tx, job);
  return true;
}

/** Releases the lease and takes the attempt back. */
export const releaseSlot = releaseJob;

export const retrySlot = (tx: Tx, job: Job, error: string, waitMs: number) =>
  updateSlot(tx, job, { error }, () => retryJob(tx, job, waitMs, error));

export const finishSlot = (tx: Tx, job: Job) => updateSlot(tx, job, { status: 'done', error: null });

/** Fails the slot and its queued deliveries: no more of it is sent. No effect when the lease was lost. */
export async function failSlot(tx: Tx, job: Job, error: string): Promise<void> {
  if (!(await updateSlot(tx, job, { status: 'failed', error }))) return;
  await tx('subscription_deliveries')
    .where({ organization_id: job.organizationId, slot_id: job.key, status: 'queued' })
    .update({ status: 'failed', error });
}

export type WaitingDelivery = {
  id: string;
  message_id: string;
  recipient_id: string;
  email: string;
  unsubscribed_at: Date | null;
  removed_at: Date | null;
};

/** Deliveries of a slot without a mail. The recipients are locked, so that none unsubscribes in between. */
export const lockWaitingDeliveries = (tx: Tx, { organizationId, key }: Job): Promise<WaitingDelivery[]> =>
  tx('subscription_deliveries as d')
    .join('subscription_recipients as r', 'r.id', 'd.recipient_id')
    .where({ 'd.organization_id': organizationId, 'd.slot_id': key, 'd.status': 'queued' })
    .whereNull('d.mail_id')
    .orderBy('d.id')
    .forUpdate('d', 'r')
    .select<WaitingDelivery[]>(
      'd.id',
      'd.message_id',
      'd.recipient_id',
      'r.email',
      'r.unsubscribed_at',
      'r.removed_at',
    );

type Outcome = { status?: 'failed' | 'skipped'; mail_id?: string; records?: number; error?: string | null };
export const updateDelivery = (tx: Tx, organizationId: string, id: string, outcome: Outcome) =>
  tx('subscription_deliveries').where({ organization_id: organizationId, id }).update(outcome);

/** Deliveries whose mail is still queued, of one recipient or of all. */
export const listQueuedMails = (
  tx: Tx,
  organizationId: string,
  subscriptionId: string,
  recipientId?: string,
) => {
  const query = tx('subscription_deliveries as d').join('outgoing_mails as m', 'm.id', 'd.mail_id').where({
    'd.organization_id': organizationId,
    'd.subscription_id': subscriptionId,
    'm.status': 'queued',
  });
  if (recipientId !== undefined) query.where('d.recipient_id', recipientId);
  return query.select<{ id: string; mail_id: string }[]>('d.id', 'd.mail_id');
};

/** Skips a recipient's deliveries that have no mail yet. */
export const skipWaitingDeliveries = (tx: Tx, organizationId: string, recipientId: string) =>
  tx('subscription_deliveries')
    .where({ organization_id: organizationId, recipient_id: recipientId, status: 'queued' })
    .whereNull('mail_id')
    .update({ status: 'skipped' });

export type DeliveryRow = {
  id: string;
  slot: Date;
  trigger: Trigger;
  email: string;
  status: DeliveryStatus;
  records: string | null;
  message_id: string;
  error: string | null;
  sent_at: Date | null;
  created_at: Date;
};

/** Once a mail is queued, the status of the mail's row applies. */
const statusNow = "case when d.status = 'queued' then coalesce(m.status, d.status) else d.status end";

function selectDeliveries(tx: Tx, organizationId: string, subscriptionId: string) {
  return tx('subscription_deliveries as d')
    .join('subscription_slots as l', 'l.id', 'd.slot_id')
    .join('subscription_recipients as r', 'r.id', 'd.recipient_id')
    .leftJoin('outgoing_mails as m', 'm.id', 'd.mail_id')
    .where({ 'd.organization_id': organizationId, 'd.subscription_id': subscriptionId })
    .select(
      'd.id',
      'l.slot',
      'l.trigger',
      'r.email',
      'd.records',
      'd.message_id',
      'm.sent_at',
      'd.created_at',
      tx.raw(`${statusNow} as status`),
      tx.raw("coalesce(d.error, m.last_error, case when d.status = 'queued' then l.error end) as error"),
    )
    .orderBy(newestFirst('d.created_at', 'd.id'));
}

export function listDeliveryRows(
  tx: Tx,
  organizationId: string,
  subscriptionId: string,
  page: PageQuery,
  status: DeliveryStatus | undefined,
) {
  const query = selectDeliveries(tx, organizationId, subscriptionId);
  if (status !== undefined) query.whereRaw(`${statusNow} = ?`, [status]);
  return readPage<DeliveryRow>(query, page);
}

export const listSlotDeliveries = async (
  tx: Tx,
  organizationId: string,
  subscriptionId: string,
  slotId: string,
): Promise<DeliveryRow[]> =>
  (await selectDeliveries(tx, organizationId, subscriptionId).where('d.slot_id', slotId)) as DeliveryRow[];

export type LastSlotRow = {
  subscription_id: string;
  slot: Date;
  trigger: Trigger;
  error: string | null;
  queued: number;
  sent: number;
  failed: number;
  unknown: number;
  skipped: number;
};

/** The newest slot of each of these subscriptions, with the number of its deliveries by status. */
export async function findLastSlots(
  tx: Tx,
  organizationId: string,
  subscriptionIds: readonly string[],
): Promise<Map<string, LastSlotRow>> {
  if (subscriptionIds.length === 0) return new Map();
  const { rows } = await tx.raw<{ rows: LastSlotRow[] }>(
    `with last as (
       select newest.* from unnest(?::uuid[]) as wanted(id) cross join lateral (
         select s.id, s.subscription_id, s.slot, s.trigger, s.error from subscription_slots s
         where s.organization_id = ? and s.subscription_id = wanted.id order by s.created_at desc, s.id desc limit 1) newest)
     select l.subscription_id, l.slot, l.trigger, l.error,
       count(*) filter (where now.status in ('queued', 'sending'))::int as queued, count(*) filter (where now.status = 'sent')::int as sent,
       count(*) filter (where now.status = 'failed')::int as failed, count(*) filter (where now.status = 'unknown')::int as unknown,
       count(*) filter (where now.status = 'skipped')::int as skipped
     from last l left join subscription_deliveries d on d.slot_id = l.id left join outgoing_mails m on m.id = d.mail_id
     cross join lateral (select ${statusNow} as status) now
     group by l.subscription_id, l.slot, l.trigger, l.error`,
    [[...subscriptionIds], organizationId],
  );
  return new Map(rows.map((row) => [row.subscription_id, row]));
}

/**
 * Fails slots that were waiting when the restored backup was taken: they may have been sent since, so they
 * are not sent again. Returns their number.
 */
export async function failWaitingSlots(tx: Tx, organizationId: string, before: Date): Promise<number> {
  const error = 'The database was restored from a backup; this slot may already have been sent';
  const failed = await tx('subscription_slots')
    .where({ organization_id: organizationId, status: 'waiting' })
    .where('created_at', '<=', before)
    .update({ status: 'failed', error })
    .returning<{ id: string }[]>('id');
  await tx('subscription_deliveries')
    .where({ organization_id: organizationId, status: 'queued' })
    .whereNull('mail_id')
    .whereIn(
      'slot_id',
      failed.map(({ id }) => id),
    )
    .update({ status: 'failed', error });
  return failed.length;
}
