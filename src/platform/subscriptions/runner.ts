// Sends subscriptions in this process: each minute it opens the slots that are due, and every few seconds it works on whatever waits.
// Any number of processes may do the same on one database: a slot is made once and is worked on under a lease.
import type { Ctx } from '../../core/ctx.ts';
import { newId } from '../../core/id.ts';
import { everyMinute } from '../../core/recurring.ts';
import { startQueueWork } from '../../db/queue-work.ts';
import { inTransaction } from '../../db/transaction.ts';
import { openRecords } from '../../public/index.ts';
import { dueSlot } from '../../sync/index.ts';
import { deliverSlot, type ReadSlot } from './deliver-slot.ts';
import { openSlot } from './deliveries.service.ts';
import { claimSlot, renewSlotLease, type ScheduledRow, type SlotClaim, scheduledSubscriptions } from './deliveries.store.ts';
import { readContent } from './read-view.ts';
import { lockSubscription } from './subscriptions.store.ts';

export type SubscriptionRunner = {
  /** Opens what is due now and works until nothing waits; says how many slots were opened. */
  tick(): Promise<number>;
  /** Slots that are not done go back, for this or another process. */
  stop(): Promise<void>;
};

export type RunnerOptions = {
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** How the records of a slot are read; through the read engine unless told. */
  readonly read?: ReadSlot;
};
const usual = { pollMs: 2_000, leaseMs: 60_000 };
/** Slots in hand at once in one process, so that one long file holds up few. */
const lanes = 2;

async function openDueSlot(ctx: Ctx, row: ScheduledRow): Promise<boolean> {
  const { organization_id: organizationId, id, schedule, timezone } = row;
  const slot = dueSlot({ schedule, timezone, lastSlot: row.last_slot, since: row.since }, ctx.clock.now());
  if (slot === null) return false;
  const tenant = { ...ctx, organizationId };
  const made = await inTransaction(tenant, async (tx) =>
    (await lockSubscription(tx, organizationId, id)) === undefined
      ? undefined
      : openSlot(tx, tenant, { subscriptionId: id, trigger: 'schedule', slot }),
  );
  return made !== undefined;
}

/** One slot for each subscription whose latest time has none yet; the unique index decides between processes. */
async function openDueSlots(ctx: Ctx): Promise<number> {
  let made = 0;
  for (const row of await scheduledSubscriptions(ctx)) {
    try {
      if (await openDueSlot(ctx, row)) made += 1;
    } catch (error) {
      // One subscription's trouble must not keep the others from being sent.
      ctx.log.error({ err: error, subscriptionId: row.id }, 'a due subscription could not be opened');
    }
  }
  return made;
}

export function startSubscriptions(ctx: Ctx, given: RunnerOptions = {}): SubscriptionRunner {
  const { pollMs, leaseMs } = { ...usual, ...given };
  const records = openRecords(ctx);
  const read: ReadSlot = given.read ?? ((tenant, slot, stop) => readContent(records, tenant, slot, stop));
  const slots = startQueueWork<SlotClaim>(ctx, {
    name: 'subscription_slots',
    pollMs,
    lanes,
    claim: () => claimSlot(ctx, newId(), leaseMs),
    work: (claim, stopping) => deliverSlot(ctx, claim, read, stopping),
    lease: { ms: leaseMs, renew: (claim) => renewSlotLease(ctx, claim, leaseMs) },
  });
  const tick = async (): Promise<number> => {
    const made = await openDueSlots(ctx);
    await slots.settled();
    return made;
  };
  const minute = everyMinute(tick, (error) => ctx.log.error({ err: error }, 'due subscriptions could not be looked for'));
  return {
    tick,
    stop: async () => {
      await Promise.all([minute.stop(), slots.stop()]);
    },
  };
}
