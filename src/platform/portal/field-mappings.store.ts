// Rows of portal_field_mappings: one for each record type, with its fields in their order.
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { MappedField } from './field-mappings.schemas.ts';

export type FieldMappingRow = {
  id: string;
  record_type: string;
  fields: MappedField[];
  created_at: Date;
  updated_at: Date;
};
const columns = ['id', 'record_type', 'fields', 'created_at', 'updated_at'] as const;

export function listMappings(
  tx: Tx,
  organizationId: string,
  page: PageQuery,
  recordType: string | undefined,
) {
  const query = tx('portal_field_mappings')
    .where('organization_id', organizationId)
    .orderBy(newestFirst('created_at', 'id'))
    .select(...columns);
  if (recordType !== undefined) query.where('record_type', recordType);
  return readPage<FieldMappingRow>(query, page);
}

export const findMapping = async (tx: Tx, organizationId: string, id: string) =>
  tx('portal_field_mappings')
    .where({ organization_id: organizationId, id })
    .first<FieldMappingRow | undefined>(...columns);

/** None without a mapping of the record type. */
export async function listMappedFields(
  tx: Tx,
  organizationId: string,
  recordType: string,
): Promise<readonly MappedField[]> {
  const row = await tx('portal_field_mappings')
    .where({ organization_id: organizationId, record_type: recordType })
    .first<Pick<FieldMappingRow, 'fields'> | undefined>('fields');
  return row?.fields ?? [];
}

export const insertMapping = (
  tx: Tx,
  organizationId: string,
  row: Pick<FieldMappingRow, 'id' | 'record_type' | 'fields'>,
) =>
  tx('portal_field_mappings').insert({
    ...row,
    fields: JSON.stringify(row.fields),
    organization_id: organizationId,
  });

export const updateMapping = (
  tx: Tx,
  organizationId: string,
  id: string,
  fields: readonly MappedField[],
): Promise<number> =>
  tx('portal_field_mappings')
    .where({ organization_id: organizationId, id })
    .update({ fields: JSON.stringify(fields), updated_at: tx.fn.now() });

export const deleteMapping = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('portal_field_mappings').where({ organization_id: organizationId, id }).delete();
