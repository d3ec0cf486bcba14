// The only writer of `outgoing_mails` and `mail_attachments`. A mail moves queued → sending → sent, failed or
// unknown, or back to queued. A sender holds a lease on the mail and can't update the row once it has lost
// the lease.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { recordServerTimeline } from '../db/server-timeline.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';

export const mailChannel = 'outgoing_mails';

export type MailClaim = { readonly id: string; readonly organizationId: string; readonly leaseId: string };

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
  await tx.raw(`notify ${mailChannel}`);
  return rowCount === 1;
}

export const findMailId = async (
  tx: Tx,
  organizationId: string,
  messageId: string,
): Promise<string | undefined> =>
  (
    await tx('outgoing_mails')
      .where({ organization_id: organizationId, message_id: messageId })
      .first<{ id: string } | undefined>('id')
  )?.id;

/** Counts the mails queued in the last 24 hours, whatever their status, and no further than `max`. */
export async function countMailsInLastDay(
  tx: Tx,
  organizationId: string,
  kind: string,
  max: number,
): Promise<number> {
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

/** Claims the next due mail of any organization under a new lease; undefined when none is due. */
export async function claimMail(
  ctx: Pick<Ctx, 'db'>,
  leaseId: string,
  leaseMs: number,
): Promise<MailClaim | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string; organization_id: string }[] }>(
    "select organization_id, id from claim_outgoing_mail(?, ? * interval '1 millisecond')",
    [leaseId, leaseMs],
  );
  const row = rows[0];
  return row === undefined ? undefined : { id: row.id, organizationId: row.organization_id, leaseId };
}

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

const leasedRow = (tx: Tx, { id, organizationId, leaseId }: MailClaim) =>
  tx('outgoing_mails').where({ id, organization_id: organizationId, lease_id: leaseId });

export type ClaimedMail = { readonly row: MailRow; readonly shared: AttachmentRow | undefined };

export const findClaimed = (ctx: Pick<Ctx, 'db'>, claim: MailClaim): Promise<ClaimedMail | undefined> =>
  inTransaction({ db: ctx.db, organizationId: claim.organizationId }, async (tx) => {
    const row = await leasedRow(tx, claim)
      .where({ status: 'sending' })
      .first<MailRow | undefined>(
        'id',
        'recipient',
        'message_id',
        'subject',
        'body',
        'attachment_id',
        'attempts',
        'created_at',
      );
    if (row === undefined) return undefined;
    const shared =
      row.attachment_id === null
        ? undefined
        : await tx('mail_attachments')
            .where({ organization_id: claim.organizationId, id: row.attachment_id })
            .first<AttachmentRow | undefined>('id', 'filename', 'content_type', 'content');
    return { row, shared };
  });

const updateLeased = (
  ctx: Pick<TenantCtx, 'db'>,
  claim: MailClaim,
  statuses: readonly string[],
  columns: (tx: Tx) => object,
): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: claim.organizationId }, async (tx) => {
    const changed = await leasedRow(tx, claim).whereIn('status', statuses).update(columns(tx));
    return changed === 1;
  });

export const renewMailLease = (ctx: Pick<Ctx, 'db'>, claim: MailClaim, leaseMs: number): Promise<boolean> =>
  updateLeased(ctx, claim, ['sending'], (tx) => ({
    lease_until: tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [leaseMs]),
  }));

/**
 * False when the lease was lost, or when the database server failed over: another sender may have sent the
 * mail, so this one must not send it.
 */
export const markDataStarted = (ctx: Pick<Ctx, 'db'>, claim: MailClaim): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: claim.organizationId }, async (tx) => {
    await recordServerTimeline(tx);
    return (
      (await leasedRow(tx, claim)
        .where({ status: 'sending' })
        .update({ data_begun_at: tx.raw('clock_timestamp()') })) === 1
    );
  });

const withoutLease = { data_begun_at: null, lease_id: null, lease_until: null };

/**
 * The mail server's reply counts even when the mail was marked `unknown` in the meantime because its lease
 * had expired.
 */
export const markSent = (ctx: Pick<Ctx, 'db'>, claim: MailClaim): Promise<boolean> =>
  updateLeased(ctx, claim, ['sending', 'unknown'], (tx) => ({
    status: 'sent',
    body: null,
    last_error: null,
    sent_at: tx.raw('clock_timestamp()'),
  }));

/** Ends the attempts for good. */
export const markEnded = (
  ctx: Pick<Ctx, 'db'>,
  claim: MailClaim,
  status: 'failed' | 'unknown',
  error: string,
): Promise<boolean> =>
  updateLeased(ctx, claim, ['sending', 'unknown'], () => ({ status, body: null, last_error: error }));

/** Queues the mail again, due after `delayMs`. */
export const scheduleRetry = (
  ctx: Pick<Ctx, 'db'>,
  claim: MailClaim,
  error: string,
  delayMs: number,
): Promise<boolean> =>
  updateLeased(ctx, claim, ['sending'], (tx) => ({
    ...withoutLease,
    status: 'queued',
    last_error: error,
    next_attempt_at: tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [delayMs]),
  }));

/** Queues the mail again as if it had never been claimed: the attempt isn't counted. */
export const releaseClaim = (ctx: Pick<Ctx, 'db'>, claim: MailClaim): Promise<boolean> =>
  updateLeased(ctx, claim, ['sending'], (tx) => ({
    ...withoutLease,
    status: 'queued',
    attempts: tx.raw('greatest(attempts - 1, 0)'),
  }));

/**
 * After a restore from a backup: mails that were unsent in the backup may have been sent after it, so they
 * are marked `unknown` instead of being sent again. Their bodies stay, so that a person can send them.
 * Returns how many.
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

/**
 * Deletes the body of an `unknown` mail, so that it can't be sent any more. False when there is no such mail.
 */
export const discardUnknownMail = async (tx: Tx, organizationId: string, id: string): Promise<boolean> =>
  (await undecided(tx, organizationId, id).update({ body: null })) === 1;

/**
 * Queues a mail again that is `unknown` and still has its body, under the same Message-ID. False when there
 * is no such mail.
 */
export async function sendUnknownMail(tx: Tx, organizationId: string, id: string): Promise<boolean> {
  const queued = await undecided(tx, organizationId, id).update({
    ...withoutLease,
    status: 'queued',
    attempts: 0,
    last_error: null,
    next_attempt_at: tx.raw('clock_timestamp()'),
    timeline: tx.raw('server_timeline()'),
  });
  await tx.raw(`notify ${mailChannel}`);
  return queued === 1;
}
