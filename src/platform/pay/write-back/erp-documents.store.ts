// Rows of pay_erp_documents: the payments and refunds to write into the ERP. The only writer of that table. A
// payment has one job, which covers the documents of its refunds as well; a worker writes nothing once its
// lease is lost. The payment's own document is locked before its job.
import type { Ctx } from '../../../core/ctx.ts';
import { createId } from '../../../core/id.ts';
import {
  enqueueJob,
  finishJob,
  isJobLeased,
  type Job,
  type JobKey,
  lockJob,
  releaseJob,
  retryJob,
  wakeJobs,
} from '../../../db/jobs.ts';
import { notifyTopic } from '../../../db/topic-notifications.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { isWriteBackEnabled } from '../ledger/config.store.ts';
import type { ErpProblem, ErpState } from '../ledger/erp-states.store.ts';
import { paymentTopic } from '../ledger/payments.store.ts';

const jobOf = (organizationId: string, paymentId: string): JobKey => ({
  kind: 'pay_erp_documents',
  organizationId,
  key: paymentId,
});

/**
 * Call it in the transaction in which a payment (`refundId` null) or one of its refunds first succeeds, when
 * the organization's write-back is enabled or the payment already has a document. Idempotent. Does nothing
 * for a refund of a payment without a document: a payment entered by hand is refunded by hand. After a
 * failover or a restore it counts as attempted, so that the ERP is asked whether it has the document.
 */
export async function enqueueErpDocument(
  tx: Tx,
  document: { readonly organizationId: string; readonly paymentId: string; readonly refundId: string | null },
): Promise<void> {
  const { organizationId, paymentId, refundId } = document;
  const kind = refundId === null ? 'payment' : 'refund';
  await tx.raw(
    `insert into pay_erp_documents (id, organization_id, payment_id, kind, refund_id, external_id, attempts)
     select n.id, n.organization_id, n.payment_id, n.kind, n.refund_id, n.external_id, commits_may_be_lost()::integer
     from (values (cast(? as uuid), cast(? as uuid), cast(? as uuid), cast(? as text), cast(? as uuid), cast(? as text)))
       n(id, organization_id, payment_id, kind, refund_id, external_id)
     where n.kind = 'payment' or exists (
       select from pay_erp_documents p where p.organization_id = n.organization_id and p.payment_id = n.payment_id and p.kind = 'payment')
     on conflict do nothing`,
    [createId(), organizationId, paymentId, kind, refundId, `portal-${kind}-${refundId ?? paymentId}`],
  );
  await enqueueJob(tx, jobOf(organizationId, paymentId));
}

/** Call it when the write-back is switched on: makes every document due that waits for that. */
export const enqueueWaitingDocuments = (tx: Tx, organizationId: string): Promise<unknown> =>
  tx.raw(
    `select enqueue_job('pay_erp_documents', d.organization_id, d.payment_id::text)
     from (select distinct organization_id, payment_id from pay_erp_documents where organization_id = ? and status = 'PENDING') d`,
    [organizationId],
  );

/** After a restore: unwritten documents count as attempted, so that the ERP is asked whether it has them. */
export const askErpFirst = (tx: Tx, organizationId: string) =>
  tx('pay_erp_documents')
    .where({ organization_id: organizationId, status: 'PENDING' })
    .update({ attempts: tx.raw('greatest(attempts, 1)') });

/**
 * Call it in the transaction in which the bank returns a succeeded refund. Results from the ERP are recorded
 * under the same lock, on the payment's own document, so no worker records the refund as successful later.
 */
export async function enqueueReturnedRefund(
  tx: Tx,
  {
    organizationId,
    paymentId,
    refundId,
  }: { readonly organizationId: string; readonly paymentId: string; readonly refundId: string },
): Promise<void> {
  const documents = tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });
  await documents.clone().where({ kind: 'payment' }).forUpdate().first('id');
  await documents.where({ refund_id: refundId }).update({
    status: 'PENDING',
    failures: 0,
    next_attempt_at: tx.raw('clock_timestamp()'),
    updated_at: tx.raw('clock_timestamp()'),
  });
  await enqueueJob(tx, jobOf(organizationId, paymentId));
}

/**
 * Makes every unfinished document of the payment due now, and lifts the organization's pauses of the ERP
 * account. Returns how many documents are due.
 */
