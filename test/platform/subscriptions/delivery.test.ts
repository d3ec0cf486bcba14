// From a due slot to mails in a real SMTP server: their content, and that each is sent once, whatever fails.
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { unavailable } from '../../../src/core/errors.ts';
import { openDb } from '../../../src/db/connect.ts';
import { claimJob } from '../../../src/db/jobs.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import type {} from '../../../src/platform/subscriptions/runner.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { loadInvoices } from '../../public/fixture.ts';
import { createApi } from '../../setup/api.ts';
import { endLeases, makeDue } from '../../setup/jobs.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { type ScriptStep, startScriptedServer } from '../../setup/smtp.ts';
import { until } from '../../setup/until.ts';
import { minuteMs, useDeliveries } from './fixture.ts';

const { site, view } = useDeliveries();

const findHeader = (address: string, name: string): string | undefined =>
  site.mailsTo(address)[0]?.mail.headers.find(({ key }) => key === name)?.value;
const now = (): string => site.clock.now().toISOString().replace('.000', '');

const notPublished = expect.stringContaining('No sync of this resource has been published yet');

/** Concurrency of one process. */
const concurrency = 2;

describe('a slot', () => {
  it('sends each recipient a mail with labels, exact right-aligned numbers, escaped values, in HTML and plain text', async () => {
    const { id } = await site.subscribe({
      viewId: view.id,
      recipients: ['Ada@Example.test', 'bob@example.test'],
      timezone: 'Europe/London',
    });
    const [bob, ada] = await site.deliver(id, ['sent', 'sent']);
    expect([ada?.recipient, bob?.recipient].sort()).toEqual(['ada@example.test', 'bob@example.test']);
    expect(ada).toMatchObject({ records: 3, error: null, slot: now() });
    const [delivered] = site.mailsTo(ada?.recipient ?? '');
    expect(delivered?.mail).toMatchObject({ subject: 'Open invoices: 3 records', messageId: ada?.messageId });
    const { html = '', text = '' } = delivered?.mail ?? {};
    expect(html).toContain('Ann &amp; &lt;b&gt;Co&lt;/b&gt;');
    expect(html).not.toContain('<b>Co');
    for (const label of ['Document number', 'Customer', 'Date', 'Amount']) expect(html).toContain(label);
    expect(html).toMatch(/text-align:right[^>]*>(<span[^>]*>Amount<\/span>)12345678901234567890\.10</);
    expect(html).toContain('3 records. As of 2026-03-01 08:00 (Europe/London).');
    expect(html).toContain('subscribed your address to “Open invoices”');
    expect(text).toContain('INV-2            =1+1             2026-02-01                   -15.30\n');
    expect(text).toContain('INV-3                                         12345678901234567890.10\n');
    expect(findHeader('ada@example.test', 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    const [first, second] = [site.findLink('ada@example.test'), site.findLink('bob@example.test')];
    expect(first).toMatch(/^https:\/\/portal\.example\.test\/unsubscribe\?token=[\w-]{43}$/);
    expect(second).not.toBe(first);
    expect(html + text).toContain(first);
    expect(html + text).not.toContain(second);
  });

  it('is sent without records as well, names a missing field, and no view name can add a header', async () => {
    const name = `Late\u200b ${'x'.repeat(100)}`;
    const empty = await site.view({
      name,
      columns: ['tranid', 'total'],
      filters: [{ field: 'total', operator: 'gt', value: '99999999999999999999999' }],
    });
    const change = { name: 'Late\r\nBcc: eve@example.test', columns: ['tranid', 'gone'] };
    await site.as((tx) => tx('views').where({ id: empty }).update(change));
    await site.deliver((await site.subscribe({ viewId: empty })).id);
    const [{ to, mail } = {}, ...others] = site.mails.delivered;
    const subject = 'Late Bcc: eve@example.test: no records';
    expect([to, mail?.subject, others]).toEqual([['ada@example.test'], subject, []]);
    expect(mail?.bcc).toBeUndefined();
    for (const words of ['There are no records.', 'no synced field "gone"'])
      expect(mail?.text).toContain(words);
  });

  it('is created once per minute of the schedule, and after downtime only the latest', async () => {
    const { id } = await site.subscribe({ viewId: view.id });
    for (const slots of [1, 2]) {
      await site.tick();
      await site.tick();
      expect(await site.deliveries(id)).toHaveLength(slots);
      expect((await site.deliveries(id))[0]?.slot).toBe(now());
      site.clock.advance(90 * minuteMs);
    }
  });

  it('fails instead of being sent late when the next one is already due', async () => {
    const { id } = await site.subscribe({ viewId: view.id });
    await site.tick({ read: () => Promise.reject(unavailable('Busy', 1)) });
    site.clock.advance(2 * minuteMs);
    await site.as((tx) => makeDue(tx, 'subscription_slots'));
    await site.tick();
    expect((await site.deliveries(id)).map(({ status, error }) => [status, error])).toEqual([
      ['queued', null],
      ['failed', 'The service could not send this slot before the next one was due'],
    ]);
  });
});

describe('reading', () => {
  it('is retried until the attempts are used up, and then the deliveries fail with its message', async () => {
    const schema = tenantSchema(site.organization.id);
    await site.ctx.db.data.query(
      `insert into ${schema}.record_state (record_type, id_type, generation, row_count) values ('estimate', 'integer', 0, 0);
       insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, position)
         values ('estimate', 'f_tranid', 'tranid', 'value', 'text', 'live', 1)`,
    );
    const unread = await site.view({ recordType: 'estimate', columns: ['tranid'] });
    const { id } = await site.subscribe({ viewId: unread, schedule: '0 0 1 1 *' });
    await site.as((tx) => tx('subscriptions').update({ scheduled_since: '2020-01-01' }));
    const waits: { min: number; max: number }[] = [];
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const dueAt = new Date();
      await site.tick();
      const { rows } = await site.as((tx) =>
        tx.raw(
          `select status, extract(epoch from due_at - ?)::float8 as max, extract(epoch from due_at - clock_timestamp())::float8 as min
           from subscription_slots left join jobs on key = id::text`,
          [dueAt],
        ),
      );
      if (rows[0].status === 'waiting') {
        waits.push(rows[0]);
        const queued = { status: 'queued', error: notPublished, records: null };
        expect((await site.deliveries(id))[0]).toMatchObject(queued);
      }
      await site.as((tx) => makeDue(tx, 'subscription_slots'));
    }
    // The wait starts between the time when it was due and the time when it was checked.
    for (const [index, seconds] of [5, 30, 120, 300].entries()) {
      expect(waits[index]?.min).toBeLessThanOrEqual(seconds);
      expect(waits[index]?.max).toBeGreaterThanOrEqual(seconds);
    }
    expect(waits).toHaveLength(4);
    expect(await site.deliveries(id)).toMatchObject([{ status: 'failed', error: notPublished }]);
    const { lastSlot } = (await site.owner('get', `/subscriptions/${id}`)).body;
    expect(lastSlot).toMatchObject({ error: notPublished, deliveries: { failed: 1, queued: 0 } });
  });

  it('hides the message of an internal error, which is in the log', async () => {
    const { id } = await site.subscribe({ viewId: view.id });
    await site.tick({ read: () => Promise.reject(new Error('secret detail')) });
    expect(await site.deliveries(id)).toMatchObject([{ status: 'queued', error: 'Internal error' }]);
    expect(site.lines.join('')).toContain('secret detail');
  });
});

it('several processes deliver each of thirty slots once, and take over the slots of a stuck process', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 30; n += 1)
    ids.push((await site.subscribe({ viewId: view.id, recipients: [`p${n}@example.test`] })).id);
  let stuck = 0;
  const ends: (() => void)[] = [];
  const late = { title: 'x', subject: 'too late', records: 0, attachment: undefined };
  const never = site.run({
    leaseMs: 1_000,
    read: () => {
      stuck += 1;
      return new Promise((resolve) => {
        ends.push(() => resolve({ ...late, layout: () => ({ text: 'x', html: 'x' }) }));
      });
    },
  });
  // Also when the test fails: a runner whose work never ends can't be stopped.
  onTestFinished(() => {
    for (const end of ends) end();
  });
  void never.tick();
  // Wait until it is at its concurrency limit: slots that it claimed later would stay with it.
  await until(async () => stuck === concurrency);
  await site.as((tx) => endLeases(tx, 'subscription_slots'));
  const { address } = site.database;
  const ownPool = openDb(address, address, { control: 4, data: 4 }, 5_000);
  const others = [site.run(), site.run({}, { ...site.ctx, db: ownPool })];
  await Promise.all(others.map((runner) => runner.tick()));
  const sender = site.send();
  for (const id of ids) await site.settled(id, ['sent']);
  for (const runner of others) await runner.stop();
  await ownPool.close();
  for (const end of ends) end();
  await never.stop();
  await sender.waitUntilIdle();
  expect(site.mails.delivered.map(({ mail }) => mail.subject)).not.toContain('too late');
  expect(site.mails.delivered).toHaveLength(30);
  expect(new Set(site.mails.delivered.map(({ to }) => to[0])).size).toBe(30);
});

