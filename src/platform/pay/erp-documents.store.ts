// Rows of pay_erp_documents; their only writer. Whoever works on a payment holds a lease on its own document and writes nothing once that
// was lost.
import type { Knex } from 'knex';
import type { Ctx } from '../../core/ctx.ts';
import { newId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { writesBack } from './config.store.ts';

export const erpDocumentsChannel = 'pay_erp_documents';

export type Problem = { readonly code: string; readonly message: string; readonly fix: string };

/** `OFF`: nothing is written back for it. Amounts in minor units of the payment's currency. */
export type ErpState = {
  readonly status: 'OFF' | 'PENDING' | 'LANDED' | 'PARTLY_APPLIED' | 'FAILED';
  readonly recordId: string | null;
  readonly problem: Problem | null;
  readonly unappliedMinor: bigint;
  /** When the payment's own document was known to be in the ERP, by the database's clock; null before. */
  readonly landedAt: Date | null;
};

/**
 * Called in the transaction in which a payment (`refundId` null) or a refund of it first succeeds, with the organization's write-back
 * switched on at that time, or with a document of the payment there already. Called again for the same one it does nothing, and so it
 * does for a refund of a payment that has none: what was entered by hand is taken back by hand.
 */
export async function queueErpDocument(
  tx: Tx,
  document: { readonly organizationId: string; readonly paymentId: string; readonly refundId: string | null },
): Promise<void> {
  const { organizationId, paymentId, refundId } = document;
  const kind = refundId === null ? 'payment' : 'refund';
  await tx.raw(
    `insert into pay_erp_documents (id, organization_id, payment_id, kind, refund_id, external_id)
     select n.id, n.organization_id, n.payment_id, n.kind, n.refund_id, n.external_id
     from (values (cast(? as uuid), cast(? as uuid), cast(? as uuid), cast(? as text), cast(? as uuid), cast(? as text)))
       n(id, organization_id, payment_id, kind, refund_id, external_id)
     where n.kind = 'payment' or exists (
       select from pay_erp_documents p where p.organization_id = n.organization_id and p.payment_id = n.payment_id and p.kind = 'payment')
     on conflict do nothing`,
    [newId(), organizationId, paymentId, kind, refundId, `portal-${kind}-${refundId ?? paymentId}`],
  );
  await tx.raw(`notify ${erpDocumentsChannel}`);
}

/**
 * Called in the transaction in which a refund that had succeeded comes back. The lock on the payment's own document is the one under which
 * what was just done in the ERP is noted, so that it can't be noted as good afterwards.
 */
export async function queueCameBack(
  tx: Tx,
  { organizationId, paymentId, refundId }: { readonly organizationId: string; readonly paymentId: string; readonly refundId: string },
): Promise<void> {
  const documents = tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });
  await documents.clone().where({ kind: 'payment' }).forUpdate().first('id');
  await documents
    .where({ refund_id: refundId })
    .update({ status: 'PENDING', failures: 0, next_attempt_at: tx.raw('clock_timestamp()'), updated_at: tx.raw('clock_timestamp()') });
  await tx.raw(`notify ${erpDocumentsChannel}`);
}

type StateRow = Pick<DocumentRow, 'payment_id' | 'kind' | 'status' | 'record_id'> & {
  unapplied_minor: string | null;
  landed_at: Date | null;
  problem: Problem | null;
};

const switchedOff: Problem = {
  code: 'WRITE_BACK_OFF',
  message: 'It waits, since the write-back was switched off before it was in the ERP',
  fix: 'Switch `writeBack` on again in PUT /pay/config; or enter it by hand and say so with end-write-back.',
};

/** Where one document can't go on, or waits, the payment as a whole does. */
function stateOf(rows: readonly StateRow[], isOn: boolean): ErpState {
  const own = rows.find(({ kind }) => kind === 'payment');
  const worst = rows.find(({ status }) => status === 'FAILED') ?? rows.find(({ status }) => status === 'PENDING') ?? own;
  return {
    status: worst?.status ?? 'OFF',
    recordId: own?.record_id ?? null,
    problem: worst?.status === 'PENDING' && !isOn ? switchedOff : (worst?.problem ?? null),
    unappliedMinor: BigInt(own?.unapplied_minor ?? '0'),
    landedAt: own?.landed_at ?? null,
  };
}

