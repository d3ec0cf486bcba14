// What is deleted, what waits for approval, and how an approval is carried out. Public bugs of other products
// are named in the words of the specification.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey } from '../setup/organization.ts';
import {
  asAdmin,
  datedFields,
  endOpenRuns,
  erpError,
  memoryErp,
  type SyncWorld,
  syncWorld,
} from './fixture.ts';

let database: TestDatabase;
let ctx: Ctx;
beforeAll(async () => {
  database = await testDatabase();
  ctx = {
    ...database.ctx,
    settings: { ...database.ctx.settings, sync: { ...database.ctx.settings.sync, pageSize: 100 } },
  };
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const start = new Date('2026-05-01T08:00:00Z');
const wait = ({ erp }: SyncWorld, hours: number): void => {
  erp.at = new Date((erp.at ?? start).getTime() + hours * 3_600_000);
};
async function loaded(count: number, options = {}): Promise<SyncWorld> {
  const world = await syncWorld(ctx, memoryErp(datedFields), options);
  world.erp.at = start;
  world.erp.deleted = new Map();
  for (let id = 1; id <= count; id += 1) world.erp.put(id);
  wait(world, 5);
  await world.sync('incremental');
  wait(world, 1);
  world.erp.calls.length = 0;
  return world;
}
const range = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_unused, n) => String(from + n));
const vanish = (world: SyncWorld, ids: readonly string[]) => {
  for (const id of ids) world.erp.records.delete(id);
};
const proposals = (world: SyncWorld) =>
  world.query<{ id: string; status: string; n: number }>(
    `select id, status, cardinality(ids) as n from ${world.schema}.deletion_proposals order by created_at, id`,
  );
const scans = ({ erp }: SyncWorld): number =>
  erp.calls.filter(({ operation }) => operation === 'scan').length;
const stored = async (world: SyncWorld): Promise<number> => (await world.rows()).length;
const publisher = async (world: SyncWorld): Promise<Api> =>
  createApi(createApp(ctx), (await makeKey(ctx, world.organizationId, { permissions: ['write'] })).secret);

