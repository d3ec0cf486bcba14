// Invoices with the customers and the parent invoices that they refer to, in an organization whose ERP has
// described what refers to what.
import type { Ctx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import type { RecordColumn } from '../../src/warehouse/columns.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { invoicesEndpoint, loadTable } from './fixture.ts';

const column = (
  field: string,
  type: RecordColumn['type'],
  lineFields: RecordColumn['lineFields'] = null,
): RecordColumn => ({
  column: `f_${field}`,
  field,
  part: type === 'lines' ? 'lines' : 'value',
  type,
  state: 'live',
  lineFields,
});

const customerColumns: readonly RecordColumn[] = [
  column('name', 'text'),
  column('segment', 'text'),
  column('credit', 'number'),
  column('since', 'time'),
  column('parent', 'integer'),
  column('lines', 'lines', [{ name: 'street', type: 'text' }]),
];

export type CustomerRow = {
  id: string | number;
  name?: string | null;
  segment?: string | null;
  credit?: string | null;
  since?: string | null;
  parent?: string | null;
  lines?: string | null;
};

/** Loads exactly these customers into a new table. */
export function loadCustomers(
  ctx: Ctx,
  organizationId: string,
  rows: readonly CustomerRow[],
  idType: 'integer' | 'text' = 'integer',
): Promise<string> {
  const loaded = { recordType: 'customer', idType, columns: customerColumns, rowCount: rows.length };
  const names = ['id', 'name', 'segment', 'credit', 'since', 'parent', 'lines'] as const;
  return loadTable(ctx, organizationId, { ...loaded, syncedAt: '2026-02-01T08:00:00Z' }, (table) =>
    ctx.db.data.query(
      `insert into ${tenantSchema(organizationId)}.${table} (id, generation, content_hash, f_name, f_segment, f_credit, f_since, f_parent, f_lines)
       select i, 1, '\\x00', a, b, c::numeric, d::timestamptz, e::bigint, f::jsonb
       from unnest($1::${idType === 'integer' ? 'bigint' : 'text'}[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
         as r(i, a, b, c, d, e, f)`,
      names.map((name) => rows.map((row) => row[name] ?? null)),
    ),
  );
}

/** What the ERP says of its reference fields, by record type: the record type that each refers to. */
export async function describeTargets(
  ctx: Ctx,
  organizationId: string,
  targets: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<void> {
  const rows = Object.entries(targets).map(([name, fields], position) => ({
    organization_id: organizationId,
    name,
    position,
    head: JSON.stringify({ name, label: name }),
    description: JSON.stringify({
      fields: Object.entries(fields).map(([field, target]) => ({
        name: field,
        type: 'reference',
        volatile: false,
        target,
      })),
    }),
    described_at: new Date(),
  }));
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await tx('erp_record_types').insert(rows).onConflict(['organization_id', 'name']).merge();
  });
}

/** `seq` of an invoice is the id of another invoice, and `entity` and `status` are those of customers. */
export const allTargets = {
  invoice: { entity: 'customer', status: 'customer', total: 'customer', seq: 'invoice' },
  customer: { parent: 'customer' },
};

export const customersEndpoint = {
  name: 'customers',
  recordType: 'customer',
  fields: [
    { name: 'name', source: 'name' },
    { name: 'segment', source: 'segment', scopable: true },
    { name: 'credit', source: 'credit' },
    { name: 'creditText', source: 'credit', as: 'string' },
    { name: 'customerSince', source: 'since' },
    { name: 'parentId', source: 'parent' },
    { name: 'addresses', source: 'lines', fields: [{ name: 'street', source: 'street' }] },
  ],
  filters: [{ field: 'segment', operators: ['eq'] }],
  sorts: ['name'],
  relations: [{ name: 'parent', field: 'parentId', resource: 'customers' }],
};

export const relatedInvoices = {
  ...invoicesEndpoint,
  relations: [
    { name: 'buyer', field: 'customer', resource: 'customers' },
    { name: 'payer', field: 'status', resource: 'customers' },
    { name: 'parent', field: 'seq', resource: 'invoices' },
    { name: 'byTotal', field: 'total', resource: 'customers' },
  ],
};
