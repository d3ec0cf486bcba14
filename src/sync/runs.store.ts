// Rows of sync_runs. A change of state is one UPDATE on (id, lease epoch, from-states): no row changed means
// that another worker owns the run.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import type { PublishOutcome } from '../warehouse/run-row.ts';
import type { RunError } from './retry.ts';
import { insertRunEvent, type NewRunEvent } from './run-events.store.ts';
import { isFinal, movesTo, type RunStatus } from './run-state.ts';

export type RunRow = {
  id: string;
  organization_id: string;
  sync_config_id: string;
  record_type: string;
  mode: 'incremental' | 'full';
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
  progress: RunProgress | null;
  counts: PublishOutcome['counts'] | null;
  proof: ProofCheck[];
  generation: string | null;
  error: RunError | null;
  retry_of: string | null;
  wake_at: Date | null;
};
export type RunProgress = {
  readonly phase: 'reading' | 'proving' | 'publishing';
  readonly fetched: number;
  readonly expected: number | null;
  readonly pages: number;
  readonly percent: number | null;
};
export type ProofCheck = {
  readonly check: string;
  readonly passed: boolean;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
};

export type ConfigRow = {
  id: string;
  organization_id: string;
  name: string;
  record_type: string;
  mode: 'incremental' | 'full';
  schedule: string | null;
  timezone: string;
  enabled: boolean;
  fields: string[] | null;
  deletions: 'feed' | 'reconcile' | 'none';
  max_delete_share: string;
  alert_recipients: string[];
  paused_reason: RunError | null;
  created_at: Date;
  updated_at: Date;
};

export type Lease = { readonly organizationId: string; readonly runId: string; readonly epoch: number };

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
  'error',
  'retry_of',
  'wake_at',
] as const;

export const findRun = async (tx: Tx, organizationId: string, id: string): Promise<RunRow | undefined> =>
  tx('sync_runs')
    .where({ organization_id: organizationId, id })
    .first<RunRow | undefined>(...runColumns);

export const findConfig = async (tx: Tx, organizationId: string, id: string): Promise<ConfigRow | undefined> =>
  tx('sync_configs').where({ organization_id: organizationId, id }).first<ConfigRow | undefined>();

type NewRun = Pick<RunRow, 'sync_config_id' | 'record_type' | 'mode' | 'trigger'> & { scheduled_for?: Date; retry_of?: string };

/** Undefined when the slot already has its run, or a run of that config is already queued. */
export async function insertRun(tx: Tx, organizationId: string, run: NewRun): Promise<RunRow | undefined> {
  const [row] = await tx('sync_runs')
    .insert({ id: newId(), organization_id: organizationId, ...run })
    .onConflict()
    .ignore()
    .returning<RunRow[]>([...runColumns]);
  if (row !== undefined) await tx.raw("select pg_notify('sync_runs', '')");
  return row;
}

export const findOpenRun = async (tx: Tx, organizationId: string, configId: string): Promise<RunRow | undefined> =>
  tx('sync_runs')
    .where({ organization_id: organizationId, sync_config_id: configId })
    .whereIn('status', ['queued', 'running', 'waiting', 'publishing'])
    .orderBy('queued_at', 'desc')
    .first<RunRow | undefined>(...runColumns);

type Change = {
  wake_at?: Date | null;
  error?: RunError | null;
  counts?: object;
  generation?: string;
  attempts_without_progress?: number;
  proof?: readonly ProofCheck[];
  delayMs?: number;
  /** False once nothing that the run staged is left. */
  staged?: boolean;
  /** What the run's log says about the move. */
  event?: NewRunEvent;
};

/**
 * Whether the move happened. Terminal and waiting runs give their lease back; a run that is to be cancelled is not published.
 * What follows from the move is written with it, by `also`: a process that dies leaves both or neither.
 */
export async function moveRun(
  ctx: Pick<Ctx, 'db'>,
  lease: Lease,
  to: RunStatus,
  change: Change = {},
  also: (tx: Tx) => Promise<unknown> = () => Promise.resolve(),
): Promise<boolean> {
  const { delayMs, error, counts, proof, event, ...plain } = change;
  return inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    const moved = await tx('sync_runs')
      .where({ organization_id: lease.organizationId, id: lease.runId, lease_epoch: lease.epoch })
      .whereIn('status', movesTo(to))
      .where((query) => (to === 'publishing' ? query.where('cancel_requested', false) : query))
      .update({
        status: to,
        ...plain,
        ...(error !== undefined && { error: error === null ? null : JSON.stringify(error) }),
        ...(counts !== undefined && { counts: JSON.stringify(counts) }),
        ...(proof !== undefined && { proof: JSON.stringify(proof) }),
        ...(delayMs !== undefined && { wake_at: tx.raw('clock_timestamp() + make_interval(secs => ?)', [delayMs / 1000]) }),
        ...(to !== 'publishing' && { lease_until: null, lease_owner: null }),
        ...(isFinal(to) && { finished_at: tx.raw('clock_timestamp()') }),
      });
    if (moved !== 1) return false;
    if (event !== undefined) await insertRunEvent(tx, lease.organizationId, lease.runId, event);
    await also(tx);
    await tx.raw("select pg_notify('sync_runs', '')");
    return true;
  });
}

