// The queue of outgoing mails: each leaves once, whoever sends it and wherever a sender dies.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { newId } from '../../src/core/id.ts';
import { openKeyring } from '../../src/core/keyring.ts';
import type { QueueWork } from '../../src/db/queue-work.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { enqueueMail, layoutMail, type NewMail, recallMail, startMailSender } from '../../src/mail/index.ts';
import { claimMail, markDataBegun, settleSent } from '../../src/mail/outgoing-mails.store.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';
import { type MailServer, type ScriptedServer, startMailServer, startScriptedServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';

/** Nobody is given up for being slow, except where a test says so. */
const limits = { connectMs: 30_000, envelopeMs: 30_000, dataMs: 30_000, stopMs: 200 };
const quick = { pollMs: 50, leaseMs: 60_000, waitsMs: [0, 0], limits };
const key = Buffer.alloc(32, 7);

let database: TestDatabase;
let server: MailServer;
let organizationId: string;
let senders: QueueWork[] = [];
const scripted: ScriptedServer[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  database = await testDatabase();
  organizationId = (await makeOrganization(database.ctx)).id;
});
afterAll(() => database.close());
beforeEach(async () => {
  server = await startMailServer();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const sender of senders) await sender.stop();
  senders = [];
  await server.close();
  for (const one of scripted.splice(0)) await one.close();
  await inTransaction(tenant(), (tx) => tx('outgoing_mails').delete());
});

