// Several workers on one database: which one may work on a run, what happens to an abandoned run, and what a
// worker that lost its lease may still write, which is nothing.
import { afterEach, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { poolStats } from '../../src/db/pool-stats.ts';
import { inDataTransaction, inTransaction } from '../../src/db/transaction.ts';
import {
  claimRun,
  insertRun,
  type Lease,
  moveRun,
  renewRunLease,
  saveProgress,
} from '../../src/sync/queue/runs.store.ts';
import { type Scheduler, startScheduler } from '../../src/sync/run/scheduler.ts';
import { clearEndedRuns } from '../../src/sync/run/worker.ts';
import { publishRun } from '../../src/warehouse/publish.ts';
import { purgeWarehouse } from '../../src/warehouse/purge.ts';
import { LostLease, readRunState } from '../../src/warehouse/run-state-row.ts';
import { stagePage } from '../../src/warehouse/staging.ts';
import { cutAtCommit } from './cut-wire.ts';
import {
  addConfig,
  erpError,
  type MemoryErp,
  memoryErp,
  noSignal,
  pagesRead,
  type SyncFixture,
  syncFixture,
  until,
  withSync,
} from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10, retryBaseMs: 2, retryMaxMs: 4, leaseMs: 10_000, renewMs: 100 });
const schedulers: Scheduler[] = [];
afterEach(async () => {
  await Promise.all(schedulers.splice(0).map((scheduler) => scheduler.stop()));
});

