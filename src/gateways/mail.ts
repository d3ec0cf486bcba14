// Hands one mail over: by SMTP, or as a file where no server is named. It never says more than it knows: a mail is `sent` when
// the server said so, and `unknown` when the message was under way and the server's word never came.
import type { Settings } from '../core/settings.ts';
import { composeMail, type Mail } from './compose-mail.ts';
import { type MailOutcome, type SendOptions, withoutSecrets } from './mail-outcome.ts';
import { writeToOutbox } from './outbox.ts';
import { deliver } from './smtp.ts';

/** Never throws; every wait in it is bounded. */
export async function sendMail(
  settings: Omit<Settings['mail'], 'mostAttachmentBytes'>,
  mail: Mail,
  options: SendOptions,
): Promise<MailOutcome> {
  try {
    const composed = await composeMail(settings.from, mail);
    if (settings.smtpUrl !== null) return await deliver(settings.smtpUrl, composed, options);
    await writeToOutbox(settings.outboxFolder, composed);
    return { kind: 'sent' };
  } catch (error) {
    return { kind: 'deferred', error: withoutSecrets(error instanceof Error ? error.message : String(error)) };
  }
}
