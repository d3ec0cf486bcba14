// From a mail's parts to the bytes that leave. Nothing a person typed can add a header: line breaks and other control characters
// become spaces in texts and are refused in addresses, ids and links.
import { AppError } from '../core/errors.ts';

export type Attachment = { readonly filename: string; readonly contentType: string; readonly content: Buffer };

export type Mail = {
  readonly to: { readonly address: string; readonly name?: string | undefined };
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Fixed by whoever sends, with its angle brackets, so that every attempt carries the same one. */
  readonly messageId: string;
  readonly date: Date;
  /** Answers a POST without asking anything, as RFC 8058 has it; an https address. */
  readonly unsubscribeUrl?: string | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
};

export type ComposedMail = {
  readonly messageId: string;
  readonly date: Date;
  readonly envelope: { readonly from: string; readonly to: readonly [string] };
  readonly raw: Buffer;
};

const longestAddress = 254;
const address = /^[^\s\p{C}<>()[\],;:"\\@]{1,64}@[^\s\p{C}<>()[\],;:"\\@]{1,253}$/u;
const bracketedId = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,240}@[A-Za-z0-9.-]{1,253}>$/;
const contentType = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/i;

/** The mail itself is at fault: no server would do better with it. */
const unfit = (what: string): AppError =>
  new AppError('VALIDATION_ERROR', `The mail cannot be sent: ${what}`, { details: [{ path: '', code: 'unfit_mail', message: what }] });

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

function checkUnsubscribe(url: string): void {
  const legal = /^[\x21-\x3b\x3d\x3f-\x7e]{1,900}$/.test(url) && /^https?:$/.test(URL.parse(url)?.protocol ?? '');
  if (!legal) throw unfit('its unsubscribe address is none');
}

/** Throws for what no server would take, so that a caller hears of it while the request still runs. */
export function checkMail(mail: Pick<Mail, 'to' | 'messageId' | 'unsubscribeUrl' | 'attachments'>): void {
  if (!address.test(mail.to.address) || mail.to.address.length > longestAddress) throw unfit('its address is none');
  if (!bracketedId.test(mail.messageId)) throw unfit('its Message-ID is none');
  if (mail.unsubscribeUrl !== undefined) checkUnsubscribe(mail.unsubscribeUrl);
  for (const attachment of mail.attachments ?? []) if (!contentType.test(attachment.contentType)) throw unfit('an attachment has no type');
}

/** `from` as in `Portal Service <portal@example.org>`. Throws an Error when it names no address. */
export async function composeMail(from: string, mail: Mail): Promise<ComposedMail> {
  checkMail(mail);
  // Loaded with the first mail: a start needs none of it.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composed = new MailComposer({
    from: oneLine(from),
    to: { name: oneLine(mail.to.name ?? ''), address: mail.to.address },
    subject: oneLine(mail.subject),
    text: mail.text,
    html: mail.html,
    messageId: mail.messageId,
    date: mail.date,
    attachments: (mail.attachments ?? []).map((attachment) => ({ ...attachment, filename: oneLine(attachment.filename) })),
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
  if (typeof sender !== 'string' || !address.test(sender)) throw new Error('MAIL_FROM names no address');
  return { messageId: mail.messageId, date: mail.date, envelope: { from: sender, to: [mail.to.address] }, raw: await composed.build() };
}