const start = (erp: MemoryErp): Scheduler => {
  const scheduler = startScheduler(site.ctx, { createConnector: async () => erp.connector });
  schedulers.push(scheduler);
  return scheduler;
};
const gate = () => Promise.withResolvers<void>();
/** Rejects when the signal aborts, or has aborted already. */
const aborted = (signal: AbortSignal | undefined) =>
  new Promise<never>((_resolve, reject) => {
    if (signal?.aborted === true) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
/**
 * Settings under which workers renew no lease during a test: they notice a lost lease or a cancellation only
 * at their next step.
 */
const unhurried = (): Ctx => withSync(site.ctx, { leaseMs: 600_000, renewMs: 300_000 });
/** The ERP answers the request for the page after this id only by ending it; resolves when it was asked. */
const hangAt = ({ erp }: SyncFixture, afterId: string, work: () => void = () => undefined) => {
  const reached = gate();
  const hang = async (request: { signal: AbortSignal } | null) => {
    work();
    reached.resolve();
    await aborted(request?.signal);
  };
  erp.once('readPage', hang, afterId);
  return reached.promise;
};
/** A second worker claims the run, although the first one keeps renewing its lease. */
const takeOver = (fixture: SyncFixture, id: string): Promise<Lease> =>
  until(async () => {
    await fixture.expire(id);
    return claimRun(site.ctx, 'second', 60_000);
  }, 'a claim');
const succeeded = (fixture: SyncFixture, id: string) =>
  until(async () => {
    const row = await fixture.row(id);
    return row.status === 'succeeded' && row;
  });
const ask = (fixture: SyncFixture, sql: string, value: string): Promise<string> =>
  inTransaction(
    fixture.tenant,
    async (tx) => (await tx.raw<{ rows: { answer: string }[] }>(sql, [value])).rows[0]?.answer ?? '',
  );
/** When the run's lease expires, by the database's clock. */
const readLease = (fixture: SyncFixture, id: string) =>
  ask(
    fixture,
    "select j.due_at::text as answer from jobs j join sync_runs r on j.kind = 'sync_runs' and j.key = r.sync_config_id::text where r.id = ?",
    id,
  );
const isOver = async (fixture: SyncFixture, end: string): Promise<boolean> =>
  (await ask(fixture, 'select (clock_timestamp() > ?::timestamptz)::text as answer', end)) === 'true';
const rules = { deletions: 'reconcile' as const, maxDeleteShare: 0.02, settleMs: 0 };
const emptyPage = { records: [], rejected: [], lastId: null, hasMore: false };

describe('claiming', () => {
  it('gives each run to one worker, oldest first', async () => {
    const fixtures = [await site.withRecords(0), await site.withRecords(0), await site.withRecords(0)];
    const queued: string[] = [];
    for (const fixture of fixtures) queued.push(await fixture.queue());
    const claims = await Promise.all(Array.from({ length: 12 }, () => claimRun(site.ctx, 'w', 5_000)));
    const leases = claims.filter((lease) => lease !== undefined);
    expect(leases.map(({ runId }) => runId).sort()).toEqual([...queued].sort());
    for (const lease of leases) await fixtures[queued.indexOf(lease.runId)]?.work(lease);
    const again: string[] = [];
    for (const fixture of fixtures) again.push(await fixture.queue());
    expect((await claimRun(site.ctx, 'w', 5_000))?.runId).toBe(again[0]);
  });

  it('a run that is queued behind an active one of its configuration waits, and does not block other runs', async () => {
    const [busy, other] = [await site.withRecords(0), await site.withRecords(0)];
    const active = await busy.queue();
    const lease = await busy.claim(60_000);
    expect(lease.runId).toBe(active);
    const behind = await busy.queue();
    const free = await other.queue();
    expect((await claimRun(site.ctx, 'w', 60_000))?.runId).toBe(free);
    expect(await claimRun(site.ctx, 'w', 60_000)).toBeUndefined();
    await busy.work(lease);
    expect((await claimRun(site.ctx, 'w', 60_000))?.runId).toBe(behind);
  });

  it('a configuration has one active run, however many workers claim', async () => {
    const fixture = await site.withRecords(0);
    await fixture.queue();
    await fixture.claim(60_000);
    const second = await fixture.queue();
    await expect(fixture.changeRun(second, { status: 'running' })).rejects.toMatchObject({
      constraint: 'one_active_run_per_config',
    });
  });

  it('an interrupted run that stays "running" for ever: the run fails after its worker died repeatedly without progress', async () => {
    const fixture = await site.withRecords(5);
    const id = await fixture.queue();
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await fixture.claim();
      await fixture.expire(id);
    }
    await fixture.work(await fixture.claim());
    const { status, attempt, error } = await fixture.row(id);
    expect([status, attempt, error?.code]).toEqual(['failed', 6, 'WORKER_LOST']);
    expect(error?.message).not.toMatch(/stopped/);
  });
});

describe('a worker that lost its lease', () => {
  /** A run that one worker started and another took over. */
  async function takenOver() {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.put(1, { name: 'changed' });
    const id = await fixture.queue();
    const old = await fixture.claim();
    fixture.erp.fail('readPage', new LostLease('the process is gone'), '10');
    await fixture.work(old);
    fixture.erp.onCall = () => undefined;
    await fixture.expire(id);
    const held = await readRunState(site.ctx.db.data, fixture.schema, id);
    if (held === undefined) throw new Error('no state');
    return { fixture, old, held, current: await fixture.claim(60_000) };
  }
  type Client = Parameters<Parameters<typeof inDataTransaction>[1]>[0];
  const late = <T>(work: (client: Client) => Promise<T>) => inDataTransaction(site.ctx.db.data, work);
  type Held = Parameters<typeof stagePage>[2];
  const stageLate = ({ schema }: SyncFixture, held: Held) =>
    late((client) => stagePage(client, schema, held, emptyPage, '9'));

  it('writes no page, no outcome and no progress', async () => {
    const { fixture, old, held, current } = await takenOver();
    expect(held).toMatchObject({ page: 1, leaseEpoch: old.epoch });
    await fixture.work(current);
    await expect(stageLate(fixture, held)).rejects.toThrow(LostLease);
    await expect(
      late((client) => publishRun(client, fixture.schema, held, rules, () => undefined)),
    ).rejects.toThrow(LostLease);
    expect(await moveRun(site.ctx, old, 'failed')).toBe(false);
    expect(await renewRunLease(site.ctx, old, 1_000)).toMatchObject({ held: false });
    const counts = { fetched: 0, done: 0, expected: 0, pages: 0, percent: 0 };
    const progress = { phase: 'reading', ...counts, estimatedSecondsLeft: null } as const;
    expect(await saveProgress(site.ctx, old, progress, true)).toMatchObject({ held: false });
    expect(await fixture.row(old.runId)).toMatchObject({
      status: 'succeeded',
      generation: '2',
      counts: { updated: 1, unchanged: 24 },
    });
    expect(await fixture.staged()).toBe(0);
  });

  it('is fenced off as soon as the next worker starts, before it has written a page', async () => {
    const { fixture, old, held, current } = await takenOver();
    fixture.erp.once('count', () => expect(stageLate(fixture, held)).rejects.toThrow(LostLease));
    await fixture.work(current);
    expect(await fixture.row(old.runId)).toMatchObject({ status: 'succeeded' });
    expect(pagesRead(fixture).slice(3)).toEqual([null, '10', '10', '20']);
  });

  it('stops in the middle of its work and leaves the run to the other worker', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    const reached = hangAt(fixture, '10');
    const first = fixture.work(await fixture.claim());
    await reached;
    const second = await takeOver(fixture, id);
    await first;
    expect(await fixture.row(id)).toMatchObject({ status: 'running', lease_epoch: second.epoch });
    await fixture.work(second);
    expect(await fixture.row(id)).toMatchObject({ status: 'succeeded', counts: { inserted: 25 } });
  });

  it('a renewed lease is not taken over, however slow the ERP is', async () => {
    const fixture = await site.withRecords(5);
    const id = await fixture.queue();
    const lease = await fixture.claim(1_500);
    const first = await readLease(fixture, id);
    const stolen: Lease[] = [];
    fixture.erp.before('readPage', async () => {
      // Only after a renewal: a lease of 1.5 s may expire before the test gets here.
      await until(async () => (await readLease(fixture, id)) !== first, 'a renewal');
      await until(async () => {
        const lease = await claimRun(site.ctx, 'thief', 10_000);
        if (lease !== undefined) stolen.push(lease);
        return isOver(fixture, first);
      }, 'the end of the first lease');
    });
    await fixture.work(lease);
    expect(stolen).toEqual([]);
    expect(await fixture.row(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  });
});

describe('a process that is too busy to renew its leases in time', () => {
  /** Its clock leaps, as it does for a process that got no time to run. */
  function busyProcess() {
    let addedMs = 0;
    const { clock } = site.ctx;
    const leaping = { ...clock, monotonicMs: () => clock.monotonicMs() + addedMs };
    const own = { ...withSync(site.ctx, { renewMs: 1_000 }), clock: leaping };
    return { own, leap: () => void (addedMs += 1e12) };
  }

  it('goes on when no other has taken its run over', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    const { own, leap } = busyProcess();
    const awaitRenewal = async () => {
      const before = await readLease(fixture, id);
      leap();
      await until(async () => (await readLease(fixture, id)) !== before, 'a renewal');
    };
    fixture.erp.before('readPage', awaitRenewal, '10');
    await fixture.work(await fixture.claim(), noSignal, own);
    expect(await fixture.row(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  });

  it('does not take its own run over before the time of another lease has passed', async () => {
    const fixture = await site.withRecords(5);
    const id = await fixture.queue();
    expect((await claimRun(site.ctx, 'busy', 60_000))?.runId).toBe(id);
    const due_at = site.admin.raw("clock_timestamp() - interval '1 second'");
    await site.admin('jobs').where({ kind: 'sync_runs' }).update({ due_at });
    expect(await claimRun(site.ctx, 'busy', 60_000)).toBeUndefined();
    expect((await claimRun(site.ctx, 'other', 60_000))?.runId).toBe(id);
    await fixture.expire(id);
    expect((await claimRun(site.ctx, 'other', 60_000))?.runId).toBe(id);
  });

  it('says so when it lost a run, and nothing calls it stopped', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    const { own, leap } = busyProcess();
    const reached = hangAt(fixture, '10', leap);
    const first = fixture.work(await fixture.claim(), noSignal, own);
    await reached;
    const second = await takeOver(fixture, id);
    await first;
    const busy = {
      code: 'WORKER_BUSY',
      message: expect.stringMatching(/too busy to renew its lease in time: it was up to \d+ seconds late$/),
    };
    expect(await fixture.row(id)).toMatchObject({
      status: 'running',
      lease_epoch: second.epoch,
      error: busy,
    });
    await fixture.changeRun(id, { attempts_without_progress: 5 });
    await fixture.work(second);
    const { status, error } = await fixture.row(id);
    expect([status, error?.code]).toEqual(['failed', 'WORKER_BUSY']);
    expect(error?.message).toMatch(
      /^The run made no progress in 5 attempts\. The process that worked on the run was too busy/,
    );
  });
});

describe('publishing', () => {
  /** Works on the next run over a connection that is cut at the publish's COMMIT. */
  async function workOverCutWire(
    fixture: SyncFixture,
    where: 'before' | 'after',
    sync: Partial<Ctx['settings']['sync']> = {},
  ): Promise<void> {
    const wire = await cutAtCommit(site.database, withSync(site.ctx, sync), where);
    try {
      await fixture.work(await fixture.claim(), noSignal, wire.ctx);
    } finally {
      await wire.close();
    }
  }

  it.each(['before', 'after'] as const)(
    'a connection that breaks %s the COMMIT: published once, and the ERP is not asked again',
    async (where) => {
      const fixture = await site.withRecords(25);
      await fixture.sync();
      fixture.erp.put(3, { name: 'changed' });
      const id = await fixture.queue();
      await workOverCutWire(fixture, where);
      expect(await fixture.row(id)).toMatchObject({ status: 'publishing', attempts_without_progress: 1 });
      fixture.erp.failAll();
      await fixture.expectEnd(id, 'succeeded', { updated: 1, unchanged: 24 }, { generation: '2' });
      expect((await fixture.state())?.generation).toBe('2');
      expect(await fixture.staged()).toBe(0);
    },
  );

  it('a warehouse on a server of its own that lost staged pages: the run fails, and the next one reads them', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    let before: string | undefined;
    const remember = async () => {
      const sql = `select to_jsonb(r)::text as row from ${fixture.schema}.run_state r`;
      before = (await fixture.query<{ row: string }>(sql))[0]?.row;
    };
    fixture.erp.before('readPage', remember, '20');
    await workOverCutWire(fixture, 'before');
    fixture.erp.onCall = () => undefined;
    expect(await fixture.row(id)).toMatchObject({ status: 'publishing' });
    // As its last commit that survived: after two pages.
    const [run] = await fixture.query<{ table: string }>(
      `select target_table as table from ${fixture.schema}.run_state`,
    );
    await fixture.query(`delete from ${fixture.schema}."${run?.table}" where id > 20`);
    await fixture.query(`delete from ${fixture.schema}.run_state`);
    await fixture.query(
      `insert into ${fixture.schema}.run_state select * from jsonb_populate_record(null::${fixture.schema}.run_state, $1)`,
      [before],
    );
    expect(await fixture.drive(id)).toMatchObject({ status: 'failed', error: { code: 'STAGING_LOST' } });
    expect((await fixture.state())?.generation).toBe('0');
    await fixture.expectSuccess('full', { inserted: 25 });
  });

  it('at the last attempt the outcome is read from the warehouse before the run fails', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    await workOverCutWire(fixture, 'after', { maxAttemptsWithoutProgress: 1 });
    expect(await fixture.row(id)).toMatchObject({
      status: 'succeeded',
      generation: '1',
      counts: { inserted: 25 },
    });
    expect(await fixture.rows()).toHaveLength(25);
  });

  it('"success" announced for a run that failed: a publish that cannot succeed fails the run, and its table does not go live', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    await workOverCutWire(fixture, 'before', { maxAttemptsWithoutProgress: 1 });
    expect(await fixture.row(id)).toMatchObject({
      status: 'failed',
      error: { code: 'DATABASE' },
      counts: null,
      generation: null,
    });
    expect((await fixture.events(id)).filter((message) => /succeeded|partial/.test(message))).toEqual([]);
    expect((await fixture.events(id)).at(-1)).toMatch(/^failed: /);
    expect(await fixture.state()).toMatchObject({ generation: '0', activeTable: null, syncedAt: null });
    expect(await fixture.tables()).toEqual([]);
    await fixture.expectSuccess('full');
  });
});

