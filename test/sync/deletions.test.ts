// What is deleted, what waits for approval, and how an approval is carried out. Public bugs of other products
// are named in the words of the specification.
import { describe, expect, it } from 'vitest';
import { type Api, refusal } from '../setup/api.ts';
import { countCalls, erpError, findCheck, operations, type SyncFixture, wait } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 100 });

const range = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_unused, n) => String(from + n));
const vanish = (fixture: SyncFixture, ids: readonly string[]) => {
  for (const id of ids) fixture.erp.records.delete(id);
};
const proposals = (fixture: SyncFixture) =>
  fixture.query<{ id: string; status: string; n: number }>(
    `select id, status, cardinality(ids) as n from ${fixture.schema}.deletion_proposals order by created_at, id`,
  );
/** 60 records, of which the ERP lost 30 without listing them: their deletion is held. */
async function heldThirty() {
  const fixture = await site.loaded(60);
  vanish(fixture, range(1, 30));
  await fixture.sync('incremental');
  const [held] = await proposals(fixture);
  return { fixture, api: await site.api(fixture), held };
}
const stored = async (fixture: SyncFixture): Promise<number> => (await fixture.rows()).length;
const audit = ({ configId }: SyncFixture, action: string) =>
  site
    .admin('audit_log')
    .where({ target_id: configId, action: `sync-config.${action}` })
    .select('changes');

describe('deletions of an incremental run', () => {
  it('records that the ERP lists as deleted are deleted, however many', async () => {
    const fixture = await site.loaded(60);
    for (const id of range(1, 40)) fixture.erp.drop(id);
    await fixture.expectSuccess('incremental', { deleted: 40 });
    expect(await stored(fixture)).toBe(20);
  });

  it('a record that is listed as deleted but exists stays', async () => {
    const fixture = await site.loaded(10);
    fixture.erp.deleted?.set('3', '2026-05-01T13:30:00Z');
    await fixture.expectSuccess('incremental', { deleted: 0, unchanged: 1 });
    expect(await stored(fixture)).toBe(10);
  });

  it('a deletion feed that the role may not read is reported, and ids are compared instead', async () => {
    const fixture = await site.loaded(60, { deletions: 'feed' });
    fixture.erp.deleted = null;
    vanish(fixture, ['7']);
    const run = await fixture.expectSuccess('incremental', { deleted: 1 });
    expect(await fixture.events(run.id)).toContain(
      "the ERP's list of deletions can't be read; deletions are found by comparing ids",
    );
  });

  it('with `feed`, merely absent records are kept and reported', async () => {
    const fixture = await site.loaded(30, { deletions: 'feed' });
    vanish(fixture, ['7']);
    fixture.erp.drop(8);
    await fixture.expectPartial('incremental', 'DELETIONS_HELD', { deleted: 1 });
    expect(await stored(fixture)).toBe(29);
    // Now the ERP lists it.
    fixture.erp.deleted?.set('7', '2026-05-01T14:30:00Z');
    wait(fixture, 1);
    await fixture.expectSuccess('incremental', { deleted: 1 });
    expect(await proposals(fixture)).toMatchObject([{ status: 'superseded' }]);
  });

  it('with `none`, everything stays, without a scan in every run', async () => {
    const fixture = await site.loaded(30, { deletions: 'none' });
    vanish(fixture, range(1, 25));
    await fixture.expectSuccess('incremental', { deleted: 0 });
    expect(await stored(fixture)).toBe(30);
    fixture.erp.calls.length = 0;
    await fixture.expectSuccess('incremental');
    expect(operations(fixture)).toEqual(['now', 'today', 'readPage', 'listIds', 'count']);
    await fixture.changeConfig({ deletions: 'reconcile', max_delete_share: 1 });
    await fixture.expectSuccess('incremental', { deleted: 25 });
  });

  it('a record created during the run deleted by the run: it is fetched instead', async () => {
    const fixture = await site.loaded(30);
    fixture.erp.onCall = ({ operation }) => {
      if (operation === 'count') fixture.erp.put(31);
      if (operation === 'scan') fixture.erp.put(15_000);
    };
    await fixture.expectSuccess('incremental', { inserted: 2, deleted: 0 });
    expect(await stored(fixture)).toBe(32);
  });

  it('deletions executed before success: a run that fails after it found deletions deletes nothing', async () => {
    const fixture = await site.loaded(30);
    fixture.erp.drop(3);
    fixture.erp.failOnce('count', erpError('forbidden', 'RECORD_TYPE_HIDDEN'));
    await fixture.expectFailure('incremental', 'RECORD_TYPE_HIDDEN');
    expect(await stored(fixture)).toBe(30);
    await fixture.expectSuccess('incremental', { deleted: 1 });
  });

  it('a scan compares both sides page by page, wherever one of them has gaps', async () => {
    const fixture = await site.loaded(3_300, { maxDeleteShare: 1 });
    const old = { modifiedAt: '2026-05-01T08:00:00Z' };
    const gone = [...range(1, 1_400), ...range(2_000, 2_010), ...range(3_299, 3_300)];
    vanish(fixture, gone);
    for (const id of [1_500, 2_600])
      fixture.erp.put(id, { name: 'came late' }, { modifiedAt: '2026-05-01T08:00:01Z' });
    for (let id = 4_000; id < 5_100; id += 1) fixture.erp.put(id, {}, old);
    const run = await fixture.expectSuccess('incremental', {
      inserted: 1_100,
      updated: 2,
      deleted: gone.length,
    });
    expect(findCheck(run, 'scan')).toMatchObject({
      facts: { listed: 2_987, fetched: 1_102, absent: gone.length },
    });
    const ids = [...fixture.erp.records.keys()].sort((a, b) => Number(a) - Number(b));
    expect(await fixture.ids()).toEqual(ids);
    expect(await fixture.state()).toMatchObject({ rowCount: 2_987 });
  });

  it('a record that comes back with other values after the scan missed it is read', async () => {
    const fixture = await site.loaded(30);
    vanish(fixture, ['3']);
    wait(fixture, 24);
    fixture.erp.onCall = ({ operation }) => {
      if (operation !== 'scan' || countCalls(fixture, 'scan') < 2) return;
      fixture.erp.put(3, { name: 'came back' });
    };
    await fixture.expectSuccess('incremental', { deleted: 0, updated: 1 });
    expect((await fixture.rows()).find(({ id }) => String(id) === '3')).toMatchObject({
      f_name: 'came back',
    });
  });
});

