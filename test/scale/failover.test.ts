// What readers get after a standby was promoted: never an answer of a commit that was lost, under whatever
// tag or token.
import type { Express } from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { openDb } from '../../src/db/connect.ts';
import { onKnexConnection } from '../../src/db/driver/knex-pool.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { createReadEngine } from '../../src/public/index.ts';
import { claimRun } from '../../src/sync/queue/runs.store.ts';
import { enqueueDueRuns } from '../../src/sync/run/scheduler.ts';
import { createCaller, publicApp, publishVersion } from '../public/fixture.ts';
import { until } from '../setup/until.ts';
import type { SyncFixture } from '../sync/fixture.ts';
import { type PairDatabase, pairDatabase } from './harness/pair-database.ts';
import { openThings, thingsEndpoint } from './harness/things.ts';

type Change = { op: 'upsert' | 'delete'; id: string; record: unknown };
type Get = ReturnType<typeof createCaller>;

let database: PairDatabase;
let ctx: Ctx;
let app: Express;
let fixture: SyncFixture;
let get: Get;

beforeAll(async () => {
  database = await pairDatabase({ settings: { cacheTtlMs: 0 } });
  ctx = database.ctx;
});
afterAll(() => database.close());

/**
 * A company with thirty records in generation 1, and a client of it. The process keeps its caches through the
 * failover.
 */
beforeEach(async () => {
  const { servers } = database;
  await (servers.standbys.length === 0 ? servers.addStandby() : servers.startReceiving());
  app = publicApp(ctx, undefined, createReadEngine(ctx));
  const things = await openThings(ctx, 30);
  ({ fixture } = things);
  get = createCaller(app, things);
});

const put = (from: number, to: number, name = 'name'): void => {
  for (let id = from; id <= to; id += 1) fixture.erp.put(id, { name: `${name} ${id}` });
};
/** The connections of the pools that broke are replaced at the next read. */
const reachable = () => until(async () => (await get('/v1/things')).status === 200);
const publish = async (mode: 'incremental' | 'full' = 'incremental') => {
  const { status, generation } = await fixture.sync(mode);
  expect(status).toBe('succeeded');
  return generation;
};
const failOver = async () => {
  await database.failOver();
  await reachable();
};

/** Follows the feed to its end and applies it to `copy`. */
async function follow(copy: Map<string, unknown>, since: string | null, limit = 1_000): Promise<string> {
  for (let token = since; ; ) {
    const { body } = await get(
      `/v1/things/changes?limit=${limit}${token === null ? '' : `&since=${token}`}`,
    ).expect(200);
    for (const { op, id, record } of body.data as Change[]) {
      if (op === 'upsert') copy.set(id, record);
      else copy.delete(id);
    }
    token = body.next as string;
    if (body.hasMore === false) return token;
  }
}
async function readAll(): Promise<Map<string, unknown>> {
  const { body } = await get('/v1/things?pageSize=100').expect(200);
  return new Map((body.data as { id: string }[]).map((record) => [record.id, record]));
}

describe('after a failover that lost a publish', () => {
  it.each([
    ['version', {}],
    ['publication of the same draft', { id: createId() }],
  ])('answers for a version by what was published, not by its label: another %s', async (_name, draft) => {
    await database.startLosing();
    await publishVersion(ctx, fixture.organizationId, {
      ...draft,
      version: 'v2',
      endpoints: [{ ...thingsEndpoint, fields: [{ name: 'title', source: 'name' }], filters: [], sorts: [] }],
    });
    const lost = await get('/v2/things').expect(200);
    const token = (await get('/v2/things/changes').expect(200)).body.next;
    const description = await get('/openapi/v2').expect(200);
    await failOver();
    await get('/v2/things').expect(404);
    await publishVersion(ctx, fixture.organizationId, {
      ...draft,
      version: 'v2',
      endpoints: [
        { ...thingsEndpoint, fields: [{ name: 'amount', source: 'total' }], filters: [], sorts: [] },
      ],
    });
    const again = await get('/v2/things', { 'if-none-match': lost.headers['etag'] ?? '' }).expect(200);
    expect(Object.keys(again.body.data[0])).toEqual(['id', 'amount']);
    await get(`/v2/things/changes?since=${token}`).expect(410);
    const described = await get('/openapi/v2', { 'if-none-match': description.headers['etag'] ?? '' }).expect(
      200,
    );
    expect(described.text).toContain('amount');
  });
});

