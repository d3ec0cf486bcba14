// Handing one mail over: the reported outcome is the real one, wherever the connection breaks.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { composeMail, type Mail } from '../../src/gateways/compose-mail.ts';
import { sendMail } from '../../src/gateways/mail.ts';
import type { SendOptions } from '../../src/gateways/mail-outcome.ts';
import { layoutMail } from '../../src/mail/layout.ts';
import {
  parseMail,
  type ScriptedServer,
  type ScriptStep,
  startMailServer,
  startScriptedServer,
} from '../setup/smtp.ts';

const from = 'Portal Service <portal@example.test>';
const mail: Mail = {
  to: { address: 'ada@example.test', name: 'Ada' },
  subject: 'Grüße',
  text: 'Hello\n.\nthere',
  html: '<p>Hello</p>',
  messageId: '<one@portal.example.test>',
  date: new Date('2026-03-02T10:00:00Z'),
};
/** Longer than even a busy machine takes. */
const longLimits = { connectMs: 30_000, envelopeMs: 30_000, dataMs: 30_000, stopMs: 200 };
/** For servers and `beforeData` functions that never answer. */
const shortLimits = { connectMs: 300, envelopeMs: 600, dataMs: 300, stopMs: 200 };

let beforeDataCalls = 0;
const sendOptions: SendOptions = {
  beforeData: async () => {
    beforeDataCalls += 1;
  },
  limits: longLimits,
};
const smtp = (smtpUrl: string | null) => ({ smtpUrl, from, outboxFolder: '/nowhere' });
beforeEach(() => {
  beforeDataCalls = 0;
});

describe('a mail by SMTP', () => {
  it('arrives with its parts, its Message-ID and the Auto-Submitted header', async () => {
    const server = await startMailServer();
    onTestFinished(() => server.close());
    const attachments = [
      { filename: 'Rechnungen – März.csv', contentType: 'text/csv', content: Buffer.from('a;b\n1;2\n') },
    ];
    const unsubscribeUrl = `https://portal.example.test/unsubscribe/${'x'.repeat(300)}?a=1&b=2`;
    expect(await sendMail(smtp(server.url), { ...mail, attachments, unsubscribeUrl }, sendOptions)).toEqual({
      kind: 'sent',
    });
    const [arrived] = server.delivered;
    expect(arrived).toMatchObject({ from: 'portal@example.test', to: ['ada@example.test'] });
    expect(arrived?.mail).toMatchObject({
      from: { name: 'Portal Service', address: 'portal@example.test' },
      to: [{ name: 'Ada', address: 'ada@example.test' }],
      subject: 'Grüße',
      messageId: '<one@portal.example.test>',
      date: '2026-03-02T10:00:00.000Z',
      html: '<p>Hello</p>\n',
    });
    expect(arrived?.mail.text?.trim()).toBe('Hello\n.\nthere');
    const header = (key: string) =>
      arrived?.mail.headers.filter((held) => held.key === key).map(({ value }) => value);
    expect(header('auto-submitted')).toEqual(['auto-generated']);
    expect(header('list-unsubscribe')).toEqual([`<${unsubscribeUrl}>`]);
    expect(header('list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click']);
    expect(arrived?.mail.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
      ['Rechnungen – März.csv', 'text/csv'],
    ]);
    expect(Buffer.from(arrived?.mail.attachments[0]?.content as ArrayBuffer).toString()).toBe('a;b\n1;2\n');
    expect(beforeDataCalls).toBe(1);
  });

  it('signs in with the password of the SMTP URL', async () => {
    let seen: unknown;
    const server = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) => {
        seen = { username, password };
        done(null, { user: 'x' });
      },
    });
    onTestFinished(() => server.close());
    const url = server.url.replace('smtp://', 'smtp://us%40er:p%3Ass@');
    expect(await sendMail(smtp(url), mail, sendOptions)).toEqual({ kind: 'sent' });
    expect(seen).toEqual({ username: 'us@er', password: 'p:ss' });
  });

  it('is deferred when the login is refused, without revealing the password', async () => {
    const server = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(new Error('no')),
    });
    onTestFinished(() => server.close());
    const outcome = await sendMail(
      smtp(server.url.replace('smtp://', 'smtp://user:hunter2@')),
      mail,
      sendOptions,
    );
    expect(outcome.kind).toBe('deferred');
    expect(JSON.stringify(outcome)).not.toContain('hunter2');
    expect(beforeDataCalls).toBe(0);
  });
});

