// Records that could not be stored, and reading them again on request.
import { afterEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { type Api, createApi, listProblems, pluck, refusal } from '../../setup/api.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { datedFields, endOpenRuns, memoryErp, type SyncFixture, syncFixture } from '../../sync/fixture.ts';

const database = useStarted(() => testDatabase());
let fixture: SyncFixture;
let api: Api;
afterEach(() => endOpenRuns(database));

/** Two records that cannot be stored, rejected by a full run; a third rejected by a later incremental run. */
async function begin(): Promise<{ first: string; second: string }> {
  fixture = await syncFixture(database.ctx, memoryErp(datedFields));
  const key = await makeKey(database.ctx, fixture.organizationId, { permissions: ['write'] });
  api = createApi(createApp(database.ctx), key.secret);
  fixture.erp.put(1);
  for (const id of ['2', '3'])
    fixture.erp.rejects.set(id, { id, code: 'VALUE_UNSTORABLE', message: `no ${id}` });
  const first = await fixture.sync('full');
  fixture.erp.rejects.set('4', { id: '4', code: 'VALUE_UNSTORABLE', message: 'no 4' });
  const second = await fixture.sync('incremental');
  expect([first.status, second.status, second.mode]).toEqual(['partial', 'partial', 'incremental']);
  return { first: first.id, second: second.id };
}
const inbox = async () => (await api('get', `/sync-configs/${fixture.configId}/rejections`)).body;
const retry = (body?: object) => api('post', `/sync-configs/${fixture.configId}/rejections/retry`, body);
const heal = (id: string): void => {
  fixture.erp.rejects.delete(id);
  fixture.erp.put(id, {}, { modifiedAt: '2020-01-01T00:00:00Z' });
};

describe('GET /sync-configs/{id}/rejections', () => {
  it('lists open rejections of all runs, with reason, age and number of attempts', async () => {
    const { second } = await begin();
    const { data, pagination } = await inbox();
    expect(pagination.total).toBe(3);
    expect(pluck(data, 'id', 'code', 'message', 'attempts', 'runId')).toEqual([
      ['2', 'VALUE_UNSTORABLE', 'no 2', 2, second],
      ['3', 'VALUE_UNSTORABLE', 'no 3', 2, second],
      ['4', 'VALUE_UNSTORABLE', 'no 4', 1, second],
    ]);
    for (const { firstSeenAt, lastSeenAt } of data) expect(lastSeenAt >= firstSeenAt).toBe(true);
  });

  it('no longer lists records that were stored or deleted since', async () => {
    await begin();
    heal('2');
    fixture.erp.rejects.delete('3');
    await fixture.sync('incremental');
    expect(pluck((await inbox()).data, 'id')).toEqual(['4']);
  });
});

describe('POST /sync-configs/{id}/rejections/retry', () => {
  it('starts a run that reads them again, regardless of when they changed', async () => {
    await begin();
    for (const id of ['2', '3', '4']) heal(id);
    const answer = await retry({ recordIds: ['2', '4'] });
    const queued = { mode: 'incremental', trigger: 'manual', status: 'queued' };
    expect([answer.status, answer.body]).toMatchObject([202, queued]);
    const ended = { status: 'succeeded', mode: 'incremental', counts: { inserted: 3, rejected: 0 } };
    expect(await fixture.drive(answer.body.id)).toMatchObject(ended);
    expect((await inbox()).data).toEqual([]);
    const audit = await inTransaction(fixture.tenant, (tx) =>
      tx('audit_log').where({ action: 'sync-config.retry-rejections' }),
    );
    const changes = { records: 2, runId: answer.body.id };
    expect(audit).toMatchObject([{ target_id: fixture.configId, changes }]);
  });

  it('without ids retries all of them; a second request returns the queued run', async () => {
    await begin();
    const first = await retry();
    expect([first.status, (await retry({})).body.id]).toEqual([202, first.body.id]);
  });

  it('queues a run after one that may be past that step', async () => {
    await begin();
    const running = await fixture.queue('full');
    const lease = await fixture.claim();
    const answer = await retry();
    expect([answer.status, answer.body.id === running]).toEqual([202, false]);
    await fixture.work(lease);
    expect(await fixture.drive(answer.body.id)).toMatchObject({ status: 'partial' });
  });

  it('422 for records that are not rejected, and when there are none', async () => {
    await begin();
    const some = await retry({ recordIds: ['1', '2', '9'] });
    const problems = ['recordIds[0] not_rejected', 'recordIds[2] not_rejected'];
    expect([some.status, ...listProblems(some)]).toEqual([422, ...problems]);
    for (const id of ['2', '3', '4']) heal(id);
    await fixture.sync('incremental');
    expect(await refusal(retry())).toEqual([422, 'nothing_rejected']);
  });
});
