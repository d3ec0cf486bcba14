// Rows of sync_runs. A change of state is one UPDATE on (id, lease epoch, from-states): zero updated rows
// mean that another worker owns the run.
import type { RecordFilter } from '../../connectors/discovery.ts';
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { createId } from '../../core/id.ts';
import {
  claimJob,
  enqueueJob,
  finishJob,
  type Job,
  type JobKey,
  lockJob,
  renewJob,
  retryJob,
} from '../../db/jobs.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { PublishOutcome, RunPlan } from '../../warehouse/run-state-row.ts';
import type { RunProgress } from './progress.ts';
import { addedRequests, type RequestCount } from './request-count.ts';
import type { RunError } from './retry.ts';
import { insertRunEvent, type NewRunEvent } from './run-events.store.ts';
import { isFinal, movesTo, type RunStatus } from './run-state.ts';

export type RunRow = {
  id: string;
  organization_id: string;
  sync_config_id: string;
  record_type: string;
  mode: RunPlan['mode'];
  trigger: 'schedule' | 'manual' | 'retry';
  status: RunStatus;
  attempt: number;
  attempts_without_progress: number;
  scheduled_for: Date | null;
  queued_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  lease_epoch: number;
  cancel_requested: boolean;
  /** Runs of older versions lack `done` and `estimatedSecondsLeft`. */
  progress: (Omit<RunProgress, 'done' | 'estimatedSecondsLeft'> & Partial<RunProgress>) | null;
  counts: PublishOutcome['counts'] | null;
  proof: RunProofCheck[];
  generation: string | null;
  /** HTTP requests to the ERP over all attempts; null for runs of older versions. */
  requests: number | null;
  error: RunError | null;
  retry_of: string | null;
  wake_at: Date | null;
};
export type RunProofCheck = {
  readonly check: string;
  readonly passed: boolean;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
};

export type SyncConfigRow = {
  id: string;
  organization_id: string;
  name: string;
  record_type: string;
  mode: 'incremental' | 'full';
  schedule: string | null;
  timezone: string;
  enabled: boolean;
  fields: string[] | null;
  /** Null for all records of the type. */
  filter: RecordFilter | null;
  deletions: 'feed' | 'reconcile' | 'none';
  max_delete_share: string;
  alert_recipients: string[];
  /** Minutes that the data may be old; null for any age. */
  freshness_target: number | null;
  paused_reason: RunError | null;
  created_at: Date;
  updated_at: Date;
};

const open: readonly RunStatus[] = ['queued', 'running', 'waiting', 'publishing'];

export type Lease = {
  readonly organizationId: string;
  readonly runId: string;
  readonly epoch: number;
  /** That of the configuration; none for a run that no worker has claimed. */
  readonly job?: Job;
};

/** A configuration has one job while it has open runs, so that one worker works on it at a time. */
export const jobOfConfig = (organizationId: string, configId: string): JobKey => ({
  kind: 'sync_runs',
  organizationId,
  key: configId,
});

export const runColumns = [
  'id',
  'organization_id',
  'sync_config_id',
  'record_type',
  'mode',
  'trigger',
  'status',
  'attempt',
  'attempts_without_progress',
  'scheduled_for',
  'queued_at',
  'started_at',
  'finished_at',
  'lease_epoch',
  'cancel_requested',
  'progress',
  'counts',
  'proof',
  'generation',
  'requests',
  'error',
  'retry_of',
  'wake_at',
] as const;

export const findRun = async (tx: Tx, organizationId: string, id: string): Promise<RunRow | undefined> =>
  tx('sync_runs')
    .where({ organization_id: organizationId, id })
    .first<RunRow | undefined>(...runColumns);

export const findSyncConfig = async (tx: Tx, organizationId: string, id: string) =>
  tx('sync_configs').where({ organization_id: organizationId, id }).first<SyncConfigRow | undefined>();

type NewRun = Pick<RunRow, 'sync_config_id' | 'record_type' | 'mode' | 'trigger'> & {
  scheduled_for?: Date;
  retry_of?: string;
};

