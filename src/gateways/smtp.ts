// One mail over one SMTP connection. The message is a stream that nodemailer first reads when the server has answered DATA with
// "go ahead", so the first read is the moment between "certainly not sent" and "perhaps sent". After it only a reply of the
// server, or the lack of one, decides.
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { causeOf } from '../core/errors.ts';
import type { ComposedMail } from './compose-mail.ts';
import { type MailOutcome, type SendOptions, type SmtpLimits, withoutSecrets } from './mail-outcome.ts';

const usualLimits: SmtpLimits = { connectMs: 15_000, envelopeMs: 60_000, dataMs: 300_000, stopMs: 6_000 };
const goodbyeMs = 2_000;

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

type Server = { options: ConstructorParameters<typeof SMTPConnection>[0]; auth: { user: string; pass: string } | null };

/** smtps:// is encrypted from the start, smtp:// by STARTTLS where offered; a password leaves this machine only encrypted. */
function readAddress(smtpUrl: string, { connectMs, envelopeMs, dataMs }: SmtpLimits): Server {
  const url = new URL(smtpUrl);
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  const auth = url.username === '' ? null : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
  const secure = url.protocol === 'smtps:';
  return {
    auth,
    options: {
      host,
      ...(url.port !== '' && { port: Number(url.port) }),
      secure,
      requireTLS: !secure && auth !== null && !isLoopback(host),
      ignoreTLS: !secure && isLoopback(host),
      connectionTimeout: connectMs,
      greetingTimeout: connectMs,
      dnsTimeout: connectMs,
      // Ours end earlier; these hold even if ours did not.
      socketTimeout: envelopeMs + dataMs,
      socketCloseTimeout: 1_000,
    },
  };
}

type Failure = { readonly code?: string; readonly command?: string; readonly responseCode?: number };

/** Replies that speak of this service's login or encryption, which an operator can mend, and not of the mail. */
const aboutAccess = new Set([530, 534, 535, 538]);

/** What a failure means while the server can not have the message. */
function judgeBefore(error: Error & Failure): MailOutcome {
  const words = withoutSecrets(error.message);
  const ofMail = /^(MAIL FROM|RCPT TO|DATA)$/.test(error.command ?? '') && !aboutAccess.has(error.responseCode ?? 0);
  const tooLarge = error.code === 'EMESSAGE' && error.responseCode === undefined;
  return (ofMail && (error.responseCode ?? 0) >= 500) || tooLarge ? { kind: 'refused', error: words } : { kind: 'deferred', error: words };
}

/** What a failure means once the message was under way: only a refusal by the server says that it does not have it. */
function judgeAfter(error: Error & Failure): MailOutcome {
  const reply = error.responseCode ?? 0;
  const words = withoutSecrets(error.message);
  if (reply >= 500) return { kind: 'refused', error: words };
  if (reply >= 400) return { kind: 'deferred', error: words };
  return { kind: 'unknown', error: `The server's answer never came: ${words}` };
}

/** Takes leave of the server, which need not answer. */
function leave(connection: SMTPConnection): void {
  connection.quit();
  setTimeout(() => connection.close(), goodbyeMs).unref();
}

export async function deliver(smtpUrl: string, mail: ComposedMail, given: SendOptions): Promise<MailOutcome> {
  const limits = { ...usualLimits, ...given.limits };
  const { options, auth } = readAddress(smtpUrl, limits);
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  const connection = new Connection(options);
  let underWay = false;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const { promise, resolve } = Promise.withResolvers<MailOutcome>();
  const fail = (error: unknown): void => {
    const failure = error instanceof Error ? error : new Error(causeOf(error));
    resolve(underWay ? judgeAfter(failure) : judgeBefore(failure));
  };
  const allow = (ms: number, reason: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => fail(new Error(reason)), ms);
  };
  const stop = (): void => (underWay ? allow(limits.stopMs, 'the service stopped') : fail(new Error('the service stopped')));
  const message = Readable.from(
    (async function* () {
      await given.beforeData();
      if (ended || given.stop?.aborted === true) throw new Error('the service stopped');
      underWay = true;
      allow(limits.dataMs, 'it took too long');
      yield mail.raw;
    })(),
    { objectMode: false },
  );
  const send = (): void => {
    const envelope = { from: mail.envelope.from, to: [...mail.envelope.to], size: mail.raw.length };
    connection.send(envelope, message, (error) => (error === null ? resolve({ kind: 'sent' }) : fail(error)));
  };

  given.stop?.addEventListener('abort', stop);
  allow(limits.envelopeMs, 'The server took too long');
  connection.on('error', fail);
  connection.connect((refused) => {
    if (refused !== undefined) return fail(refused);
    if (auth === null) return send();
    connection.login(auth, (error) => (error === null ? send() : fail(error)));
  });
  if (given.stop?.aborted === true) stop();
  const outcome = await promise;
  ended = true;
  clearTimeout(timer);
  given.stop?.removeEventListener('abort', stop);
  if (outcome.kind === 'sent') leave(connection);
  else connection.close();
  message.destroy();
  return outcome;
}