describe('organizations', () => {
  const send = async (id: string, api = site.owner): Promise<void> => {
    expect((await api('post', `/subscriptions/${id}/send`)).status).toBe(202);
  };
  it('are served fairly: the one with fewer slots in progress is next', async () => {
    for (let n = 0; n < 3; n += 1) await send((await site.subscribe({ viewId: view.id })).id);
    const other = await makeOrganization(site.ctx);
    const secret = (await makeKey(site.ctx, other.id, { permissions: ['write'] })).secret;
    await loadInvoices(site.ctx, other.id, []);
    const api = createApi(site.app, secret);
    const { id } = await site.subscribe({ viewId: await site.view({}, api) }, api);
    await send(id, api);
    const claimed: (string | undefined)[] = [];
    for (let n = 0; n < 5; n += 1)
      claimed.push((await claimJob(site.ctx, 'subscription_slots', 60_000))?.organizationId);
    const own = site.organization.id;
    expect(claimed).toEqual([own, other.id, own, own, undefined]);
    await inTransaction({ db: site.ctx.db, organizationId: other.id }, (tx) => tx('subscriptions').delete());
  });

  it('have a daily limit of mails: above it scheduled slots fail with a message, and sending on request is a 429', async () => {
    const mail = { ...site.ctx.settings.mail, maxSubscriptionMailsPerDay: 2 };
    const ctx = { ...site.ctx, settings: { ...site.ctx.settings, mail } };
    const { secret } = await makeKey(ctx, site.organization.id, { permissions: ['write'] });
    const small = createApi(createApp(ctx), secret);
    const runner = site.run({}, ctx);
    const three = { viewId: view.id, recipients: ['a@example.test', 'b@example.test', 'c@example.test'] };
    const scheduled = (await site.subscribe(three)).id;
    await runner.tick();
    expect((await site.deliveries(scheduled)).map(({ records }) => records)).toEqual([3, 3, 3]);
    const message = 'Daily limit reached: an organization sends at most 2 subscription mails a day';
    // A slot that was created while the limit was not reached.
    const late = (await site.subscribe({ ...three, schedule: '0 0 1 1 *' })).id;
    await send(late);
    await runner.tick();
    expect((await site.deliveries(late)).map(({ status, error }) => [status, error])).toEqual(
      Array(3).fill(['failed', message]),
    );
    site.clock.advance(minuteMs);
    await runner.tick();
    const { body } = await small('get', `/subscriptions/${scheduled}`);
    expect(body.lastSlot).toMatchObject({ trigger: 'schedule', error: message });
    expect(await site.deliveries(scheduled)).toHaveLength(3);
    // Deleting what was sent does not free any quota.
    await site.as((tx) => tx('outgoing_mails').update({ body: null, status: 'sent' }));
    expect((await small('delete', `/subscriptions/${scheduled}`)).status).toBe(204);
    expect(await small('post', `/subscriptions/${late}/send`)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '3600' },
      body: { error: { message } },
    });
    await runner.stop();
  });
});

