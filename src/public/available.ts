// Reads what definitions may draw on: every record type with data or columns in the organization's warehouse.
import type { TenantCtx } from '../core/ctx.ts';
import { inTransaction } from '../db/transaction.ts';
import { readColumns } from '../warehouse/columns.ts';
import { isNotSetUp } from '../warehouse/generation.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import type { Available, AvailableRecordType } from './bind.ts';

type StateRow = { record_type: string; id_type: 'integer' | 'text'; has_data: boolean };

/** Empty before the first sync was set up. */
export async function readAvailable(ctx: Pick<TenantCtx, 'db' | 'organizationId'>): Promise<Available> {
  const schema = tenantSchema(ctx.organizationId);
  const labels = await readLabels(ctx);
  const available: Record<string, AvailableRecordType> = {};
  for (const row of await readStates(ctx, schema)) {
    const columns = await readColumns(ctx.db.data, schema, row.record_type);
    available[row.record_type] = {
      label: labels.get(row.record_type) ?? row.record_type,
      idType: row.id_type,
      columns,
      hasData: row.has_data,
    };
  }
  return available;
}

async function readStates(ctx: Pick<TenantCtx, 'db'>, schema: string): Promise<StateRow[]> {
  try {
    const { rows } = await ctx.db.data.query<StateRow>(
      `select record_type, id_type, generation > 0 and active_table is not null as has_data from ${schema}.record_state order by record_type`,
    );
    return rows;
  } catch (error) {
    if (isNotSetUp(error)) return [];
    throw error;
  }
}

/** The same of one record type, under its plain name; undefined when nothing of it was ever set up. */
export async function readAvailableType(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  recordType: string,
): Promise<AvailableRecordType | undefined> {
  const schema = tenantSchema(ctx.organizationId);
  const [row] = (await readStates(ctx, schema)).filter(({ record_type: name }) => name === recordType);
  if (row === undefined) return undefined;
  const columns = await readColumns(ctx.db.data, schema, recordType);
  return { label: recordType, idType: row.id_type, columns, hasData: row.has_data };
}

/** What the ERP calls its record types. */
async function readLabels(ctx: Pick<TenantCtx, 'db' | 'organizationId'>): Promise<Map<string, string>> {
  const { rows } = await inTransaction(ctx, (tx) =>
    tx.raw<{ rows: { name: string; label: string }[] }>(
      `select r ->> 'name' as name, r ->> 'label' as label from erp_metadata m cross join lateral jsonb_array_elements(m.record_types) as r
     where m.organization_id = ?`,
      [ctx.organizationId],
    ),
  );
  return new Map(rows.map(({ name, label }) => [name, label]));
}