/**
 * Queues a run. A queued one that would read only requested records becomes this run. Undefined when the slot
 * has its run, or the configuration has another queued one.
 */
export async function insertRun(tx: Tx, organizationId: string, run: NewRun): Promise<RunRow | undefined> {
  if (run.mode !== 'reread') {
    const { sync_config_id, record_type: _, ...change } = run;
    const [raised] = await tx('sync_runs')
      .where({ organization_id: organizationId, sync_config_id, status: 'queued', mode: 'reread' })
      .update(change)
      .returning<RunRow[]>([...runColumns]);
    if (raised !== undefined) return raised;
  }
  const [row] = await tx('sync_runs')
    .insert({ id: createId(), organization_id: organizationId, ...run })
    .onConflict()
    .ignore()
    .returning<RunRow[]>([...runColumns]);
  if (row !== undefined) await enqueueJob(tx, jobOfConfig(organizationId, run.sync_config_id));
  return row;
}

/**
 * Queues a run on a person's behalf, or returns the one that is queued already. Throws an Error when that one
 * ended in between, and database errors.
 */
export async function queueRun(
  tx: Tx,
  organizationId: string,
  wanted: Omit<NewRun, 'trigger'>,
): Promise<RunRow> {
  const run =
    (await insertRun(tx, organizationId, { ...wanted, trigger: 'manual' })) ??
    (await findOpenRun(tx, organizationId, wanted.sync_config_id));
  if (run === undefined) throw new Error('a run was neither inserted nor found');
  return run;
}

/** The newest run of the configuration that has not ended. */
export const findOpenRun = async (tx: Tx, organizationId: string, configId: string) =>
  tx('sync_runs')
    .where({ organization_id: organizationId, sync_config_id: configId })
    .whereIn('status', open)
    .orderBy('queued_at', 'desc')
    .first<RunRow | undefined>(...runColumns);

export const findQueuedRun = (tx: Tx, organizationId: string, configId: string) =>
  tx('sync_runs')
    .where({ organization_id: organizationId, sync_config_id: configId, status: 'queued' })
    .first<RunRow | undefined>(...runColumns);

/** The row of the run while this lease holds it. */
export const heldRun = (tx: Tx, { organizationId, runId, epoch }: Lease) =>
  tx('sync_runs').where({ organization_id: organizationId, id: runId, lease_epoch: epoch });

type RunPatch = {
  wake_at?: Date | null;
  error?: RunError | null;
  counts?: object;
  generation?: string;
  attempts_without_progress?: number;
  proof?: readonly RunProofCheck[];
  delayMs?: number;
  /** False once everything that the run staged was deleted. */
  staged?: boolean;
  /** Written to the run's log in the same transaction. */
  event?: NewRunEvent;
};

/**
 * Moves the run to another state; false when the move is not legal or a newer lease holds the run. Every move
 * but the one to `publishing` releases the lease, and a run whose cancellation was requested does not move to
 * `publishing`. `also` writes what must be atomic with the move, in the same transaction.
 */
export async function moveRun(
  ctx: Pick<Ctx, 'db'>,
  lease: Lease,
  to: RunStatus,
  change: RunPatch = {},
  also: (tx: Tx) => Promise<unknown> = () => Promise.resolve(),
): Promise<boolean> {
  const { delayMs, error, counts, proof, event, ...plain } = change;
  return inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    const moved = await heldRun(tx, lease)
      .whereIn('status', movesTo(to))
      .where((query) => (to === 'publishing' ? query.where('cancel_requested', false) : query))
      .update({
        status: to,
        ...plain,
        ...(error !== undefined && { error: error === null ? null : JSON.stringify(error) }),
        ...(counts !== undefined && { counts: JSON.stringify(counts) }),
        ...(proof !== undefined && { proof: JSON.stringify(proof) }),
        ...(delayMs !== undefined && {
          wake_at: tx.raw('clock_timestamp() + make_interval(secs => ?)', [delayMs / 1000]),
        }),
        ...(to !== 'publishing' && { lease_owner: null }),
        ...(isFinal(to) && { finished_at: tx.raw('clock_timestamp()') }),
      });
    if (moved !== 1) return false;
    if (event !== undefined) await insertRunEvent(tx, lease.organizationId, lease.runId, event);
    await also(tx);
    if (to !== 'publishing') await endJob(tx, lease, delayMs);
    return true;
  });
}

