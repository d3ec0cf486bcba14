// Puts a mail into the queue, in the caller's transaction: it leaves if and only if that commits.
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { TenantCtx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';
import { type Attachment, checkMail, type Mail } from '../gateways/compose-mail.ts';
import type { AttachmentRow, MailRow } from './outgoing-mails.store.ts';
import * as store from './outgoing-mails.store.ts';

export type NewMail = Pick<Mail, 'to' | 'subject' | 'text' | 'html' | 'unsubscribeUrl' | 'attachments'> & {
  /** What sends it, such as `invitation`; for operators. */
  readonly kind: string;
  /** Where the sender must never send twice: one id per occasion, with its angle brackets. Otherwise one is made. */
  readonly messageId?: string;
  /** Id of an attachment that other mails carry too: `storeAttachment` gives it. */
  readonly sharedAttachmentId?: string;
};

type Queue = Pick<TenantCtx, 'organizationId' | 'keyring' | 'settings'>;

/** What is sealed: everything that may hold a secret. */
type Body = {
  name: string | undefined;
  text: string;
  html: string;
  unsubscribeUrl: string | undefined;
  attachments: { filename: string; contentType: string; content: string }[];
};

/** What a mail's sealed body, or a shared attachment's content, is bound to. */
export const mailBinding = (id: string): string => `outgoing_mails:${id}`;
export const attachmentBinding = (id: string): string => `mail_attachments:${id}`;
const [pack, unpack] = [promisify(gzip), promisify(gunzip)];

/** `local` at this service's name, with angle brackets: up to 240 letters, digits and dots. */
export function messageIdFor(settings: TenantCtx['settings'], local: string): string {
  const host = new URL(settings.publicUrl).hostname;
  return `<${local}@${/^[a-z0-9.-]+$/.test(host) ? host : 'portal-service.invalid'}>`;
}

/**
 * Answers the mail's id, by which its row in `outgoing_mails` tells what became of it. A Message-ID that is there already is not
 * sent again: the answer is that mail's id. Throws for an address, id or link that no server would take.
 */
export async function enqueueMail(tx: Tx, ctx: Queue, mail: NewMail): Promise<string> {
  const id = newId();
  const messageId = mail.messageId ?? messageIdFor(ctx.settings, id);
  checkMail({ ...mail, messageId });
  const body: Body = {
    name: mail.to.name,
    text: mail.text,
    html: mail.html,
    unsubscribeUrl: mail.unsubscribeUrl,
    attachments: (mail.attachments ?? []).map((attachment) => ({ ...attachment, content: attachment.content.toString('base64') })),
  };
  const added = await store.insertMail(tx, ctx.organizationId, {
    id,
    kind: mail.kind,
    recipient: mail.to.address,
    message_id: messageId,
    subject: mail.subject,
    body: ctx.keyring.seal(JSON.stringify(body), mailBinding(id)),
    attachment_id: mail.sharedAttachmentId ?? null,
  });
  if (added) return id;
  const there = await store.findMailId(tx, ctx.organizationId, messageId);
  if (there === undefined) throw new Error('another organization has used this Message-ID');
  return there;
}

/** What many mails carry is kept once; it goes away when none of them waits any more. Answers its id. */
export async function storeAttachment(tx: Tx, ctx: Queue, attachment: Attachment): Promise<string> {
  const id = newId();
  const packed = (await pack(attachment.content)).toString('base64');
  const { filename, contentType } = attachment;
  const row = { id, filename, content_type: contentType, content: ctx.keyring.seal(packed, attachmentBinding(id)) };
  await store.insertAttachment(tx, ctx.organizationId, row);
  return id;
}

async function openAttachment(ctx: Pick<TenantCtx, 'keyring'>, row: AttachmentRow): Promise<Attachment> {
  const packed = Buffer.from(ctx.keyring.open(row.content, attachmentBinding(row.id)), 'base64');
  return { filename: row.filename, contentType: row.content_type, content: await unpack(packed) };
}

/** How many mails of this kind were queued within 24 hours, whatever became of them; `most` stands for more too. */
export const countMailsOfDay = (tx: Tx, ctx: Pick<TenantCtx, 'organizationId'>, kind: string, most: number): Promise<number> =>
  store.countMailsOfDay(tx, ctx.organizationId, kind, most);

/** Takes a mail back that has not left yet; false for one that is on its way and past recalling. */
export const recallMail = async (tx: Tx, ctx: Pick<TenantCtx, 'organizationId'>, id: string): Promise<boolean> =>
  (await store.deleteQueued(tx, ctx.organizationId, id)) === 1;

/** The mail as it leaves. Throws UnreadableBox when its key is gone. */
export async function openMail(ctx: Pick<TenantCtx, 'keyring'>, row: MailRow, shared: AttachmentRow | undefined): Promise<Mail> {
  const body = JSON.parse(ctx.keyring.open(row.body ?? '', mailBinding(row.id))) as Body;
  const attachments: Attachment[] = body.attachments.map((held) => ({ ...held, content: Buffer.from(held.content, 'base64') }));
  if (row.attachment_id !== null && shared === undefined) throw new Error('its attachment is gone');
  if (shared !== undefined) attachments.push(await openAttachment(ctx, shared));
  return {
    to: { address: row.recipient, name: body.name },
    subject: row.subject,
    text: body.text,
    html: body.html,
    messageId: row.message_id,
    date: row.created_at,
    unsubscribeUrl: body.unsubscribeUrl,
    attachments,
  };
}
