// A schedule that somebody disabled: no run fails, and its recipients hear of it within the freshness target and a minute.
import { expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { startScheduler } from '../../src/sync/run/scheduler.ts';
import { until } from '../setup/until.ts';
import { syncFixture } from '../sync/fixture.ts';
import { useSync } from '../sync/site.ts';

const site = useSync();

type Reported = { subject: string; seconds: number };

it('data of a disabled schedule are reported within their target and a minute', async () => {
  const recipient = 'ops@example.test';
  const fixture = await syncFixture(site.ctx);
  fixture.erp.fill(3);
  await fixture.sync();
  await fixture.changeConfig({ alert_recipients: [recipient], freshness_target: 1, enabled: false });
  // Most of the target has passed.
  const earlier = "clock_timestamp() - interval '50 seconds'";
  await fixture.query(`update ${fixture.schema}.record_state set synced_at = ${earlier}`);
  await inTransaction(fixture.tenant, (tx) => tx('sync_runs').update({ started_at: tx.raw(earlier) }));
  const { syncedAt = null } = (await fixture.state()) ?? {};
  const scheduler = startScheduler(site.ctx);
  const find = () =>
    inTransaction(fixture.tenant, (tx) =>
      tx('outgoing_mails')
        .where({ kind: 'sync-alert' })
        .first<Reported | undefined>(
          'subject',
          tx.raw('extract(epoch from created_at - ?::timestamptz)::float as seconds', [syncedAt]),
        ),
    );
  const { subject, seconds } = await until(find, 180_000);
  await scheduler.stop();
  expect(subject).toMatch(/are older than 1 minute/);
  expect(seconds).toBeGreaterThan(60);
  expect(seconds).toBeLessThan(121);
  const runs = await inTransaction(fixture.tenant, (tx) => tx('sync_runs').select('status'));
  expect(runs).toEqual([{ status: 'succeeded' }]);
});