describe('cancelling', () => {
  const request = (fixture: SyncFixture, id: string) => fixture.changeRun(id, { cancel_requested: true });

  it('a queued run is never claimed', async () => {
    const fixture = await site.withRecords(5);
    const id = await fixture.queue();
    await fixture.changeRun(id, { status: 'cancelled', cancel_requested: true });
    expect(await claimRun(site.ctx, 'w', 1_000)).toBeUndefined();
  });

  it('a waiting run: the next tick deletes what it staged', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.fail('readPage', erpError('throttled', 'LIMIT', 60_000), '20');
    const id = await fixture.queue();
    await fixture.drive(id, 'waiting');
    expect(await fixture.staged()).toBe(20);
    await fixture.changeRun(id, { status: 'cancelled', cancel_requested: true });
    await clearEndedRuns(site.ctx);
    expect(await fixture.staged()).toBe(0);
    expect(await readRunState(site.ctx.db.data, fixture.schema, id)).toBeUndefined();
  });

  it('a running run stops at its next step and publishes nothing', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.put(1, { name: 'changed' });
    const id = await fixture.queue();
    fixture.erp.before('readPage', () => request(fixture, id), null);
    await fixture.work(await fixture.claim(), noSignal, unhurried());
    expect(await fixture.row(id)).toMatchObject({
      status: 'cancelled',
      finished_at: expect.any(Date),
      counts: null,
    });
    expect(pagesRead(fixture).slice(3)).toEqual([null, '10']); // prefetched while the first one was written
    expect([await fixture.staged(), (await fixture.state())?.generation]).toEqual([0, '1']);
    expect(await fixture.events(id)).toContain('cancelled');
  });

  it('a run that waits for a slow ERP is aborted', async () => {
    const fixture = await site.withRecords(5);
    const id = await fixture.queue();
    fixture.erp.before('readPage', async (asked) => {
      await request(fixture, id);
      await aborted(asked?.signal);
    });
    await fixture.work(await fixture.claim());
    expect(await fixture.row(id)).toMatchObject({ status: 'cancelled' });
    expect(await fixture.tables()).toEqual([]);
  });

  it('just before publishing takes effect; while publishing is too late', async () => {
    const fixture = await site.withRecords(5);
    const early = await fixture.queue();
    let counted = 0;
    fixture.erp.onCall = async ({ operation }) => {
      counted += operation === 'count' ? 1 : 0;
      if (counted === 2) await request(fixture, early);
    };
    await fixture.work(await fixture.claim());
    expect(await fixture.row(early)).toMatchObject({ status: 'cancelled' });
    fixture.erp.onCall = () => undefined;
    const late = await fixture.queue();
    await fixture.claim();
    await fixture.changeRun(late, { status: 'publishing', cancel_requested: true });
    await fixture.expire(late);
    await fixture.query(
      `insert into ${fixture.schema}.run_state (run_id, record_type, lease_epoch, target_table, columns, complete, counters)
      values ($1, 'thing', 1, 'staging_thing', '[]', true, '{"fetched":0,"rejected":0,"pages":1,"erpStartedAt":"2026-01-01T00:00:00Z"}')`,
      [late],
    );
    expect((await fixture.drive(late)).status).not.toBe('cancelled');
  });

  it('a run whose worker died: the next worker cancels it instead of resuming it', async () => {
    const fixture = await site.withRecords(25);
    const id = await fixture.queue();
    await fixture.claim();
    await request(fixture, id);
    await fixture.expire(id);
    const asked = fixture.erp.calls.length;
    expect(await fixture.drive(id)).toMatchObject({ status: 'cancelled' });
    expect(fixture.erp.calls).toHaveLength(asked);
  });
});