/** By payment; one that is absent is `OFF`. */
export async function erpStates(tx: Tx, organizationId: string, paymentIds: readonly string[]): Promise<ReadonlyMap<string, ErpState>> {
  const rows: StateRow[] = await tx('pay_erp_documents')
    .where({ organization_id: organizationId })
    .whereIn('payment_id', [...paymentIds])
    .orderBy('created_at')
    .orderBy('id')
    .select('payment_id', 'kind', 'status', 'record_id', 'problem', 'landed_at', tx.raw('unapplied_minor::text'));
  const byPayment = Map.groupBy(rows, (row) => row.payment_id);
  const isOn = await writesBack(tx, organizationId);
  return new Map([...byPayment].map(([paymentId, documents]) => [paymentId, stateOf(documents, isOn)]));
}

/** Narrows a question for payments to those of which `erpStates` says this. */
export function withErpStatus(payments: Knex.QueryBuilder, status: ErpState['status']): void {
  const documents = `from pay_erp_documents d where d.organization_id = pay_payments.organization_id and d.payment_id = pay_payments.id`;
  const worst = "when bool_or(d.status = 'FAILED') then 'FAILED' when bool_or(d.status = 'PENDING') then 'PENDING'";
  payments.whereRaw(`coalesce((select case ${worst} else min(d.status) filter (where d.kind = 'payment') end ${documents}), 'OFF') = ?`, [
    status,
  ]);
}

/** Makes every document of the payment that isn't settled due at once, and lets the ERP's account be asked again; says how many. */
export async function queueAgain(tx: Tx, organizationId: string, paymentId: string): Promise<number> {
  const mine = () => tx('pay_erp_documents').where({ organization_id: organizationId });
  // In one order, which is that of whoever settles them too: a payment's own is the oldest of its documents.
  await mine()
    .where((either) => either.where({ payment_id: paymentId }).orWhereNotNull('holds_account_until'))
    .orderBy('id')
    .forUpdate()
    .select('id');
  const changed = await mine()
    .where({ payment_id: paymentId })
    .whereIn('status', ['PENDING', 'FAILED', 'PARTLY_APPLIED'])
    .update({ status: 'PENDING', failures: 0, next_attempt_at: tx.raw('clock_timestamp()'), updated_at: tx.raw('clock_timestamp()') });
  if (changed > 0) {
    await mine().whereNotNull('holds_account_until').update({ holds_account_until: null });
    await tx.raw(`notify ${erpDocumentsChannel}`);
  }
  return changed;
}

/**
 * Forgets the documents of the payment that are stuck, with those of its refunds if its own is among them; gives their external ids. One
 * that somebody works on is not stuck.
 */
export async function endErpDocuments(tx: Tx, organizationId: string, paymentId: string): Promise<string[]> {
  const isOn = await writesBack(tx, organizationId);
  const mine = () => tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });
  const rows: Pick<DocumentRow, 'id' | 'kind' | 'status'>[] = await mine().orderBy('id').forUpdate().select('id', 'kind', 'status');
  const isHeld = (await mine().where('lease_until', '>', tx.raw('clock_timestamp()')).first('id')) !== undefined;
  const isStuck = ({ status }: (typeof rows)[number]): boolean => status === 'FAILED' || (status === 'PENDING' && !isOn);
  if (isHeld) return [];
  const all = rows.some((row) => row.kind === 'payment' && isStuck(row));
  const ended = rows.filter((row) => all || isStuck(row)).map(({ id }) => id);
  const gone: { external_id: string }[] = await mine().whereIn('id', ended).delete().returning('external_id');
  return gone.map(({ external_id: id }) => id);
}

export type Claim = { readonly organizationId: string; readonly paymentId: string; readonly leaseId: string };