export async function retryErpDocuments(tx: Tx, organizationId: string, paymentId: string): Promise<number> {
  const documents = () => tx('pay_erp_documents').where({ organization_id: organizationId });
  // Lock in id order, like the code that records results: a payment's own document is its oldest.
  await documents()
    .where((either) => either.where({ payment_id: paymentId }).orWhereNotNull('holds_account_until'))
    .orderBy('id')
    .forUpdate()
    .select('id');
  const changed = await documents()
    .where({ payment_id: paymentId })
    .whereIn('status', ['PENDING', 'FAILED', 'PARTLY_APPLIED'])
    .update({
      status: 'PENDING',
      failures: 0,
      next_attempt_at: tx.raw('clock_timestamp()'),
      updated_at: tx.raw('clock_timestamp()'),
    });
  if (changed > 0) {
    await documents().whereNotNull('holds_account_until').update({ holds_account_until: null });
    await enqueueJob(tx, jobOf(organizationId, paymentId));
    await wakeJobs(tx, organizationId, 'pay_erp_documents');
  }
  return changed;
}

/**
 * Deletes the stuck documents of the payment, and all documents of its refunds if its own document is stuck.
 * Returns their external ids. A payment whose lease a worker holds is not stuck.
 */
export async function deleteStuckErpDocuments(tx: Tx, organizationId: string, paymentId: string) {
  const isEnabled = await isWriteBackEnabled(tx, organizationId);
  const documents = () =>
    tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });
  const rows: Pick<DocumentRow, 'id' | 'kind' | 'status'>[] = await documents()
    .orderBy('id')
    .forUpdate()
    .select('id', 'kind', 'status');
  const isLeased =
    (await isJobLeased(tx, jobOf(organizationId, paymentId))) ||
    // By a process of the version before.
    (await documents().where('lease_until', '>', tx.raw('clock_timestamp()')).first('id')) !== undefined;
  const isStuck = ({ status }: (typeof rows)[number]): boolean =>
    status === 'FAILED' || (status === 'PENDING' && !isEnabled);
  if (isLeased) return [];
  const isOwnStuck = rows.some((row) => row.kind === 'payment' && isStuck(row));
  const stuck = rows.filter((row) => isOwnStuck || isStuck(row)).map(({ id }) => id);
  const deleted: { external_id: string }[] = await documents()
    .whereIn('id', stuck)
    .delete()
    .returning('external_id');
  return deleted.map(({ external_id: id }) => id);
}

const selectDocuments = (tx: Tx, { organizationId, key }: Job) =>
  tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: key });

