import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { type Organization, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
let other: Organization;
let configId: string;

const inOrganization = <T>(work: (tx: Tx) => Promise<T>, organizationId = org.id): Promise<T> =>
  inTransaction({ db: org.ctx.db, organizationId }, work);

async function insertConfig(organizationId: string): Promise<string> {
  const id = createId();
  const row = {
    id,
    organization_id: organizationId,
    name: 'Things',
    record_type: 'thing',
    mode: 'incremental',
    deletions: 'reconcile',
  };
  await inOrganization((tx) => tx('sync_configs').insert(row), organizationId);
  return id;
}

const failedId = createId();

/** Runs that end one after the other, `minutesAgo` apart. */
const insertRun = (
  minutesAgo: number,
  more: object = {},
  organizationId = org.id,
  config = configId,
): Promise<unknown> =>
  inOrganization(
    (tx) =>
      tx('sync_runs').insert({
        id: createId(),
        organization_id: organizationId,
        sync_config_id: config,
        record_type: 'thing',
        mode: 'incremental',
        trigger: 'manual',
        status: 'succeeded',
        queued_at: tx.raw("now() - ? * interval '1 minute'", [minutesAgo]),
        started_at: tx.raw("now() - ? * interval '1 minute' + interval '1 second'", [minutesAgo]),
        finished_at: tx.raw("now() - ? * interval '1 minute' + interval '3.5 seconds'", [minutesAgo]),
        counts: JSON.stringify({
          fetched: 10,
          inserted: 2,
          updated: 3,
          unchanged: 5,
          deleted: 1,
          rejected: 0,
        }),
        requests: 4,
        ...more,
      }),
    organizationId,
  );

beforeAll(async () => {
  other = await org.another();
  configId = await insertConfig(org.id);
  const foreign = await insertConfig(other.id);
  await insertRun(5, {}, other.id, foreign);
  await insertRun(60 * 24 * 40);
  await insertRun(60, { mode: 'full' });
  await insertRun(30, { id: failedId, status: 'failed', counts: null, requests: null });
  await insertRun(1, { status: 'queued', started_at: null, finished_at: null, counts: null, requests: 0 });
});

const read = (query = '', api = org.api, id = configId) => api('get', `/sync-configs/${id}/history${query}`);

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
        ...{
          ...point,
          status: 'succeeded',
          counts: { ...none, succeeded: 1 },
          mode: 'full',
          durationMs: 2500,
        },
        ...{ recordsRead: 10, recordsChanged: 5, recordsDeleted: 1, requests: 4 },
      },
      { ...point, status: 'failed', counts: { ...none, failed: 1 }, durationMs: 2500, ...nothing },
      { ...point, status: 'queued', counts: { ...none, open: 1 }, durationMs: null, ...nothing },
    ]);
    expect((await read('?days=365')).body.runs).toBe(4);
  });

  it('groups more than 300 runs into equal slices, with the worst status and sums', async () => {
    // 400 more runs, in the last 400 minutes of a day: slices of 4.8 minutes.
    await inOrganization((tx) =>
      tx.raw(
        `insert into sync_runs (id, organization_id, sync_config_id, record_type, mode, trigger, status, queued_at, started_at, finished_at, counts, requests)
         select gen_random_uuid(), :organizationId, :configId, 'thing', 'incremental', 'manual', case when i = 100 then 'partial' else 'succeeded' end,
           now() - (i + 100) * interval '1 minute', now() - (i + 100) * interval '1 minute', now() - (i + 100) * interval '1 minute' + interval '2 seconds',
           '{"fetched": 1, "inserted": 1, "updated": 0, "deleted": 0}', 2 from generate_series(1, 400) i`,
        { organizationId: org.id, configId },
      ),
    );
    const { body } = await read('?days=1');
    expect(body).toMatchObject({ runs: 403, grouped: true, sliceSeconds: 288 });
    const { points } = body;
    expect(points.length).toBeLessThanOrEqual(90);
    const total = (key: string): number =>
      points.reduce((sum: number, point: Record<string, number>) => sum + (point[key] ?? 0), 0);
    expect([total('runs'), total('recordsRead'), total('requests')]).toEqual([403, 410, 804]);
    expect(points.filter(({ status }: { status: string }) => status === 'partial')).toHaveLength(1);
    expect(points.find(({ status }: { status: string }) => status === 'failed')).toMatchObject({
      runId: failedId,
      counts: { failed: 1 },
    });
    const starts = points.map(({ startedAt }: { startedAt: string }) => Date.parse(startedAt));
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(new Set(starts).size).toBe(starts.length);
  });
});
