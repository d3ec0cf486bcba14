// Mails and subscription slots through a failover of the database server: nothing is sent twice, what may
// have been sent is shown, and a person can send it.
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ctx, TenantCtx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { enqueueMail, layoutMail, startMailSender } from '../../src/mail/index.ts';
import { createOperator } from '../admin/fixture.ts';
import { openSubscriptionSite, type SubscriptionSite } from '../platform/subscriptions/fixture.ts';
import { testSettings } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { type PairDatabase, pairDatabase } from './harness/pair-database.ts';

let database: PairDatabase;
let smtp: MailServer;
const stops: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  smtp = await startMailServer();
  const settings = {
    publicUrl: 'https://portal.example.test',
    mail: { ...testSettings.mail, smtpUrl: smtp.url },
  };
  database = await pairDatabase({ settings });
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await database.close();
  await smtp.close();
});

const content = layoutMail({ title: 'Hello', paragraphs: ['Hello'] });
async function organization(): Promise<TenantCtx> {
  return { ...database.ctx, organizationId: (await makeOrganization(database.ctx)).id };
}
const enqueue = (tenant: TenantCtx, subject: string): Promise<string> =>
  inTransaction(tenant, (tx) =>
    enqueueMail(tx, tenant, { kind: 'test', to: { address: 'ada@example.test' }, subject, ...content }),
  );
const startSenders = (...processes: Ctx[]): void => {
  const senders = processes.map((process) => startMailSender(process, { pollMs: 50 }));
  stops.push(() => Promise.all(senders.map((sender) => sender.stop())));
};
const stopSenders = async (): Promise<unknown> => stops.pop()?.();
const readStatus = async (tenant: TenantCtx, id: string): Promise<string> =>
  (await inTransaction(tenant, (tx) => tx('outgoing_mails').where({ id }).first())).status;
const reaches = (tenant: TenantCtx, id: string, status: string) =>
  until(async () => (await readStatus(tenant, id)) === status);
const subjects = (): string[] => smtp.delivered.map(({ mail }) => mail.subject ?? '').sort();
const failovers = () =>
  database.query<{ timeline: string; lost: boolean }>(
    'select timeline, survived_at is not null as lost from server_timelines order by id',
  );

describe('a failover that loses commits', () => {
  it('sends no mail again that may have been sent, and a person can', async () => {
    const tenant = await organization();
    const [due, later] = [await enqueue(tenant, 'due'), await enqueue(tenant, 'later')];
    await inTransaction(tenant, (tx) =>
      tx('jobs')
        .where({ kind: 'mails', key: later })
        .update({ due_at: new Date(Date.now() + 3_600_000) }),
    );
    // As a running service, whose senders have asked the queue before.
    await database.ctx.db.control.raw('select note_server_timeline()');
    await database.startLosing();
    const cutAt = new Date();
    startSenders(database.ctx);
    await enqueue(tenant, 'lost');
    await until(async () => smtp.delivered.length === 2);
    await stopSenders();
    await database.failOver();

    const processes = [database.ctx, database.openProcess(), database.openProcess()];
    startSenders(...processes);
    const after = await enqueue(tenant, 'after');
    await reaches(tenant, after, 'sent');
    expect(subjects()).toEqual(['after', 'due', 'lost']);
    expect([await readStatus(tenant, due), await readStatus(tenant, later)]).toEqual(['unknown', 'queued']);
    expect(await failovers()).toEqual([
      { timeline: '00000001', lost: false },
      { timeline: '00000002', lost: true },
    ]);
    const [survived] = await database.query<{ at: Date }>(
      'select max(survived_at) as at from server_timelines',
    );
    expect(Number(survived?.at)).toBeLessThanOrEqual(Number(cutAt));

    const operator = createOperator(database.ctx, database.address);
    stops.push(operator.close);
    expect((await operator.run('list-unknown-mails')).json).toMatchObject([
      { id: due, recipient: 'ada@example.test', canBeSent: true },
    ]);
    await operator.run('send-unknown-mails', due);
    await reaches(tenant, due, 'sent');
    const sent = smtp.delivered
      .filter(({ mail }) => mail.subject === 'due')
      .map(({ mail }) => mail.messageId);
    expect(sent).toEqual([`<${due}@portal.example.test>`, `<${due}@portal.example.test>`]);
  });

  it('lets no sender go on that held a mail before', async () => {
    const tenant = await organization();
    const held = await enqueue(tenant, 'held');
    let open = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      open = resolve;
    });
    let asked = false;
    const slow = await startMailServer({
      onRcptTo: (_address, _session, done) => {
        asked = true;
        void waiting.then(() => done());
      },
    });
    stops.push(slow.close);
    const settings = { ...database.ctx.settings, mail: { ...database.ctx.settings.mail, smtpUrl: slow.url } };
    startSenders({ ...database.ctx, settings });
    await until(async () => asked);
    await database.servers.caughtUp();
    await database.failOver();
    open();
    await reaches(tenant, held, 'unknown');
    await stopSenders();
    expect(slow.delivered).toEqual([]);
  });
});