export type Held = { readonly held: boolean; readonly cancelRequested: boolean };
type HeldRow = { status: RunStatus; cancel_requested: boolean };
/** A run that is being published can't be cancelled any more. */
const heldOf = (rows: readonly HeldRow[]): Held => ({
  held: rows.length === 1,
  cancelRequested: rows[0]?.status === 'running' && rows[0].cancel_requested,
});

/** Prolongs the lease; not held when it is lost. */
export const renewLease = (ctx: Pick<Ctx, 'db'>, lease: Lease, leaseMs: number): Promise<Held> =>
  inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) =>
    heldOf(
      await tx('sync_runs')
        .where({ organization_id: lease.organizationId, id: lease.runId, lease_epoch: lease.epoch })
        .whereIn('status', ['running', 'publishing'])
        .update({ lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseMs / 1000]) })
        .returning<HeldRow[]>(['status', 'cancel_requested']),
    ),
  );

/** A worker that stops hands its run over instead of letting the lease run out: claimable after the delay. */
export const releaseLease = (ctx: Pick<Ctx, 'db'>, lease: Lease, delayMs: number, fruitless?: number): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    await tx('sync_runs')
      .where({ organization_id: lease.organizationId, id: lease.runId, lease_epoch: lease.epoch })
      .whereIn('status', ['running', 'publishing'])
      .update({
        lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [(delayMs - 1) / 1000]),
        lease_owner: null,
        ...(fruitless !== undefined && { attempts_without_progress: fruitless }),
      });
    if (delayMs === 0) await tx.raw("select pg_notify('sync_runs', '')");
  });

/** Shows how far the run is. Progress starts the count of fruitless attempts anew and takes away what an earlier attempt met. */
export const noteProgress = (ctx: Pick<Ctx, 'db'>, lease: Lease, progress: RunProgress, moved: boolean): Promise<Held> =>
  inTransaction(
    { db: ctx.db, organizationId: lease.organizationId },
    async (tx) =>
      heldOf(
        await tx('sync_runs')
          .where({ organization_id: lease.organizationId, id: lease.runId, lease_epoch: lease.epoch })
          .whereIn('status', ['running', 'publishing'])
          .update({ progress: JSON.stringify(progress), ...(moved && { attempts_without_progress: 0, error: null }) })
          .returning<HeldRow[]>(['status', 'cancel_requested']),
      ),
    'ordered',
  );

/** How many records each of the last published runs of this mode read. */
export const lastVolumes = (ctx: TenantCtx, configId: string, mode: RunRow['mode'], except: string, limit: number): Promise<number[]> =>
  inTransaction(ctx, async (tx) => {
    const rows = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, sync_config_id: configId, mode })
      .whereIn('status', ['succeeded', 'partial'])
      .whereNot('id', except)
      .orderBy('queued_at', 'desc')
      .limit(limit)
      .select<{ counts: { fetched: number } | null }[]>('counts');
    return rows.flatMap(({ counts }) => (counts === null ? [] : [counts.fetched]));
  });

/** The mode that a run really has, which may be more than was asked for. */
export const noteMode = (ctx: Pick<Ctx, 'db'>, lease: Lease, mode: RunRow['mode']): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    const noted = await tx('sync_runs')
      .where({ organization_id: lease.organizationId, id: lease.runId, lease_epoch: lease.epoch, status: 'running' })
      .update({ mode });
    return noted === 1;
  });

export async function claimRun(ctx: Pick<Ctx, 'db'>, worker: string, leaseMs: number): Promise<Lease | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; run_id: string; lease_epoch: number }[] }>(
    'select organization_id, run_id, lease_epoch from claim_sync_run(?, make_interval(secs => ?))',
    [worker, leaseMs / 1000],
  );
  const row = rows[0];
  return row === undefined ? undefined : { organizationId: row.organization_id, runId: row.run_id, epoch: row.lease_epoch };
}

/** Runs that ended before what they staged was cleared away. */
export async function findEndedStaged(ctx: Pick<Ctx, 'db'>): Promise<{ organizationId: string; runId: string }[]> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; run_id: string }[] }>('select * from ended_staged_runs()');
  return rows.map((row) => ({ organizationId: row.organization_id, runId: row.run_id }));
}

export const noteCleared = (ctx: TenantCtx, runId: string): Promise<number> =>
  inTransaction(ctx, (tx) => tx('sync_runs').where({ organization_id: ctx.organizationId, id: runId }).update({ staged: false }));

/** `reason` null lets the configuration go on. */
export const pauseConfig = (tx: Tx, organizationId: string, configId: string, reason: RunError | null): Promise<number> =>
  tx('sync_configs')
    .where({ organization_id: organizationId, id: configId })
    .where((query) => (reason === null ? query.whereNotNull('paused_reason') : query))
    .update({ paused_reason: reason === null ? null : JSON.stringify(reason) });
