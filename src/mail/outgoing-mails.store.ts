// The only writer of `outgoing_mails` and `mail_attachments`. A mail moves queued → sending → sent, failed or
// unknown, or back to queued. A sender holds the lease of its job, marks the row with it, and can't update the
// row once another sender has marked it.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { enqueueJob, finishJob, type Job, lockJob, releaseJob, retryJob } from '../db/jobs.ts';
import { recordServerTimeline } from '../db/server-timeline.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';

type NewRow = {
  id: string;
  kind: string;
  recipient: string;
  message_id: string;
  subject: string;
  body: string;
  attachment_id: string | null;
};
export type AttachmentRow = { id: string; filename: string; content_type: string; content: string };

export const insertAttachment = (tx: Tx, organizationId: string, row: AttachmentRow) =>
  tx('mail_attachments').insert({ ...row, organization_id: organizationId });

/** False when a mail with this Message-ID already exists. Wakes the senders on commit. */
export async function insertMail(tx: Tx, organizationId: string, row: NewRow): Promise<boolean> {
  const { rowCount } = await tx.raw<{ rowCount: number }>(
    `insert into outgoing_mails (id, organization_id, kind, recipient, message_id, subject, body, attachment_id)
     values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (message_id) do nothing`,
    [
      row.id,
      organizationId,
      row.kind,
      row.recipient,
      row.message_id,
      row.subject,
      row.body,
      row.attachment_id,
    ],
  );
  if (rowCount === 1) await enqueueMailJob(tx, organizationId, row.id);
  return rowCount === 1;
}

const enqueueMailJob = (tx: Tx, organizationId: string, id: string): Promise<void> =>
  enqueueJob(tx, { kind: 'mails', organizationId, key: id });

export const findMailId = async (tx: Tx, organizationId: string, messageId: string) =>
  (
    await tx('outgoing_mails')
      .where({ organization_id: organizationId, message_id: messageId })
      .first<{ id: string } | undefined>('id')
  )?.id;

/** Counts the mails queued in the last 24 hours, whatever their status, and no further than `max`. */
export async function countMailsInLastDay(tx: Tx, organizationId: string, kind: string, max: number) {
  const { rows } = await tx.raw<{ rows: { count: number }[] }>(
    `select count(*)::int as count from (
       select from outgoing_mails where organization_id = ? and created_at > now() - interval '24 hours' and kind = ? limit ?) m`,
    [organizationId, kind, max],
  );
  return rows[0]?.count ?? 0;
}

/** Returns the number of deleted rows: 0 when the mail is no longer queued. */
export const deleteQueued = (tx: Tx, organizationId: string, id: string) =>
  tx('outgoing_mails').where({ organization_id: organizationId, id, status: 'queued' }).delete();

export type MailRow = {
  id: string;
  recipient: string;
  message_id: string;
  subject: string;
  body: string | null;
  attachment_id: string | null;
  attempts: number;
  created_at: Date;
};

const leasedRow = (tx: Tx, { key, organizationId, leaseId }: Job) =>
  tx('outgoing_mails').where({ id: key, organization_id: organizationId, lease_id: leaseId });

export type ClaimedMail = { readonly row: MailRow; readonly shared: AttachmentRow | undefined };

const interrupted = 'The process that sent it ended before the server answered';

/**
 * Marks the mail as being sent under this job. Undefined when there is nothing to send: the mail was deleted
 * or has its outcome, which is `unknown` when an earlier sender died after the message text was begun.
 */
export const startAttempt = (ctx: Pick<Ctx, 'db'>, job: Job): Promise<ClaimedMail | undefined> =>
  inTransaction({ db: ctx.db, organizationId: job.organizationId }, async (tx) => {
    if (!(await lockJob(tx, job))) return undefined;
    const open = () =>
      tx('outgoing_mails')
        .where({ id: job.key, organization_id: job.organizationId })
        .whereIn('status', ['queued', 'sending']);
    await open()
      .where({ status: 'sending' })
      .whereNotNull('data_begun_at')
      .update({ status: 'unknown', body: null, last_error: interrupted });
    const [row] = await open()
      .update({
        status: 'sending',
        attempts: tx.raw('attempts + 1'),
        lease_id: job.leaseId,
        lease_until: null,
      })
      .returning<MailRow[]>([
        'id',
        'recipient',
        'message_id',
        'subject',
        'body',
        'attachment_id',
        'attempts',
        'created_at',
      ]);
    if (row === undefined) return void (await finishJob(tx, job));
    const shared =
      row.attachment_id === null
        ? undefined
        : await tx('mail_attachments')
            .where({ organization_id: job.organizationId, id: row.attachment_id })
            .first<AttachmentRow | undefined>('id', 'filename', 'content_type', 'content');
    return { row, shared };
  });