describe('a failed delivery', () => {
  let server: ScriptedServer;
  afterEach(() => server.close());
  const trySend = async (step: ScriptStep, reaction: string, options: Partial<SendOptions> = {}) => {
    server = await startScriptedServer({ [step]: reaction });
    const limits =
      reaction !== 'stall'
        ? longLimits
        : step === 'end of data'
          ? { ...longLimits, dataMs: 1_000 }
          : shortLimits;
    return sendMail(smtp(server.url), mail, { ...sendOptions, limits, ...options });
  };

  it.each<[ScriptStep, string]>(
    (['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'] as const).flatMap((step) =>
      ['hang up', 'stall', '421 4.3.2 closing', '451 4.3.0 try later'].map(
        (reaction): [ScriptStep, string] => [step, reaction],
      ),
    ),
  )(
    'before the message, at %s by %s: deferred, and no byte of the message was sent',
    async (step, reaction) => {
      expect(await trySend(step, reaction)).toMatchObject({
        kind: 'deferred',
        error: expect.stringMatching(/./),
      });
      expect([beforeDataCalls, server.messages]).toEqual([0, []]);
    },
  );

  it.each<[ScriptStep, string, string]>([
    ['MAIL', '550 5.7.1 not from you', 'failed'],
    ['RCPT', '550 5.1.1 nobody here', 'failed'],
    ['DATA', '554 5.5.1 no', 'failed'],
    ['MAIL', '530 5.7.0 sign in first', 'deferred'],
    ['greeting', '554 5.7.1 not today', 'deferred'],
  ])('by a refusal at %s, %s: %s', async (step, reaction, kind) => {
    const outcome = await trySend(step, reaction);
    expect(outcome).toMatchObject({ kind, error: expect.stringContaining(reaction.split(' ')[1] ?? '') });
    expect([beforeDataCalls, server.messages]).toEqual([0, []]);
  });

  it.each([
    ['hang up', 'unknown'],
    ['stall', 'unknown'],
    ['451 4.3.0 try later', 'deferred'],
    ['421 4.3.2 closing', 'deferred'],
    ['552 5.3.4 too large', 'failed'],
    ['250 2.0.0 taken', 'sent'],
  ])('after the message, by %s: %s', async (reaction, kind) => {
    expect(await trySend('end of data', reaction)).toMatchObject({ kind });
    // The client may time out before the server has read the message.
    if (reaction === 'stall') await server.stalled;
    expect(beforeDataCalls).toBe(1);
    expect(server.messages).toHaveLength(1);
  });

  it('while beforeData fails: deferred, and the server has no message', async () => {
    const beforeData = () => Promise.reject(new Error('the database is unavailable'));
    expect(await trySend('MAIL', '250 ok', { beforeData })).toMatchObject({
      kind: 'deferred',
      error: 'the database is unavailable',
    });
    expect(server.messages).toEqual([]);
  });

  it('while beforeData takes too long: deferred, and nothing is sent later either', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    expect(await trySend('MAIL', '250 ok', { beforeData: () => promise, limits: shortLimits })).toMatchObject(
      { kind: 'deferred' },
    );
    resolve();
    await new Promise(setImmediate);
    expect(server.messages).toEqual([]);
  });

  it.each([
    ['DATA', 'deferred'],
    ['end of data', 'unknown'],
  ] as const)(
    'by a stop of the service while the server stalls at %s: %s, without waiting for the timeout',
    async (step, kind) => {
      const stop = new AbortController();
      server = await startScriptedServer({ [step]: 'stall' });
      const sending = sendMail(smtp(server.url), mail, {
        ...sendOptions,
        stop: stop.signal,
        limits: { ...longLimits, stopMs: 100 },
      });
      await server.stalled;
      const startedMs = performance.now();
      stop.abort();
      expect(await sending).toMatchObject({ kind });
      expect(performance.now() - startedMs).toBeLessThan(longLimits.dataMs);
    },
  );

  it('removes links and tokens from a refusal that quotes the message', async () => {
    const token = 'Zk3'.repeat(14) + 'a';
    const outcome = await trySend(
      'end of data',
      `554 5.7.1 spam: https://x.test/invitations/accept#token=${token} and ${token}`,
    );
    expect(outcome.kind).toBe('failed');
    expect(JSON.stringify(outcome)).not.toContain(token);
    expect(JSON.stringify(outcome)).toContain('5.7.1 spam');
  });

  it('no server listens: deferred', async () => {
    server = await startScriptedServer(); // not the one of the URL
    expect(await sendMail(smtp('smtp://127.0.0.1:2'), mail, sendOptions)).toMatchObject({ kind: 'deferred' });
    expect(server.commands).toEqual([]);
  });

  it('never sends a password unencrypted to another machine', async () => {
    // 0.0.0.0 reaches this host, but is not a loopback address by its form.
    server = await startScriptedServer();
    const url = server.url.replace('smtp://127.0.0.1', 'smtp://user:secret@0.0.0.0');
    expect(await sendMail(smtp(url), mail, sendOptions)).toMatchObject({ kind: 'deferred' });
    expect([beforeDataCalls, server.commands.filter((line) => !/^EHLO|^STARTTLS/.test(line))]).toEqual([
      0,
      [],
    ]);
    expect(server.commands).toContain('STARTTLS');
  });
});

