// The queue of outgoing mails: each is sent once, whichever process sends it and wherever a sender dies.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import type { JobWorker } from '../../src/db/job-worker.ts';
import { takeJob } from '../../src/db/jobs.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import {
  cancelQueuedMail,
  enqueueMail,
  layoutMail,
  type NewMail,
  startMailSender,
} from '../../src/mail/index.ts';
import { markDataStarted, markSent } from '../../src/mail/outgoing-mails.store.ts';
import type { MailSenderOptions } from '../../src/mail/sender.ts';
import { testSettings } from '../setup/database.ts';
import { endLeases, findJob, makeDue } from '../setup/jobs.ts';
import { makeOrganization } from '../setup/organization.ts';
import { type MailServer, type ScriptedServer, startMailServer, startScriptedServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { claimMail, startMail } from './claim-mail.ts';

/** No timeout is ever reached, except where a test sets another. */
const limits = { connectMs: 30_000, envelopeMs: 30_000, dataMs: 30_000, stopMs: 200 };
const quick = { pollMs: 50, leaseMs: 60_000, retryDelaysMs: [0, 0], limits };
const key = Buffer.alloc(32, 7);
const worker = fileURLToPath(new URL('./worker-process.ts', import.meta.url));

const org = useOrganization();
let server: MailServer;
let senders: JobWorker[] = [];
const scripted: ScriptedServer[] = [];
const children: ChildProcess[] = [];

beforeEach(async () => {
  server = await startMailServer();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const sender of senders) await sender.stop();
  senders = [];
  await server.close();
  for (const one of scripted.splice(0)) await one.close();
  await org.sql((tx) => tx('outgoing_mails').delete());
});

const tenant = (smtpUrl = server.url): TenantCtx => ({
  ...org.ctx,
  organizationId: org.id,
  keyring: createKeyring([{ id: 'test', bytes: key }]),
  settings: {
    ...testSettings,
    publicUrl: 'https://portal.example.test',
    mail: { ...testSettings.mail, smtpUrl },
  },
});
const start = (ctx = tenant(), options: MailSenderOptions = quick): JobWorker => {
  const sender = startMailSender(ctx, options);
  senders.push(sender);
  return sender;
};
const hello: NewMail = {
  kind: 'test',
  to: { address: 'ada@example.test' },
  subject: 'Hello',
  ...layoutMail({ title: 'Hello', paragraphs: ['A secret: never-stored-4711'] }),
};
const enqueue = (
  mail: Partial<NewMail> = {},
  work: (tx: Tx) => Promise<unknown> = async () => undefined,
): Promise<string> =>
  org.sql(async (tx) => {
    const id = await enqueueMail(tx, tenant(), { ...hello, ...mail });
    await work(tx);
    return id;
  });

type Row = {
  status: string;
  attempts: number;
  last_error: string | null;
  body: string | null;
  sent_at: Date | null;
  message_id: string;
};
const row = (id: string): Promise<Row> => org.sql((tx) => tx('outgoing_mails').where({ id }).first());
const statusIs = (id: string, status: string): Promise<Row> =>
  until(async () => {
    const found = await row(id);
    return found.status === status ? found : undefined;
  });
const change = (id: string, columns: object) =>
  org.sql((tx) => tx('outgoing_mails').where({ id }).update(columns));
async function script(...args: Parameters<typeof startScriptedServer>): Promise<ScriptedServer> {
  const made = await startScriptedServer(...args);
  scripted.push(made);
  return made;
}

it('claiming serves the organization with the fewest mails in progress next, however many another one queued before', async () => {
  const many = await Promise.all(Array.from({ length: 4 }, () => enqueue()));
  const other = { ...tenant(), organizationId: (await makeOrganization(org.ctx)).id };
  const one = await inTransaction(other, (tx) => enqueueMail(tx, other, hello));
  const claimed: (string | undefined)[] = [];
  for (let n = 0; n < 6; n += 1) claimed.push(await claimMail(org.ctx));
  expect([claimed[1], claimed[5]]).toEqual([one, undefined]);
  expect(claimed.filter((id) => id !== one && id !== undefined).sort()).toEqual([...many].sort());
  await inTransaction(other, (tx) => tx('outgoing_mails').delete());
});