describe('absence in a full run', () => {
  it('is confirmed by id, also by a run that stopped in between; a record that has come back meanwhile stays', async () => {
    const fixture = await site.loaded(1_200);
    const gone = range(1, 20);
    const before = new Map(fixture.erp.records);
    vanish(fixture, gone);
    let scans = 0;
    let feeds = 0;
    fixture.erp.onCall = ({ operation }) => {
      if (operation === 'scan') scans += 1;
      if (operation === 'scan' && scans === 1) {
        const back = before.get('7');
        if (back !== undefined) fixture.erp.records.set('7', back);
        throw erpError('down', 'GONE');
      }
      if (operation === 'deletedSince') feeds += 1;
    };
    await fixture.expectSuccess('full', { deleted: 19, unchanged: 1_181 });
    expect({ scans, feeds }).toEqual({ scans: 2, feeds: 2 });
    expect(await stored(fixture)).toBe(1_181);
  });

  it('of a record that was rejected before and that pages pass over is confirmed by id: it stays open', async () => {
    const fixture = await site.loaded(60);
    const rejected = { id: '61', code: 'X', message: 'no' };
    fixture.erp.rejects.set('61', rejected);
    await fixture.expectPartial('full', 'RECORDS_REJECTED');
    fixture.erp.bendPage = (page) => ({ ...page, rejected: [] });
    let counts = 0;
    fixture.erp.onCall = ({ operation }) => {
      if (operation === 'count' && ++counts === 2) fixture.erp.records.delete('60');
    };
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { rejected: 1 });
    fixture.erp.bendPage = null;
    fixture.erp.onCall = () => undefined;
    fixture.erp.rejects.clear();
    fixture.erp.put(61);
    await fixture.expectSuccess('full', { inserted: 1, deleted: 1 });
  });
});

