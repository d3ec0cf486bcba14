// What people and mails see of the invoices of payments: what they were paid under may be masked since.
import type { RecordAccess } from '../../../core/record-access.ts';
import type { Tx } from '../../../db/transaction.ts';
import { listMaskedSources } from '../../../sync/index.ts';
import { findPayConfig } from './config.store.ts';
import { type InvoiceRow, listInvoices } from './payments.store.ts';

/** Whether a published or deprecated version masks the configured fields. Rejects with database errors. */
export async function findMaskedParts(
  tx: Tx,
  organizationId: string,
): Promise<{ readonly number: boolean; readonly customer: boolean }> {
  const mapping = (await findPayConfig(tx, organizationId))?.invoices;
  if (mapping === undefined) return { number: false, customer: false };
  const masked = await listMaskedSources(tx, organizationId, mapping.recordType);
  return { number: masked.has(mapping.number), customer: masked.has(mapping.customer) };
}

/** As `listInvoices`, with the record's id in place of a number that the reader sees masked. */
export async function listShownInvoices(
  tx: Tx,
  organizationId: string,
  paymentIds: readonly string[],
  { unmasked }: Pick<RecordAccess, 'unmasked'>,
): Promise<InvoiceRow[]> {
  const rows = await listInvoices(tx, organizationId, paymentIds);
  if (unmasked || !(await findMaskedParts(tx, organizationId)).number) return rows;
  return rows.map((row) => ({ ...row, number: row.record_id }));
}