/** Changes the row and ends the job. False when another sender has marked the row. */
const endAttempts = (ctx: Pick<TenantCtx, 'db'>, job: Job, columns: (tx: Tx) => object): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: job.organizationId }, async (tx) => {
    const changed = await leasedRow(tx, job).whereIn('status', ['sending', 'unknown']).update(columns(tx));
    await finishJob(tx, job);
    return changed === 1;
  });

/** Queues the mail again, due when `end` makes its job so. False when the lease was lost. */
const queueAgain = (
  ctx: Pick<TenantCtx, 'db'>,
  job: Job,
  columns: (tx: Tx) => object,
  end: (tx: Tx) => Promise<boolean>,
): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: job.organizationId }, async (tx) => {
    if (!(await lockJob(tx, job))) return false;
    const mail = leasedRow(tx, job).where({ status: 'sending' });
    await mail.update({ status: 'queued', data_begun_at: null, lease_id: null, ...columns(tx) });
    return end(tx);
  });

/**
 * False when the lease was lost, or when the database server failed over: another sender may have sent the
 * mail, so this one must not send it.
 */
export const markDataStarted = (ctx: Pick<Ctx, 'db'>, job: Job): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: job.organizationId }, async (tx) => {
    await recordServerTimeline(tx);
    return (
      (await lockJob(tx, job)) &&
      (await leasedRow(tx, job)
        .where({ status: 'sending' })
        .update({ data_begun_at: tx.raw('clock_timestamp()') })) === 1
    );
  });

/** The mail server's reply counts even when the mail was marked `unknown` because its lease had expired. */
export const markSent = (ctx: Pick<Ctx, 'db'>, job: Job): Promise<boolean> =>
  endAttempts(ctx, job, (tx) => ({
    status: 'sent',
    body: null,
    last_error: null,
    sent_at: tx.raw('clock_timestamp()'),
  }));

/** Ends the attempts for good. */
export const markEnded = (ctx: Pick<Ctx, 'db'>, job: Job, status: 'failed' | 'unknown', error: string) =>
  endAttempts(ctx, job, () => ({ status, body: null, last_error: error }));

/** Queues the mail again, due after `delayMs`. */
export const scheduleRetry = (ctx: Pick<Ctx, 'db'>, job: Job, error: string, delayMs: number) =>
  queueAgain(
    ctx,
    job,
    () => ({ last_error: error }),
    (tx) => retryJob(tx, job, delayMs, error),
  );

/** Queues the mail again as if it had never been claimed: the attempt isn't counted. */
export const releaseMail = (ctx: Pick<Ctx, 'db'>, job: Job): Promise<boolean> =>
  queueAgain(
    ctx,
    job,
    (tx) => ({ attempts: tx.raw('greatest(attempts - 1, 0)') }),
    (tx) => releaseJob(tx, job),
  );

/**
 * After a restore from a backup: mails that were unsent in it may have been sent since, so they are marked
 * `unknown` instead of being sent again. Their bodies stay, for people to send. Returns how many.
 */
export const markUnsentUnknown = (tx: Tx, organizationId: string, before: Date): Promise<number> =>
  tx('outgoing_mails')
    .where('organization_id', organizationId)
    .whereIn('status', ['queued', 'sending'])
    .where('created_at', '<=', before)
    .update({
      status: 'unknown',
      last_error: 'The database was restored from a backup: the mail may have been sent before',
    });

const undecided = (tx: Tx, organizationId: string, id: string) =>
  tx('outgoing_mails').where({ organization_id: organizationId, id, status: 'unknown' }).whereNotNull('body');

/** Deletes the body of an `unknown` mail, so that it can't be sent. False when there is no such mail. */
export const discardUnknownMail = async (tx: Tx, organizationId: string, id: string): Promise<boolean> =>
  (await undecided(tx, organizationId, id).update({ body: null })) === 1;

/** Queues an `unknown` mail with its body again, under the same Message-ID. False when there is none. */
export async function sendUnknownMail(tx: Tx, organizationId: string, id: string): Promise<boolean> {
  const queued = await undecided(tx, organizationId, id).update({
    data_begun_at: null,
    lease_id: null,
    status: 'queued',
    attempts: 0,
    last_error: null,
    timeline: tx.raw('server_timeline()'),
  });
  if (queued === 1) await enqueueMailJob(tx, organizationId, id);
  return queued === 1;
}
