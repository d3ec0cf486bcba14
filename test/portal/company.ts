// A company with customers, their contacts and their documents in its warehouse, as a sync leaves them.
import type { Ctx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import type { RecordColumn } from '../../src/warehouse/columns.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { loadTable } from '../public/fixture.ts';

type Type = Exclude<RecordColumn['type'], 'texts' | 'integers'>;
const columnTypes: Readonly<Record<Type, string>> = {
  text: 'text',
  number: 'numeric',
  integer: 'bigint',
  boolean: 'boolean',
  date: 'date',
  time: 'timestamptz',
  lines: 'jsonb',
};

type Stored = string | number | boolean | readonly object[] | null;
export type Row = { readonly id: number } & Readonly<Record<string, Stored>>;

/** A field of the lines has several entries. */
const lineFields: RecordColumn['lineFields'] = [
  { name: 'item', type: 'text' },
  { name: 'amount', type: 'number' },
  { name: 'colors', type: 'text' },
  { name: 'colors.entries', type: 'texts' },
];

/** Loads exactly these records into a new table; fields that a row leaves out are null. */
export function loadRecords(
  ctx: Ctx,
  organizationId: string,
  recordType: string,
  types: Readonly<Record<string, Type>>,
  rows: readonly Row[],
  syncedAt = '2026-03-01T08:00:00Z',
): Promise<string> {
  const columns = Object.entries(types).map(
    ([field, type]): RecordColumn => ({
      column: `f_${field}`,
      field,
      part: type === 'lines' ? 'lines' : 'value',
      type,
      state: 'live',
      lineFields: type === 'lines' ? lineFields : null,
    }),
  );
  const names = columns.map(({ field }) => field);
  const loaded = { recordType, idType: 'integer' as const, columns, rowCount: rows.length };
  return loadTable(ctx, organizationId, { ...loaded, syncedAt }, (table) =>
    ctx.db.data.query(
      `insert into ${tenantSchema(organizationId)}."${table}" (id, generation, content_hash, ${names.map((name) => `f_${name}`).join(', ')})
       select id, 1, '\\x00', ${names.join(', ')}
       from jsonb_to_recordset($1) as r(id bigint, ${names.map((name) => `${name} ${columnTypes[types[name] as Type]}`).join(', ')})`,
      [JSON.stringify(rows)],
    ),
  );
}

export const customerTypes = {
  name: 'text',
  email: 'text',
  parent: 'integer',
  isinactive: 'boolean',
} as const;
export const contactTypes = { email: 'text', company: 'integer', isinactive: 'boolean' } as const;
export const invoiceTypes = {
  tranid: 'text',
  trandate: 'date',
  duedate: 'date',
  total: 'number',
  unpaid: 'number',
  entity: 'integer',
  status: 'text',
  lines: 'lines',
} as const;

type Records = { customers?: readonly Row[]; contacts?: readonly Row[]; invoices?: readonly Row[] };

export async function loadCompany(
  ctx: Ctx,
  organizationId: string,
  { customers = [], contacts = [], invoices = [] }: Records,
): Promise<void> {
  await loadRecords(ctx, organizationId, 'customer', customerTypes, customers);
  await loadRecords(ctx, organizationId, 'contact', contactTypes, contacts);
  await loadRecords(ctx, organizationId, 'invoice', invoiceTypes, invoices);
  await describeRecords(ctx, organizationId, 'customer', customerTypes, { parent: 'customer' });
  await describeRecords(ctx, organizationId, 'contact', contactTypes, { company: 'customer' });
  await describeRecords(ctx, organizationId, 'invoice', invoiceTypes, { entity: 'customer' });
}

/** What the ERP says of a record type. */
export function describeRecords(
  ctx: Ctx,
  organizationId: string,
  name: string,
  types: Readonly<Record<string, Type>>,
  targets: Readonly<Record<string, string>>,
): Promise<unknown> {
  const fields = Object.entries(types).map(([field, type]) => ({
    ...{ name: field, label: field, type, syncable: true, volatile: false, custom: false },
    ...(targets[field] !== undefined && { type: 'reference', target: targets[field] }),
  }));
  const has = (field: string): string | null => (field in types ? field : null);
  const shownAs = { number: has('tranid'), name: has('name'), date: has('trandate'), amount: has('total') };
  const row = { position: 0, head: JSON.stringify({ name, label: name }), described_at: new Date() };
  return inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('erp_record_types')
      .insert({
        ...row,
        organization_id: organizationId,
        name,
        description: JSON.stringify({ name, label: name, fields, shownAs, modifiedField: null }),
      })
      .onConflict(['organization_id', 'name'])
      .merge(),
  );
}

const active = [{ field: 'isinactive', in: ['false'] }];
export const settings = {
  enabled: true,
  people: [
    { recordType: 'customer', emailField: 'email', customerField: 'id', conditions: active },
    { recordType: 'contact', emailField: 'email', customerField: 'company', conditions: active },
  ],
  records: [
    {
      recordType: 'invoice',
      customerField: 'entity',
      role: 'invoice',
      fields: {
        number: 'tranid',
        date: 'trandate',
        dueDate: 'duedate',
        amount: 'total',
        amountDue: 'unpaid',
        status: 'status',
      },
      conditions: [],
    },
  ],
};
