// Drives syncs in this process: each minute it makes the runs that are due, and whenever there is work and a free worker it
// claims some. Any number of processes may do the same on one database.
import { hostname } from 'node:os';
import type { Ctx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import { everyMinute } from '../core/recurring.ts';
import { listen } from '../db/listen.ts';
import { inTransaction } from '../db/transaction.ts';
import { openConnectorOf } from './connection.ts';
import { dueSlot } from './due.ts';
import type { OpenConnector } from './execute-run.ts';
import { claimRun, findConfig, insertRun } from './runs.store.ts';
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

type ScheduledRow = { organization_id: string; id: string; schedule: string; timezone: string; last_slot: Date | null; since: Date };

async function enqueueDueRun(ctx: Ctx, row: ScheduledRow): Promise<boolean> {
  const slot = dueSlot({ schedule: row.schedule, timezone: row.timezone, lastSlot: row.last_slot, since: row.since }, ctx.clock.now());
  if (slot === null) return false;
  const run = await inTransaction({ db: ctx.db, organizationId: row.organization_id }, async (tx) => {
    const config = await findConfig(tx, row.organization_id, row.id);
    if (config === undefined) return undefined;
    const { record_type, mode } = config;
    return insertRun(tx, row.organization_id, { sync_config_id: row.id, record_type, mode, trigger: 'schedule', scheduled_for: slot });
  });
  return run !== undefined;
}

/** One run for each config whose latest slot has none yet; the unique index decides between processes. */
export async function enqueueDueRuns(ctx: Ctx): Promise<number> {
  const { rows } = await ctx.db.control.raw<{ rows: ScheduledRow[] }>('select * from scheduled_sync_configs()');
  let made = 0;
  for (const row of rows) {
    try {
      if (await enqueueDueRun(ctx, row)) made += 1;
    } catch (error) {
      // One organization's trouble must not keep the others' syncs from starting.
      ctx.log.error({ err: error, syncConfigId: row.id }, 'a due sync could not be enqueued');
    }
  }
  return made;
}

const idlePollMs = 1_000;

export type SchedulerOptions = {
  /** How a run reaches the ERP; by what is stored of the organization's connection unless told. */
  readonly openConnector?: OpenConnector;
};

/** Claims as long as there are runs and free workers; one claim at a time, however often it is called. */
function startClaiming(ctx: Ctx, stopping: AbortSignal, open: OpenConnector) {
  const worker = `${hostname()}/${process.pid}/${newId()}`;
  const inFlight = new Set<Promise<void>>();
  let claiming: Promise<void> | null = null;
  let again = false;

  const claimAll = async (): Promise<void> => {
    while (!stopping.aborted && inFlight.size < ctx.settings.sync.workers) {
      const lease = await claimRun(ctx, worker, ctx.settings.sync.leaseMs);
      if (lease === undefined) return;
      const work: Promise<void> = workOn(ctx, lease, stopping, open).finally(() => {
        inFlight.delete(work);
        poke();
      });
      inFlight.add(work);
    }
  };
  const poke = (): void => {
    if (stopping.aborted) return;
    again = claiming !== null;
    claiming ??= claimAll()
      .catch((error: unknown) => ctx.log.warn({ err: error }, 'no run could be claimed'))
      .finally(() => {
        claiming = null;
        if (again) poke();
      });
  };
  const settled = async (): Promise<void> => {
    while (claiming !== null || inFlight.size > 0) await Promise.allSettled([claiming, ...inFlight]);
  };
  return { poke, settled };
}

export function startScheduler(ctx: Ctx, { openConnector = openConnectorOf }: SchedulerOptions = {}): Scheduler {
  const stopping = new AbortController();
  const { poke, settled } = startClaiming(ctx, stopping.signal, openConnector);
  let tickedAtMs = ctx.clock.monotonicMs();
  const tick = async (): Promise<number> => {
    try {
      const made = await enqueueDueRuns(ctx);
      poke();
      await clearEndedRuns(ctx);
      return made;
    } finally {
      tickedAtMs = ctx.clock.monotonicMs();
    }
  };
  const minute = everyMinute(tick, (error) => ctx.log.error({ err: error }, 'the tick failed'));
  const idle = setInterval(poke, idlePollMs);
  const deaf = listen(ctx, 'sync_runs', poke);
  poke();
  return {
    tick,
    poke,
    sinceTickMs: () => ctx.clock.monotonicMs() - tickedAtMs,
    stop: async () => {
      clearInterval(idle);
      stopping.abort();
      await deaf();
      await minute.stop();
      await settled();
    },
  };
}
