import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { type Answer, pluck } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
const [configId, failedId] = [createId(), createId()];
const thing = { record_type: 'thing', mode: 'incremental' };
const insertConfig = (id: string, organization_id: string) =>
  org.admin('sync_configs').insert({ ...thing, id, organization_id, name: 'Things', deletions: 'reconcile' });
const changed = { inserted: 2, updated: 3, deleted: 1 };
const counts = JSON.stringify({ fetched: 10, ...changed, unchanged: 5, rejected: 0 });

/** Inserts a run that was queued so many minutes ago and took 2.5 seconds. */
const insertRun = (minutesAgo: number, more: object = {}): Promise<unknown> => {
  const at = (later: string) =>
    org.admin.raw("now() - ? * interval '1 minute' + ?::interval", [minutesAgo, later]);
  return org.admin('sync_runs').insert({
    ...{ ...thing, id: createId(), organization_id: org.id, sync_config_id: configId },
    ...{ queued_at: at('0 s'), started_at: at('1 s'), finished_at: at('3.5 s') },
    ...{ trigger: 'manual', status: 'succeeded', counts, requests: 4, ...more },
  });
};

beforeAll(async () => {
  const [other, foreign] = [await org.another(), createId()];
  await insertConfig(configId, org.id);
  await insertConfig(foreign, other.id);
  await insertRun(5, { organization_id: other.id, sync_config_id: foreign });
  await insertRun(60 * 24 * 40);
  await insertRun(60, { mode: 'full' });
  await insertRun(30, { id: failedId, status: 'failed', counts: null, requests: null });
  await insertRun(1, { status: 'queued', started_at: null, finished_at: null, counts: null, requests: 0 });
});

const read = (query = '') => org.api('get', `/sync-configs/${configId}/history${query}`);

describe('GET /sync-configs/{id}/history', () => {
  it('has one point for each run of the period, oldest first', async () => {
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toMatchObject({ runs: 3, grouped: false, sliceSeconds: null });
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(30 * 86_400_000);
    const none = { succeeded: 0, partial: 0, failed: 0, cancelled: 0, open: 0 };
    const instant = expect.stringMatching(/^20\d\d-.*Z$/);
    const point = { runId: expect.any(String), startedAt: instant, runs: 1, mode: 'incremental' };
    const nothing = { recordsRead: 0, recordsChanged: 0, recordsDeleted: 0, requests: 0 };
    expect(body.points).toEqual([
      {
        ...{ ...point, status: 'succeeded', counts: { ...none, succeeded: 1 }, mode: 'full' },
        ...{ durationMs: 2500, recordsRead: 10, recordsChanged: 5, recordsDeleted: 1, requests: 4 },
      },
      { ...point, status: 'failed', counts: { ...none, failed: 1 }, durationMs: 2500, ...nothing },
      { ...point, status: 'queued', counts: { ...none, open: 1 }, durationMs: null, ...nothing },
    ]);
    expect((await read('?days=365')).body.runs).toBe(4);
  });

  it('groups more than 300 runs into equal slices, with the worst status and sums', async () => {
    // 400 more runs, in the last 400 minutes of a day: slices of 4.8 minutes.
    await org.admin.raw(
      `insert into sync_runs (id, organization_id, sync_config_id, record_type, mode, trigger, status, queued_at, started_at, finished_at, counts, requests)
         select gen_random_uuid(), :organizationId, :configId, 'thing', 'incremental', 'manual', case when i = 100 then 'partial' else 'succeeded' end,
           now() - (i + 100) * interval '1 minute', now() - (i + 100) * interval '1 minute', now() - (i + 100) * interval '1 minute' + interval '2 seconds',
           '{"fetched": 1, "inserted": 1, "updated": 0, "deleted": 0}', 2 from generate_series(1, 400) i`,
      { organizationId: org.id, configId },
    );
    const { body } = await read('?days=1');
    expect(body).toMatchObject({ runs: 403, grouped: true, sliceSeconds: 288 });
    const { points } = body;
    expect(points.length).toBeLessThanOrEqual(90);
    const total = (key: string) => pluck(points, key).reduce((sum, value) => sum + value, 0);
    expect([total('runs'), total('recordsRead'), total('requests')]).toEqual([403, 410, 804]);
    const withStatus = (status: string) => points.filter((point: Answer['body']) => point.status === status);
    expect(withStatus('partial')).toHaveLength(1);
    expect(withStatus('failed')[0]).toMatchObject({ runId: failedId, counts: { failed: 1 } });
    const starts = pluck(points, 'startedAt').map(Date.parse);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(new Set(starts).size).toBe(starts.length);
  });
});
