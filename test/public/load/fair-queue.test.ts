// The queue of reads and exports: its order, its limits, and its permits per group of owners, which are the servers
// of a cluster, and the former server of a move.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenFormerWarehouse, openFormerWarehouse } from '../../../src/db/former-warehouse.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { createReadQueue } from '../../../src/public/load/admission.ts';
import { createFairQueue } from '../../../src/public/load/fair-queue.ts';
import { createNodeFinder } from '../../../src/public/load/placements.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';

describe('createFairQueue', () => {
  const never = new AbortController().signal;
  it('grants permits in order, drops aborted waiters, and rejects when too many wait or the wait takes too long', async () => {
    const turns = createFairQueue({ maxRunning: 1, maxWaiting: 3, maxWaitMs: 20 }, 'exports');
    const first = await turns.acquireUnlessAborted('a', never);
    const leaving = new AbortController();
    const second = turns.acquireUnlessAborted('a', leaving.signal);
    const third = turns.acquireUnlessAborted('a', never);
    await expect(turns.acquireUnlessAborted('a', never)).rejects.toMatchObject({
      status: 503,
      headers: { 'Retry-After': '30' },
    });
    leaving.abort();
    expect(await second).toBeUndefined();
    first?.();
    const end = await third;
    expect(end).toBeTypeOf('function');
    await expect(turns.acquireUnlessAborted('a', never)).rejects.toMatchObject({ status: 503 });
    end?.();
    expect(await turns.acquireUnlessAborted('a', never)).toBeTypeOf('function');
  });

  it('rejects all waiters at once when it is closed, and everyone who would have to wait later', async () => {
    const turns = createFairQueue({ maxRunning: 1, maxWaiting: 3, maxWaitMs: 3_600_000 }, 'exports');
    const end = await turns.acquireUnlessAborted('a', never);
    const waiting = turns.acquireUnlessAborted('b', never);
    expect(turns.stats()).toEqual({ running: 1, waiting: 1 });
    turns.close();
    await expect(waiting).rejects.toMatchObject({ status: 503, headers: { 'Retry-After': '2' } });
    await expect(turns.acquireUnlessAborted('c', never)).rejects.toMatchObject({ status: 503 });
    end?.();
    expect(turns.stats()).toEqual({ running: 0, waiting: 0 });
  });

  it('is fair: the owner with the fewest running jobs is next, and no owner has more than half of the permits or of the queue', async () => {
    const turns = createFairQueue({ maxRunning: 2, maxWaiting: 6, maxWaitMs: 10_000 }, 'exports');
    const order: string[] = [];
    const ends = new Map<string, () => void>();
    const ask = (owner: string, name: string) =>
      turns.acquireUnlessAborted(owner, never).then((end) => {
        order.push(name);
        if (end !== undefined) ends.set(name, end);
      });
    const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ask(name.charAt(0), name));
    await expect(turns.acquireUnlessAborted('a', never)).rejects.toMatchObject({ status: 503 });
    await Promise.all([asked[0], asked[4]]);
    for (const [ending, begun] of [
      ['a1', 6],
      ['b1', 1],
      ['c1', 5],
      ['a2', 2],
      ['a3', 3],
    ] as const) {
      ends.get(ending)?.();
      await asked[begun];
    }
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('waitUntilIdle resolves when nothing runs, and after the given time at the latest', async () => {
    const queue = createFairQueue({ maxRunning: 2, maxWaiting: 2, maxWaitMs: 1_000 }, 'reads');
    expect(queue.waitUntilIdle(60_000)).toBeUndefined();
    const ends = [await queue.acquire('a'), await queue.acquire('b')];
    let isQuiet = false;
    const quiet = queue.waitUntilIdle(60_000)?.then(() => {
      isQuiet = true;
    });
    ends[0]?.();
    await queue.waitUntilIdle(1);
    expect(isQuiet).toBe(false);
    ends[1]?.();
    await quiet;
  });
});

describe('a fair queue with groups', () => {
  const nodes: Readonly<Record<string, string>> = { a: 'one', b: 'one', c: 'one', d: 'two' };
  const create = () =>
    createFairQueue(
      {
        maxRunning: 3,
        maxRunningPerOwner: 2,
        maxWaiting: 10,
        maxWaitMs: 60_000,
        groups: { maxRunning: 2, of: (owner) => nodes[owner] },
      },
      'reads',
    );

  it('keeps a permit for owners of other groups, and of none', () => {
    const queue = create();
    expect([queue.tryAcquire('a'), queue.tryAcquire('b')]).not.toContain(undefined);
    expect(queue.tryAcquire('c')).toBeUndefined();
    const other = queue.tryAcquire('d');
    expect(other).toBeDefined();
    other?.();
    expect(queue.tryAcquire('without a group')).toBeDefined();
  });

  it('grants a waiting owner a permit when one of its own group is returned', async () => {
    const queue = create();
    const [first] = [queue.tryAcquire('a'), queue.tryAcquire('b')];
    const other = queue.tryAcquire('d');
    const granted: string[] = [];
    const waiting = queue.acquire('c').then((release) => {
      granted.push('c');
      release();
    });
    const next = queue.acquire('d').then((release) => {
      granted.push('d');
      release();
    });
    other?.();
    await next;
    expect(granted).toEqual(['d']);
    first?.();
    await waiting;
    expect(granted).toEqual(['d', 'c']);
    expect(queue.stats()).toEqual({ running: 1, waiting: 0 });
  });
});

describe('the queue of reads during a move', () => {
  let here: TestDatabase;
  let former: OpenFormerWarehouse;
  beforeAll(async () => {
    here = await testDatabase();
  });
  afterAll(async () => {
    await former.close();
    await here.close();
  });

  it('keeps a permit for organizations that are moved, whatever those on the former server wait for', async () => {
    const { ctx } = here;
    const [one, two, moved] = [
      await makeOrganization(ctx),
      await makeOrganization(ctx),
      await makeOrganization(ctx),
    ];
    for (const { id } of [one, two])
      await inTransaction({ ...ctx, organizationId: id }, (tx) =>
        tx('organizations').where({ id }).update({ warehouse: 'former' }),
      );
    const { lookups, maxConnections: sizes } = ctx.db;
    former = await openFormerWarehouse(here.service, { lookups, sizes, readTimeoutMs: 1_000, log: ctx.log });
    const moving = { ...ctx, db: { ...ctx.db, former } };
    const queue = createReadQueue(moving, createNodeFinder(moving));
    for (const { id } of [one, two]) while (queue.tryAcquire(id) !== undefined);
    expect(queue.stats().running).toBeGreaterThan(1);
    expect(queue.tryAcquire(moved.id)).toBeDefined();
  });
});
