// Permits per group of owners: the servers of a cluster, and the former server of a move.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenFormerWarehouse, openFormerWarehouse } from '../../../src/db/former-warehouse.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { createReadQueue } from '../../../src/public/load/admission.ts';
import { createFairQueue } from '../../../src/public/load/fair-queue.ts';
import { createNodeFinder } from '../../../src/public/load/placements.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';

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
