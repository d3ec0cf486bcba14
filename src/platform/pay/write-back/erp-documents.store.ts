// Rows of pay_erp_documents: the payments and refunds to write into the ERP. The only writer of that table. A
// worker holds a lease on the payment's own document, which covers the documents of its refunds as well, and
// writes nothing once the lease is lost.
import type { Ctx } from '../../../core/ctx.ts';
import { createId } from '../../../core/id.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import { isWriteBackEnabled } from '../ledger/config.store.ts';
import type { ErpProblem, ErpState } from '../ledger/erp-states.store.ts';

export const erpDocumentsChannel = 'pay_erp_documents';

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
  await tx.raw(`notify ${erpDocumentsChannel}`);
}

/**
 * After a restore: counts the documents that are not written yet as attempted, so that the ERP is asked
 * whether it has them.
 */
export const askErpFirst = (tx: Tx, organizationId: string) =>
  tx('pay_erp_documents')
    .where({ organization_id: organizationId, status: 'PENDING' })
    .update({ attempts: tx.raw('greatest(attempts, 1)') });

/**
 * Call it in the transaction in which the bank returns a refund that had succeeded. Results from the ERP are
 * recorded under the same lock, on the payment's own document, so a worker can't record the refund as
 * successful afterwards.
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
  await tx.raw(`notify ${erpDocumentsChannel}`);
}

/**
 * Makes every unfinished document of the payment due now, and lifts the organization's pauses of the ERP
 * account. Returns how many documents are due.
 */
export async function retryErpDocuments(tx: Tx, organizationId: string, paymentId: string): Promise<number> {
  const documents = () => tx('pay_erp_documents').where({ organization_id: organizationId });
  // Lock in id order, like the code that records results: a payment's own document is the oldest of its
  // documents.
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
    await tx.raw(`notify ${erpDocumentsChannel}`);
  }
  return changed;
}

/**
 * Deletes the stuck documents of the payment, and all documents of its refunds if its own document is stuck.
 * Returns their external ids. A payment whose lease a worker holds is not stuck.
 */
export async function deleteStuckErpDocuments(
  tx: Tx,
  organizationId: string,
  paymentId: string,
): Promise<string[]> {
  const isEnabled = await isWriteBackEnabled(tx, organizationId);
  const documents = () =>
    tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });
  const rows: Pick<DocumentRow, 'id' | 'kind' | 'status'>[] = await documents()
    .orderBy('id')
    .forUpdate()
    .select('id', 'kind', 'status');
  const isLeased =
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

export type ErpClaim = {
  readonly organizationId: string;
  readonly paymentId: string;
  readonly leaseId: string;
};

export async function claimPayment(
  ctx: Pick<Ctx, 'db'>,
  leaseId: string,
  leaseMs: number,
): Promise<ErpClaim | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; payment_id: string }[] }>(
    "select organization_id, payment_id from claim_pay_erp_payment(?, ? * interval '1 millisecond')",
    [leaseId, leaseMs],
  );
  const row = rows[0];
  return row === undefined
    ? undefined
    : { organizationId: row.organization_id, paymentId: row.payment_id, leaseId };
}

const selectDocuments = (tx: Tx, { organizationId, paymentId }: ErpClaim) =>
  tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });

const leased = (tx: Tx, claim: ErpClaim) =>
  selectDocuments(tx, claim).where({ kind: 'payment', lease_id: claim.leaseId });

const inTenantTransaction = <T>(
  ctx: Pick<Ctx, 'db'>,
  { organizationId }: ErpClaim,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => inTransaction({ db: ctx.db, organizationId }, work);

export const renewErpClaim = (ctx: Pick<Ctx, 'db'>, claim: ErpClaim, leaseMs: number): Promise<boolean> =>
  inTenantTransaction(ctx, claim, async (tx) => {
    const until = tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [leaseMs]);
    return (await leased(tx, claim).update({ lease_until: until })) === 1;
  });

const released = { lease_id: null, lease_until: null };

export const releaseErpClaim = (ctx: Pick<Ctx, 'db'>, claim: ErpClaim): Promise<unknown> =>
  inTenantTransaction(ctx, claim, (tx) => leased(tx, claim).update(released));

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

/**
 * The next due document of a leased payment, with its attempt counted. Undefined when none is due or the
 * lease was lost.
 */