const inTenantTransaction = <T>(
  ctx: Pick<Ctx, 'db'>,
  { organizationId }: Job,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => inTransaction({ db: ctx.db, organizationId }, work);

export const releaseErpAttempt = (ctx: Pick<Ctx, 'db'>, job: Job): Promise<unknown> =>
  inTenantTransaction(ctx, job, (tx) => releaseJob(tx, job));

type DocumentRow = {
  id: string;
  payment_id: string;
  kind: 'payment' | 'refund';
  refund_id: string | null;
  external_id: string;
  status: Exclude<ErpState['status'], 'OFF'>;
  record_id: string | null;
  attempts: number;
  failures: number;
};
export type DueDocument = DocumentRow & {
  /** The payment's id in the ERP, once it is there. */
  readonly payment_record_id: string | null;
};

type OwnDocument = Pick<DocumentRow, 'id' | 'status' | 'record_id'>;

/** The payment's own document, locked; undefined when it was deleted or the lease was lost. */
async function lockOwn(tx: Tx, job: Job): Promise<OwnDocument | undefined> {
  const own = await selectDocuments(tx, job)
    .where({ kind: 'payment' })
    .forUpdate()
    .first<OwnDocument | undefined>('id', 'status', 'record_id');
  return (await lockJob(tx, job)) ? own : undefined;
}

/** How long the payment's job must wait, in ms: null when nothing is to be written, 0 when a document is due. */
async function findWaitMs(tx: Tx, job: Job): Promise<number | null> {
  if (!(await isWriteBackEnabled(tx, job.organizationId))) return null;
  const { rows } = await tx.raw<{ rows: [{ ms: number | null }] }>(
    `select (extract(epoch from greatest(min(d.next_attempt_at), max(own.lease_until),
       (select max(h.holds_account_until) from pay_erp_documents h where h.organization_id = own.organization_id))
       - clock_timestamp()) * 1000)::float8 as ms
     from pay_erp_documents own join pay_erp_documents d on d.payment_id = own.payment_id and d.status = 'PENDING'
     where own.organization_id = ? and own.payment_id = ? and own.kind = 'payment'
       and (d.id = own.id or own.status in ('LANDED', 'PARTLY_APPLIED'))
     group by own.organization_id`,
    [job.organizationId, job.key],
  );
  const [row] = rows;
  return row === undefined || row.ms === null ? null : Math.max(row.ms, 0);
}

/** Makes the job due when the payment's next document is; ends it when there is none. */
async function settleJob(tx: Tx, job: Job): Promise<void> {
  const waitMs = await findWaitMs(tx, job);
  if (waitMs === null) await finishJob(tx, job);
  else await retryJob(tx, job, waitMs);
}

/** The next due document, with its attempt counted. Undefined when none is due or the lease was lost. */
export const startErpAttempt = (ctx: Pick<Ctx, 'db'>, job: Job): Promise<DueDocument | undefined> =>
  inTenantTransaction(ctx, job, async (tx) => {
    const own = await lockOwn(tx, job);
    if (own === undefined || (await findWaitMs(tx, job)) !== 0) return void (await settleJob(tx, job));
    const isInErp = own.status === 'LANDED' || own.status === 'PARTLY_APPLIED';
    const next = await selectDocuments(tx, job)
      .where({ status: 'PENDING', kind: isInErp ? 'refund' : 'payment' })
      .where('next_attempt_at', '<=', tx.raw('clock_timestamp()'))
      .orderBy('created_at')
      .orderBy('id')
      .first<{ id: string } | undefined>('id');
    if (next === undefined) return void (await settleJob(tx, job));
    const [row]: DocumentRow[] = await tx('pay_erp_documents')
      .where({ organization_id: job.organizationId, id: next.id })
      .update({ attempts: tx.raw('attempts + 1'), updated_at: tx.raw('clock_timestamp()') })
      .returning([
        'id',
        'payment_id',
        'kind',
        'refund_id',
        'external_id',
        'status',
        'record_id',
        'attempts',
        'failures',
      ]);
    return row === undefined ? undefined : { ...row, payment_record_id: own.record_id };
  });

/** How much of the payment the ERP shows as applied to invoices and as unapplied, in minor units. */
export type ErpAmounts = { readonly appliedMinor: bigint; readonly unappliedMinor: bigint };

/** Runs `work` and ends the lease, in one transaction. False, without running it, when the lease was lost. */
const finishAttempt = (ctx: Pick<Ctx, 'db'>, job: Job, work: (tx: Tx) => Promise<unknown>) =>
  inTenantTransaction(ctx, job, async (tx) => {
    if ((await lockOwn(tx, job)) === undefined) return false;
    await work(tx);
    await settleJob(tx, job);
    await notifyTopic(tx, paymentTopic(job.key));
    return true;
  });

/** `problemIfUnapplied`: the problem to report when a part of the payment is unapplied. */
const amountColumns = (
  tx: Tx,
  { appliedMinor, unappliedMinor }: ErpAmounts,
  problemIfUnapplied: ErpProblem,
) => ({
  applied_minor: String(appliedMinor),
  unapplied_minor: String(unappliedMinor),
  status: unappliedMinor > 0n ? 'PARTLY_APPLIED' : 'LANDED',
  problem: unappliedMinor > 0n ? JSON.stringify(problemIfUnapplied) : null,
  tell_at: unappliedMinor > 0n ? tx.raw('least(tell_at, clock_timestamp())') : null,
});

const updateOwn = (tx: Tx, job: Job, columns: object) =>
  selectDocuments(tx, job)
    .where({ kind: 'payment' })
    .update({ ...columns, updated_at: tx.raw('clock_timestamp()') });

/** `recordId` null: a refund that the bank returned and that the ERP doesn't show. */
type Written = {
  readonly recordId: string | null;
  readonly amounts: ErpAmounts;
  readonly problemIfUnapplied: ErpProblem;
};

/** The document is in the ERP. False when the lease was lost: the worker that took over will find it. */
export const recordWritten = (ctx: Pick<Ctx, 'db'>, job: Job, due: DueDocument, written: Written) =>
  finishAttempt(ctx, job, async (tx) => {
    const writtenColumns = {
      failures: 0,
      holds_account_until: null,
      landed_at: tx.raw('coalesce(landed_at, clock_timestamp())'),
      record_id: written.recordId,
    };
    if (due.kind === 'refund') {
      const document = tx('pay_erp_documents').where({ organization_id: job.organizationId, id: due.id });
      const refund = tx('pay_refunds').where({ organization_id: job.organizationId, id: due.refund_id });
      // Returned by the bank while being entered: the document stays due, and the next attempt handles that.
      const isStillSucceeded =
        (await refund.first<{ status: string } | undefined>('status'))?.status === 'SUCCEEDED';
      if (written.recordId === null) await document.delete();
      else
        await document.update({
          ...writtenColumns,
          status: isStillSucceeded ? 'LANDED' : 'PENDING',
          problem: null,
          tell_at: null,
          updated_at: tx.raw('clock_timestamp()'),
        });
      await updateOwn(tx, job, amountColumns(tx, written.amounts, written.problemIfUnapplied));
    } else
      await updateOwn(tx, job, {
        ...writtenColumns,
        ...amountColumns(tx, written.amounts, written.problemIfUnapplied),
      });
  });

export type FailedAttempt = {
  readonly problem: ErpProblem;
  /** Delay until the next attempt. Null: failed, until a person requests another attempt. */
  readonly waitMs: number | null;
  /** Delay until people are alerted, unless the document reaches the ERP before; 0 when it needs a person. */
  readonly alertAfterMs: number;
  /** How long no other document of the organization is attempted. */
  readonly pauseAccountMs: number;
  /** The payment's amounts in the ERP after one of its refunds failed; null when unknown. */
  readonly afterRefund: Omit<Written, 'recordId'> | null;
};

/** Records a failed attempt. False when the lease was lost. */
export const recordFailedAttempt = (
  ctx: Pick<Ctx, 'db'>,
  job: Job,
  due: DueDocument,
  failure: FailedAttempt,
): Promise<boolean> =>
  finishAttempt(ctx, job, async (tx) => {
    const { problem, waitMs, alertAfterMs, pauseAccountMs, afterRefund } = failure;
    const after = (ms: number) => tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [ms]);
    await tx('pay_erp_documents')
      .where({ organization_id: job.organizationId, id: due.id })
      .update({
        status: waitMs === null ? 'FAILED' : 'PENDING',
        failures: tx.raw('failures + 1'),
        holds_account_until: pauseAccountMs > 0 ? after(pauseAccountMs) : null,
        next_attempt_at: after(waitMs ?? 0),
        tell_at: tx.raw("least(tell_at, clock_timestamp() + ? * interval '1 millisecond')", [alertAfterMs]),
        problem: JSON.stringify(problem),
        updated_at: tx.raw('clock_timestamp()'),
      });
    if (afterRefund !== null)
      await updateOwn(tx, job, amountColumns(tx, afterRefund.amounts, afterRefund.problemIfUnapplied));
  });

/** A document whose current status people have not been alerted to. */
export type PendingAlertRow = { readonly id: string; readonly payment_id: string };

/** Documents per alert mail; the rest go into the next one. */
const maxAlertsPerMail = 200;

/** Locks documents that need an alert. A concurrent caller waits for the transaction, then gets the rest. */
export const lockPendingAlerts = async (tx: Tx, organizationId: string): Promise<PendingAlertRow[]> =>
  tx('pay_erp_documents as d')
    .where('d.organization_id', organizationId)
    .whereRaw('(d.tell_at is not null or d.told is not null) and erp_document_is_news(d)')
    .orderBy('d.id')
    .limit(maxAlertsPerMail)
    .forUpdate()
    .select<PendingAlertRow[]>('d.id', 'd.payment_id');

/** Records that people were alerted to the current status of these documents. */
export const markAlerted = (tx: Tx, organizationId: string, ids: readonly string[]) =>
  tx('pay_erp_documents')
    .where({ organization_id: organizationId })
    .whereIn('id', ids)
    .update({ told: tx.raw("nullif(status, 'LANDED')"), told_at: tx.raw('clock_timestamp()') });