describe('deletions of an incremental run', () => {
  it('records that the ERP lists as deleted are deleted, however many', async () => {
    const world = await loaded(60);
    for (const id of range(1, 40)) world.erp.drop(id);
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded', counts: { deleted: 40 } });
    expect(await stored(world)).toBe(20);
  });

  it('a record that is listed as deleted but exists stays', async () => {
    const world = await loaded(10);
    world.erp.deleted?.set('3', '2026-05-01T13:30:00Z');
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { deleted: 0, unchanged: 1 },
    });
    expect(await stored(world)).toBe(10);
  });

  it('a few merely absent records are deleted, after a scan, and the proof reports it', async () => {
    const world = await loaded(60);
    vanish(world, range(1, 6));
    const run = await world.sync('incremental');
    expect(run).toMatchObject({ status: 'succeeded', counts: { deleted: 6 } });
    expect(run.proof.find(({ check }) => check === 'scan')).toMatchObject({
      facts: { listed: 54, absent: 6 },
    });
  });

  it('a deletion feed that the role may not read is reported, and ids are compared instead', async () => {
    const world = await loaded(60, { deletions: 'feed' });
    world.erp.deleted = null;
    vanish(world, ['7']);
    const run = await world.sync('incremental');
    expect(run).toMatchObject({ status: 'succeeded', counts: { deleted: 1 } });
    expect(await world.events(run.id)).toContain(
      "the ERP's list of deletions can't be read; deletions are found by comparing ids",
    );
  });

  it('with `feed`, merely absent records are kept and reported', async () => {
    const world = await loaded(30, { deletions: 'feed' });
    vanish(world, ['7']);
    world.erp.drop(8);
    const run = await world.sync('incremental');
    expect(run).toMatchObject({
      status: 'partial',
      error: { code: 'DELETIONS_HELD' },
      counts: { deleted: 1 },
    });
    expect(await stored(world)).toBe(29);
    // Now the ERP lists it.
    world.erp.deleted?.set('7', '2026-05-01T14:30:00Z');
    wait(world, 1);
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded', counts: { deleted: 1 } });
    expect(await proposals(world)).toMatchObject([{ status: 'superseded' }]);
  });

  it('with `none`, everything stays, without a scan in every run', async () => {
    const world = await loaded(30, { deletions: 'none' });
    vanish(world, range(1, 25));
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded', counts: { deleted: 0 } });
    expect(await stored(world)).toBe(30);
    world.erp.calls.length = 0;
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded' });
    expect(world.erp.calls.map(({ operation }) => operation)).toEqual([
      'now',
      'today',
      'readPage',
      'listIds',
      'count',
    ]);
    await world.changeConfig({ deletions: 'reconcile', max_delete_share: 1 });
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded', counts: { deleted: 25 } });
  });

  it('a record created during the run deleted by the run: it is fetched instead', async () => {
    const world = await loaded(30);
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count') world.erp.put(31);
      if (operation === 'scan') world.erp.put(15_000);
    };
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 2, deleted: 0 },
    });
    expect(await stored(world)).toBe(32);
  });

  it('deletions executed before success: a run that fails after it found deletions deletes nothing', async () => {
    const world = await loaded(30);
    world.erp.drop(3);
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count') throw erpError('forbidden', 'RECORD_TYPE_HIDDEN');
    };
    expect(await world.sync('incremental')).toMatchObject({ status: 'failed' });
    expect(await stored(world)).toBe(30);
    world.erp.onCall = () => undefined;
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded', counts: { deleted: 1 } });
  });

  it('a scan compares both sides page by page, wherever one of them has gaps', async () => {
    const world = await loaded(3_300, { maxDeleteShare: 1 });
    const old = { modifiedAt: '2026-05-01T08:00:00Z' };
    const gone = [...range(1, 1_400), ...range(2_000, 2_010), ...range(3_299, 3_300)];
    vanish(world, gone);
    for (const id of [1_500, 2_600])
      world.erp.put(id, { name: 'came late' }, { modifiedAt: '2026-05-01T08:00:01Z' });
    for (let id = 4_000; id < 5_100; id += 1) world.erp.put(id, {}, old);
    const run = await world.sync('incremental');
    expect(run).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1_100, updated: 2, deleted: gone.length },
    });
    expect(run.proof.find(({ check }) => check === 'scan')).toMatchObject({
      facts: { listed: 2_987, fetched: 1_102, absent: gone.length },
    });
    const ids = (await world.rows()).map(({ id }) => String(id));
    expect(ids).toEqual([...world.erp.records.keys()].sort((a, b) => Number(a) - Number(b)));
    expect(await world.state()).toMatchObject({ rowCount: 2_987 });
  });

  it('a record that comes back with other values after the scan missed it is read', async () => {
    const world = await loaded(30);
    vanish(world, ['3']);
    wait(world, 24);
    world.erp.onCall = ({ operation }) => {
      if (operation !== 'scan' || scans(world) < 2) return;
      world.erp.put(3, { name: 'came back' });
    };
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { deleted: 0, updated: 1 },
    });
    expect((await world.rows()).find(({ id }) => String(id) === '3')).toMatchObject({ f_name: 'came back' });
  });

  it('a scan that lists fewer records than the ERP counts proves nothing: the run fails, and nothing is deleted', async () => {
    const world = await loaded(30);
    world.erp.claimedCount = () => 30;
    vanish(world, ['3']);
    wait(world, 24);
    expect(await world.sync('incremental')).toMatchObject({
      status: 'failed',
      error: { code: 'COUNT_MISMATCH' },
    });
    expect(await stored(world)).toBe(30);
  });
});

describe('absence in a full run', () => {
  it('is confirmed by id, also by a run that stopped in between; a record that has come back meanwhile stays', async () => {
    const world = await loaded(1_200);
    const gone = range(1, 20);
    const before = new Map(world.erp.records);
    vanish(world, gone);
    let scans = 0;
    let feeds = 0;
    world.erp.onCall = ({ operation }) => {
      if (operation === 'scan') scans += 1;
      if (operation === 'scan' && scans === 1) {
        const back = before.get('7');
        if (back !== undefined) world.erp.records.set('7', back);
        throw erpError('down', 'GONE');
      }
      if (operation === 'deletedSince') feeds += 1;
    };
    expect(await world.sync('full')).toMatchObject({
      status: 'succeeded',
      counts: { deleted: 19, unchanged: 1_181 },
    });
    expect({ scans, feeds }).toEqual({ scans: 2, feeds: 2 });
    expect(await stored(world)).toBe(1_181);
  });

  it('of a record that was rejected before and that pages pass over is confirmed by id: it stays open', async () => {
    const world = await loaded(60);
    const rejected = { id: '61', code: 'X', message: 'no' };
    world.erp.rejects.set('61', rejected);
    expect(await world.sync('full')).toMatchObject({
      status: 'partial',
      error: { code: 'RECORDS_REJECTED' },
    });
    world.erp.bendPage = (page) => ({ ...page, rejected: [] });
    let counts = 0;
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count' && ++counts === 2) world.erp.records.delete('60');
    };
    expect(await world.sync('full')).toMatchObject({
      status: 'partial',
      error: { code: 'RECORDS_REJECTED' },
      counts: { rejected: 1 },
    });
    world.erp.bendPage = null;
    world.erp.onCall = () => undefined;
    world.erp.rejects.clear();
    world.erp.put(61);
    expect(await world.sync('full')).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1, deleted: 1 },
    });
  });
});

