// Sends subscriptions in this process: each minute it creates due slots, and every few seconds it polls for
// waiting ones. Any number of processes may: a slot is created once and worked on under a lease.
import type { Ctx, ReadingCtx } from '../../core/ctx.ts';
import { startEveryMinute } from '../../core/work/recurring.ts';
import { startJobWorker } from '../../db/job-worker.ts';
import { type Failover, findLastFailover } from '../../db/server-timeline.ts';
import { inTransaction } from '../../db/transaction.ts';
import { getRecordReader } from '../../public/index.ts';
import { findDueSlot } from '../../sync/index.ts';
import { deliverSlot, type ReadSlotContent } from './deliver-slot.ts';
import { createSlot } from './deliveries.service.ts';
import { listScheduledSubscriptions, type ScheduledRow } from './deliveries.store.ts';
import { readContent } from './read-view.ts';
import { lockSubscription } from './subscriptions.store.ts';

export type SubscriptionRunner = {
  /** Creates the slots that are due and works until none is waiting; returns how many were created. */
  tick(): Promise<number>;
  /** Stops; unfinished slots are released for this or another process. */
  stop(): Promise<void>;
};

export type RunnerOptions = {
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** Reads the records of a slot; by default through the read engine. */
  readonly read?: ReadSlotContent;
};
const defaults = { pollMs: 2_000, leaseMs: 60_000 };
/** Slots worked on at once in one process, so that one large file holds up few. */
const concurrency = 2;

/** A running service creates a slot within a minute of its time; more when it is busy. */
const createdWithinMs = 300_000;
const maybeSent = 'The database server failed over: this slot may have been sent before';

/** Whether a lost commit may have created this slot, and its mails may have been sent. */
const mayBeLost = (slot: Date, { usedUntil, seenAt }: Failover): boolean =>
  slot.getTime() > usedUntil.getTime() - createdWithinMs && slot <= seenAt;

/** Creates the due slot, and before it the last one that was due before a failover and may be lost. */
async function createDueSlot(ctx: Ctx, row: ScheduledRow): Promise<boolean> {
  const { organization_id: organizationId, id: subscriptionId, schedule, timezone } = row;
  const dueAt = (now: Date) =>
    findDueSlot({ schedule, timezone, lastSlot: row.last_slot, since: row.since }, now);
  const slot = dueAt(ctx.clock.now());
  if (slot === null) return false;
  const tenant = { ...ctx, organizationId };
  return inTransaction(tenant, async (tx) => {
    const failover = await findLastFailover(tx);
    if ((await lockSubscription(tx, organizationId, subscriptionId)) === undefined) return false;
    const create = (due: Date) =>
      createSlot(tx, tenant, {
        subscriptionId,
        trigger: 'schedule',
        slot: due,
        ...(failover !== undefined && mayBeLost(due, failover) && { maybeSent }),
      });
    const before = failover === undefined ? null : dueAt(failover.seenAt);
    if (failover !== undefined && before !== null && before < slot && mayBeLost(before, failover))
      await create(before);
    return (await create(slot)) !== undefined;
  });
}

/** Creates a slot for each latest due time without one; a unique index decides between processes. */
async function createDueSlots(ctx: Ctx): Promise<number> {
  let created = 0;
  for (const row of await listScheduledSubscriptions(ctx)) {
    try {
      if (await createDueSlot(ctx, row)) created += 1;
    } catch (error) {
      // One subscription's failure must not stop the others.
      ctx.log.error({ err: error, subscriptionId: row.id }, 'a due subscription slot could not be created');
    }
  }
  return created;
}

export function startSubscriptions(ctx: ReadingCtx, options: RunnerOptions = {}): SubscriptionRunner {
  const { pollMs, leaseMs } = { ...defaults, ...options };
  const records = getRecordReader(ctx);
  const read: ReadSlotContent =
    options.read ?? ((tenant, slot, stop) => readContent(records, tenant, slot, stop));
  const slots = startJobWorker(ctx, {
    kind: 'subscription_slots',
    pollMs,
    leaseMs,
    concurrency,
    work: (job, stopping) => deliverSlot(ctx, job, read, stopping),
  });
  const tick = async (): Promise<number> => {
    const created = await createDueSlots(ctx);
    await slots.waitUntilIdle();
    return created;
  };
  const minute = startEveryMinute(tick, (error) =>
    ctx.log.error({ err: error }, 'due subscriptions could not be read'),
  );
  return {
    tick,
    stop: async () => {
      await Promise.all([minute.stop(), slots.stop()]);
    },
  };
}