describe('a switchover', () => {
  it('makes nothing unknown that was not due in that moment', async () => {
    const tenant = await organization();
    startSenders(database.ctx, database.openProcess());
    const before = await enqueue(tenant, 'before');
    await reaches(tenant, before, 'sent');
    const later = await enqueue(tenant, 'later').catch(() => '');
    await reaches(tenant, later, 'sent');
    await database.switchOver();
    const after = await Promise.all(['a', 'b', 'c'].map((subject) => enqueue(tenant, subject)));
    for (const id of after) await reaches(tenant, id, 'sent');
    expect(subjects()).toEqual(['a', 'b', 'before', 'c', 'later']);
    const unknown = await database.query("select from outgoing_mails where status = 'unknown'");
    expect(unknown).toEqual([]);
  });
});

it('on a standby, what sends fails as every write does, so that its connection is given up', async () => {
  await database.servers.caughtUp();
  const claims = database.servers.standby.query(
    "select claim_job('mails', gen_random_uuid(), '1 minute')",
    [],
    'portal',
  );
  await expect(claims).rejects.toMatchObject({ code: '25006' });
});

describe('a subscription slot', () => {
  /** A subscription whose only slot of the day is this minute. */
  async function subscribed(fixture: SubscriptionSite): Promise<string> {
    const now = new Date();
    const { id } = await fixture.subscribe({
      viewId: await fixture.view(),
      schedule: `${now.getUTCMinutes()} ${now.getUTCHours()} * * *`,
      timezone: 'UTC',
    });
    await fixture.as((tx) =>
      tx('subscriptions').update({ scheduled_since: new Date(now.getTime() - 120_000) }),
    );
    return id;
  }
  const tick = async (fixture: SubscriptionSite): Promise<void> => {
    const runner = fixture.run({ pollMs: 3_600_000 });
    await runner.tick();
    await runner.stop();
  };

  it('that was sent by lost commits is shown as unknown, not sent again, and can be sent by hand', async () => {
    const fixture = await openSubscriptionSite({ database });
    stops.push(fixture.close);
    const id = await subscribed(fixture);
    await database.ctx.db.control.raw('select note_server_timeline()');
    await database.startLosing();
    await tick(fixture);
    fixture.send();
    const [sent] = await fixture.settled(id, ['sent']);
    await fixture.stopSenders();
    await database.failOver();
    expect(await fixture.deliveries(id)).toEqual([]);

    await Promise.all([tick(fixture), tick(fixture)]);
    fixture.send();
    const [shown] = await fixture.deliveries(id);
    expect(shown).toMatchObject({
      status: 'unknown',
      messageId: sent?.messageId,
      slot: sent?.slot,
      error: expect.stringContaining('failed over'),
    });
    expect(fixture.mails.delivered).toHaveLength(1);
    expect((await fixture.owner('post', `/subscriptions/${id}/send`)).status).toBe(202);
    await tick(fixture);
    await fixture.settled(id, ['unknown', 'sent']);
    expect(fixture.mails.delivered).toHaveLength(2);
  });

  it('whose creation survived is unknown as well, and one after the failover is sent', async () => {
    const fixture = await openSubscriptionSite({ database });
    stops.push(fixture.close);
    const id = await subscribed(fixture);
    const hanging = fixture.run({
      read: (_tenant, _work, stop) => once(stop, 'abort').then(() => Promise.reject(new Error('stopped'))),
    });
    void hanging.tick();
    await until(async () => (await fixture.deliveries(id)).length === 1);
    await database.servers.caughtUp();
    await database.failOver();
    await hanging.stop();
    await tick(fixture);
    expect(await fixture.deliveries(id)).toMatchObject([{ status: 'unknown' }]);
    await fixture.owner('post', `/subscriptions/${id}/send`);
    await tick(fixture);
    fixture.send();
    await fixture.settled(id, ['unknown', 'sent']);
    expect(fixture.mails.delivered).toHaveLength(1);
  });
});
