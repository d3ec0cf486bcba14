// Composes a mail's MIME message from its parts. User input can't inject a header: line breaks and other
// control characters become spaces in texts and are refused in addresses, ids and links.
import { AppError } from '../core/errors.ts';

export type Attachment = {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
};

export type Mail = {
  readonly to: { readonly address: string; readonly name?: string | undefined };
  /** The sender's name, before the address of MAIL_FROM; by default the name there. */
  readonly fromName?: string | undefined;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** With its angle brackets. Set by the caller, so that every attempt has the same one. */
  readonly messageId: string;
  readonly date: Date;
  /** An http(s) address that unsubscribes with a single POST (one-click, RFC 8058). */
  readonly unsubscribeUrl?: string | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
};

export type ComposedMail = {
  readonly messageId: string;
  readonly date: Date;
  readonly envelope: { readonly from: string; readonly to: readonly [string] };
  readonly raw: Buffer;
};

const maxAddressLength = 254;
const address = /^[^\s\p{C}<>()[\],;:"\\@]{1,64}@[^\s\p{C}<>()[\],;:"\\@]{1,253}$/u;
const bracketedId = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,240}@[A-Za-z0-9.-]{1,253}>$/;
const contentType = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/i;

/** 422: the mail itself is invalid, so that no mail server would accept it. */
const invalidMail = (problem: string): AppError =>
  new AppError('VALIDATION_ERROR', `The mail cannot be sent: ${problem}`, {
    details: [{ path: '', code: 'unfit_mail', message: problem }],
  });

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

function assertUnsubscribeUrl(url: string): void {
  const legal =
    /^[\x21-\x3b\x3d\x3f-\x7e]{1,900}$/.test(url) && /^https?:$/.test(URL.parse(url)?.protocol ?? '');
  if (!legal) throw invalidMail('the unsubscribe address is not a valid http(s) URL');
}

/**
 * Throws 422 `unfit_mail` for a recipient address, Message-ID, unsubscribe address or attachment type that no
 * mail server would accept. Call it before queueing, so that the request fails, not the delivery.
 */
export function assertDeliverable(mail: Pick<Mail, 'to' | 'messageId' | 'unsubscribeUrl' | 'attachments'>) {
  if (!address.test(mail.to.address) || mail.to.address.length > maxAddressLength)
    throw invalidMail('the recipient address is not a valid mail address');
  if (!bracketedId.test(mail.messageId)) throw invalidMail('the Message-ID is not valid');
  if (mail.unsubscribeUrl !== undefined) assertUnsubscribeUrl(mail.unsubscribeUrl);
  for (const attachment of mail.attachments ?? [])
    if (!contentType.test(attachment.contentType))
      throw invalidMail('the content type of an attachment is not valid');
}

/** The name before the address of MAIL_FROM. */
async function toSender(from: string, name: string | undefined) {
  if (name === undefined) return oneLine(from);
  const { default: addressparser } = await import('nodemailer/lib/addressparser');
  const [found] = addressparser(oneLine(from), { flatten: true });
  return { name: oneLine(name), address: found?.address ?? '' };
}

/**
 * `from` is the MAIL_FROM setting, such as `Portal Service <portal@example.org>`. Throws an Error when it
 * contains no mail address, and 422 as `assertDeliverable`.
 */
export async function composeMail(from: string, mail: Mail): Promise<ComposedMail> {
  assertDeliverable(mail);
  // Loaded with the first mail, to keep the start fast.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composed = new MailComposer({
    from: await toSender(from, mail.fromName),
    to: { name: oneLine(mail.to.name ?? ''), address: mail.to.address },
    subject: oneLine(mail.subject),
    text: mail.text,
    html: mail.html,
    messageId: mail.messageId,
    date: mail.date,
    attachments: (mail.attachments ?? []).map((attachment) => ({
      ...attachment,
      filename: oneLine(attachment.filename),
    })),
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(mail.unsubscribeUrl !== undefined && {
        'List-Unsubscribe': { prepared: true, value: `<${mail.unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const sender = composed.getEnvelope().from;
  if (typeof sender !== 'string' || !address.test(sender))
    throw new Error('MAIL_FROM contains no valid mail address');
  return {
    messageId: mail.messageId,
    date: mail.date,
    envelope: { from: sender, to: [mail.to.address] },
    raw: await composed.build(),
  };
}
