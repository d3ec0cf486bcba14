// The mail with a code to sign in. It isn't queued with other mails: the code is worth nothing after ten
// minutes, must not wait behind a batch of reports, and is never stored.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ctx } from '../core/ctx.ts';
import { createId } from '../core/id.ts';
import { anyOwner, Semaphore } from '../core/work/semaphore.ts';
import { sendMail } from '../gateways/mail.ts';
import { messageIdFor } from './enqueue.ts';
import { layoutMail, type MailContent } from './layout.ts';

const browsers = ['Edg', 'Firefox', 'Chrome', 'Safari'];
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'];
const commonNames: Readonly<Record<string, string>> = { Edg: 'Edge', 'Mac OS X': 'macOS' };

/** Browser and system of a User-Agent, null for neither. It may hold anything: no more of it is shown. */
export function describeBrowser(userAgent: string | null, joint = ' · '): string | null {
  const found = [browsers, systems].map((known) => known.find((name) => userAgent?.includes(name)));
  return found.flatMap((name) => (name === undefined ? [] : [commonNames[name] ?? name])).join(joint) || null;
}

const showTime = (at: Date): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at);

/** Servers that greylist accept a mail after some minutes; a later one would carry an expired code. */
const retryDelaysMs = [0, 2_000, 15_000, 60_000, 180_000];
const maxSending = 5;

type MailTo = { readonly address: string; readonly name: string };
export type CodeMail = {
  readonly to: MailTo;
  readonly fromName?: string;
  readonly subject: string;
  readonly content: MailContent;
  readonly requestedAt: Date;
};
/** Delivers the mail, or gives up when its code has expired; never rejects. */
export type SendCodeMail = (ctx: Ctx, mail: CodeMail, stop: AbortSignal) => Promise<void>;

export const shownCode = (code: string): string => `${code.slice(0, 3)} ${code.slice(3)}`;

/** Returns a sender for one process, which has at most five of these mails in hand at once. */
export function createCodeMailSender(): SendCodeMail {
  const sending = new Semaphore({ maxRunning: maxSending });
  return async (ctx, { content, requestedAt: date, ...mail }, stop) => {
    const messageId = messageIdFor(ctx.settings, createId());
    for (const delayMs of retryDelaysMs) {
      await sleep(delayMs, undefined, { signal: stop }).catch(() => undefined);
      const release = await sending.acquireUnlessAborted(anyOwner, stop);
      if (release === undefined) return;
      const outcome = await sendMail(
        ctx.settings.mail,
        { ...layoutMail(content), ...mail, messageId, date, attachments: [] },
        { beforeData: async () => undefined, stop },
      ).finally(release);
      if (outcome.kind === 'sent') return;
      ctx.log.warn({ outcome: outcome.kind, error: outcome.error }, 'a sign-in code was not delivered');
      if (outcome.kind !== 'deferred') return;
    }
  };
}

type MemberCodeMail = {
  readonly to: MailTo;
  readonly code: string;
  readonly url: string;
  /** The requesting browser's User-Agent header. */
  readonly browser: string;
  readonly requestedAt: Date;
};

/** Sends codes to members. */
export const sendToMembers =
  (send: SendCodeMail) =>
  (ctx: Ctx, { to, code, url, browser, requestedAt }: MemberCodeMail, stop: AbortSignal): Promise<void> => {
    const { host } = new URL(ctx.settings.publicUrl);
    const content = {
      title: `Sign in to ${host}`,
      code: shownCode(code),
      paragraphs: [
        'Enter these six digits in the browser in which you asked for them. They work once, for ten minutes.',
      ],
      action: { label: 'Where to enter the code', url },
      notes: [
        `Requested on ${showTime(requestedAt)} UTC with ${describeBrowser(browser, ' on ') ?? 'an unknown browser'}.`,
        'If that was not you, ignore this mail: without the code no one can sign in. Never pass it on.',
      ],
    };
    return send(ctx, { to, subject: `Your code to sign in to ${host}`, content, requestedAt }, stop);
  };
