// Drives syncs in this process: each minute it makes the runs that are due, and whenever there is work and a free worker it
// claims some. Any number of processes may do the same on one database.
import { hostname } from 'node:os';
import cron from 'node-cron';
import type { Ctx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import { listen } from '../db/listen.ts';
import { inTransaction } from '../db/transaction.ts';
import { dueSlot } from './due.ts';
import { claimRun, findConfig, insertRun } from './runs.store.ts';
import { workOn } from './worker.ts';

export type Scheduler = {
  /** Makes the runs that are due now; says how many. */
  tick(): Promise<number>;
  /** Claims what can be claimed. Returns at once; work goes on behind it. */
  poke(): void;
  /** Hands running runs over and waits until nothing is in flight. */
  stop(): Promise<void>;
};

type ScheduledRow = { organization_id: string; id: string; schedule: string; timezone: string; last_slot: Date | null; created_at: Date };

/** One run for each config whose latest slot has none yet; the unique index decides between processes. */
export async function enqueueDueRuns(ctx: Ctx): Promise<number> {
  const { rows } = await ctx.db.control.raw<{ rows: ScheduledRow[] }>('select * from scheduled_sync_configs()');
  let made = 0;
  for (const row of rows) {
    const slot = dueSlot(
      { schedule: row.schedule, timezone: row.timezone, lastSlot: row.last_slot, since: row.created_at },
      ctx.clock.now(),
    );
    if (slot === null) continue;
    const run = await inTransaction({ db: ctx.db, organizationId: row.organization_id }, async (tx) => {
      const config = await findConfig(tx, row.organization_id, row.id);
      return config === undefined
        ? undefined
        : insertRun(tx, row.organization_id, {
            sync_config_id: row.id,
            record_type: config.record_type,
            mode: config.mode,
            trigger: 'schedule',
            scheduled_for: slot,
          });
    });
    if (run !== undefined) made += 1;
  }
  return made;
}

const idlePollMs = 1_000;

export function startScheduler(ctx: Ctx): Scheduler {
  const worker = `${hostname()}/${process.pid}/${newId()}`;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let claiming = false;
  let again = false;

  const claimAll = async (): Promise<void> => {
    while (!stopping.signal.aborted && inFlight.size < ctx.settings.sync.workers) {
      const lease = await claimRun(ctx, worker, ctx.settings.sync.leaseMs);
      if (lease === undefined) return;
      const work: Promise<void> = workOn(ctx, lease, stopping.signal).finally(() => {
        inFlight.delete(work);
        poke();
      });
      inFlight.add(work);
    }
  };
  const poke = (): void => {
    if (stopping.signal.aborted) return;
    if (claiming) {
      again = true;
      return;
    }
    claiming = true;
    claimAll()
      .catch((error: unknown) => ctx.log.warn({ err: error }, 'no run could be claimed'))
      .finally(() => {
        claiming = false;
        if (again) {
          again = false;
          poke();
        }
      });
  };
  const tick = async (): Promise<number> => {
    const made = await enqueueDueRuns(ctx);
    poke();
    return made;
  };

  const minute = cron.schedule('* * * * *', () => tick().catch((error: unknown) => ctx.log.error({ err: error }, 'the tick failed')), {
    noOverlap: true,
  });
  const idle = setInterval(poke, idlePollMs);
  const deaf = listen(ctx, 'sync_runs', poke);
  poke();
  return {
    tick,
    poke,
    stop: async () => {
      await minute.destroy();
      clearInterval(idle);
      stopping.abort();
      await deaf();
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}