describe('composing', () => {
  it('prevents header injection by line breaks', async () => {
    const tricky = 'Hi\r\nBcc: everyone@example.test\u2028X-More: 1';
    const composed = await composeMail(from, {
      ...mail,
      subject: tricky,
      to: { address: 'ada@example.test', name: tricky },
      attachments: [{ filename: tricky, contentType: 'text/csv', content: Buffer.from('x') }],
    });
    const parsed = await parseMail(composed.raw);
    expect(parsed.subject).toBe('Hi Bcc: everyone@example.test X-More: 1');
    expect(parsed.bcc).toBeUndefined();
    expect(parsed.headers.map(({ key }) => key)).not.toContain('x-more');
    expect(parsed.to?.map(({ address }) => address)).toEqual(['ada@example.test']);
  });

  it.each([
    'a@b.test\r\nBcc: c@d.test',
    'a@b.test, c@d.test',
    '<a@b.test>',
    'a b@c.test',
    'a@b@c.test',
    'nobody',
    `${'a'.repeat(65)}@b.test`,
  ])('refuses %j as an address', async (address) => {
    await expect(composeMail(from, { ...mail, to: { address } })).rejects.toThrow('cannot be sent');
  });

  it('refuses a Message-ID or a link that would break its header', async () => {
    await expect(composeMail(from, { ...mail, messageId: '<a\r\nX: 1@b>' })).rejects.toThrow('Message-ID');
    for (const unsubscribeUrl of ['https://a.test/>\r\nX: 1', 'javascript:alert(1)', 'nothing'])
      await expect(composeMail(from, { ...mail, unsubscribeUrl })).rejects.toThrow('unsubscribe');
  });

  it('is deferred while MAIL_FROM contains no valid mail address', async () => {
    expect(
      await sendMail({ ...smtp('smtp://127.0.0.1:9'), from: 'nobody at all' }, mail, sendOptions),
    ).toMatchObject({
      kind: 'deferred',
      error: 'MAIL_FROM contains no valid mail address',
    });
  });

  it('escapes user input in the HTML part', () => {
    const { html, text } = layoutMail({
      title: '<script>alert(1)</script>',
      paragraphs: ['A & B "quoted" <b>'],
      action: { label: "It's <here>", url: 'https://x.test/?a=1&b="2"' },
      notes: ['<i>'],
    });
    expect(html).not.toMatch(/<script|<b>|<i>/);
    expect(html).toContain('href="https://x.test/?a=1&amp;b=&quot;2&quot;"');
    expect(text).toContain('https://x.test/?a=1&b="2"');
  });
});

describe('without an SMTP server', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'outbox-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('writes a mail to a file that only the owner can read, one for all attempts, named by its date and id', async () => {
    const settings = { smtpUrl: null, from, outboxFolder: path.join(folder, 'out') };
    expect(await sendMail(settings, mail, sendOptions)).toEqual({ kind: 'sent' });
    expect(await sendMail(settings, mail, sendOptions)).toEqual({ kind: 'sent' });
    const names = await readdir(settings.outboxFolder);
    expect(names).toEqual(['2026-03-02T100000.000Z-one@portal.example.test.eml']);
    const file = path.join(settings.outboxFolder, names[0] ?? '');
    expect([(await stat(settings.outboxFolder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
    expect((await parseMail(await readFile(file))).subject).toBe('Grüße');
  });

  it('is deferred when the folder cannot be written', async () => {
    const blocked = path.join(folder, 'file');
    await writeFile(blocked, '');
    expect(await sendMail({ smtpUrl: null, from, outboxFolder: blocked }, mail, sendOptions)).toMatchObject({
      kind: 'deferred',
    });
  });
});