describe('stopping', () => {
  it('releases the run at once: another worker resumes from its checkpoint', async () => {
    const fixture = await site.withRecords(35);
    const id = await fixture.queue();
    const reached = hangAt(fixture, '20');
    const first = start(fixture.erp);
    await reached;
    await first.stop();
    expect(await fixture.row(id)).toMatchObject({ status: 'running', attempts_without_progress: 0 });
    start(fixture.erp);
    const run = await succeeded(fixture, id);
    expect(run).toMatchObject({ attempt: 2, attempts_without_progress: 0, counts: { inserted: 35 } });
    expect(pagesRead(fixture)).toEqual([null, '10', '20', '20', '30']);
  });

  it('a scheduler that is stopped while it starts releases every run that it claims', async () => {
    const fixture = await site.withRecords(5);
    const id = await fixture.queue();
    const scheduler = start(fixture.erp);
    await scheduler.stop();
    const row = await fixture.row(id);
    expect(['queued', 'running', 'succeeded']).toContain(row.status);
    expect(await fixture.drive(id)).toMatchObject({ status: 'succeeded', attempts_without_progress: 0 });
  });
});

it('two organizations and many schedulers: each run is worked on once, and each organization has its own records', async () => {
  const erps = [memoryErp(), memoryErp()];
  const fixtures = await Promise.all(erps.map((erp) => syncFixture(site.ctx, erp)));
  for (const [index, erp] of erps.entries()) erp.fill(45 + index, () => [{ name: `of ${index}` }]);
  const open = async (tenant: { organizationId: string }) => {
    const found = fixtures.find(({ organizationId }) => organizationId === tenant.organizationId);
    if (found === undefined) throw new Error('unknown organization');
    return found.erp.connector;
  };
  for (let n = 0; n < 3; n += 1) schedulers.push(startScheduler(site.ctx, { createConnector: open }));
  const ids = await Promise.all(fixtures.map((fixture) => fixture.queue()));
  const runs = await Promise.all(fixtures.map((fixture, index) => succeeded(fixture, ids[index] ?? '')));
  expect(runs.map(({ attempt, counts }) => [attempt, counts?.inserted])).toEqual([
    [1, 45],
    [1, 46],
  ]);
  expect(
    await Promise.all(
      fixtures.map(async (fixture) => [...new Set((await fixture.rows()).map(({ f_name: name }) => name))]),
    ),
  ).toEqual([['of 0'], ['of 1']]);
});

