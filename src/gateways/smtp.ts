// Delivers one mail over one SMTP connection. The message is a stream that nodemailer reads only after the
// server accepted the DATA command (reply 354), so the first read separates "certainly not sent" from
// "perhaps sent". From then on only the server's final reply, or the lack of one, decides.
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { errorMessage } from '../core/errors.ts';
import type { ComposedMail } from './compose-mail.ts';
import { type MailOutcome, redactSecrets, type SendOptions, type SmtpLimits } from './mail-outcome.ts';

const defaultLimits: SmtpLimits = { connectMs: 15_000, envelopeMs: 60_000, dataMs: 300_000, stopMs: 6_000 };
const quitTimeoutMs = 2_000;

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

type Server = {
  options: ConstructorParameters<typeof SMTPConnection>[0];
  auth: { user: string; pass: string } | null;
};

/**
 * smtps:// uses TLS from the start, smtp:// uses STARTTLS where offered. A password is only ever sent
 * encrypted, except to this machine.
 */
function parseSmtpUrl(smtpUrl: string, { connectMs, envelopeMs, dataMs }: SmtpLimits): Server {
  const url = new URL(smtpUrl);
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  const auth =
    url.username === ''
      ? null
      : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
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
      // A safety net: our own deadlines are earlier.
      socketTimeout: envelopeMs + dataMs,
      socketCloseTimeout: 1_000,
    },
  };
}

type Failure = { readonly code?: string; readonly command?: string; readonly responseCode?: number };

/** Replies about this service's login or encryption, which an operator can fix, and not about the mail. */
const accessReplies = new Set([530, 534, 535, 538]);

/** Classifies a failure before the message was under way: the server can't have it. */
function classifyBeforeData(error: Error & Failure): MailOutcome {
  const text = redactSecrets(error.message);
  const concernsMail =
    /^(MAIL FROM|RCPT TO|DATA)$/.test(error.command ?? '') && !accessReplies.has(error.responseCode ?? 0);
  const tooLarge = error.code === 'EMESSAGE' && error.responseCode === undefined;
  const isPermanent = (concernsMail && (error.responseCode ?? 0) >= 500) || tooLarge;
  return { kind: isPermanent ? 'failed' : 'deferred', error: text };
}

/** Classifies a failure once the message was under way: only a refusal proves that it wasn't taken. */
function classifyAfterData(error: Error & Failure): MailOutcome {
  const reply = error.responseCode ?? 0;
  const text = redactSecrets(error.message);
  if (reply >= 500) return { kind: 'failed', error: text };
  if (reply >= 400) return { kind: 'deferred', error: text };
  return { kind: 'unknown', error: `No final reply from the server: ${text}` };
}

/** Ends the session politely, and closes the connection if the server doesn't reply in time. */
function quit(connection: SMTPConnection): void {
  connection.quit();
  setTimeout(() => connection.close(), quitTimeoutMs).unref();
}

/** Connects, and logs in unless `auth` is null; then calls `ready`. */
function signIn(
  connection: SMTPConnection,
  auth: ReturnType<typeof parseSmtpUrl>['auth'],
  ready: () => void,
  fail: (error: unknown) => void,
): void {
  connection.on('error', fail);
  connection.connect((refused) => {
    if (refused !== undefined) return fail(refused);
    if (auth === null) return ready();
    connection.login(auth, (error) => (error === null ? ready() : fail(error)));
  });
}

const stopped = 'the service stopped';

/** `begin` is called when the server wants the mail. */
async function* readRaw(raw: ComposedMail['raw'], begin: () => Promise<void>) {
  await begin();
  yield raw;
}

/**
 * SMTP and network failures are outcomes, not rejections. Rejects only before the connection is opened: for
 * an SMTP URL that can't be parsed (`sendMail` turns that into `deferred`).
 */
export async function deliverBySmtp(
  smtpUrl: string,
  mail: ComposedMail,
  options: SendOptions,
): Promise<MailOutcome> {
  const limits = { ...defaultLimits, ...options.limits };
  const { options: connectionOptions, auth } = parseSmtpUrl(smtpUrl, limits);
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  const connection = new Connection(connectionOptions);
  let dataStarted = false;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const { promise, resolve } = Promise.withResolvers<MailOutcome>();
  const fail = (error: unknown): void => {
    const failure = error instanceof Error ? error : new Error(errorMessage(error));
    resolve(dataStarted ? classifyAfterData(failure) : classifyBeforeData(failure));
  };
  const setDeadline = (ms: number, reason: string) => {
    clearTimeout(timer);
    timer = setTimeout(() => fail(new Error(reason)), ms);
  };
  const stop = () => (dataStarted ? setDeadline(limits.stopMs, stopped) : fail(new Error(stopped)));
  const begin = async () => {
    await options.beforeData();
    if (ended || options.stop?.aborted === true) throw new Error(stopped);
    dataStarted = true;
    setDeadline(limits.dataMs, 'timed out');
  };
  const message = Readable.from(readRaw(mail.raw, begin), { objectMode: false });
  const send = () => {
    const envelope = { from: mail.envelope.from, to: [...mail.envelope.to], size: mail.raw.length };
    connection.send(envelope, message, (error) => (error === null ? resolve({ kind: 'sent' }) : fail(error)));
  };

  options.stop?.addEventListener('abort', stop);
  setDeadline(limits.envelopeMs, 'The server took too long to respond');
  signIn(connection, auth, send, fail);
  if (options.stop?.aborted === true) stop();
  const outcome = await promise;
  ended = true;
  clearTimeout(timer);
  options.stop?.removeEventListener('abort', stop);
  if (outcome.kind === 'sent') quit(connection);
  else connection.close();
  message.destroy();
  return outcome;
}