describe('held deletions', () => {
  it('zero rows reported as success, and a role change that reads as mass deletion: the deletions are held back, the run is partial, and later runs continue', async () => {
    const fixture = await site.loaded(60);
    const all = new Map(fixture.erp.records);
    fixture.erp.records.clear();
    fixture.erp.put(61, { name: 'new' });
    const run = await fixture.expectPartial('incremental', 'DELETIONS_HELD', { deleted: 0, inserted: 1 });
    expect(await stored(fixture)).toBe(61);
    const [held] = await proposals(fixture);
    expect(held).toMatchObject({ status: 'open', n: 60 });
    expect(run.error).toMatchObject({ proposalId: held?.id });
    fixture.erp.put(62);
    fixture.erp.calls.length = 0;
    const next = await fixture.expectPartial(
      'incremental',
      'DELETIONS_HELD',
      { inserted: 1 },
      { error: { proposalId: held?.id } },
    );
    expect(findCheck(next, 'count')?.message).toBe(
      'The ERP counts 2 records, and 62 are stored here: these, and 60 that the ERP lacks and that are kept; only the numbers were compared',
    );
    expect(operations(fixture)).not.toContain('scan'); // known and confirmed
    for (const [id, record] of all) fixture.erp.records.set(id, record);
    await fixture.expectSuccess('incremental', { deleted: 0 });
    expect(await proposals(fixture)).toMatchObject([{ status: 'superseded' }]);
  });

  it('a record that was hidden is read again when it reappears, because its modification time may be unchanged', async () => {
    const fixture = await site.loaded(60);
    const hidden = [...fixture.erp.records].slice(0, 30);
    for (const [id] of hidden) fixture.erp.records.delete(id);
    await fixture.expectPartial('incremental', 'DELETIONS_HELD');
    for (const [id, record] of hidden)
      fixture.erp.records.set(id, { ...record, values: { ...record.values, name: 'in the same second' } });
    await fixture.expectSuccess('incremental', { updated: 30, deleted: 0 });
    expect(
      await fixture.query(`select id from ${fixture.schema}.deletion_proposals where status = 'open'`),
    ).toEqual([]);
  });

  it.each(['incremental', 'full'] as const)(
    'approved by HTTP: each id is requested from the ERP again (%s run)',
    async (mode) => {
      const { fixture, api } = await heldThirty();
      const config = (await api('get', `/sync-configs/${fixture.configId}`)).body;
      expect(config.heldDeletions).toEqual({
        proposalId: expect.any(String),
        count: 30,
        createdAt: expect.stringMatching(/Z$/),
      });
      expect((await api('get', '/sync-configs')).body.data[0].heldDeletions).toEqual(config.heldDeletions);
      const { proposalId } = config.heldDeletions;
      fixture.erp.put(5, { name: 'was hidden' }, { modifiedAt: '2026-05-01T08:00:00Z' });
      await fixture.changeConfig({ mode });
      const approve = (id: string) =>
        api('post', `/sync-configs/${fixture.configId}/approve-deletions`, { proposalId: id });
      expect((await approve('01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21')).status).toBe(404);
      const answer = await approve(proposalId);
      expect(answer).toMatchObject({ status: 202, body: { status: 'queued', mode, trigger: 'manual' } });
      await fixture.expectEnd(answer.body.id, 'succeeded', { deleted: 29, updated: 1 }, { error: null });
      expect(await stored(fixture)).toBe(31);
      expect((await api('get', `/sync-configs/${fixture.configId}`)).body.heldDeletions).toBeNull();
      expect(await proposals(fixture)).toMatchObject([{ status: 'applied' }]);
      expect(await refusal(approve(proposalId))).toEqual([422, 'proposal_applied']);
      const changes = { proposalId, records: 30, runId: answer.body.id };
      expect(await audit(fixture, 'approve-deletions')).toEqual([{ changes }]);
    },
  );

  it('a proposal that a later scan superseded can no longer be approved', async () => {
    const { fixture, api, held: first } = await heldThirty();
    vanish(fixture, range(31, 31));
    await fixture.sync('incremental');
    const body = { proposalId: first?.id };
    const approve = api('post', `/sync-configs/${fixture.configId}/approve-deletions`, body);
    expect(await refusal(approve)).toEqual([422, 'proposal_superseded']);
    expect(await stored(fixture)).toBe(60);
  });
});