describe('work in progress', () => {
  it('a lease that was lost is not given again, so its worker writes nothing more', async () => {
    await database.startLosing();
    const id = await fixture.queue('incremental');
    await database.servers.startReceiving();
    await database.startLosing();
    const lost = await fixture.claim();
    await failOver();
    const next = await fixture.claim();
    expect(next).toMatchObject({ runId: id });
    expect(next.epoch).not.toBe(lost.epoch);
    put(31, 31);
    await fixture.work(lost);
    expect(await fixture.row(id)).toMatchObject({ status: 'running', lease_epoch: next.epoch });
    await fixture.work(next);
    expect(await fixture.row(id)).toMatchObject({ status: 'succeeded' });
    expect((await readAll()).size).toBe(31);
  });

  it.each([
    ['pages were lost', true],
    ['nothing was lost', false],
  ])('a run goes on when %s', async (_name, isLost) => {
    const paged = {
      ...ctx,
      settings: {
        ...ctx.settings,
        sync: { ...ctx.settings.sync, pageSize: 10, leaseMs: 2_000, renewMs: 100 },
      },
    };
    put(1, 40, 'again');
    const id = await fixture.queue('full');
    let hasFailed = false;
    fixture.erp.onCall = async ({ operation, afterId }) => {
      if (operation !== 'readPage' || hasFailed) return;
      if (afterId === '10' && isLost) await database.startLosing();
      if (afterId !== '30') return;
      hasFailed = true;
      await database.failOver();
    };
    await until(async () => {
      const lease = await claimRun(paged, 'test', paged.settings.sync.leaseMs).catch(() => undefined);
      if (lease !== undefined) await fixture.work(lease, undefined, paged);
      const row = await fixture.row(id).catch(() => undefined);
      return row?.status === 'succeeded';
    });
    await reachable();
    const list = await readAll();
    expect([...list.values()].map((record) => (record as { name: string }).name).sort()).toEqual(
      Array.from({ length: 40 }, (_, index) => `again ${index + 1}`).sort(),
    );
  });

  it('a run whose publish was lost before its outcome was stored publishes again', async () => {
    const own = {
      ...ctx,
      db: openDb(database.service, database.service, { control: 1, data: 4 }, ctx.settings.readTimeoutMs),
    };
    put(31, 31);
    const id = await fixture.queue('incremental');
    const lease = await fixture.claim();
    const holder = await ctx.db.data.connect();
    await holder.query(`begin; select from ${fixture.schema}.record_state for update`);
    const working = fixture.work(lease, undefined, own);
    await until(
      async () =>
        (
          await database.query(
            "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%record_state%'",
          )
        ).length === 1,
    );
    await database.startLosing();
    // The worker publishes, and gets no connection to store the outcome with until the standby is promoted.
    const [taken, promoted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const busy = onKnexConnection(own.db.control, () => {
      taken.resolve();
      return promoted.promise;
    });
    await taken.promise;
    await holder.query('commit');
    holder.release();
    await until(
      async () =>
        (
          await database.query(
            `select from ${fixture.schema}.run_state where run_id = $1 and outcome is not null`,
            [id],
          )
        ).length === 1,
    );
    await failOver();
    promoted.resolve();
    await busy;
    await working;
    await own.db.close();
    expect(await fixture.drive(id)).toMatchObject({ status: 'succeeded', generation: '2' });
    expect((await readAll()).size).toBe(31);
  });

  it('a slot whose run was lost gets another one, and one that survived gets none', async () => {
    const nextHour = { ...ctx, clock: { ...ctx.clock, now: () => new Date(Date.now() + 3_600_000) } };
    const slots = () =>
      inTransaction(fixture.tenant, (tx) =>
        tx('sync_runs').where({ trigger: 'schedule' }).select<{ id: string }[]>('id', 'scheduled_for'),
      );
    await fixture.changeConfig({ schedule: '0 * * * *' });
    await database.startLosing();
    expect(await enqueueDueRuns(nextHour)).toBe(1);
    await failOver();
    expect(await slots()).toEqual([]);
    expect(await enqueueDueRuns(nextHour)).toBe(1);
    await database.servers.addStandby();
    await database.switchOver();
    await reachable();
    expect(await enqueueDueRuns(nextHour)).toBe(0);
    const [slot, ...others] = await slots();
    expect(others).toEqual([]);
    expect(await fixture.drive(slot?.id ?? '')).toMatchObject({ status: 'succeeded' });
  });
});

describe('after a switchover', () => {
  it('changes no tag until something is published, and ends no token', async () => {
    const copy = new Map<string, unknown>();
    const token = await follow(copy, null, 7);
    const partly = (await get('/v1/things/changes?limit=10').expect(200)).body.next;
    const before = await get('/v1/things').expect(200);
    await database.switchOver();
    await reachable();
    await get('/v1/things', { 'if-none-match': before.headers['etag'] ?? '' }).expect(304);
    // A run that finds nothing new publishes nothing.
    await publish();
    await get('/v1/things', { 'if-none-match': before.headers['etag'] ?? '' }).expect(304);
    for (const name of ['second', 'third']) {
      put(5, 8, name);
      fixture.erp.drop(name === 'second' ? 9 : 10);
      await publish();
    }
    await follow(copy, token, 7);
    expect(copy).toEqual(await readAll());
    await get(`/v1/things/changes?since=${partly}`).expect(200);
  });

  it('keeps the tokens of every timeline through several', async () => {
    const copies: { copy: Map<string, unknown>; token: string }[] = [];
    const start = async () => {
      const copy = new Map<string, unknown>();
      copies.push({ copy, token: await follow(copy, null) });
    };
    await start();
    for (let round = 0; round < 3; round += 1) {
      await database.switchOver();
      await reachable();
      await database.servers.addStandby();
      put(round, round + 3, `round ${round}`);
      fixture.erp.drop(20 + round);
      await publish();
      await start();
    }
    const list = await readAll();
    for (const { copy, token } of copies) {
      await follow(copy, token);
      expect(copy).toEqual(list);
    }
  });
});