describe('held deletions', () => {
  it('zero rows reported as success, and a role change that reads as mass deletion: the deletions are held back, the run is partial, and later runs continue', async () => {
    const world = await loaded(60);
    const all = new Map(world.erp.records);
    world.erp.records.clear();
    world.erp.put(61, { name: 'new' });
    const run = await world.sync('incremental');
    expect(run).toMatchObject({
      status: 'partial',
      error: { code: 'DELETIONS_HELD' },
      counts: { deleted: 0, inserted: 1 },
    });
    expect(await stored(world)).toBe(61);
    const [held] = await proposals(world);
    expect(held).toMatchObject({ status: 'open', n: 60 });
    expect(run.error).toMatchObject({ proposalId: held?.id });
    world.erp.put(62);
    world.erp.calls.length = 0;
    expect(await world.sync('incremental')).toMatchObject({
      status: 'partial',
      error: { proposalId: held?.id },
      counts: { inserted: 1 },
    });
    expect(world.erp.calls.map(({ operation }) => operation)).not.toContain('scan'); // known and confirmed
    for (const [id, record] of all) world.erp.records.set(id, record);
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      error: null,
      counts: { deleted: 0 },
    });
    expect(await proposals(world)).toMatchObject([{ status: 'superseded' }]);
  });

  it('a record that was hidden is read again when it reappears, because its modification time may be unchanged', async () => {
    const world = await loaded(60);
    const hidden = [...world.erp.records].slice(0, 30);
    for (const [id] of hidden) world.erp.records.delete(id);
    expect(await world.sync('incremental')).toMatchObject({
      status: 'partial',
      error: { code: 'DELETIONS_HELD' },
    });
    for (const [id, record] of hidden)
      world.erp.records.set(id, { ...record, values: { ...record.values, name: 'in the same second' } });
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { updated: 30, deleted: 0 },
    });
    expect(
      await world.query(`select id from ${world.schema}.deletion_proposals where status = 'open'`),
    ).toEqual([]);
  });

  it('the same ids keep their proposal over scans; other ids supersede it', async () => {
    const world = await loaded(60);
    vanish(world, range(1, 30));
    await world.sync('incremental');
    wait(world, 25);
    await world.sync('incremental');
    await world.sync('full');
    expect(await proposals(world)).toMatchObject([{ status: 'open', n: 30 }]);
    vanish(world, ['31']);
    await world.sync('incremental');
    expect(await proposals(world)).toMatchObject([
      { status: 'superseded', n: 30 },
      { status: 'open', n: 31 },
    ]);
  });

  it.each(['incremental', 'full'] as const)(
    'approved by HTTP: each id is requested from the ERP again (%s run)',
    async (mode) => {
      const world = await loaded(60);
      const api = await publisher(world);
      vanish(world, range(1, 30));
      await world.sync('incremental');
      const config = (await api('get', `/sync-configs/${world.configId}`)).body;
      expect(config.heldDeletions).toEqual({
        proposalId: expect.any(String),
        count: 30,
        createdAt: expect.stringMatching(/Z$/),
      });
      expect((await api('get', '/sync-configs')).body.data[0].heldDeletions).toEqual(config.heldDeletions);
      const { proposalId } = config.heldDeletions;
      world.erp.put(5, { name: 'was hidden' }, { modifiedAt: '2026-05-01T08:00:00Z' });
      await world.changeConfig({ mode });
      const approve = (id: string) =>
        api('post', `/sync-configs/${world.configId}/approve-deletions`, { proposalId: id });
      expect((await approve('01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21')).status).toBe(404);
      const answer = await approve(proposalId);
      expect(answer).toMatchObject({ status: 202, body: { status: 'queued', mode, trigger: 'manual' } });
      expect(await world.drive(answer.body.id)).toMatchObject({
        status: 'succeeded',
        error: null,
        counts: { deleted: 29, updated: 1 },
      });
      expect(await stored(world)).toBe(31);
      expect((await api('get', `/sync-configs/${world.configId}`)).body.heldDeletions).toBeNull();
      expect(await proposals(world)).toMatchObject([{ status: 'applied' }]);
      expect(await approve(proposalId)).toMatchObject({
        status: 422,
        body: { error: { details: [{ code: 'proposal_applied' }] } },
      });
      const audit = await asAdmin(database, (admin) =>
        admin('audit_log')
          .where({ target_id: world.configId, action: 'sync-config.approve-deletions' })
          .select('changes'),
      );
      expect(audit).toEqual([{ changes: { proposalId, records: 30, runId: answer.body.id } }]);
    },
  );

  it('a proposal that a later scan superseded can no longer be approved', async () => {
    const world = await loaded(60);
    const api = await publisher(world);
    vanish(world, range(1, 30));
    await world.sync('incremental');
    const [first] = await proposals(world);
    vanish(world, range(31, 31));
    await world.sync('incremental');
    expect(
      await api('post', `/sync-configs/${world.configId}/approve-deletions`, { proposalId: first?.id }),
    ).toMatchObject({
      status: 422,
      body: { error: { details: [{ code: 'proposal_superseded' }] } },
    });
    expect(await stored(world)).toBe(60);
  });
});