describe('the mail server', () => {
  /** A subscription whose mail goes to a server that reacts like this at one step. */
  const sendTo = async (step: ScriptStep, reaction: string) => {
    const server = await startScriptedServer({ [step]: reaction });
    onTestFinished(() => server.close());
    const { id } = await site.subscribe({ viewId: view.id });
    await site.tick();
    return { id, server, sender: site.send(server.url) };
  };

  it.each([
    ['refuses', 'RCPT', '550 no such user', 'failed', 0],
    ['hangs up after the message', 'end of data', 'hang up', 'unknown', 1],
  ] as const)(
    '%s: the mail is never sent again, and the delivery has an error',
    async (_name, step, reaction, status, messages) => {
      const { id, server, sender } = await sendTo(step, reaction);
      const [delivery] = await site.settled(id, [status]);
      expect(delivery?.error).not.toBeNull();
      server.react(step, '250 ok');
      await sender.waitUntilIdle();
      expect(server.messages).toHaveLength(messages);
    },
  );

  it.each([
    ['responds 451', 'end of data', '451 later', '250 ok'],
    ['hangs up before the message', 'DATA', 'hang up', '354 go ahead'],
  ] as const)('%s: the same mail is retried', async (_name, step, reaction, accepts) => {
    const { id, server, sender } = await sendTo(step, reaction);
    await until(async () => server.commands.some((line) => line.startsWith('DATA')));
    server.react(step, accepts);
    const [delivery] = await site.settled(id, ['sent']);
    await sender.waitUntilIdle();
    expect(server.messages.at(-1)).toContain(`Message-ID: ${delivery?.messageId}`);
  });
});
