// Alert mails, read back from a real mail server: one for each change of a sync's state, whoever works and wherever one dies.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { newId } from '../../src/core/id.ts';
import type { Recurring } from '../../src/core/recurring.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { startMailSender } from '../../src/mail/index.ts';
import { startCertificateWatch } from '../../src/sync/certificate-watch.ts';
import { noteHealth } from '../../src/sync/health.ts';
import { apiOf } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { type Delivered, type MailServer, startMailServer } from '../setup/smtp.ts';
import { endOpenRuns, erpError, type SyncWorld, syncWorld } from './fixture.ts';

const publicUrl = 'https://portal.example.test';
const apiUrl = `${publicUrl}/api/platform/v1`;
const recipients = ['ops@example.test', 'night@example.test'];

let database: TestDatabase;
let server: MailServer;
let ctx: Ctx;
let admin: Knex;
let world: SyncWorld;

beforeAll(async () => {
  database = await testDatabase({ settings: { publicUrl } });
  admin = openKnex(database.address, null, 1);
  await admin.raw(`
    create table refusals (on_or_off boolean);
    grant select on refusals to portal_service;
    create function refuse() returns trigger language plpgsql as $$
    begin
      if exists (select from refusals) then raise exception 'refused by the test'; end if;
      return new;
    end $$;
    create trigger refusing before insert on outgoing_mails for each row execute function refuse();`);
});
beforeEach(async () => {
  server = await startMailServer();
  ctx = { ...database.ctx, settings: { ...database.ctx.settings, mail: { ...testSettings.mail, smtpUrl: server.url } } };
  world = await syncWorld(ctx);
  for (let id = 1; id <= 60; id += 1) world.erp.put(id);
  await world.changeConfig({ alert_recipients: recipients });
});
afterEach(async () => {
  await admin('refusals').delete();
  await endOpenRuns(database);
  await server.close();
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

/** What has left since the last look, by subject and recipient. */
async function mails(): Promise<Delivered[]> {
  const sender = startMailSender(ctx, { pollMs: 60_000 });
  await sender.settled();
  await sender.stop();
  return server.delivered.splice(0);
}
const subjects = async (): Promise<string[]> => (await mails()).map(({ mail, to }) => `${to[0]}: ${mail.subject}`).sort();
const toAll = (subject: string): string[] => recipients.map((to) => `${to}: ${subject}`).sort();
const fails = (kind: 'forbidden' | 'credentials', code = 'NOT_ALLOWED'): void => {
  world.erp.onCall = () => {
    throw erpError(kind, code);
  };
};
const works = (): void => {
  world.erp.onCall = () => undefined;
};

describe('an alert', () => {
  it('is none for a sync that is well', async () => {
    await world.sync();
    await world.sync();
    expect(await subjects()).toEqual([]);
  });

  it('comes with the first run that is not green, not with the next ones, and then when it is well again', async () => {
    await world.sync();
    fails('forbidden');
    const first = await world.sync();
    await world.sync();
    const sent = await mails();
    expect(sent.map(({ to }) => to[0]).sort()).toEqual([...recipients].sort());
    const { mail } = sent[0] as Delivered;
    expect(mail.subject).toBe('Sync Things failed');
    expect(mail.text).toContain('What happened: the ERP says NOT_ALLOWED (NOT_ALLOWED).');
    expect(mail.text).toMatch(/Since when: \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
    expect(mail.text).toContain('What to do: Do something about it.');
    expect(mail.text).toContain(`${apiUrl}/sync-runs/${first.id}`);
    expect(mail.html).toContain(`${apiUrl}/sync-runs/${first.id}`);
    works();
    await world.sync();
    await world.sync();
    const recovered = await mails();
    expect(recovered.map(({ mail: { subject } }) => subject)).toEqual(['Sync Things is well again', 'Sync Things is well again']);
    expect(recovered[0]?.mail.text).toMatch(/had not been well since \d{4}-/);
  });

  it('comes where the very first run fails', async () => {
    fails('forbidden');
    await world.sync();
    expect(await subjects()).toEqual(toAll('Sync Things failed'));
  });

  it('comes with each change of a sync that flaps, never with each run', async () => {
    const seen: string[] = [];
    for (const isWell of [true, true, false, false, false, true, false, true, true]) {
      if (isWell) works();
      else fails('forbidden');
      await world.sync();
      seen.push(...(await subjects()).filter((one) => one.startsWith('ops')));
    }
    expect(seen.map((one) => one.replace('ops@example.test: Sync Things ', ''))).toEqual([
      'failed',
      'is well again',
      'failed',
      'is well again',
    ]);
  });

  it('names records that were left out', async () => {
    world.erp.rejects.set('99', { id: '99', code: 'X', message: 'no' });
    await world.sync();
    expect(await subjects()).toEqual(toAll('Sync Things leaves records out'));
    world.erp.rejects.clear();
    await world.sync();
    expect(await subjects()).toEqual(toAll('Sync Things is well again'));
  });

  it('says that deletions wait, how many, and how to approve them', async () => {
    await world.sync();
    for (let id = 1; id <= 40; id += 1) world.erp.records.delete(String(id));
    await world.sync();
    await world.sync();
    const sent = await mails();
    expect(sent.map(({ mail }) => mail.subject)).toEqual(recipients.map(() => 'Sync Things holds deletions back'));
    expect(sent[0]?.mail.text).toContain('40 records are absent');
    expect(sent[0]?.mail.text).toContain(`/sync-configs/${world.configId}/approve-deletions`);
  });

  it('of a pause says so once, in place of the failure; it is well again with a run, not with the mend', async () => {
    await world.sync();
    fails('credentials', 'KEY_REVOKED');
    await world.sync();
    await world.sync();
    expect(await subjects()).toEqual(toAll('Sync Things is paused'));
    works();
    await world.changeConfig({ paused_reason: null });
    expect(await subjects()).toEqual([]);
    await world.sync();
    expect(await subjects()).toEqual(toAll('Sync Things is well again'));
  });

  it('comes when the connection is deleted', async () => {
    const connection = JSON.stringify({ accountId: '1', baseUrl: null, authentication: { method: 'oauth2' } });
    await inTransaction(world.tenant, (tx) =>
      tx('erp_connections').insert({ organization_id: world.organizationId, kind: 'netsuite', account_id: '1', settings: connection }),
    );
    const api = apiOf(createApp(ctx), (await makeKey(ctx, world.organizationId, { permissions: ['write'] })).secret);
    expect((await api('delete', '/netsuite/connection')).status).toBe(204);
    const sent = await mails();
    expect(sent.map(({ mail }) => mail.subject)).toEqual(recipients.map(() => 'Sync Things is paused'));
    expect(sent[0]?.mail.text).toContain(`${apiUrl}/sync-configs/${world.configId}`);
  });

  it('is one however many processes note the same change at once', async () => {
    const news = { health: 'unwell', problem: { code: 'X', message: 'x', fix: 'x' }, runId: newId() } as const;
    await Promise.all(
      Array.from({ length: 6 }, () =>
        inTransaction(world.tenant, (tx) => noteHealth(tx, { ...world.tenant, ...ctx }, world.configId, news)),
      ),
    );
    expect(await subjects()).toEqual(toAll('Sync Things failed'));
  });

  it('is none for a cancelled run', async () => {
    const runId = await world.queue();
    await inTransaction(world.tenant, (tx) => tx('sync_runs').where({ id: runId }).update({ cancel_requested: true }));
    expect((await world.drive(runId)).status).toBe('cancelled');
    expect(await subjects()).toEqual([]);
  });

  it('passes over an address that is none, and the run ends all the same', async () => {
    await world.changeConfig({ alert_recipients: ['not an address', 'ops@example.test', 'ops@example.test'] });
    fails('forbidden');
    expect((await world.sync()).status).toBe('failed');
    expect(await subjects()).toEqual(['ops@example.test: Sync Things failed']);
  });

  it('is queued with the state or not at all, and once, wherever the worker dies', async () => {
    fails('forbidden');
    await admin('refusals').insert({ on_or_off: true });
    const runId = await world.queue();
    await world.work(await world.claim());
    expect((await world.row(runId)).status).toBe('running');
    expect(await subjects()).toEqual([]);
    await admin('refusals').delete();
    await admin('sync_runs').where({ id: runId }).update({ lease_until: '2020-01-01' });
    expect((await world.drive(runId)).status).toBe('failed');
    expect(await subjects()).toEqual(toAll('Sync Things failed'));
  });
});

describe('a certificate that ends', () => {
  let organizationId: string;
  let watches: Recurring[] = [];
  const own = () => ({ ...ctx, organizationId });
  const endsIn = (days: number) =>
    inTransaction(own(), (tx) =>
      tx('erp_certificates')
        .where({ active: true })
        .update({ not_after: tx.raw("clock_timestamp() + ? * interval '1 day'", [days]) }),
    );
  const look = async (): Promise<string[]> => {
    await Promise.all(watches.map((watch) => watch.tick()));
    return subjects();
  };
  const title = (rest: string) =>
    ['a@example.test', 'b@example.test', 'c@example.test'].map((to) => `${to}: The ERP certificate of Acme ${rest}`);

  beforeEach(async () => {
    ({ id: organizationId } = await makeOrganization(ctx, { name: 'Acme' }));
    await inTransaction(own(), async (tx) => {
      const settings = JSON.stringify({ authentication: { method: 'oauth2' } });
      await tx('erp_connections').insert({ organization_id: organizationId, kind: 'netsuite', account_id: '1', settings });
      const pem = { organization_id: organizationId, private_key: 'x', not_after: '2090-01-01' };
      await tx('erp_certificates').insert({ ...pem, slot: 1, certificate_pem: newId(), active: true });
      await tx('erp_certificates').insert({ ...pem, slot: 2, certificate_pem: newId(), not_after: '2001-01-01' });
      const lists = { customer: ['a@example.test', 'b@example.test'], invoice: ['b@example.test', 'c@example.test'] };
      for (const [record_type, alert_recipients] of Object.entries(lists)) {
        const config = { id: newId(), organization_id: organizationId, record_type, alert_recipients };
        await tx('sync_configs').insert({ ...config, name: record_type, mode: 'full', deletions: 'none' });
      }
    });
    watches = [startCertificateWatch(ctx), startCertificateWatch(ctx)];
    // Each looks as it starts; whoever asks meanwhile is given that look, which may have missed what a test does first.
    await Promise.all(watches.map((watch) => watch.tick()));
  });
  afterEach(async () => {
    for (const watch of watches) await watch.stop();
    await admin('organizations').where({ id: organizationId }).delete();
  });

  it('is told at 60, 30 and 14 days, once each, to everyone on a list, by two processes as by one', async () => {
    expect(await look()).toEqual([]);
    const seen: [number, string[]][] = [];
    for (const days of [60.5, 59.5, 45, 29.5, 29, 14.5, 13.5, 5, 0.5]) {
      await endsIn(days);
      const found = await look();
      if (found.length > 0) seen.push([days, found]);
    }
    expect(seen).toEqual([
      [59.5, title('ends in 59 days')],
      [29.5, title('ends in 29 days')],
      [13.5, title('ends in 13 days')],
    ]);
  });

  it('that was overlooked is told once, by the nearest threshold', async () => {
    await endsIn(1.5);
    expect(await look()).toEqual(title('ends in 1 day'));
    expect(await look()).toEqual([]);
  });

  it('says what to do', async () => {
    await endsIn(20);
    await Promise.all(watches.map((watch) => watch.tick()));
    expect((await mails())[0]?.mail.text).toContain(`POST ${apiUrl}/netsuite/connection/certificate`);
  });

  it('starts anew for the next certificate', async () => {
    await endsIn(10);
    expect(await look()).toHaveLength(3);
    await inTransaction(own(), (tx) => tx('erp_certificates').where({ active: true }).update({ certificate_pem: newId() }));
    expect(await look()).toHaveLength(3);
  });

  it('waits for someone to tell', async () => {
    await inTransaction(own(), (tx) => tx('sync_configs').update({ alert_recipients: [] }));
    await endsIn(10);
    expect(await look()).toEqual([]);
    await inTransaction(own(), (tx) =>
      tx('sync_configs')
        .where({ record_type: 'invoice' })
        .update({ alert_recipients: ['c@example.test'] }),
    );
    expect(await look()).toEqual(['c@example.test: The ERP certificate of Acme ends in 9 days']);
  });

  it('does not matter where tokens sign in', async () => {
    await inTransaction(own(), (tx) => tx('erp_connections').update({ settings: JSON.stringify({ authentication: { method: 'tba' } }) }));
    await endsIn(10);
    expect(await look()).toEqual([]);
  });

  it('is not taken for told when the mails can not be queued', async () => {
    await endsIn(10);
    await admin('refusals').insert({ on_or_off: true });
    expect(await look()).toEqual([]);
    await admin('refusals').delete();
    expect(await look()).toHaveLength(3);
  });
});