export async function claimPayment(ctx: Pick<Ctx, 'db'>, leaseId: string, leaseMs: number): Promise<Claim | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; payment_id: string }[] }>(
    "select organization_id, payment_id from claim_pay_erp_payment(?, ? * interval '1 millisecond')",
    [leaseId, leaseMs],
  );
  const row = rows[0];
  return row === undefined ? undefined : { organizationId: row.organization_id, paymentId: row.payment_id, leaseId };
}

const own = (tx: Tx, { organizationId, paymentId }: Claim) =>
  tx('pay_erp_documents').where({ organization_id: organizationId, payment_id: paymentId });

const held = (tx: Tx, claim: Claim) => own(tx, claim).where({ kind: 'payment', lease_id: claim.leaseId });

const inTenant = <T>(ctx: Pick<Ctx, 'db'>, { organizationId }: Claim, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: ctx.db, organizationId }, work);

export const renewLease = (ctx: Pick<Ctx, 'db'>, claim: Claim, leaseMs: number): Promise<boolean> =>
  inTenant(ctx, claim, async (tx) => {
    const until = tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [leaseMs]);
    return (await held(tx, claim).update({ lease_until: until })) === 1;
  });

const released = { lease_id: null, lease_until: null };

export const release = (ctx: Pick<Ctx, 'db'>, claim: Claim): Promise<unknown> =>
  inTenant(ctx, claim, (tx) => held(tx, claim).update(released));

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
  /** The ERP's id of the payment, once that is there. */
  readonly payment_record_id: string | null;
};

/** The next due document of a leased payment, with its attempt counted. Undefined: there is none, or the lease was lost. */
export const beginAttempt = (ctx: Pick<Ctx, 'db'>, claim: Claim): Promise<DueDocument | undefined> =>
  inTenant(ctx, claim, async (tx) => {
    const payment = await held(tx, claim)
      .forUpdate()
      .first<Pick<DocumentRow, 'id' | 'status' | 'record_id'> | undefined>('id', 'status', 'record_id');
    if (payment === undefined) return undefined;
    const due = own(tx, claim).where({ status: 'PENDING' }).where('next_attempt_at', '<=', tx.raw('clock_timestamp()'));
    const isThere = payment.status === 'LANDED' || payment.status === 'PARTLY_APPLIED';
    const next = await (isThere ? due.where({ kind: 'refund' }) : due.where({ kind: 'payment' }))
      .orderBy('created_at')
      .orderBy('id')
      .first<{ id: string } | undefined>('id');
    if (next === undefined) return undefined;
    const [row]: DocumentRow[] = await tx('pay_erp_documents')
      .where({ organization_id: claim.organizationId, id: next.id })
      .update({ attempts: tx.raw('attempts + 1'), updated_at: tx.raw('clock_timestamp()') })
      .returning(['id', 'payment_id', 'kind', 'refund_id', 'external_id', 'status', 'record_id', 'attempts', 'failures']);
    return row === undefined ? undefined : { ...row, payment_record_id: payment.record_id };
  });

/** What the ERP shows of the payment now. */
export type Amounts = { readonly appliedMinor: bigint; readonly unappliedMinor: bigint };

async function settle(ctx: Pick<Ctx, 'db'>, claim: Claim, work: (tx: Tx) => Promise<unknown>): Promise<boolean> {
  return inTenant(ctx, claim, async (tx) => {
    if ((await held(tx, claim).forUpdate().first('id')) === undefined) return false;
    await work(tx);
    await held(tx, claim).update(released);
    return true;
  });
}

/** `partly`: what a person is told where something stayed unapplied. */
const amountColumns = (tx: Tx, { appliedMinor, unappliedMinor }: Amounts, partly: Problem) => ({
  applied_minor: String(appliedMinor),
  unapplied_minor: String(unappliedMinor),
  status: unappliedMinor > 0n ? 'PARTLY_APPLIED' : 'LANDED',
  problem: unappliedMinor > 0n ? JSON.stringify(partly) : null,
  tell_at: unappliedMinor > 0n ? tx.raw('least(tell_at, clock_timestamp())') : null,
});

const updateOwn = (tx: Tx, claim: Claim, columns: object) =>
  own(tx, claim)
    .where({ kind: 'payment' })
    .update({ ...columns, updated_at: tx.raw('clock_timestamp()') });