describe('an approval while a run is under way', () => {
  it('is carried out by the next run; what it left open keeps its proposal', async () => {
    const world = await loaded(60);
    const api = await publisher(world);
    vanish(world, range(1, 30));
    await world.sync('incremental');
    const [held] = await proposals(world);
    wait(world, 25);
    const approvals: Awaited<ReturnType<Api>>[] = [];
    world.erp.onCall = async ({ operation }) => {
      if (operation !== 'scan' || approvals.length > 0) return;
      const body = { proposalId: held?.id, ids: range(1, 10), revision: 1 };
      approvals.push(await api('post', `/sync-configs/${world.configId}/approve-deletions`, body));
    };
    expect(await world.sync('incremental')).toMatchObject({
      status: 'partial',
      error: { proposalId: held?.id },
      counts: { deleted: 0 },
    });
    expect(approvals).toMatchObject([{ status: 202 }]);
    expect(await proposals(world)).toMatchObject([
      { id: held?.id, status: 'open', n: 20 },
      { status: 'approved', n: 10 },
    ]);
    expect(await world.drive(approvals[0]?.body.id)).toMatchObject({
      status: 'partial',
      counts: { deleted: 10 },
    });
    expect(await proposals(world)).toMatchObject([
      { id: held?.id, status: 'open', n: 20 },
      { status: 'applied', n: 10 },
    ]);
    expect(await stored(world)).toBe(50);
  });

  it('a rejection takes over what was rejected before', async () => {
    const world = await loaded(60);
    const api = await publisher(world);
    const reject = async () => {
      const open = (await proposals(world)).find(({ status }) => status === 'open');
      return api('post', `/sync-configs/${world.configId}/deletion-proposals/${open?.id}/reject`, {});
    };
    vanish(world, range(1, 10));
    await world.sync('incremental');
    expect(await reject()).toMatchObject({
      status: 200,
      body: { status: 'rejected', count: 10, revision: 1 },
    });
    vanish(world, range(11, 20));
    expect(await world.sync('incremental')).toMatchObject({ status: 'partial' });
    expect(await reject()).toMatchObject({
      status: 200,
      body: { status: 'rejected', count: 20, revision: 2 },
    });
    expect(await proposals(world)).toMatchObject([{ status: 'superseded' }, { status: 'rejected', n: 20 }]);
    world.erp.calls.length = 0;
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded' });
    expect(world.erp.calls.map(({ operation }) => operation)).not.toContain('scan');
    const audit = await asAdmin(database, (admin) =>
      admin('audit_log').where({ target_id: world.configId, action: 'sync-config.reject-deletions' }).count(),
    );
    expect(audit).toEqual([{ count: '2' }]);
  });
});

describe('a schema that an older version of this service created', () => {
  it('has proposals without a revision: they can be looked at and rejected', async () => {
    const world = await loaded(60);
    const api = await publisher(world);
    vanish(world, range(1, 30));
    await world.sync('incremental');
    const [held] = await proposals(world);
    await world.query(`drop table ${world.schema}.absent_records, ${world.schema}.rolling_reads`);
    await world.query(
      `alter table ${world.schema}.deletion_proposals drop column revision, drop constraint deletion_proposals_status_check`,
    );
    await world.query(
      `alter table ${world.schema}.deletion_proposals add constraint deletion_proposals_status_check check (status in ('open', 'kept', 'superseded', 'approved', 'applied'))`,
    );
    await world.query(`alter table ${world.schema}.staged_deletions drop column referenced_by`);
    await world.query(`alter table ${world.schema}.record_state drop column compared_at`);
    const path = `/sync-configs/${world.configId}/deletion-proposals/${held?.id}`;
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
    expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded' });
  });

  it('is upgraded by the next run, and a run that was started before continues', async () => {
    const world = await loaded(10);
    await world.query(
      `drop table ${world.schema}.drift_outbox, ${world.schema}.deletion_proposals, ${world.schema}.staged_deletions, ${world.schema}.staged_unchanged, ${world.schema}.pruned_tombstones`,
    );
    await world.query(`alter table ${world.schema}.record_state drop column reconciled_at`);
    await world.query(`alter table ${world.schema}.run_state drop column plan`);
    const api = await publisher(world);
    expect((await api('get', `/sync-configs/${world.configId}`)).body.heldDeletions).toBeNull();
    world.erp.put(11);
    world.erp.drop(1);
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1, deleted: 1 },
    });
  });
});
