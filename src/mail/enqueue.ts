// Queues a mail in the caller's transaction: it is sent if and only if that commits.
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { TenantCtx } from '../core/ctx.ts';
import { createId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';
import { type Attachment, assertDeliverable, type Mail } from '../gateways/compose-mail.ts';
import type { AttachmentRow, MailRow } from './outgoing-mails.store.ts';
import * as store from './outgoing-mails.store.ts';

export type NewMail = Pick<
  Mail,
  'to' | 'fromName' | 'subject' | 'text' | 'html' | 'unsubscribeUrl' | 'attachments'
> & {
  /** Which feature sends it, such as `invitation`; for operators. */
  readonly kind: string;
  /** With angle brackets; generated unless given. A second mail with the same Message-ID is not queued. */
  readonly messageId?: string;
  /** Id of an attachment that several mails share, from `storeAttachment`. */
  readonly sharedAttachmentId?: string;
};

type Queue = Pick<TenantCtx, 'organizationId' | 'keyring' | 'settings'>;

/** The encrypted part of a mail: everything that may contain a secret. */
type Body = {
  name: string | undefined;
  fromName?: string | undefined;
  text: string;
  html: string;
  unsubscribeUrl: string | undefined;
  attachments: { filename: string; contentType: string; content: string }[];
};

/** Additional authenticated data of a mail's encrypted body, or of a shared attachment's content. */
export const mailBinding = (id: string): string => `outgoing_mails:${id}`;
export const attachmentBinding = (id: string): string => `mail_attachments:${id}`;
const [pack, unpack] = [promisify(gzip), promisify(gunzip)];

/** With angle brackets: `local`, of up to 240 letters, digits and dots, at this service's host name. */
export function messageIdFor(settings: TenantCtx['settings'], local: string): string {
  const host = new URL(settings.publicUrl).hostname;
  return `<${local}@${/^[a-z0-9.-]+$/.test(host) ? host : 'portal-service.invalid'}>`;
}

/**
 * Returns the mail's id; its row in `outgoing_mails` shows the delivery status. If a mail with this
 * Message-ID is already queued or sent, nothing is queued and that mail's id is returned. Throws 422
 * `unfit_mail` for an address, Message-ID, link or attachment type that no mail server would accept, and an
 * Error when another organization has used the Message-ID.
 */
export async function enqueueMail(tx: Tx, ctx: Queue, mail: NewMail): Promise<string> {
  const id = createId();
  const messageId = mail.messageId ?? messageIdFor(ctx.settings, id);
  assertDeliverable({ ...mail, messageId });
  const body: Body = {
    name: mail.to.name,
    fromName: mail.fromName,
    text: mail.text,
    html: mail.html,
    unsubscribeUrl: mail.unsubscribeUrl,
    attachments: (mail.attachments ?? []).map((attachment) => ({
      ...attachment,
      content: attachment.content.toString('base64'),
    })),
  };
  const added = await store.insertMail(tx, ctx.organizationId, {
    id,
    kind: mail.kind,
    recipient: mail.to.address,
    message_id: messageId,
    subject: mail.subject,
    body: ctx.keyring.encrypt(JSON.stringify(body), mailBinding(id)),
    attachment_id: mail.sharedAttachmentId ?? null,
  });
  if (added) return id;
  const existingId = await store.findMailId(tx, ctx.organizationId, messageId);
  if (existingId === undefined) throw new Error('another organization has used this Message-ID');
  return existingId;
}

/** Stores an attachment for several mails; deleted when none of them waits to be sent. Returns its id. */
export async function storeAttachment(tx: Tx, ctx: Queue, attachment: Attachment): Promise<string> {
  const id = createId();
  const packed = (await pack(attachment.content)).toString('base64');
  const { filename, contentType } = attachment;
  const row = {
    id,
    filename,
    content_type: contentType,
    content: ctx.keyring.encrypt(packed, attachmentBinding(id)),
  };
  await store.insertAttachment(tx, ctx.organizationId, row);
  return id;
}

async function decryptAttachment(ctx: Pick<TenantCtx, 'keyring'>, row: AttachmentRow): Promise<Attachment> {
  const packed = Buffer.from(ctx.keyring.decrypt(row.content, attachmentBinding(row.id)), 'base64');
  return { filename: row.filename, contentType: row.content_type, content: await unpack(packed) };
}

/** Mails of this kind queued in the last 24 hours, whatever their status; counts no further than `max`. */
export const countMailsInLastDay = (
  tx: Tx,
  ctx: Pick<TenantCtx, 'organizationId'>,
  kind: string,
  max: number,
): Promise<number> => store.countMailsInLastDay(tx, ctx.organizationId, kind, max);

/** Deletes a mail that is still queued; false when it is being sent or was sent. */
export const cancelQueuedMail = async (tx: Tx, ctx: Pick<TenantCtx, 'organizationId'>, id: string) =>
  (await store.deleteQueued(tx, ctx.organizationId, id)) === 1;

/** Throws DecryptionError without its encryption key, and an Error when its shared attachment was deleted. */
export async function decryptMail(
  ctx: Pick<TenantCtx, 'keyring'>,
  row: MailRow,
  shared: AttachmentRow | undefined,
): Promise<Mail> {
  const body = JSON.parse(ctx.keyring.decrypt(row.body ?? '', mailBinding(row.id))) as Body;
  const attachments: Attachment[] = body.attachments.map((stored) => ({
    ...stored,
    content: Buffer.from(stored.content, 'base64'),
  }));
  if (row.attachment_id !== null && shared === undefined)
    throw new Error('the shared attachment was deleted');
  if (shared !== undefined) attachments.push(await decryptAttachment(ctx, shared));
  return {
    to: { address: row.recipient, name: body.name },
    fromName: body.fromName,
    subject: row.subject,
    text: body.text,
    html: body.html,
    messageId: row.message_id,
    date: row.created_at,
    unsubscribeUrl: body.unsubscribeUrl,
    attachments,
  };
}
