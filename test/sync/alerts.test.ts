// Alert mails, read from a real mail server: one for each change of a sync's health, however many processes
// work or die.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import type { Recurring } from '../../src/core/work/recurring.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { startMailSender } from '../../src/mail/index.ts';
import { startCertificateWatch } from '../../src/sync/alerts/certificate-watch.ts';
import { recordSyncHealth } from '../../src/sync/alerts/health.ts';
import { publishVersion } from '../public/fixture.ts';
import { testSettings } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';
import { type Delivered, type MailServer, startMailServer } from '../setup/smtp.ts';
import { erpError, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const publicUrl = 'https://portal.example.test';
const consoleUrl = `${publicUrl}/console`;
const recipients = ['ops@example.test', 'night@example.test'];

const site = useSync({}, { settings: { publicUrl }, refusable: ['insert on outgoing_mails'] });
let server: MailServer;
let ctx: Ctx;
let fixture: SyncFixture;

beforeEach(async () => {
  server = await startMailServer();
  ctx = {
    ...site.ctx,
    settings: { ...site.ctx.settings, mail: { ...testSettings.mail, smtpUrl: server.url } },
  };
  fixture = await syncFixture(ctx);
  fixture.erp.fill(60);
  await fixture.changeConfig({ alert_recipients: recipients });
});
afterEach(() => server.close());
const connect = (organizationId: string) =>
  inTransaction({ ...ctx, organizationId }, (tx) =>
    tx('erp_connections').insert({
      organization_id: organizationId,
      kind: 'netsuite',
      account_id: '1',
      settings: JSON.stringify({ accountId: '1', baseUrl: null, authentication: { method: 'oauth2' } }),
    }),
  );

/** The mails that were sent since the last call, by recipient and subject. */
async function mails(): Promise<Delivered[]> {
  const sender = startMailSender(ctx, { pollMs: 60_000 });
  await sender.waitUntilIdle();
  await sender.stop();
  return server.delivered.splice(0);
}
const subjects = async (): Promise<string[]> =>
  (await mails()).map(({ mail, to }) => `${to[0]}: ${mail.subject}`).sort();
const toAll = (subject: string): string[] => recipients.map((to) => `${to}: ${subject}`).sort();
const fails = (kind: 'forbidden' | 'credentials', code = 'NOT_ALLOWED'): void => {
  fixture.erp.failAll(erpError(kind, code));
};
const works = (): void => void (fixture.erp.onCall = () => undefined);

describe('an alert', () => {
  it('is sent for the first failed run, not for the next ones, and then for the recovery', async () => {
    await fixture.sync();
    fails('forbidden');
    const first = await fixture.sync();
    await fixture.sync();
    const sent = await mails();
    expect(sent.map(({ to }) => to[0]).sort()).toEqual([...recipients].sort());
    const { mail } = sent[0] as Delivered;
    expect(mail.subject).toBe('Sync Things failed');
    expect(mail.text).toContain('What happened: the ERP says NOT_ALLOWED (NOT_ALLOWED).');
    expect(mail.text).toMatch(/Since: \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
    expect(mail.text).toContain('What to do: Do something about it.');
    expect(mail.text).toContain(`${consoleUrl}/runs/${first.id}`);
    expect(mail.html).toContain(`${consoleUrl}/runs/${first.id}`);
    works();
    await fixture.sync();
    await fixture.sync();
    const recovered = await mails();
    expect(recovered.map(({ mail: { subject } }) => subject)).toEqual([
      'Sync Things has recovered',
      'Sync Things has recovered',
    ]);
    expect(recovered[0]?.mail.text).toMatch(/had been unhealthy since \d{4}-/);
  });

  it('is sent for each change of health of a flapping sync, not for each run', async () => {
    const seen: string[] = [];
    for (const isWell of [true, true, false, false, false, true, false, true, true]) {
      if (isWell) works();
      else fails('forbidden');
      await fixture.sync();
      seen.push(...(await subjects()).filter((one) => one.startsWith('ops')));
    }
    const news = seen.map((one) => one.replace('ops@example.test: Sync Things ', ''));
    expect(news.join(', ')).toBe('failed, has recovered, failed, has recovered');
  });

  it('reports rejected records', async () => {
    fixture.erp.rejects.set('99', { id: '99', code: 'X', message: 'no' });
    await fixture.sync();
    expect(await subjects()).toEqual(toAll('Sync Things could not store every record'));
    fixture.erp.rejects.clear();
    await fixture.sync();
    expect(await subjects()).toEqual(toAll('Sync Things has recovered'));
  });

  it('reports that deletions wait for approval, how many, and how to approve them', async () => {
    await fixture.sync();
    for (let id = 1; id <= 40; id += 1) fixture.erp.records.delete(String(id));
    const { error } = await fixture.sync();
    await fixture.sync();
    const sent = await mails();
    expect(sent.map(({ mail }) => mail.subject)).toEqual(
      recipients.map(() => 'Sync Things is holding back deletions'),
    );
    expect(sent[0]?.mail.text).toContain('40 records are absent');
    expect(sent[0]?.mail.text).toContain('approve what was deleted, and reject the rest');
    const twenty = Array.from({ length: 20 }, (_unused, n) => n + 1).join(', ');
    expect(sent[0]?.mail.text).toContain(`Records, by number or id: ${twenty} and 20 more.`);
    expect(sent[0]?.mail.text).not.toContain('name 1');
    const link = `${consoleUrl}/syncs/${fixture.configId}/deletions/${error?.proposalId}`;
    expect(sent[0]?.mail.text).toContain(link);
    expect(sent[0]?.mail.html).toContain(link);
  });

  it('shows the numbers of held records, and the id where a number may be a name', async () => {
    const numbers: Record<string, string> = { 1: 'INV-0001', 2: 'Smith & Sons 2', 3: 'Jones' };
    for (const [id, number] of Object.entries(numbers)) fixture.erp.put(id, { name: number });
    fixture.erp.shownAs = { number: 'name', name: 'name', date: null, amount: 'total' };
    await fixture.sync();
    for (let id = 1; id <= 8; id += 1) fixture.erp.records.delete(String(id));
    await fixture.sync();
    const [sent] = await mails();
    expect(sent?.mail.text).toContain('Records, by number or id: INV-0001, 2, 3, 4, 5, 6, 7, 8.');
    expect(sent?.mail.text).not.toContain('Smith');
  });

  it('shows the ids of held records where a version masks their numbers', async () => {
    fixture.erp.put('1', { name: 'INV-0001' });
    fixture.erp.shownAs = { number: 'name', name: 'name', date: null, amount: 'total' };
    await fixture.sync();
    const fields = [{ name: 'name', source: 'name', mask: 'last4' }];
    await publishVersion(ctx, fixture.organizationId, {
      endpoints: [{ name: 'things', recordType: 'thing', fields, filters: [], sorts: [] }],
    });
    for (let id = 1; id <= 8; id += 1) fixture.erp.records.delete(String(id));
    await fixture.sync();
    const [sent] = await mails();
    expect(sent?.mail.text).toContain('Records, by number or id: 1, 2, 3, 4, 5, 6, 7, 8.');
    expect(sent?.mail.text).not.toContain('0001');
  });

  it('of a pause is sent once, instead of the failure; the recovery is reported with the next run, not with the fix', async () => {
    await fixture.sync();
    fails('credentials', 'KEY_REVOKED');
    await fixture.sync();
    await fixture.sync();
    expect(await subjects()).toEqual(toAll('Sync Things is paused'));
    works();
    await fixture.changeConfig({ paused_reason: null });
    expect(await subjects()).toEqual([]);
    await fixture.sync();
    expect(await subjects()).toEqual(toAll('Sync Things has recovered'));
  });

  it('is sent when the connection is deleted', async () => {
    await connect(fixture.organizationId);
    const api = await site.api(fixture);
    expect((await api('delete', '/netsuite/connection')).status).toBe(204);
    const sent = await mails();
    expect(sent.map(({ mail }) => mail.subject)).toEqual(recipients.map(() => 'Sync Things is paused'));
    expect(sent[0]?.mail.text).toContain(`${consoleUrl}/syncs/${fixture.configId}`);
  });

  it('is sent once when several processes record the same change concurrently', async () => {
    const problem = { code: 'X', message: 'x', fix: 'x' };
    const news = { health: 'failing', problem, runId: createId() } as const;
    const record = () =>
      inTransaction(fixture.tenant, (tx) =>
        recordSyncHealth(tx, { ...fixture.tenant, ...ctx }, fixture.configId, news),
      );
    await Promise.all(Array.from({ length: 6 }, record));
    expect(await subjects()).toEqual(toAll('Sync Things failed'));
  });

  it('is not sent for a cancelled run', async () => {
    const runId = await fixture.queue();
    await fixture.changeRun(runId, { cancel_requested: true });
    expect((await fixture.drive(runId)).status).toBe('cancelled');
    expect(await subjects()).toEqual([]);
  });

  it('skips an invalid address, and the run still ends', async () => {
    await fixture.changeConfig({
      alert_recipients: ['not an address', 'ops@example.test', 'ops@example.test'],
    });
    fails('forbidden');
    expect((await fixture.sync()).status).toBe('failed');
    expect(await subjects()).toEqual(['ops@example.test: Sync Things failed']);
  });

  it('is queued in the transaction that changes the state, exactly once, wherever the worker dies', async () => {
    fails('forbidden');
    await site.refuse('outgoing_mails');
    const runId = await fixture.queue();
    await fixture.work(await fixture.claim());
    expect((await fixture.row(runId)).status).toBe('running');
    expect(await subjects()).toEqual([]);
    await site.allow();
    await fixture.expire(runId);
    expect((await fixture.drive(runId)).status).toBe('failed');
    expect(await subjects()).toEqual(toAll('Sync Things failed'));
  });
});

describe('an expiring certificate', () => {
  let organizationId: string;
  let watches: Recurring[] = [];
  const own = () => ({ ...ctx, organizationId });
  const change = (table: string, where: object, changes: object) =>
    inTransaction(own(), (tx) => tx(table).where(where).update(changes));
  const endsIn = (days: number) =>
    change(
      'erp_certificates',
      { active: true },
      { not_after: site.admin.raw("clock_timestamp() + ? * interval '1 day'", [days]) },
    );
  const look = async (): Promise<string[]> => {
    await Promise.all(watches.map((watch) => watch.tick()));
    return subjects();
  };
  const title = (rest: string) =>
    ['a@example.test', 'b@example.test', 'c@example.test'].map(
      (to) => `${to}: The ERP certificate of Acme ${rest}`,
    );

  beforeEach(async () => {
    ({ id: organizationId } = await makeOrganization(ctx, { name: 'Acme' }));
    await connect(organizationId);
    await inTransaction(own(), async (tx) => {
      for (const certificate of [
        { slot: 1, not_after: '2090-01-01', active: true },
        { slot: 2, not_after: '2001-01-01' },
      ])
        await tx('erp_certificates').insert({
          ...{ ...certificate, organization_id: organizationId, private_key: 'x' },
          certificate_pem: createId(),
        });
      const lists = {
        customer: ['a@example.test', 'b@example.test'],
        invoice: ['b@example.test', 'c@example.test'],
      };
      for (const [record_type, alert_recipients] of Object.entries(lists)) {
        const config = { id: createId(), organization_id: organizationId, record_type, alert_recipients };
        await tx('sync_configs').insert({ ...config, name: record_type, mode: 'full', deletions: 'none' });
      }
    });
    watches = [startCertificateWatch(ctx), startCertificateWatch(ctx)];
    // Each one checks as it starts. A tick during that check returns the same check, which may have missed
    // what a test does first.
    await Promise.all(watches.map((watch) => watch.tick()));
  });
  afterEach(async () => {
    for (const watch of watches) await watch.stop();
    await site.admin('organizations').where({ id: organizationId }).delete();
  });

  it('is reported 60, 30 and 14 days before, once each, to every recipient, however many processes run', async () => {
    expect(await look()).toEqual([]);
    const seen: [number, string[]][] = [];
    for (const days of [60.5, 59.5, 45, 29.5, 29, 14.5, 13.5, 5, 0.5]) {
      await endsIn(days);
      const found = await look();
      if (found.length > 0) seen.push([days, found]);
    }
    expect(seen).toEqual([
      [59.5, title('expires in 59 days')],
      [29.5, title('expires in 29 days')],
      [13.5, title('expires in 13 days')],
    ]);
  });

  it('whose thresholds were missed is reported once, for the nearest threshold', async () => {
    await endsIn(1.5);
    expect(await look()).toEqual(title('expires in 1 day'));
    expect(await look()).toEqual([]);
  });

  it('is reported with what to do', async () => {
    await endsIn(20);
    await Promise.all(watches.map((watch) => watch.tick()));
    expect((await mails())[0]?.mail.text).toContain(`${consoleUrl}/connection`);
  });

  it('starts again for the next certificate', async () => {
    await endsIn(10);
    expect(await look()).toHaveLength(3);
    await change('erp_certificates', { active: true }, { certificate_pem: createId() });
    expect(await look()).toHaveLength(3);
  });

  it('waits for a recipient', async () => {
    await change('sync_configs', {}, { alert_recipients: [] });
    await endsIn(10);
    expect(await look()).toEqual([]);
    await change('sync_configs', { record_type: 'invoice' }, { alert_recipients: ['c@example.test'] });
    expect(await look()).toEqual(['c@example.test: The ERP certificate of Acme expires in 9 days']);
  });

  it('is not reported when the connection uses token-based authentication', async () => {
    await change('erp_connections', {}, { settings: { authentication: { method: 'tba' } } });
    await endsIn(10);
    expect(await look()).toEqual([]);
  });

  it('is reported later when the mails cannot be queued', async () => {
    await endsIn(10);
    await site.refuse('outgoing_mails');
    expect(await look()).toEqual([]);
    await site.allow();
    expect(await look()).toHaveLength(3);
  });
});