export const startErpAttempt = (ctx: Pick<Ctx, 'db'>, claim: ErpClaim): Promise<DueDocument | undefined> =>
  inTenantTransaction(ctx, claim, async (tx) => {
    const payment = await leased(tx, claim)
      .forUpdate()
      .first<Pick<DocumentRow, 'id' | 'status' | 'record_id'> | undefined>('id', 'status', 'record_id');
    if (payment === undefined) return undefined;
    const due = selectDocuments(tx, claim)
      .where({ status: 'PENDING' })
      .where('next_attempt_at', '<=', tx.raw('clock_timestamp()'));
    const isInErp = payment.status === 'LANDED' || payment.status === 'PARTLY_APPLIED';
    const next = await (isInErp ? due.where({ kind: 'refund' }) : due.where({ kind: 'payment' }))
      .orderBy('created_at')
      .orderBy('id')
      .first<{ id: string } | undefined>('id');
    if (next === undefined) return undefined;
    const [row]: DocumentRow[] = await tx('pay_erp_documents')
      .where({ organization_id: claim.organizationId, id: next.id })
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
    return row === undefined ? undefined : { ...row, payment_record_id: payment.record_id };
  });

/** How much of the payment the ERP shows as applied to invoices and as unapplied, in minor units. */
export type ErpAmounts = { readonly appliedMinor: bigint; readonly unappliedMinor: bigint };

/**
 * Runs `work` under the lease and releases it, in one transaction. False, without running it, when the lease
 * was lost.
 */
async function finishAttempt(
  ctx: Pick<Ctx, 'db'>,
  claim: ErpClaim,
  work: (tx: Tx) => Promise<unknown>,
): Promise<boolean> {
  return inTenantTransaction(ctx, claim, async (tx) => {
    if ((await leased(tx, claim).forUpdate().first('id')) === undefined) return false;
    await work(tx);
    await leased(tx, claim).update(released);
    return true;
  });
}

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

const updateOwn = (tx: Tx, claim: ErpClaim, columns: object) =>
  selectDocuments(tx, claim)
    .where({ kind: 'payment' })
    .update({ ...columns, updated_at: tx.raw('clock_timestamp()') });

/** `recordId` null: a refund that the bank returned and that the ERP doesn't show. */
type Written = {
  readonly recordId: string | null;
  readonly amounts: ErpAmounts;
  readonly problemIfUnapplied: ErpProblem;
};

/**
 * Records that a document is in the ERP. False when the lease was lost: the worker that took over will find
 * the document in the ERP.
 */
export const recordWritten = (
  ctx: Pick<Ctx, 'db'>,
  claim: ErpClaim,
  due: DueDocument,
  written: Written,
): Promise<boolean> =>
  finishAttempt(ctx, claim, async (tx) => {
    const writtenColumns = {
      failures: 0,
      holds_account_until: null,
      landed_at: tx.raw('coalesce(landed_at, clock_timestamp())'),
      record_id: written.recordId,
    };
    if (due.kind === 'refund') {
      const document = tx('pay_erp_documents').where({ organization_id: claim.organizationId, id: due.id });
      const refund = tx('pay_refunds').where({ organization_id: claim.organizationId, id: due.refund_id });
      // When the bank returned the refund while it was being entered, the document stays due, and the next
      // attempt handles that.
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
      await updateOwn(tx, claim, amountColumns(tx, written.amounts, written.problemIfUnapplied));
    } else
      await updateOwn(tx, claim, {
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
  claim: ErpClaim,
  due: DueDocument,
  failure: FailedAttempt,
): Promise<boolean> =>
  finishAttempt(ctx, claim, async (tx) => {
    const { problem, waitMs, alertAfterMs, pauseAccountMs, afterRefund } = failure;
    const after = (ms: number) => tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [ms]);
    await tx('pay_erp_documents')
      .where({ organization_id: claim.organizationId, id: due.id })
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
      await updateOwn(tx, claim, amountColumns(tx, afterRefund.amounts, afterRefund.problemIfUnapplied));
  });

/** A document whose current status people have not been alerted to. */
export type PendingAlertRow = { readonly id: string; readonly payment_id: string };

/** Documents per alert mail; the rest go into the next one. */
const maxAlertsPerMail = 200;

/**
 * Locks the documents that need an alert. A concurrent caller waits for the transaction, then gets the
 * remaining ones.
 */
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
