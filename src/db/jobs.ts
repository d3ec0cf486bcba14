// The queue of background work: table `jobs`, whose only writer this file is, with db/functions/enqueue_job.sql
// and claim_job.sql. A job is due work on one thing, named by kind, organization and key. The worker that claims
// it holds a lease, and every write under that lease first makes sure that it still holds (`lockJob`).
import type { Ctx } from '../core/ctx.ts';
import { createId } from '../core/id.ts';
import { inTransaction, type Tx } from './transaction.ts';

export type JobKind =
  | 'agent_checks'
  | 'domains'
  | 'mails'
  | 'pay_erp_documents'
  | 'pay_tasks'
  | 'portal_mails'
  | 'publications'
  | 'receipts'
  | 'sandbox_events'
  | 'subscription_slots'
  | 'sync_runs'
  | 'webhooks';

export type JobKey = { readonly kind: JobKind; readonly organizationId: string; readonly key: string };

/** A claimed job. */
export type Job = JobKey & {
  readonly leaseId: string;
  /** How often it had been requested when it was claimed. */
  readonly requests: number;
  /** This one included. */
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error: string | null;
  readonly payload: unknown;
};

/** NOTIFY channel; the payload is the kind of the jobs that became due. */
export const jobsChannel = 'jobs';
export const notifyJobs = (tx: Tx, kind: JobKind): Promise<unknown> =>
  tx.raw('select pg_notify(?, ?)', [jobsChannel, kind]);

/**
 * Makes a job due in `inMs`, once the transaction commits. A job that is open already keeps an earlier time,
 * and is done once more when it is in progress.
 */
export async function enqueueJob(
  tx: Tx,
  { kind, organizationId, key }: JobKey,
  { inMs = 0, payload }: { readonly inMs?: number; readonly payload?: object } = {},
): Promise<void> {
  await tx.raw("select enqueue_job(?, ?, ?, ? * interval '1 millisecond', ?)", [
    kind,
    organizationId,
    key,
    inMs,
    payload === undefined ? null : JSON.stringify(payload),
  ]);
}

const jobs = (tx: Tx, { kind, organizationId, key }: JobKey) =>
  tx('jobs').where({ kind, organization_id: organizationId, key });
const leased = (tx: Tx, job: Job) => jobs(tx, job).where({ lease_id: job.leaseId });
const after = (tx: Tx, ms: number) => tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [ms]);

const claimedColumns = 'organization_id as "organizationId", key, requests, attempts, error, payload';
type Claimed = { readonly rows: readonly Omit<Job, 'kind' | 'leaseId'>[] };

/** Claims the next due job of any organization; undefined when none is due. `worker`: see claim_job.sql. */
export async function claimJob(
  { db }: Pick<Ctx, 'db'>,
  kind: JobKind,
  leaseMs: number,
  worker: string | null = null,
): Promise<Job | undefined> {
  const leaseId = createId();
  const { rows } = await db.control.raw<Claimed>(
    `select ${claimedColumns} from claim_job(?, ?, ? * interval '1 millisecond', ?)`,
    [kind, leaseId, leaseMs, worker],
  );
  return rows[0] && { ...rows[0], kind, leaseId };
}

/** Takes the lease of a job from the worker that holds it; makes the job if there is none. */
export async function takeJob(tx: Tx, key: JobKey, leaseMs: number): Promise<Job> {
  await enqueueJob(tx, key);
  const leaseId = createId();
  await jobs(tx, key).update({ lease_id: leaseId, due_at: after(tx, leaseMs) });
  const job = (await jobs(tx, key).first(tx.raw(claimedColumns))) as Claimed['rows'][0];
  return { ...job, kind: key.kind, leaseId };
}

/** Whether the lease still holds; locks the job until the transaction ends. */
export const lockJob = async (tx: Tx, job: Job): Promise<boolean> =>
  (await leased(tx, job).forUpdate().first('key')) !== undefined;

/** Whether a worker holds a lease on the job. */
export const isJobLeased = async (tx: Tx, key: JobKey): Promise<boolean> =>
  (await jobs(tx, key)
    .whereNotNull('lease_id')
    .where('due_at', '>', tx.raw('clock_timestamp()'))
    .first('key')) !== undefined;

/** False when the lease was lost. */
export const renewJob = ({ db }: Pick<Ctx, 'db'>, job: Job, leaseMs: number): Promise<boolean> =>
  inTransaction({ db, organizationId: job.organizationId }, async (tx) => {
    return (await leased(tx, job).update({ due_at: after(tx, leaseMs) })) === 1;
  });

async function endLease(tx: Tx, job: Job, columns: object): Promise<boolean> {
  const changed = await leased(tx, job).update({ lease_id: null, ...columns });
  await notifyJobs(tx, job.kind);
  return changed === 1;
}

/**
 * Ends the lease and makes the job due after `delayMs`; at once when it was requested again in the meantime.
 * Without an error, attempts are counted from zero. False when the lease was lost.
 */
export const retryJob = (tx: Tx, job: Job, delayMs: number, error: string | null = null): Promise<boolean> =>
  endLease(tx, job, {
    error,
    ...(error === null && { attempts: 0 }),
    due_at: tx.raw(
      "clock_timestamp() + case when requests = ? then ?::float8 else 0 end * interval '1 millisecond'",
      [job.requests, delayMs],
    ),
  });

/** Ends the lease at once and takes the attempt back: the worker stops. */
export const releaseJob = (tx: Tx, job: Job): Promise<boolean> =>
  endLease(tx, job, { due_at: after(tx, 0), attempts: tx.raw('greatest(attempts - 1, 0)') });

/** Deletes the job, or makes it due at once when it was requested again. False when the lease was lost. */
export const finishJob = async (tx: Tx, job: Job): Promise<boolean> =>
  (await leased(tx, job).where({ requests: job.requests }).delete()) === 1 || retryJob(tx, job, 0);

/** Sets the only time at which the job is due. Null deletes it. A worker that holds it loses its lease. */
export async function rescheduleJob(tx: Tx, key: JobKey, inMs: number | null): Promise<void> {
  if (inMs === null) await cancelJob(tx, key);
  else await retryJob(tx, await takeJob(tx, key, 0), inMs);
}

/** Deletes the job. A worker that holds it loses its lease. */
export const cancelJob = (tx: Tx, key: JobKey): Promise<number> => jobs(tx, key).delete();

/** Makes jobs of an organization due that wait for a later time. */
export async function wakeJobs(tx: Tx, organizationId: string, kind: JobKind): Promise<void> {
  await tx('jobs')
    .where({ organization_id: organizationId, kind })
    .whereNull('lease_id')
    .update({ due_at: after(tx, 0) });
  await notifyJobs(tx, kind);
}
