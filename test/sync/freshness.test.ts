// Freshness targets: extra runs before the data become too old, one mail when they do and one when they no
// longer are, and what callers see.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { startMailSender } from '../../src/mail/index.ts';
import { reportStaleSyncs } from '../../src/sync/alerts/freshness.ts';
import { enqueueDueRuns } from '../../src/sync/run/scheduler.ts';
import { createCaller, publishVersion } from '../public/fixture.ts';
import { createApi } from '../setup/api.ts';
import { testSettings } from '../setup/database.ts';
import { makeKey } from '../setup/organization.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({}, { settings: { cacheTtlMs: 0 } });
let server: MailServer;
let ctx: Ctx;
let fixture: SyncFixture;
/** Of this test: the mails of others may still be queued. */
let recipient: string;
const target = 60;

beforeEach(async () => {
  server = await startMailServer();
  ctx = {
    ...site.ctx,
    settings: { ...site.ctx.settings, mail: { ...testSettings.mail, smtpUrl: server.url } },
  };
  fixture = await syncFixture(ctx);
  fixture.erp.fill(3);
  recipient = `${fixture.organizationId}@example.test`;
  await fixture.changeConfig({ alert_recipients: [recipient], freshness_target: target });
});
afterEach(() => server.close());

/** As if all of it had happened earlier. */
async function age(minutes: number): Promise<void> {
  const earlier = (column: string) => `${column} = ${column} - make_interval(mins => ${minutes})`;
  await inTransaction(fixture.tenant, (tx) =>
    tx.raw(
      `update sync_runs set ${['queued_at', 'started_at', 'finished_at', 'scheduled_for'].map(earlier).join(', ')}`,
    ),
  );
  await inTransaction(fixture.tenant, (tx) => tx.raw(`update sync_configs set ${earlier('created_at')}`));
  const syncedAt = (await fixture.state())?.syncedAt ?? null;
  if (syncedAt === null) return;
  // As a value: Citus computes no times of columns in an update.
  const before = new Date(new Date(syncedAt).getTime() - minutes * 60_000);
  await fixture.query(`update ${fixture.schema}.record_state set synced_at = $1`, [before]);
}
const subjects = async (): Promise<string[]> => {
  const sender = startMailSender(ctx, { pollMs: 60_000 });
  await sender.waitUntilIdle();
  await sender.stop();
  const delivered = server.delivered.splice(0).filter(({ to }) => to.includes(recipient));
  return delivered.map(({ mail }) => mail.subject ?? '').sort();
};
/** A tick of three processes at once. */
const report = () => Promise.all([1, 2, 3].map(() => reportStaleSyncs(ctx)));
const enqueue = async (): Promise<number> =>
  (await Promise.all([enqueueDueRuns(ctx), enqueueDueRuns(ctx)])).reduce((sum, queued) => sum + queued, 0);
const management = async () =>
  createApi(createApp(ctx), (await makeKey(ctx, fixture.organizationId, { permissions: ['write'] })).secret);
const old = `The data of sync Things are older than ${target} minutes`;
const fresh = 'The data of sync Things are fresh again';

describe('an extra run', () => {
  it('is queued once when the age and the median duration reach the target, and once per target while runs fail', async () => {
    const { id } = await fixture.sync();
    await inTransaction(fixture.tenant, (tx) =>
      tx('sync_runs')
        .where({ id })
        .update({ finished_at: tx.raw("started_at + interval '10 minutes'") }),
    );
    await age(48);
    expect(await enqueue()).toBe(0);
    await age(3);
    expect([await enqueue(), await enqueue()]).toEqual([1, 0]);
    fixture.erp.failAll();
    const [failing] = await inTransaction(fixture.tenant, (tx) =>
      tx('sync_runs').where({ status: 'queued' }).pluck('id'),
    );
    expect(await fixture.drive(failing)).toMatchObject({ status: 'failed', trigger: 'schedule' });
    expect(await enqueue()).toBe(0);
    await age(target);
    expect(await enqueue()).toBe(1);
  });

  it('is not queued while the sync is disabled, or while a run is open', async () => {
    await fixture.sync();
    await age(target);
    await fixture.changeConfig({ enabled: false });
    expect(await enqueue()).toBe(0);
    await fixture.changeConfig({ enabled: true });
    await fixture.queue();
    expect(await enqueue()).toBe(0);
  });
});

describe('a mail', () => {
  it('is sent once when the data become older than the target, and once with the run after which they are not', async () => {
    await fixture.sync();
    await age(target - 1);
    await report();
    expect(await subjects()).toEqual([]);
    await age(1);
    await report();
    await report();
    expect(await subjects()).toEqual([old]);
    await fixture.sync();
    expect(await subjects()).toEqual([fresh]);
  });

  it('is sent for a disabled sync, a paused one, one whose runs fail, and one that never ran', async () => {
    await age(target);
    await report();
    expect(await subjects()).toEqual([old]);
    const reason = { code: 'X', message: 'It is off', fix: 'Turn it on.' };
    for (const change of [{ enabled: false }, { paused_reason: JSON.stringify(reason) }]) {
      await fixture.sync();
      await fixture.changeConfig(change);
      await age(target);
      await report();
      expect(await subjects()).toEqual([fresh, old]);
    }
    await fixture.sync();
    await age(target);
    fixture.erp.failAll();
    await fixture.sync();
    await report();
    expect(await subjects()).toEqual(['Sync Things failed', fresh, old]);
  });
});

it('callers of both interfaces, and the metrics, see the state; without a target there is none', async () => {
  await fixture.sync();
  const fields = [{ name: 'name', source: 'name' }];
  await publishVersion(ctx, fixture.organizationId, {
    endpoints: [{ name: 'things', recordType: 'thing', fields, filters: [], sorts: [] }],
  });
  const api = await management();
  const { secret } = await makeKey(ctx, fixture.organizationId, {});
  const read = createCaller(createApp(ctx), { secret, organizationId: fixture.organizationId });
  const states = async () => {
    const { freshnessTarget, freshness } = (await api('get', `/sync-configs/${fixture.configId}`)).body;
    const [resource] = (await read('')).body.data[0].resources;
    return { freshnessTarget, freshness, resource: resource.freshness };
  };
  const countStale = async () =>
    (await site.admin(site.admin.raw('operational_figures()')).where('figure', 'syncs_stale').first('value'))
      .value;
  expect(await states()).toMatchObject({
    freshnessTarget: target,
    freshness: { isStale: false, staleSince: null },
    resource: { targetMinutes: target, isStale: false },
  });
  const before = await countStale();
  await age(target + 5);
  await report();
  expect(await states()).toMatchObject({
    freshness: { isStale: true, staleSince: expect.any(String) },
    resource: { isStale: true },
  });
  expect(await countStale()).toBe(before + 1);
  await subjects();
  expect((await api('patch', `/sync-configs/${fixture.configId}`, { freshnessTarget: null })).status).toBe(
    200,
  );
  expect(await subjects()).toEqual(['Sync Things has no freshness target any more']);
  expect([await states(), await countStale()]).toEqual([
    { freshnessTarget: null, freshness: null, resource: null },
    before,
  ]);
});