const tenant = (smtpUrl = server.url): TenantCtx => ({
  ...database.ctx,
  organizationId,
  keyring: openKeyring([{ id: 'test', bytes: key }]),
  settings: { ...testSettings, publicUrl: 'https://portal.example.test', mail: { ...testSettings.mail, smtpUrl } },
});
const start = (ctx = tenant(), options: object = quick): QueueWork => {
  const sender = startMailSender(ctx, options);
  senders.push(sender);
  return sender;
};
const words = layoutMail({ title: 'Hello', paragraphs: ['A secret: tell-nobody-4711'] });
const enqueue = (mail: Partial<NewMail> = {}, work: (tx: Tx) => Promise<unknown> = async () => undefined): Promise<string> =>
  inTransaction(tenant(), async (tx) => {
    const id = await enqueueMail(tx, tenant(), { kind: 'test', to: { address: 'ada@example.test' }, subject: 'Hello', ...words, ...mail });
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
  lease_until: Date | null;
};
const row = (id: string): Promise<Row> => inTransaction(tenant(), (tx) => tx('outgoing_mails').where({ id }).first());
const statusIs = (id: string, status: string): Promise<Row> =>
  until(async () => {
    const found = await row(id);
    return found.status === status ? found : undefined;
  });
const change = (id: string, columns: object) => inTransaction(tenant(), (tx) => tx('outgoing_mails').where({ id }).update(columns));
async function script(...args: Parameters<typeof startScriptedServer>): Promise<ScriptedServer> {
  const made = await startScriptedServer(...args);
  scripted.push(made);
  return made;
}

describe('turns', () => {
  it('whoever has the fewest mails in hand is next, however many another one queued before', async () => {
    const many = await Promise.all(Array.from({ length: 4 }, () => enqueue()));
    const other = { ...tenant(), organizationId: (await makeOrganization(database.ctx)).id };
    const one = await inTransaction(other, (tx) =>
      enqueueMail(tx, other, { kind: 'test', to: { address: 'bob@example.test' }, subject: 'Hello', ...words }),
    );
    const claimed: (string | undefined)[] = [];
    for (let n = 0; n < 6; n += 1) claimed.push((await claimMail(database.ctx, newId(), 60_000))?.id);
    expect([claimed[1], claimed[5]]).toEqual([one, undefined]);
    expect(claimed.filter((id) => id !== one && id !== undefined).sort()).toEqual([...many].sort());
    await inTransaction(other, (tx) => tx('outgoing_mails').delete());
  });
});

describe('a queued mail', () => {
  it('leaves at once when its transaction commits, and its body is gone from the database', async () => {
    start(tenant(), { ...quick, pollMs: 60_000 });
    const id = await enqueue();
    const sent = await statusIs(id, 'sent');
    expect(sent).toMatchObject({ attempts: 1, body: null, last_error: null, sent_at: expect.any(Date) });
    expect(server.delivered.map(({ mail }) => [mail.subject, mail.messageId])).toEqual([['Hello', sent.message_id]]);
    expect(sent.message_id).toBe(`<${id}@portal.example.test>`);
  });

  it('is unreadable in the database while it waits', async () => {
    const { body } = await row(await enqueue());
    expect(body).toMatch(/^test\./);
    expect(body).not.toContain('tell-nobody-4711');
  });

  it('does not leave when its transaction fails', async () => {
    const sender = start();
    await expect(enqueue({}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await sender.settled();
    expect(server.delivered).toEqual([]);
  });

  it('is not queued twice under one Message-ID', async () => {
    const messageId = '<subscription.2026-03-02.ada@portal.example.test>';
    const ids = await Promise.all([enqueue({ messageId }), enqueue({ messageId }), enqueue({ messageId })]);
    expect(new Set(ids).size).toBe(1);
    await start().settled();
    expect(await enqueue({ messageId })).toBe(ids[0]);
    await statusIs(ids[0] ?? '', 'sent');
    expect(server.delivered).toHaveLength(1);
  });

  it('can be taken back before it leaves', async () => {
    const id = await enqueue();
    await inTransaction(tenant(), (tx) => recallMail(tx, tenant(), id));
    await start().settled();
    expect([await row(id), server.delivered]).toEqual([undefined, []]);
  });

  it('is refused at once when nobody could send it', async () => {
    await expect(enqueue({ to: { address: 'a@b.test\r\nBcc: c@d.test' } })).rejects.toThrow('cannot be sent');
  });
});

describe('an attempt', () => {
  it('that takes long holds up no mail that is queued meanwhile', async () => {
    const slow = await script({ RCPT: 'stall' });
    start(tenant(slow.url), { ...quick, pollMs: 60_000, limits: { ...limits, envelopeMs: 60_000 } });
    const first = await enqueue();
    await slow.stalled;
    slow.react('RCPT', '250 ok');
    await statusIs(await enqueue(), 'sent');
    expect(await row(first)).toMatchObject({ status: 'sending', attempts: 1 });
  });

  it('is repeated while the server says later, and carries the same Message-ID', async () => {
    server.refuseNext.push({ code: 451, text: 'greylisted' }, { code: 421, text: 'busy' });
    const id = await enqueue();
    start();
    const sent = await statusIs(id, 'sent');
    expect(sent.attempts).toBe(3);
    expect(server.delivered.map(({ mail }) => mail.messageId)).toEqual([sent.message_id]);
  });

  it('is the last one after as many as are allowed: failed, the body gone, the reason kept', async () => {
    for (let i = 0; i < 5; i += 1) server.refuseNext.push({ code: 451, text: 'not yet' });
    const id = await enqueue();
    start();
    expect(await statusIs(id, 'failed')).toMatchObject({ attempts: 3, body: null, last_error: expect.stringContaining('not yet') });
    expect(server.refuseNext).toHaveLength(2);
  });

  it('is not repeated after a refusal', async () => {
    server.refuseNext.push({ code: 550, text: 'never' });
    const id = await enqueue();
    const sender = start();
    expect(await statusIs(id, 'failed')).toMatchObject({ attempts: 1, body: null });
    await sender.settled();
    expect(server.delivered).toEqual([]);
  });

  it('is not repeated when the server hung up on the message: unknown', async () => {
    const lost = await script({ 'end of data': 'hang up' });
    const id = await enqueue();
    const sender = start(tenant(lost.url));
    expect(await statusIs(id, 'unknown')).toMatchObject({ attempts: 1, body: null, sent_at: null });
    await sender.settled();
    expect(lost.messages).toHaveLength(1);
  });

  it('waits 30 s after the first failure, and longer each time, for eight attempts over most of a day', async () => {
    const down = await script({ greeting: '421 down' });
    const startedMs = Date.now();
    const id = await enqueue();
    const sender = start(tenant(down.url), { limits, pollMs: 60_000 });
    const waits: { least: number; most: number }[] = [];
    let dueAt = new Date(startedMs);
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await until(async () => ((await row(id)).attempts === attempt && (await row(id)).status !== 'sending' ? true : undefined));
      const { rows } = await inTransaction(tenant(), (tx) =>
        tx.raw(
          `select extract(epoch from next_attempt_at - ?)::float8 as most, extract(epoch from next_attempt_at - clock_timestamp())::float8 as least
           from outgoing_mails where id = ?`,
          [dueAt, id],
        ),
      );
      if ((await row(id)).status === 'failed') break;
      waits.push(rows[0]);
      dueAt = new Date();
      await change(id, { next_attempt_at: dueAt });
      await sender.settled();
    }
    const wanted = [30, 120, 600, 3_600, 10_800, 21_600, 43_200];
    expect(waits).toHaveLength(wanted.length);
    // From somewhere between when it came due and when it was looked at.
    for (const [index, seconds] of wanted.entries()) {
      expect(waits[index]?.least).toBeLessThanOrEqual(seconds);
      expect(waits[index]?.most).toBeGreaterThanOrEqual(seconds);
    }
    expect(await row(id)).toMatchObject({ status: 'failed', attempts: 8 });
  });

  it('waits for the key when its body can not be opened, and keeps it', async () => {
    const id = await enqueue();
    start({ ...tenant(), keyring: openKeyring([{ id: 'another', bytes: key }]) }, { ...quick, waitsMs: [60_000] });
    const waiting = await until(async () => ((await row(id)).last_error === null ? undefined : row(id)));
    expect(waiting).toMatchObject({
      status: 'queued',
      body: expect.stringMatching(/^test\./),
      last_error: expect.stringContaining('It cannot be read'),
    });
  });
});

describe('several senders', () => {
  it('let each of forty mails leave once', async () => {
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

  it('leave a mail alone whose sender is slow but alive', async () => {
    const slow = await script({ DATA: 'stall' });
    const id = await enqueue();
    start(tenant(slow.url), { ...quick, leaseMs: 9_000, waitsMs: [60_000] });
    await slow.stalled;
    const { lease_until: firstEnd } = await row(id);
    start();
    // Whoever is alive has it for longer and longer, so that the others never find its lease over.
    await until(async () => (Number((await row(id)).lease_until) > Number(firstEnd) ? true : undefined));
    slow.hangUp();
    const waiting = await statusIs(id, 'queued');
    expect([waiting.attempts, server.delivered]).toEqual([1, []]);
  });

  it('take over from one that lost its lease before the message left; its mark comes too late', async () => {
    const id = await enqueue();
    const dead = await claimMail(tenant(), newId(), 1);
    expect(dead?.id).toBe(id);
    start();
    await statusIs(id, 'sent');
    if (dead === undefined) throw new Error('nothing was claimed');
    expect(await markDataBegun(tenant(), dead)).toBe(false);
    expect(await settleSent(tenant(), dead)).toBe(false);
    expect(server.delivered).toHaveLength(1);
    expect((await row(id)).attempts).toBe(2);
  });

  it('send nothing once they lost the mail, though the server stands ready for it', async () => {
    const id = await enqueue();
    let asked = 0;
    const ready = await startMailServer({
      onRcptTo: (_address, _session, done) => {
        asked += 1;
        change(id, { lease_id: newId(), lease_until: new Date(Date.now() + 60_000) }).then(() => done(), done);
      },
    });
    try {
      const sender = start(tenant(ready.url));
      await until(async () => (asked > 0 ? true : undefined));
      await sender.settled();
      expect([asked, ready.delivered.length]).toEqual([1, 0]);
      expect(await row(id)).toMatchObject({ status: 'sending', attempts: 1, last_error: null, data_begun_at: null });
    } finally {
      await ready.close();
    }
  });

  it('give a mail up whose sender is gone after the message was under way, unless the server’s word comes after all', async () => {
    const id = await enqueue();
    const gone = await claimMail(tenant(), newId(), 400);
    if (gone === undefined) throw new Error('nothing was claimed');
    expect(await markDataBegun(tenant(), gone)).toBe(true);
    start();
    expect(await statusIs(id, 'unknown')).toMatchObject({
      body: null,
      last_error: expect.stringContaining('ended before the server answered'),
    });
    expect(await settleSent(tenant(), gone)).toBe(true);
    expect(await row(id)).toMatchObject({ status: 'sent', last_error: null });
    expect(server.delivered).toEqual([]);
  });
});

describe('a sender that stops', () => {
  it('hands a mail back that had not left, as if nobody had claimed it', async () => {
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
});

describe('a sender that is killed', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mail-worker-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function startProcess(smtpUrl: string): Promise<ChildProcess> {
    const file = path.join(folder, `${newId()}.json`);
    const { settings } = tenant(smtpUrl);
    await writeFile(file, JSON.stringify({ address: database.address, key: key.toString('base64'), settings, options: quick }));
    const child = fork(fileURLToPath(new URL('./worker-process.ts', import.meta.url)), [file], { stdio: 'inherit' });
    children.push(child);
    return child;
  }

  it('before the message left: another sends it', async () => {
    const slow = await script({ DATA: 'stall' });
    const id = await enqueue();
    const child = await startProcess(slow.url);
    await slow.stalled;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await change(id, { lease_until: new Date(0) });
    start();
    expect((await statusIs(id, 'sent')).attempts).toBe(2);
    expect([slow.messages.length, server.delivered.length]).toEqual([0, 1]);
  });

  it('after the message left: nobody sends it again', async () => {
    const slow = await script({ 'end of data': 'stall' });
    const id = await enqueue();
    const child = await startProcess(slow.url);
    await slow.stalled;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await change(id, { lease_until: new Date(0) });
    const sender = start();
    expect(await statusIs(id, 'unknown')).toMatchObject({ attempts: 1, body: null });
    await sender.settled();
    expect(server.delivered).toEqual([]);
  });
});

describe('prune_mails', () => {
  it('takes mails of more than 90 days ago that are done, and leaves what is recent or waits', async () => {
    const old = new Date(Date.now() - 91 * 86_400_000);
    const [done, waiting, recent] = [await enqueue(), await enqueue(), await enqueue()];
    await change(done, { status: 'sent', body: null, created_at: old });
    await change(waiting, { created_at: old });
    await change(recent, { status: 'failed', body: null });
    await database.ctx.db.control.raw('select prune_mails()');
    expect([await row(done), (await row(waiting)).status, (await row(recent)).status]).toEqual([undefined, 'queued', 'failed']);
  });
});
