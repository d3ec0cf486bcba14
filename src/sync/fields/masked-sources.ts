// Which fields any published or deprecated version masks, for what shows their values outside of reads:
// mails, and payments of invoices.
import type { Tx } from '../../db/transaction.ts';

/** Sources of the record type: fields, and labels as `<field>.name`. Rejects with database errors. */
export async function listMaskedSources(
  tx: Tx,
  organizationId: string,
  recordType: string,
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.raw<{ rows: { source: string }[] }>(
    `select distinct f ->> 'source' as source from api_schemas s, jsonb_array_elements(s.endpoints) e, jsonb_array_elements(e -> 'fields') f
     where s.organization_id = ? and s.status in ('published', 'deprecated') and e ->> 'recordType' = ? and f ->> 'mask' is not null`,
    [organizationId, recordType],
  );
  return new Set(rows.map(({ source }) => source));
}