/** Makes the job due after the delay of a waiting run, or at once for the run that is queued behind an ended one. */
async function endJob(tx: Tx, { job }: Lease, delayMs: number | undefined): Promise<void> {
  if (job === undefined) return;
  const queued = tx('sync_runs').where({ sync_config_id: job.key, status: 'queued' });
  if (delayMs !== undefined || (await queued.first('id')) !== undefined)
    await retryJob(tx, job, delayMs ?? 0);
  else await finishJob(tx, job);
}

export type LeaseStatus = { readonly held: boolean; readonly cancelRequested: boolean };
type LeaseStatusRow = { status: RunStatus; cancel_requested: boolean };
/** A run that is being published can no longer be cancelled. */
const toLeaseStatus = (rows: readonly LeaseStatusRow[]): LeaseStatus => ({
  held: rows.length === 1,
  cancelRequested: rows[0]?.status === 'running' && rows[0].cancel_requested,
});

/** Extends the lease; `held` is false when it was lost. */
export async function renewRunLease(
  ctx: Pick<Ctx, 'db'>,
  lease: Lease,
  leaseMs: number,
): Promise<LeaseStatus> {
  const isRenewed = lease.job === undefined || (await renewJob(ctx, lease.job, leaseMs));
  const rows = await inTransaction({ db: ctx.db, organizationId: lease.organizationId }, (tx) =>
    heldRun(tx, lease)
      .whereIn('status', ['running', 'publishing'])
      .select<LeaseStatusRow[]>('status', 'cancel_requested'),
  );
  return toLeaseStatus(isRenewed ? rows : []);
}

/** Notes with a run that another worker holds, and that hasn't progressed since, why this one lost it. */
export const noteBusyWorker = (ctx: TenantCtx, lease: Lease, error: RunError): Promise<number> =>
  inTransaction(ctx, (tx) =>
    tx('sync_runs')
      .where({ organization_id: lease.organizationId, id: lease.runId, status: 'running' })
      .where('lease_epoch', '>', lease.epoch)
      .whereNull('error')
      .update({ error: JSON.stringify(error) }),
  );

/** Makes the run claimable after the delay, so that a stopping worker need not let its lease expire. */
export const releaseRunLease = (
  ctx: Pick<Ctx, 'db'>,
  lease: Lease,
  delayMs: number,
  attemptsWithoutProgress?: number,
): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    await heldRun(tx, lease)
      .whereIn('status', ['running', 'publishing'])
      .update({
        lease_owner: null,
        ...(attemptsWithoutProgress !== undefined && { attempts_without_progress: attemptsWithoutProgress }),
      });
    if (lease.job !== undefined) await retryJob(tx, lease.job, delayMs);
  });

/**
 * Saves the progress that callers see, and adds the requests that were sent. With `moved`, resets the count
 * of attempts without progress and clears the last attempt's error.
 */
export const saveProgress = (
  ctx: Pick<Ctx, 'db'>,
  lease: Lease,
  progress: RunProgress,
  moved: boolean,
  sent: RequestCount = { total: 0, rolling: 0 },
): Promise<LeaseStatus> =>
  inTransaction(
    { db: ctx.db, organizationId: lease.organizationId },
    async (tx) =>
      toLeaseStatus(
        await heldRun(tx, lease)
          .whereIn('status', ['running', 'publishing'])
          .update({
            progress: JSON.stringify(progress),
            ...addedRequests(tx, sent),
            ...(moved && { attempts_without_progress: 0, error: null }),
          })
          .returning<LeaseStatusRow[]>(['status', 'cancel_requested']),
      ),
    'ordered',
  );

