// What is known of payments in the ERP, read from the documents that the write-back writes
// (write-back/erp-documents.store.ts).
import type { Knex } from 'knex';
import type { Tx } from '../../../db/transaction.ts';
import { isWriteBackEnabled } from './config.store.ts';

export const erpStatuses = ['OFF', 'PENDING', 'LANDED', 'PARTLY_APPLIED', 'FAILED'] as const;

export type ErpProblem = { readonly code: string; readonly message: string; readonly fix: string };

/** A payment's state in the ERP. `OFF`: not written back. Amounts in minor units of its currency. */
export type ErpState = {
  readonly status: (typeof erpStatuses)[number];
  readonly recordId: string | null;
  readonly problem: ErpProblem | null;
  readonly unappliedMinor: bigint;
  /** When its own document was first confirmed to be in the ERP, by the database's clock; null before. */
  readonly writtenAt: Date | null;
};

type StateRow = {
  payment_id: string;
  kind: 'payment' | 'refund';
  status: Exclude<ErpState['status'], 'OFF'>;
  record_id: string | null;
  unapplied_minor: string | null;
  landed_at: Date | null;
  problem: ErpProblem | null;
};

const writeBackDisabled: ErpProblem = {
  code: 'WRITE_BACK_OFF',
  message: 'The write-back was disabled before this payment reached the ERP',
  fix: 'Enable the write-back in the payment configuration again; or enter the payment in the ERP by hand, and end its write-back.',
};

/** One failed document makes the whole payment FAILED, else one pending document makes it PENDING. */
function computeErpState(rows: readonly StateRow[], isEnabled: boolean): ErpState {
  const own = rows.find(({ kind }) => kind === 'payment');
  const decisive =
    rows.find(({ status }) => status === 'FAILED') ?? rows.find(({ status }) => status === 'PENDING') ?? own;
  return {
    status: decisive?.status ?? 'OFF',
    recordId: own?.record_id ?? null,
    problem: decisive?.status === 'PENDING' && !isEnabled ? writeBackDisabled : (decisive?.problem ?? null),
    unappliedMinor: BigInt(own?.unapplied_minor ?? '0'),
    writtenAt: own?.landed_at ?? null,
  };
}

/** States by payment id; a payment that is absent from the map is `OFF`. */
export async function listErpStates(
  tx: Tx,
  organizationId: string,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, ErpState>> {
  const rows: StateRow[] = await tx('pay_erp_documents')
    .where({ organization_id: organizationId })
    .whereIn('payment_id', [...paymentIds])
    .orderBy('created_at')
    .orderBy('id')
    .select(
      'payment_id',
      'kind',
      'status',
      'record_id',
      'problem',
      'landed_at',
      tx.raw('unapplied_minor::text'),
    );
  const byPayment = Map.groupBy(rows, (row) => row.payment_id);
  const isEnabled = await isWriteBackEnabled(tx, organizationId);
  return new Map(
    [...byPayment].map(([paymentId, documents]) => [paymentId, computeErpState(documents, isEnabled)]),
  );
}

/** Restricts a query on pay_payments to payments with this status, computed as `listErpStates` does. */
export function filterByErpStatus(payments: Knex.QueryBuilder, status: ErpState['status']): void {
  const documents = `from pay_erp_documents d where d.organization_id = pay_payments.organization_id and d.payment_id = pay_payments.id`;
  const decisive =
    "when bool_or(d.status = 'FAILED') then 'FAILED' when bool_or(d.status = 'PENDING') then 'PENDING'";
  payments.whereRaw(
    `coalesce((select case ${decisive} else min(d.status) filter (where d.kind = 'payment') end ${documents}), 'OFF') = ?`,
    [status],
  );
}
