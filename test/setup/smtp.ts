// A real SMTP server on loopback that keeps the received mails and, on demand, rejects them, stalls, or
// closes the connection.
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { listenLocally } from './sockets.ts';

export type Delivered = {
  readonly from: string;
  readonly to: string[];
  readonly raw: string;
  readonly mail: Email;
};

export type MailServer = {
  readonly url: string;
  readonly delivered: Delivered[];
  /** Rejections for the next messages, in order. */
  readonly refuseNext: { code: number; text: string }[];
  close(): Promise<void>;
};

const reply = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code });

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const delivered: Delivered[] = [];
  const refuseNext: { code: number; text: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const refusal = refuseNext.shift();
        if (refusal !== undefined) return done(reply(refusal.code, refusal.text));
        const raw = Buffer.concat(chunks).toString('utf8');
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        delivered.push({
          from,
          to: rcptTo.map(({ address }) => address),
          raw,
          mail: await PostalMime.parse(raw),
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  return {
    url: `smtp://127.0.0.1:${await listenLocally(server.server)}`,
    delivered,
    refuseNext,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/**
 * The scripted server's reaction to a command: a text is the reply; the others close the connection or send
 * nothing.
 */
type Reaction = string | 'hang up' | 'stall';
export type ScriptStep = 'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'end of data';
export type ScriptedServer = {
  readonly url: string;
  /** All messages that were received completely. */
  readonly messages: string[];
  readonly commands: string[];
  /** Resolves when a client gets no reply for the first time. */
  readonly stalled: Promise<void>;
  /** Changes the reaction to a step from now on. */
  react(step: ScriptStep, reaction: Reaction): void;
  /** Closes all current connections. */
  hangUp(): void;
  close(): Promise<void>;
};

const defaultReplies: Record<ScriptStep, string> = {
  greeting: '220 ready',
  EHLO: '250 here',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go ahead',
  'end of data': '250 taken',
};

/** A server whose replies the test defines step by step, including closing the connection. */
export async function startScriptedServer(
  changed: Partial<Record<ScriptStep, Reaction>> = {},
): Promise<ScriptedServer> {
  const reactions: Record<ScriptStep, Reaction> = { ...defaultReplies, ...changed };
  const messages: string[] = [];
  const sockets = new Set<Socket>();
  const commands: string[] = [];
  const { promise: stalled, resolve: stall } = Promise.withResolvers<void>();

  const converse = (socket: Socket): void => {
    let inData = false;
    let text = '';
    const react = (step: ScriptStep): void => {
      const reaction = reactions[step];
      if (reaction === 'hang up') socket.destroy();
      else if (reaction === 'stall') stall();
      else socket.write(`${reaction}\r\n`);
    };
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      for (;;) {
        const end = inData ? text.indexOf('\r\n.\r\n') : text.indexOf('\r\n');
        if (end < 0) return;
        const line = text.slice(0, end);
        text = text.slice(end + (inData ? 5 : 2));
        if (inData) {
          inData = false;
          messages.push(line);
          react('end of data');
          continue;
        }
        commands.push(line);
        if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
        else {
          const step = (['EHLO', 'MAIL', 'RCPT', 'DATA'] as const).find((verb) =>
            line.toUpperCase().startsWith(verb),
          );
          inData = step === 'DATA' && reactions.DATA.startsWith('354');
          if (step === undefined) socket.write('502 not here\r\n');
          else react(step);
        }
      }
    });
    react('greeting');
  };
  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server: Server = createServer(converse);
  return {
    url: `smtp://127.0.0.1:${await listenLocally(server)}`,
    messages,
    commands,
    stalled,
    react: (step, reaction) => void (reactions[step] = reaction),
    hangUp,
    close: async () => {
      hangUp();
      server.close();
      await once(server, 'close');
    },
  };
}

export const parseMail = (raw: string | Buffer): Promise<Email> => PostalMime.parse(raw);
