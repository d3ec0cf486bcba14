// Drives syncs in this process: each minute it makes the runs that are due, and whenever there is work and a free worker it
// claims some. Any number of processes may do the same on one database.
import { hostname } from 'node:os';
import type { Ctx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import { everyMinute } from '../core/recurring.ts';
import { startQueueWork } from '../db/queue-work.ts';
import { openConnectorOf } from './connection.ts';
import { openDueSlots } from './due.ts';
import type { OpenConnector } from './execute-run.ts';
import { claimRun, type Lease } from './runs.store.ts';
import { clearEndedRuns, workOn } from './worker.ts';

export type Scheduler = {
  /** Makes the runs that are due now; says how many. */
  tick(): Promise<number>;
  /** Claims what can be claimed. Returns at once; work goes on behind it. */
  poke(): void;
  /** Milliseconds since a tick last came to its end, or since the start. */
  sinceTickMs(): number;
  /** Hands running runs over and waits until nothing is in flight. */
  stop(): Promise<void>;
};

type ScheduledRow = { id: string; schedule: string; timezone: string; last_slot: Date | null; since: Date };

type DueRun = { readonly run_id: string; readonly config_id: string; readonly slot: Date };

/** So many runs are queued by one statement. */
const atOnce = 500;

async function enqueue(ctx: Pick<Ctx, 'db'>, due: readonly DueRun[]): Promise<number> {
  const { rows } = await ctx.db.control.raw<{ rows: { made: number }[] }>('select enqueue_scheduled_runs(?::jsonb) as made', [
    JSON.stringify(due),
  ]);
  return rows[0]?.made ?? 0;
}

/** One organization's trouble must not keep the others' syncs from starting. */
async function enqueueEach(ctx: Ctx, due: readonly DueRun[]): Promise<number> {
  let made = 0;
  for (const one of due) {
    try {
      made += await enqueue(ctx, [one]);
    } catch (error) {
      ctx.log.error({ err: error, syncConfigId: one.config_id }, 'a due sync could not be enqueued');
    }
  }
  return made;
}

function findDue(ctx: Pick<Ctx, 'clock' | 'log'>, rows: readonly ScheduledRow[]): DueRun[] {
  const slotOf = openDueSlots(ctx.clock.now());
  return rows.flatMap(({ id, schedule, timezone, last_slot, since }) => {
    try {
      const slot = slotOf({ schedule, timezone, lastSlot: last_slot, since });
      return slot === null ? [] : [{ run_id: newId(), config_id: id, slot }];
    } catch (error) {
      ctx.log.error({ err: error, syncConfigId: id }, 'a due sync could not be enqueued');
      return [];
    }
  });
}

/** One run for each config whose latest slot has none yet; the unique index decides between processes. */
export async function enqueueDueRuns(ctx: Ctx): Promise<number> {
  const { rows } = await ctx.db.control.raw<{ rows: ScheduledRow[] }>('select * from scheduled_sync_configs()');
  const due = findDue(ctx, rows);
  let made = 0;
  for (let from = 0; from < due.length; from += atOnce) {
    const some = due.slice(from, from + atOnce);
    made += await enqueue(ctx, some).catch(() => enqueueEach(ctx, some));
  }
  return made;
}

const idlePollMs = 1_000;

export type SchedulerOptions = {
  /** How a run reaches the ERP; by what is stored of the organization's connection unless told. */
  readonly openConnector?: OpenConnector;
};

export function startScheduler(ctx: Ctx, { openConnector = openConnectorOf }: SchedulerOptions = {}): Scheduler {
  const worker = `${hostname()}/${process.pid}/${newId()}`;
  const runs = startQueueWork<Lease>(ctx, {
    name: 'sync_runs',
    channel: 'sync_runs',
    pollMs: idlePollMs,
    lanes: ctx.settings.sync.workers,
    claim: () => claimRun(ctx, worker, ctx.settings.sync.leaseMs),
    work: (lease, stopping) => workOn(ctx, lease, stopping, openConnector),
  });
  let tickedAtMs = ctx.clock.monotonicMs();
  const tick = async (): Promise<number> => {
    try {
      const made = await enqueueDueRuns(ctx);
      runs.look();
      await clearEndedRuns(ctx);
      return made;
    } finally {
      tickedAtMs = ctx.clock.monotonicMs();
    }
  };
  const minute = everyMinute(tick, (error) => ctx.log.error({ err: error }, 'the tick failed'));
  return {
    tick,
    poke: runs.look,
    sinceTickMs: () => ctx.clock.monotonicMs() - tickedAtMs,
    stop: async () => {
      await Promise.all([minute.stop(), runs.stop()]);
    },
  };
}