describe('deletions during a run', () => {
  it('of its configuration: the worker stops, and the next sync of the record type starts from scratch', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    await fixture.queue();
    const removeConfig = () => inTransaction(fixture.tenant, (tx) => tx('sync_configs').delete());
    fixture.erp.before('readPage', removeConfig, null);
    await fixture.work(await fixture.claim(), noSignal, unhurried());
    expect(pagesRead(fixture).slice(3)).toEqual([null, '10']);
    expect(await fixture.staged()).toBe(10);
    const configId = await addConfig(site.ctx, fixture.organizationId);
    const made = await inTransaction(fixture.tenant, (tx) =>
      insertRun(tx, fixture.organizationId, {
        sync_config_id: configId,
        record_type: 'thing',
        mode: 'full',
        trigger: 'manual',
      }),
    );
    fixture.erp.onCall = () => undefined;
    await fixture.expectEnd(made?.id ?? '', 'succeeded', { unchanged: 25 });
    expect(await fixture.staged()).toBe(0);
  });

  it('of the whole warehouse: the run restarts', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    const id = await fixture.queue();
    const purge = async () => {
      // Pages are prefetched: by then the first one is written completely.
      await until(
        async () => (await readRunState(site.ctx.db.data, fixture.schema, id))?.page === 1,
        'the first page',
      );
      await purgeWarehouse(fixture.tenant);
    };
    fixture.erp.once('readPage', purge, '10');
    await fixture.work(await fixture.claim());
    await fixture.expire(id);
    await fixture.expectEnd(id, 'succeeded', { inserted: 25 }, { attempt: 2, generation: '1' });
    expect(await fixture.rows()).toHaveLength(25);
  });
});

it('releases every database connection', async () => {
  const fixture = await site.withRecords(30);
  await fixture.sync();
  fixture.erp.put(31);
  await fixture.sync();
  const inUse = (): number[] => {
    const { control, data } = poolStats(site.ctx.db);
    return [control, data].flatMap(({ used, waiting }) => [used, waiting]);
  };
  // The run has ended; its worker may still be cleaning up.
  await until(async () => (inUse().every((count) => count === 0) ? true : undefined));
  expect(inUse()).toEqual([0, 0, 0, 0]);
});
