// Drives syncs in this process: every minute it queues the runs that are due, and it claims runs whenever
// there is work and a free worker. Any number of processes may do the same on one database.
import { hostname } from 'node:os';
import type { Ctx } from '../../core/ctx.ts';
import { createId } from '../../core/id.ts';
import { startEveryMinute } from '../../core/work/recurring.ts';
import { createLeaseLength } from '../../db/job-lease.ts';
import { startWorker } from '../../db/job-worker.ts';
import { type CreateConnector, createTenantConnector } from '../account/connection.ts';
import { reportStaleSyncs } from '../alerts/freshness.ts';
import { createDueSlotFinder } from '../queue/due-slots.ts';
import { claimRun, type Lease } from '../queue/runs.store.ts';
import { clearEndedRuns, workOnRun } from './worker.ts';

export type Scheduler = {
  /** Queues the runs that are due now and returns their number. Rejects when the database is unavailable. */
  tick(): Promise<number>;
  /** Claims runs up to the free workers. Returns at once; the work continues in the background. */
  claimNow(): void;
  /** Milliseconds since a tick last ended, or since the start. */
  sinceTickMs(): number;
  /** Releases the runs in progress to other processes and resolves when no work is in flight. */
  stop(): Promise<void>;
};

type ScheduledRow = { id: string; schedule: string; timezone: string; last_slot: Date | null; since: Date };

type DueRun = { readonly run_id: string; readonly config_id: string; readonly slot: Date };

const runsPerStatement = 500;

async function enqueue(ctx: Pick<Ctx, 'db'>, due: readonly DueRun[]): Promise<number> {
  const { rows } = await ctx.db.control.raw<{ rows: { queued: number }[] }>(
    'select enqueue_scheduled_runs(?::jsonb) as queued',
    [JSON.stringify(due)],
  );
  return rows[0]?.queued ?? 0;
}

/** Queues the runs one by one: a failure in one organization must not keep others' syncs from starting. */
async function enqueueEach(ctx: Ctx, due: readonly DueRun[]): Promise<number> {
  let queued = 0;
  for (const run of due) {
    try {
      queued += await enqueue(ctx, [run]);
    } catch (error) {
      ctx.log.error({ err: error, syncConfigId: run.config_id }, 'could not queue a due sync run');
    }
  }
  return queued;
}

function findDue(ctx: Pick<Ctx, 'clock' | 'log'>, rows: readonly ScheduledRow[]): DueRun[] {
  const findSlot = createDueSlotFinder(ctx.clock.now());
  return rows.flatMap(({ id, schedule, timezone, last_slot, since }) => {
    try {
      const slot = findSlot({ schedule, timezone, lastSlot: last_slot, since });
      return slot === null ? [] : [{ run_id: createId(), config_id: id, slot }];
    } catch (error) {
      ctx.log.error({ err: error, syncConfigId: id }, 'could not queue a due sync run');
      return [];
    }
  });
}

/** The extra slots of syncs whose data would otherwise become older than their freshness target. */
async function findFreshnessSlots(ctx: Pick<Ctx, 'db'>): Promise<DueRun[]> {
  const { rows } = await ctx.db.control.raw<{ rows: Omit<DueRun, 'run_id'>[] }>(
    'select config_id, slot from due_freshness_slots()',
  );
  return rows.map((row) => ({ ...row, run_id: createId() }));
}

/**
 * Queues one run for each configuration whose latest slot has none yet, and returns the number of runs. The
 * unique index on (configuration, slot) decides between processes. Rejects when the database is unavailable.
 */
export async function enqueueDueRuns(ctx: Ctx): Promise<number> {
  const { rows } = await ctx.db.control.raw<{ rows: ScheduledRow[] }>(
    'select * from scheduled_sync_configs()',
  );
  const due = [...findDue(ctx, rows), ...(await findFreshnessSlots(ctx))];
  let queued = 0;
  for (let from = 0; from < due.length; from += runsPerStatement) {
    const batch = due.slice(from, from + runsPerStatement);
    queued += await enqueue(ctx, batch).catch(() => enqueueEach(ctx, batch));
  }
  return queued;
}

const idlePollMs = 1_000;

export type SchedulerOptions = {
  /** Creates the connector of a run; by default from the organization's stored connection. */
  readonly createConnector?: CreateConnector;
};

export function startScheduler(
  ctx: Ctx,
  { createConnector = createTenantConnector }: SchedulerOptions = {},
): Scheduler {
  const worker = `${hostname()}/${process.pid}/${createId()}`;
  const length = createLeaseLength(ctx.settings.sync.leaseMs);
  const runs = startWorker<Lease>(ctx, {
    kind: 'sync_runs',
    pollMs: idlePollMs,
    concurrency: ctx.settings.sync.workers,
    claim: () => claimRun(ctx, worker, length.ms()),
    work: (lease, stopping) => workOnRun(ctx, lease, stopping, createConnector, length),
  });
  let tickedAtMs = ctx.clock.monotonicMs();
  const tick = async (): Promise<number> => {
    try {
      const queued = await enqueueDueRuns(ctx);
      runs.poll();
      await reportStaleSyncs(ctx);
      await clearEndedRuns(ctx);
      return queued;
    } finally {
      tickedAtMs = ctx.clock.monotonicMs();
    }
  };
  const minute = startEveryMinute(tick, (error) =>
    ctx.log.error({ err: error }, 'the scheduler tick failed'),
  );
  return {
    tick,
    claimNow: runs.poll,
    sinceTickMs: () => ctx.clock.monotonicMs() - tickedAtMs,
    stop: async () => {
      await Promise.all([minute.stop(), runs.stop()]);
    },
  };
}
