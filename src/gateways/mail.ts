// Hands one mail over: by SMTP, or as a file where no SMTP server is configured. The outcome claims no more
// than is known: `sent` when the server accepted the message, `unknown` when the message was under way and
// the server's final reply never came.
import { errorMessage } from '../core/errors.ts';
import type { Settings } from '../core/settings.ts';
import { composeMail, type Mail } from './compose-mail.ts';
import { type MailOutcome, redactSecrets, type SendOptions } from './mail-outcome.ts';
import { writeToOutbox } from './outbox.ts';
import { deliverBySmtp } from './smtp.ts';

/** Never rejects: every failure is a MailOutcome. Every wait has a timeout. */
export async function sendMail(
  settings: Pick<Settings['mail'], 'smtpUrl' | 'from' | 'outboxFolder'>,
  mail: Mail,
  options: SendOptions,
): Promise<MailOutcome> {
  try {
    const composed = await composeMail(settings.from, mail);
    if (settings.smtpUrl !== null) return await deliverBySmtp(settings.smtpUrl, composed, options);
    await writeToOutbox(settings.outboxFolder, composed);
    return { kind: 'sent' };
  } catch (error) {
    return { kind: 'deferred', error: redactSecrets(errorMessage(error)) };
  }
}