describe('a queued mail', () => {
  it('is sent at once when its transaction commits, and its body is deleted', async () => {
    start(tenant(), { ...quick, pollMs: 60_000 });
    const id = await enqueue();
    const sent = await statusIs(id, 'sent');
    expect(sent).toMatchObject({ attempts: 1, body: null, last_error: null, sent_at: expect.any(Date) });
    expect(server.delivered.map(({ mail }) => [mail.subject, mail.messageId])).toEqual([
      ['Hello', sent.message_id],
    ]);
    expect(sent.message_id).toBe(`<${id}@portal.example.test>`);
  });

  it('is encrypted in the database while it waits', async () => {
    const { body } = await row(await enqueue());
    expect(body).toMatch(/^test\./);
    expect(body).not.toContain('never-stored-4711');
  });

  it('is not sent when its transaction fails', async () => {
    const sender = start();
    await expect(enqueue({}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await sender.waitUntilIdle();
    expect(server.delivered).toEqual([]);
  });

  it('is not queued twice under one Message-ID', async () => {
    const messageId = '<subscription.2026-03-02.ada@portal.example.test>';
    const ids = await Promise.all([enqueue({ messageId }), enqueue({ messageId }), enqueue({ messageId })]);
    expect(new Set(ids).size).toBe(1);
    await start().waitUntilIdle();
    expect(await enqueue({ messageId })).toBe(ids[0]);
    await statusIs(ids[0] ?? '', 'sent');
    expect(server.delivered).toHaveLength(1);
  });

  it('can be canceled before it is sent', async () => {
    const id = await enqueue();
    await org.sql((tx) => cancelQueuedMail(tx, tenant(), id));
    await start().waitUntilIdle();
    expect([await row(id), server.delivered]).toEqual([undefined, []]);
  });

  it('is refused at once when no server would accept it', async () => {
    await expect(enqueue({ to: { address: 'a@b.test\r\nBcc: c@d.test' } })).rejects.toThrow('cannot be sent');
  });
});

describe('an attempt', () => {
  it('that takes long does not delay mails that are queued meanwhile', async () => {
    const slow = await script({ RCPT: 'stall' });
    start(tenant(slow.url), { ...quick, pollMs: 60_000, limits: { ...limits, envelopeMs: 60_000 } });
    const first = await enqueue();
    await slow.stalled;
    slow.react('RCPT', '250 ok');
    await statusIs(await enqueue(), 'sent');
    expect(await row(first)).toMatchObject({ status: 'sending', attempts: 1 });
  });

  it('is repeated while the server defers it, with the same Message-ID', async () => {
    server.refuseNext.push({ code: 451, text: 'greylisted' }, { code: 421, text: 'busy' });
    const id = await enqueue();
    start();
    const sent = await statusIs(id, 'sent');
    expect(sent.attempts).toBe(3);
    expect(server.delivered.map(({ mail }) => mail.messageId)).toEqual([sent.message_id]);
  });

  it('is the last one after the allowed number: failed, the body deleted, the reason kept', async () => {
    for (let i = 0; i < 5; i += 1) server.refuseNext.push({ code: 451, text: 'not yet' });
    const id = await enqueue();
    start();
    expect(await statusIs(id, 'failed')).toMatchObject({
      attempts: 3,
      body: null,
      last_error: expect.stringContaining('not yet'),
    });
    expect(server.refuseNext).toHaveLength(2);
  });

  it('is not repeated after a refusal', async () => {
    server.refuseNext.push({ code: 550, text: 'never' });
    const id = await enqueue();
    const sender = start();
    expect(await statusIs(id, 'failed')).toMatchObject({ attempts: 1, body: null });
    await sender.waitUntilIdle();
    expect(server.delivered).toEqual([]);
  });

  it('is not repeated when the server closed the connection during the message: unknown', async () => {
    const lost = await script({ 'end of data': 'hang up' });
    const id = await enqueue();
    const sender = start(tenant(lost.url));
    expect(await statusIs(id, 'unknown')).toMatchObject({ attempts: 1, body: null, sent_at: null });
    await sender.waitUntilIdle();
    expect(lost.messages).toHaveLength(1);
  });

  it('is retried after 30 s at first, and later each time, for eight attempts within a day', async () => {
    const down = await script({ greeting: '421 down' });
    const startedMs = Date.now();
    const id = await enqueue();
    const sender = start(tenant(down.url), { limits, pollMs: 60_000 });
    const waits: { min: number; max: number }[] = [];
    let dueAt = new Date(startedMs);
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await until(async () => {
        const { attempts, status } = await row(id);
        return attempts === attempt && status !== 'sending';
      });
      const { rows } = await org.sql((tx) =>
        tx.raw(
          `select extract(epoch from due_at - ?)::float8 as max, extract(epoch from due_at - clock_timestamp())::float8 as min
           from jobs where key = ?`,
          [dueAt, id],
        ),
      );
      if ((await row(id)).status === 'failed') break;
      waits.push(rows[0]);
      dueAt = new Date();
      await org.sql((tx) => makeDue(tx, 'mails'));
      await sender.waitUntilIdle();
    }
    const wanted = [30, 120, 600, 3_600, 10_800, 21_600, 43_200];
    expect(waits).toHaveLength(wanted.length);
    // Measured from some time between when it was due and when the row was read.
    for (const [index, seconds] of wanted.entries()) {
      expect(waits[index]?.min).toBeLessThanOrEqual(seconds);
      expect(waits[index]?.max).toBeGreaterThanOrEqual(seconds);
    }
    expect(await row(id)).toMatchObject({ status: 'failed', attempts: 8 });
  });

  it('is retried while its body cannot be decrypted, and the body is kept', async () => {
    const id = await enqueue();
    start(
      { ...tenant(), keyring: createKeyring([{ id: 'another', bytes: key }]) },
      { ...quick, retryDelaysMs: [60_000] },
    );
    const waiting = await until(async () => ((await row(id)).last_error === null ? undefined : row(id)));
    expect(waiting).toMatchObject({
      status: 'queued',
      body: expect.stringMatching(/^test\./),
      last_error: expect.stringContaining('The queued mail cannot be read'),
    });
  });
});

describe('several senders', () => {
  it('send each of forty mails once', async () => {
    const ids = [];
    for (let i = 0; i < 20; i += 1) ids.push(await enqueue());
    start();
    start();
    for (let i = 0; i < 20; i += 1) ids.push(await enqueue());
    start();
    await until(async () => (server.delivered.length >= 40 ? true : undefined));
    for (const id of ids) await statusIs(id, 'sent');
    expect(new Set(server.delivered.map(({ mail }) => mail.messageId)).size).toBe(40);
    expect(server.delivered).toHaveLength(40);
  });

  it('do not claim a mail whose sender is slow but alive', async () => {
    const slow = await script({ DATA: 'stall' });
    const id = await enqueue();
    start(tenant(slow.url), { ...quick, leaseMs: 9_000, retryDelaysMs: [60_000] });
    await slow.stalled;
    const leaseEnd = async () => (await org.sql((tx) => findJob(tx, 'mails', id)))?.due_at ?? 0;
    const firstEnd = await leaseEnd();
    start();
    // A live sender renews its lease, so that the others never find it expired.
    await until(async () => ((await leaseEnd()) > firstEnd ? true : undefined));
    slow.hangUp();
    const waiting = await statusIs(id, 'queued');
    expect([waiting.attempts, server.delivered]).toEqual([1, []]);
  });

  it('take over from one that lost its lease before the message was sent; it can no longer record the start', async () => {
    const id = await enqueue();
    const dead = await startMail(tenant(), 1);
    expect(dead?.key).toBe(id);
    start();
    await statusIs(id, 'sent');
    if (dead === undefined) throw new Error('nothing was claimed');
    expect(await markDataStarted(tenant(), dead)).toBe(false);
    expect(await markSent(tenant(), dead)).toBe(false);
    expect(server.delivered).toHaveLength(1);
    expect((await row(id)).attempts).toBe(2);
  });

  it('send nothing once they lost the lease, although the server is ready', async () => {
    const id = await enqueue();
    let recipients = 0;
    const ready = await startMailServer({
      onRcptTo: (_address, _session, done) => {
        recipients += 1;
        org
          .sql((tx) => takeJob(tx, { kind: 'mails', organizationId: org.id, key: id }, 60_000))
          .then(() => done(), done);
      },
    });
    onTestFinished(() => ready.close());
    const sender = start(tenant(ready.url));
    await until(async () => (recipients > 0 ? true : undefined));
    await sender.waitUntilIdle();
    expect([recipients, ready.delivered.length]).toEqual([1, 0]);
    expect(await row(id)).toMatchObject({
      status: 'sending',
      attempts: 1,
      last_error: null,
      data_begun_at: null,
    });
  });

  it('mark a mail unknown whose sender died while sending the message, unless the server’s reply arrives after all', async () => {
    const id = await enqueue();
    const lostClaim = await startMail(tenant(), 400);
    if (lostClaim === undefined) throw new Error('nothing was claimed');
    expect(await markDataStarted(tenant(), lostClaim)).toBe(true);
    start();
    expect(await statusIs(id, 'unknown')).toMatchObject({
      body: null,
      last_error: expect.stringContaining('ended before the server answered'),
    });
    expect(await markSent(tenant(), lostClaim)).toBe(true);
    expect(await row(id)).toMatchObject({ status: 'sent', last_error: null });
    expect(server.delivered).toEqual([]);
  });
});

it('a sender that stops releases a mail that was not sent, as if it had never been claimed', async () => {
  const slow = await script({ RCPT: 'stall' });
  const id = await enqueue();
  const sender = start(tenant(slow.url));
  await slow.stalled;
  await sender.stop();
  expect(await row(id)).toMatchObject({ status: 'queued', attempts: 0 });
  start();
  await statusIs(id, 'sent');
  expect([slow.messages.length, server.delivered.length]).toEqual([0, 1]);
});

describe('a sender that is killed', () => {
  /** A sender's process is killed at this command of its server, and its lease ends. */
  async function killAt(command: 'DATA' | 'end of data') {
    const slow = await script({ [command]: 'stall' });
    const id = await enqueue();
    const { address } = org.database;
    const { settings } = tenant(slow.url);
    const given = { address, key: key.toString('base64'), settings, options: quick };
    const child = fork(worker, [JSON.stringify(given)], { stdio: 'inherit' });
    children.push(child);
    await slow.stalled;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await org.sql((tx) => endLeases(tx, 'mails'));
    return { slow, id };
  }

  it('before the message was sent: another sender sends it', async () => {
    const { slow, id } = await killAt('DATA');
    start();
    expect((await statusIs(id, 'sent')).attempts).toBe(2);
    expect([slow.messages.length, server.delivered.length]).toEqual([0, 1]);
  });

  it('after the message was sent: no sender sends it again', async () => {
    const { id } = await killAt('end of data');
    const sender = start();
    expect(await statusIs(id, 'unknown')).toMatchObject({ attempts: 1, body: null });
    await sender.waitUntilIdle();
    expect(server.delivered).toEqual([]);
  });
});

it('prune_mails deletes finished mails older than 90 days, and keeps recent and queued ones', async () => {
  const old = new Date(Date.now() - 91 * 86_400_000);
  const [done, waiting, recent] = [await enqueue(), await enqueue(), await enqueue()];
  await change(done, { status: 'sent', body: null, created_at: old });
  await change(waiting, { created_at: old });
  await change(recent, { status: 'failed', body: null });
  await org.ctx.db.control.raw('select prune_mails()');
  expect([await row(done), (await row(waiting)).status, (await row(recent)).status]).toEqual([
    undefined,
    'queued',
    'failed',
  ]);
});
