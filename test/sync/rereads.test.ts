// Records that are read again because a caller says that they have changed.
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { enqueueDueRuns } from '../../src/sync/run/scheduler.ts';
import { type Api, listProblems, pluck, refusal } from '../setup/api.ts';
import { countCalls, findCheck, operations, type SyncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({}, { refusable: ['update on sync_runs'] });

async function begin(count: number) {
  const fixture = await site.loaded(count);
  const api: Api = await site.api(fixture);
  return {
    fixture,
    api,
    reread: (...ids: string[]) => api('post', `/sync-configs/${fixture.configId}/reread`, { ids }),
    names: async () => (await fixture.rows()).map(({ f_name: name }) => name),
    queued: () =>
      inTransaction(fixture.tenant, (tx) =>
        tx('sync_rereads')
          .where({ sync_config_id: fixture.configId })
          .orderBy('record_id')
          .pluck('record_id'),
      ),
    syncedAt: async () => (await api('get', `/sync-configs/${fixture.configId}`)).body.syncedAt,
  };
}
/** Changes that only reading by id finds. */
const shift = (fixture: SyncFixture, ids: readonly number[], name: string): void => {
  for (const id of ids) fixture.erp.shift(id, { name });
};

describe('POST /sync-configs/{id}/reread', () => {
  it('starts a run that reads these records and no others, and leaves the age of the data alone', async () => {
    const { fixture, reread, names, queued, syncedAt } = await begin(4);
    shift(fixture, [1, 2, 3], 'new');
    fixture.erp.put(9, { name: 'created' });
    const before = await syncedAt();
    const first = await reread('2', '9', '2');
    expect([first.status, first.body]).toMatchObject([
      202,
      { mode: 'reread', status: 'queued', coalesced: false },
    ]);
    expect((await reread('1', '2')).body).toMatchObject({ id: first.body.id, coalesced: true });
    const run = await fixture.drive(first.body.id);
    expect(run).toMatchObject({
      status: 'succeeded',
      counts: { fetched: 3, inserted: 1, updated: 2, deleted: 0 },
    });
    expect(await names()).toEqual(['new', 'new', 'name 3', 'name 4', 'created']);
    expect(
      operations(fixture).filter((each) => ['readPage', 'count', 'scan', 'listIds'].includes(each)),
    ).toEqual([]);
    expect(pluck([findCheck(run, 'requested')], 'passed', 'facts')).toEqual([
      [true, { requested: 3, absent: 0 }],
    ]);
    expect([await queued(), await syncedAt()]).toEqual([[], before]);
    const audit = await inTransaction(fixture.tenant, (tx) =>
      tx('audit_log').where({ action: 'sync-config.reread' }).orderBy('at').pluck('changes'),
    );
    expect(audit).toEqual([2, 2].map((records) => ({ records, runId: run.id })));
  });

  it('deletes what the ERP lists as deleted; anything else that is absent is held to the limits of a scan', async () => {
    const { fixture, reread } = await begin(40);
    fixture.erp.drop(1);
    const listed = await fixture.drive((await reread('1')).body.id);
    expect([listed.status, listed.counts?.deleted, countCalls(fixture, 'scan')]).toEqual(['succeeded', 1, 0]);
    for (let id = 2; id <= 12; id += 1) fixture.erp.records.delete(String(id));
    const held = await fixture.drive((await reread('2', '77')).body.id);
    expect(held).toMatchObject({
      status: 'partial',
      mode: 'reread',
      error: { code: 'DELETIONS_HELD' },
      counts: { deleted: 0 },
    });
    expect(findCheck(held, 'scan')?.facts).toMatchObject({ absent: 10 });
    expect(await fixture.ids()).toContain('2');
  });

  it('a run in progress leaves to the next one what is requested meanwhile, also what it has read already', async () => {
    const { fixture, reread, names, queued } = await begin(3);
    shift(fixture, [1], 'first');
    const { id } = (await reread('1')).body;
    let next = '';
    fixture.erp.once('readByIds', () => undefined);
    fixture.erp.before('readByIds', async () => {
      fixture.erp.onCall = () => undefined;
      const answer = await reread('1', '3');
      next = answer.body.id;
      expect(answer.body).toMatchObject({ coalesced: false, status: 'queued' });
    });
    expect(await fixture.drive(id)).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    expect(await queued()).toEqual(['1', '3']);
    shift(fixture, [1, 3], 'second');
    expect(await fixture.drive(next)).toMatchObject({ status: 'succeeded', counts: { updated: 2 } });
    expect([await names(), await queued()]).toEqual([['second', 'name 2', 'second'], []]);
  });

  it('what a failed run leaves is read by the next one of any mode', async () => {
    const { fixture, reread, names, queued } = await begin(3);
    for (const mode of ['incremental', 'full'] as const) {
      shift(fixture, [2], mode);
      const { id } = (await reread('2')).body;
      fixture.erp.failAll();
      expect(await fixture.drive(id)).toMatchObject({ status: 'failed' });
      expect(await queued()).toEqual(['2']);
      fixture.erp.onCall = () => undefined;
      const run = await fixture.expectSuccess(mode, { updated: 1 }, { mode });
      expect(findCheck(run, 'requested') !== undefined).toBe(mode === 'incremental');
      expect([(await names())[1], await queued()]).toEqual([mode, []]);
    }
  });

  it('a worker that dies before it takes records over, while it reads, or before the outcome is copied, loses none', async () => {
    const { fixture, reread, names, queued } = await begin(3);
    for (const at of ['now', 'readByIds'] as const) {
      shift(fixture, [1, 2], `lost at ${at}`);
      const { id } = (await reread('1')).body;
      const wake = await fixture.loseWorker(id, 0, [at]);
      const next = (await reread('2')).body.id;
      await site.refuse('sync_runs', '%"status": "succeeded"%');
      const lease = await fixture.claim();
      await fixture.work(lease);
      expect(await queued()).toEqual(['1', '2']);
      await site.allow();
      await fixture.expire(id);
      await fixture.drive(id);
      await wake();
      await fixture.drive(next);
      expect([(await names()).slice(0, 2), await queued()]).toEqual([[`lost at ${at}`, `lost at ${at}`], []]);
    }
  });

  it('a queued run that reads only requested records becomes the run of a slot, and of a trigger', async () => {
    const { fixture, api, reread, queued } = await begin(3);
    const trigger = (body: object) => api('post', `/sync-configs/${fixture.configId}/trigger`, body);
    const first = (await reread('1')).body.id;
    await fixture.changeConfig({ schedule: '* * * * *', mode: 'incremental' });
    await fixture.changeConfig({ scheduled_since: new Date('2026-01-01') });
    expect(await enqueueDueRuns(site.ctx)).toBe(1);
    expect(await fixture.row(first)).toMatchObject({
      mode: 'incremental',
      trigger: 'schedule',
      status: 'queued',
    });
    await fixture.expectEnd(first, 'succeeded', {});
    await fixture.changeConfig({ schedule: null });
    const second = (await reread('1')).body.id;
    expect((await trigger({ mode: 'incremental' })).body).toMatchObject({ id: second, mode: 'incremental' });
    expect((await trigger({ mode: 'full' })).body).toMatchObject({
      id: second,
      mode: 'full',
      coalesced: true,
    });
    await fixture.expectEnd(second, 'succeeded', {});
    const third = (await reread('1')).body.id;
    await fixture.claim();
    expect((await trigger({})).body.id).not.toBe(third);
    expect(await queued()).toEqual(['1']);
  });

  it('422 names ids that the record type can not have, and refuses more than may wait', async () => {
    const { fixture, reread, queued } = await begin(1);
    const wrong = await reread('7', '007', '8', 'x');
    expect([wrong.status, ...listProblems(wrong)]).toEqual([422, 'ids[1] invalid_id', 'ids[3] invalid_id']);
    expect(await queued()).toEqual([]);
    const rows = Array.from({ length: 10_000 }, (_unused, n) => ({
      organization_id: fixture.organizationId,
      sync_config_id: fixture.configId,
      record_id: String(n),
    }));
    await inTransaction(fixture.tenant, (tx) => tx.batchInsert('sync_rereads', rows, 1_000));
    expect(await refusal(reread('10000'))).toEqual([422, 'limit_reached']);
    expect((await reread('9999')).status).toBe(202);
  });
});
