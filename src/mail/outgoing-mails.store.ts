// Rows of outgoing_mails and of what they share; their only writer. A row moves queued → sending → sent, failed or unknown, or back to queued; whoever
// sends holds a lease and writes nothing once it was lost.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';

export const mailChannel = 'outgoing_mails';

export type Claim = { readonly id: string; readonly organizationId: string; readonly leaseId: string };

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

/** False when a mail with this Message-ID is there already. */
export async function insertMail(tx: Tx, organizationId: string, row: NewRow): Promise<boolean> {
  const { rowCount } = await tx.raw<{ rowCount: number }>(
    `insert into outgoing_mails (id, organization_id, kind, recipient, message_id, subject, body, attachment_id)
     values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (message_id) do nothing`,
    [row.id, organizationId, row.kind, row.recipient, row.message_id, row.subject, row.body, row.attachment_id],
  );
  await tx.raw(`notify ${mailChannel}`);
  return rowCount === 1;
}

export const findMailId = async (tx: Tx, organizationId: string, messageId: string): Promise<string | undefined> =>
  (await tx('outgoing_mails').where({ organization_id: organizationId, message_id: messageId }).first<{ id: string } | undefined>('id'))
    ?.id;

/** Of the last 24 hours, those that wait included; counts no further than `most`. */
export async function countMailsOfDay(tx: Tx, organizationId: string, kind: string, most: number): Promise<number> {
  const { rows } = await tx.raw<{ rows: { count: number }[] }>(
    `select count(*)::int as count from (
       select from outgoing_mails where organization_id = ? and created_at > now() - interval '24 hours' and kind = ? limit ?) m`,
    [organizationId, kind, most],
  );
  return rows[0]?.count ?? 0;
}

/** One that is being sent is past recalling. */
export const deleteQueued = (tx: Tx, organizationId: string, id: string) =>
  tx('outgoing_mails').where({ organization_id: organizationId, id, status: 'queued' }).delete();

export async function claimMail(ctx: Pick<Ctx, 'db'>, leaseId: string, leaseMs: number): Promise<Claim | undefined> {
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

const held = (tx: Tx, { id, organizationId, leaseId }: Claim) =>
  tx('outgoing_mails').where({ id, organization_id: organizationId, lease_id: leaseId });

export type ClaimedMail = { readonly row: MailRow; readonly shared: AttachmentRow | undefined };

export const findClaimed = (ctx: Pick<Ctx, 'db'>, claim: Claim): Promise<ClaimedMail | undefined> =>
  inTransaction({ db: ctx.db, organizationId: claim.organizationId }, async (tx) => {
    const row = await held(tx, claim)
      .where({ status: 'sending' })
      .first<MailRow | undefined>('id', 'recipient', 'message_id', 'subject', 'body', 'attachment_id', 'attempts', 'created_at');
    if (row === undefined) return undefined;
    const shared =
      row.attachment_id === null
        ? undefined
        : await tx('mail_attachments')
            .where({ organization_id: claim.organizationId, id: row.attachment_id })
            .first<AttachmentRow | undefined>('id', 'filename', 'content_type', 'content');
    return { row, shared };
  });

const change = (ctx: Pick<TenantCtx, 'db'>, claim: Claim, statuses: readonly string[], columns: (tx: Tx) => object): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: claim.organizationId }, async (tx) => {
    const changed = await held(tx, claim).whereIn('status', statuses).update(columns(tx));
    return changed === 1;
  });

export const renewMailLease = (ctx: Pick<Ctx, 'db'>, claim: Claim, leaseMs: number): Promise<boolean> =>
  change(ctx, claim, ['sending'], (tx) => ({ lease_until: tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [leaseMs]) }));

/** False when the lease was lost: another sender may have the mail, so this one must not let it leave. */
export const markDataBegun = (ctx: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> =>
  change(ctx, claim, ['sending'], (tx) => ({ data_begun_at: tx.raw('clock_timestamp()') }));

const released = { data_begun_at: null, lease_id: null, lease_until: null };

/** The server's word is the truth, also when it comes after somebody had given the sender up. */
export const settleSent = (ctx: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> =>
  change(ctx, claim, ['sending', 'unknown'], (tx) => ({
    status: 'sent',
    body: null,
    last_error: null,
    sent_at: tx.raw('clock_timestamp()'),
  }));

export const settleEnded = (ctx: Pick<Ctx, 'db'>, claim: Claim, status: 'failed' | 'unknown', error: string): Promise<boolean> =>
  change(ctx, claim, ['sending', 'unknown'], () => ({ status, body: null, last_error: error }));

export const settleAgain = (ctx: Pick<Ctx, 'db'>, claim: Claim, error: string, delayMs: number): Promise<boolean> =>
  change(ctx, claim, ['sending'], (tx) => ({
    ...released,
    status: 'queued',
    last_error: error,
    next_attempt_at: tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [delayMs]),
  }));

/** As if it had never been claimed. */
export const handBack = (ctx: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> =>
  change(ctx, claim, ['sending'], (tx) => ({ ...released, status: 'queued', attempts: tx.raw('greatest(attempts - 1, 0)') }));

/** What the backup of a restored database held as unsent may have left after it: it is not sent again. Says how many. */
export const giveUpUnsent = (tx: Tx, organizationId: string, before: Date): Promise<number> =>
  tx('outgoing_mails')
    .where('organization_id', organizationId)
    .whereIn('status', ['queued', 'sending'])
    .where('created_at', '<=', before)
    .update({ status: 'unknown', body: null, last_error: 'The database was restored from a backup: the mail may have left before' });
