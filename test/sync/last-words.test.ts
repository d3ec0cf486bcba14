// A run's last event and its last state are written together: a client that waits for the state also finds
// the event.
import { describe, expect, it } from 'vitest';
import { erpError, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({}, { refusable: ['insert on sync_run_events', 'update on sync_configs'] });

/**
 * The database rejects that write, as if the worker had died right before it; then another worker takes over
 * the run.
 */
async function interrupted(fixture: SyncFixture, table: string, pattern: string) {
  await site.refuse(table, pattern);
  const runId = await fixture.queue();
  await fixture.work(await fixture.claim());
  const between = await fixture.row(runId);
  const said = await fixture.events(runId);
  await site.allow();
  await fixture.expire(runId);
  return { runId, between, said, after: await fixture.drive(runId) };
}

describe('the last event of a run', () => {
  it.each([
    ['run succeeded', 'succeeded', (fixture: SyncFixture) => fixture.erp.put(1)],
    [
      'run partial',
      'partial',
      (fixture: SyncFixture) => fixture.erp.rejects.set('2', { id: '2', code: 'X', message: 'no' }),
    ],
  ])('%s is written with the state', async (message, status, prepare) => {
    const fixture = await syncFixture(site.ctx);
    fixture.erp.put(1);
    prepare(fixture);
    const { runId, between, said, after } = await interrupted(fixture, 'sync_run_events', `%${message}%`);
    expect([between.status, said.some((one) => one.startsWith(message))]).toEqual(['publishing', false]);
    expect(after.status).toBe(status);
    expect((await fixture.events(runId)).filter((one) => one.startsWith(message))).toHaveLength(1);
  });

  it('failed: is written with the state', async () => {
    const fixture = await syncFixture(site.ctx);
    fixture.erp.failAll(erpError('forbidden', 'NOT_ALLOWED'));
    const { runId, between, after } = await interrupted(fixture, 'sync_run_events', '%failed: %');
    expect(between.status).toBe('running');
    expect(after.status).toBe('failed');
    expect(await fixture.events(runId)).toEqual(['failed: the ERP says NOT_ALLOWED']);
  });

  it('waiting: is written with the state', async () => {
    const fixture = await syncFixture(site.ctx);
    fixture.erp.put(1);
    fixture.erp.failOnce('now', erpError('down', 'AWAY'));
    const { between } = await interrupted(fixture, 'sync_run_events', '%waiting: %');
    expect(between.status).toBe('running');
  });

  it('is written for a run that is cancelled before a worker claimed it', async () => {
    const fixture = await syncFixture(site.ctx);
    const api = await site.api(fixture);
    const runId = await fixture.queue();
    expect((await api('post', `/sync-runs/${runId}/cancel`)).body.status).toBe('cancelled');
    expect(await fixture.events(runId)).toEqual(['cancelled']);
  });
});

describe('the pause of a configuration', () => {
  const badCredentials = (fixture: SyncFixture): void => {
    fixture.erp.failAll(erpError('credentials', 'KEY_REVOKED'));
  };

  it('is written with the failure that causes it', async () => {
    const fixture = await syncFixture(site.ctx);
    badCredentials(fixture);
    const { between, after } = await interrupted(fixture, 'sync_configs', '%KEY_REVOKED%');
    expect(between.status).toBe('running');
    expect(after).toMatchObject({ status: 'failed', error: { code: 'KEY_REVOKED' } });
    expect(await fixture.pausedReason()).toMatchObject({ code: 'KEY_REVOKED' });
  });

  it('ends with the next successful run', async () => {
    const fixture = await syncFixture(site.ctx);
    fixture.erp.put(1);
    await fixture.changeConfig({ paused_reason: JSON.stringify({ code: 'X', message: 'x', fix: 'x' }) });
    const { between, after } = await interrupted(fixture, 'sync_configs', '%"paused_reason": null%');
    expect([between.status, after.status]).toEqual(['publishing', 'succeeded']);
    expect(await fixture.pausedReason()).toBeNull();
  });
});