/** `recordId` null: a refund that came back, of which the ERP shows nothing. */
type Landed = { readonly recordId: string | null; readonly amounts: Amounts; readonly partly: Problem };

/** False when the lease was lost: whoever took over finds the document in the ERP. */
export const settleLanded = (ctx: Pick<Ctx, 'db'>, claim: Claim, due: DueDocument, landed: Landed): Promise<boolean> =>
  settle(ctx, claim, async (tx) => {
    const there = {
      failures: 0,
      holds_account_until: null,
      landed_at: tx.raw('coalesce(landed_at, clock_timestamp())'),
      record_id: landed.recordId,
    };
    if (due.kind === 'refund') {
      const document = tx('pay_erp_documents').where({ organization_id: claim.organizationId, id: due.id });
      const refund = tx('pay_refunds').where({ organization_id: claim.organizationId, id: due.refund_id });
      // It came back while it was being entered: that is looked at next.
      const isGood = (await refund.first<{ status: string } | undefined>('status'))?.status === 'SUCCEEDED';
      if (landed.recordId === null) await document.delete();
      else
        await document.update({
          ...there,
          status: isGood ? 'LANDED' : 'PENDING',
          problem: null,
          tell_at: null,
          updated_at: tx.raw('clock_timestamp()'),
        });
      await updateOwn(tx, claim, amountColumns(tx, landed.amounts, landed.partly));
    } else await updateOwn(tx, claim, { ...there, ...amountColumns(tx, landed.amounts, landed.partly) });
  });

export type Setback = {
  readonly problem: Problem;
  /** Null: it has failed, until a person asks for another attempt. */
  readonly waitMs: number | null;
  /** When people are to hear of it, unless it gets there before; 0 where it needs one. */
  readonly tellAfterMs: number;
  /** So long nothing else of the organization is tried. */
  readonly holdAccountMs: number;
  /** What the ERP shows of the payment after a refund of it failed, where that is known. */
  readonly shown: Omit<Landed, 'recordId'> | null;
};

export const settleSetback = (ctx: Pick<Ctx, 'db'>, claim: Claim, due: DueDocument, setback: Setback): Promise<boolean> =>
  settle(ctx, claim, async (tx) => {
    const { problem, waitMs, tellAfterMs, holdAccountMs, shown } = setback;
    const after = (ms: number) => tx.raw("clock_timestamp() + ? * interval '1 millisecond'", [ms]);
    await tx('pay_erp_documents')
      .where({ organization_id: claim.organizationId, id: due.id })
      .update({
        status: waitMs === null ? 'FAILED' : 'PENDING',
        failures: tx.raw('failures + 1'),
        holds_account_until: holdAccountMs > 0 ? after(holdAccountMs) : null,
        next_attempt_at: after(waitMs ?? 0),
        tell_at: tx.raw("least(tell_at, clock_timestamp() + ? * interval '1 millisecond')", [tellAfterMs]),
        problem: JSON.stringify(problem),
        updated_at: tx.raw('clock_timestamp()'),
      });
    if (shown !== null) await updateOwn(tx, claim, amountColumns(tx, shown.amounts, shown.partly));
  });

/** A document of which people have not heard how it stands now. */
export type NewsRow = { readonly id: string; readonly payment_id: string };

/** So many are told of in one mail; the rest in the next. */
const mostNews = 200;

/** Who asks at the same time waits for the transaction, and finds what is left. */
export const lockNews = async (tx: Tx, organizationId: string): Promise<NewsRow[]> =>
  tx('pay_erp_documents as d')
    .where('d.organization_id', organizationId)
    .whereRaw('(d.tell_at is not null or d.told is not null) and erp_document_is_news(d)')
    .orderBy('d.id')
    .limit(mostNews)
    .forUpdate()
    .select<NewsRow[]>('d.id', 'd.payment_id');

export const noteTold = (tx: Tx, organizationId: string, ids: readonly string[]) =>
  tx('pay_erp_documents')
    .where({ organization_id: organizationId })
    .whereIn('id', ids)
    .update({ told: tx.raw("nullif(status, 'LANDED')"), told_at: tx.raw('clock_timestamp()') });