/**
 * The number of records that each of the last published runs of this mode read, newest first, without the
 * part of the rolling full read.
 */
export const listRecentVolumes = (
  ctx: TenantCtx,
  configId: string,
  mode: RunRow['mode'],
  except: string,
  limit: number,
): Promise<number[]> =>
  inTransaction(ctx, async (tx) => {
    const rows = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, sync_config_id: configId, mode })
      .whereIn('status', ['succeeded', 'partial'])
      .whereNot('id', except)
      .orderBy('queued_at', 'desc')
      .limit(limit)
      .select<{ counts: { fetched: number } | null; rolling: string | null }[]>(
        'counts',
        tx.raw(
          `(select c -> 'facts' ->> 'onlyHere' from jsonb_array_elements(proof) c where c ->> 'check' = 'rolling' limit 1) as rolling`,
        ),
      );
    return rows.flatMap(({ counts, rolling }) =>
      counts === null ? [] : [counts.fetched - Number(rolling ?? 0)],
    );
  });

/**
 * Saves the mode that the run really has: `full` where only `incremental` was requested. False when a newer
 * lease holds the run.
 */
export const saveMode = (ctx: Pick<Ctx, 'db'>, lease: Lease, mode: RunRow['mode']): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    const updated = await heldRun(tx, lease).where({ status: 'running' }).update({ mode });
    return updated === 1;
  });

/** Claims the next run that can be worked on; undefined when there is none. */
export async function claimRun(
  ctx: Pick<Ctx, 'db'>,
  worker: string,
  leaseMs: number,
): Promise<Lease | undefined> {
  for (;;) {
    const job = await claimJob(ctx, 'sync_runs', leaseMs, worker);
    const lease = job && (await beginRun(ctx, job, worker));
    if (job === undefined || lease !== undefined) return lease;
  }
}

/** Undefined, with the job ended, when the configuration has no run that can be worked on now. */
const beginRun = (ctx: Pick<Ctx, 'db'>, job: Job, worker: string): Promise<Lease | undefined> =>
  inTransaction({ db: ctx.db, organizationId: job.organizationId }, async (tx) => {
    // In this order, as `moveRun` does.
    await tx('sync_runs').where({ sync_config_id: job.key }).whereIn('status', open).forUpdate().select('id');
    if (!(await lockJob(tx, job))) return undefined;
    const { rows } = await tx.raw<{
      rows: { run_id: string; lease_epoch: number | null; wait_ms: number }[];
    }>(
      'select run_id, lease_epoch, extract(epoch from wait)::float8 * 1000 as wait_ms from start_sync_run(?, ?)',
      [job.key, worker],
    );
    const [row] = rows;
    if (row === undefined) return void (await finishJob(tx, job));
    if (row.lease_epoch === null) return void (await retryJob(tx, job, row.wait_ms));
    return { organizationId: job.organizationId, runId: row.run_id, epoch: row.lease_epoch, job };
  });

/** Ended runs whose staged data was not deleted yet. */
export async function listEndedRunsWithStaging(
  ctx: Pick<Ctx, 'db'>,
): Promise<{ organizationId: string; runId: string }[]> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; run_id: string }[] }>(
    'select * from ended_staged_runs()',
  );
  return rows.map((row) => ({ organizationId: row.organization_id, runId: row.run_id }));
}

export const markStagingCleared = (ctx: TenantCtx, runId: string): Promise<number> =>
  inTransaction(ctx, (tx) =>
    tx('sync_runs').where({ organization_id: ctx.organizationId, id: runId }).update({ staged: false }),
  );

/** Pauses the configuration; `reason` null resumes it. */
export const setPausedReason = (
  tx: Tx,
  organizationId: string,
  configId: string,
  reason: RunError | null,
): Promise<number> =>
  tx('sync_configs')
    .where({ organization_id: organizationId, id: configId })
    .where((query) => (reason === null ? query.whereNotNull('paused_reason') : query))
    .update({ paused_reason: reason === null ? null : JSON.stringify(reason) });
