// Puts a mail into the queue, in the caller's transaction: it leaves if and only if that commits.
import type { TenantCtx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';
import { type Attachment, checkMail, type Mail } from '../gateways/compose-mail.ts';
import { deleteQueued, findMailId, insertMail, type MailRow } from './outgoing-mails.store.ts';

export type NewMail = Pick<Mail, 'to' | 'subject' | 'text' | 'html' | 'unsubscribeUrl' | 'attachments'> & {
  /** What sends it, such as `invitation`; for operators. */
  readonly kind: string;
  /** Where the sender must never send twice: one id per occasion, with its angle brackets. Otherwise one is made. */
  readonly messageId?: string;
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

const binding = (id: string): string => `outgoing_mails:${id}`;

/** `local` at this service's name, with angle brackets. */
function messageIdFor(settings: TenantCtx['settings'], local: string): string {
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
  const added = await insertMail(tx, ctx.organizationId, {
    id,
    kind: mail.kind,
    recipient: mail.to.address,
    message_id: messageId,
    subject: mail.subject,
    body: ctx.keyring.seal(JSON.stringify(body), binding(id)),
  });
  if (added) return id;
  const there = await findMailId(tx, ctx.organizationId, messageId);
  if (there === undefined) throw new Error('another organization has used this Message-ID');
  return there;
}

/** Takes a mail back that has not left yet; one that is on its way is past recalling. */
export async function recallMail(tx: Tx, ctx: Pick<TenantCtx, 'organizationId'>, id: string): Promise<void> {
  await deleteQueued(tx, ctx.organizationId, id);
}

/** The mail as it leaves. Throws UnreadableBox when its key is gone. */
export function openMail(ctx: Pick<TenantCtx, 'keyring'>, row: MailRow): Mail {
  const body = JSON.parse(ctx.keyring.open(row.body ?? '', binding(row.id))) as Body;
  const attachments: Attachment[] = body.attachments.map((held) => ({ ...held, content: Buffer.from(held.content, 'base64') }));
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