describe('an approval while a run is under way', () => {
  it('is carried out by the next run; what it left open keeps its proposal', async () => {
    const { fixture, api, held } = await heldThirty();
    wait(fixture, 25);
    const approvals: Awaited<ReturnType<Api>>[] = [];
    fixture.erp.once('scan', async () => {
      const body = { proposalId: held?.id, ids: range(1, 10), revision: 1 };
      approvals.push(await api('post', `/sync-configs/${fixture.configId}/approve-deletions`, body));
    });
    await fixture.expectPartial(
      'incremental',
      'DELETIONS_HELD',
      { deleted: 0 },
      { error: { proposalId: held?.id } },
    );
    expect(approvals).toMatchObject([{ status: 202 }]);
    expect(await proposals(fixture)).toMatchObject([
      { id: held?.id, status: 'open', n: 20 },
      { status: 'approved', n: 10 },
    ]);
    await fixture.expectEnd(approvals[0]?.body.id, 'partial', { deleted: 10 });
    expect(await proposals(fixture)).toMatchObject([
      { id: held?.id, status: 'open', n: 20 },
      { status: 'applied', n: 10 },
    ]);
    expect(await stored(fixture)).toBe(50);
  });

  it('a rejection takes over what was rejected before', async () => {
    const fixture = await site.loaded(60);
    const api = await site.api(fixture);
    const reject = async () => {
      const open = (await proposals(fixture)).find(({ status }) => status === 'open');
      return api('post', `/sync-configs/${fixture.configId}/deletion-proposals/${open?.id}/reject`, {});
    };
    vanish(fixture, range(1, 10));
    await fixture.sync('incremental');
    expect(await reject()).toMatchObject({
      status: 200,
      body: { status: 'rejected', count: 10, revision: 1 },
    });
    vanish(fixture, range(11, 20));
    await fixture.expectPartial('incremental', 'DELETIONS_HELD');
    expect(await reject()).toMatchObject({
      status: 200,
      body: { status: 'rejected', count: 20, revision: 2 },
    });
    expect(await proposals(fixture)).toMatchObject([{ status: 'superseded' }, { status: 'rejected', n: 20 }]);
    fixture.erp.calls.length = 0;
    await fixture.expectSuccess('incremental');
    expect(operations(fixture)).not.toContain('scan');
    expect(await audit(fixture, 'reject-deletions')).toHaveLength(2);
  });
});

describe('a schema that an older version of this service created', () => {
  it('has proposals without a revision: they can be looked at and rejected', async () => {
    const { fixture, api, held } = await heldThirty();
    await fixture.query(`drop table ${fixture.schema}.absent_records, ${fixture.schema}.rolling_reads`);
    await fixture.query(
      `alter table ${fixture.schema}.deletion_proposals drop column revision, drop constraint deletion_proposals_status_check`,
    );
    await fixture.query(
      `alter table ${fixture.schema}.deletion_proposals add constraint deletion_proposals_status_check check (status in ('open', 'kept', 'superseded', 'approved', 'applied'))`,
    );
    await fixture.query(`alter table ${fixture.schema}.staged_deletions drop column referenced_by`);
    await fixture.query(`alter table ${fixture.schema}.record_state drop column compared_at`);
    const path = `/sync-configs/${fixture.configId}/deletion-proposals/${held?.id}`;
    const { body } = await api('get', `${path}?limit=2`);
    expect(body).toMatchObject({
      status: 'open',
      revision: 1,
      count: 30,
      nextAfter: '2',
      evidence: { rows: 60, allowed: 6 },
    });
    expect(body.records).toEqual(
      [1, 2].map((n) => ({
        id: `${n}`,
        number: null,
        name: `name ${n}`,
        date: null,
        amount: null,
        lastSeenAt: null,
        referencedBy: [],
      })),
    );
    expect(await api('get', `${path}?after=x`)).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: 'after', code: 'bad_id' }] } },
    });
    expect(await api('post', `${path}/reject`, {})).toMatchObject({
      status: 200,
      body: { status: 'rejected' },
    });
    await fixture.expectSuccess('incremental');
  });

  it('is upgraded by the next run, and a run that was started before continues', async () => {
    const fixture = await site.loaded(10);
    await fixture.query(
      `drop table ${fixture.schema}.drift_outbox, ${fixture.schema}.deletion_proposals, ${fixture.schema}.staged_deletions, ${fixture.schema}.staged_unchanged, ${fixture.schema}.pruned_tombstones`,
    );
    await fixture.query(`alter table ${fixture.schema}.record_state drop column reconciled_at`);
    await fixture.query(`alter table ${fixture.schema}.run_state drop column plan`);
    const api = await site.api(fixture);
    expect((await api('get', `/sync-configs/${fixture.configId}`)).body.heldDeletions).toBeNull();
    fixture.erp.put(11);
    fixture.erp.drop(1);
    await fixture.expectSuccess('incremental', { inserted: 1, deleted: 1 });
  });
});
