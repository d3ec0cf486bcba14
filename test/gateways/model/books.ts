// The books of a small wholesaler, as the demo publishes them: invoices and customers, loaded into the
// warehouse without an ERP. Today is 2011-08-31 in questions about them.

import type { Ctx } from '../../../src/core/ctx.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import type { ModelTool } from '../../../src/gateways/model/model.ts';
import type { RecordColumn } from '../../../src/warehouse/columns.ts';
import { createRecordTable } from '../../../src/warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { publishVersion } from '../../public/fixture.ts';
import { openTools } from './ask.ts';

type Table = {
  readonly type: string;
  readonly columns: readonly RecordColumn[];
  readonly rows: readonly Record<string, unknown>[];
};

const column = (
  field: string,
  type: RecordColumn['type'],
  part: RecordColumn['part'] = 'value',
): RecordColumn => ({
  ...{ column: `${part === 'label' ? 'l' : 'f'}_${field}`, field, part, type },
  ...{ state: 'live' as const, lineFields: null },
});
const invoiceColumns = [
  ...[
    column('tranid', 'text'),
    column('trandate', 'date'),
    column('duedate', 'date'),
    column('displaystatus', 'text'),
  ],
  ...[column('entity', 'integer'), column('entity', 'text', 'label'), column('currency', 'text', 'label')],
  ...[column('foreigntotal', 'number'), column('foreignamountunpaid', 'number')],
];
const customerColumns = [
  column('entityid', 'text'),
  column('companyname', 'text'),
  column('isinactive', 'boolean'),
];

const text = ['eq', 'contains', 'starts_with'];
const range = ['eq', 'gte', 'lte', 'gt', 'lt'];
const dates = ['eq', 'after', 'before', 'gte', 'lte', 'null'];
const toFields = (sources: Readonly<Record<string, string>>) =>
  Object.entries(sources).map(([name, source]) => ({ name, source }));
const toFilters = (operators: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(operators).map(([field, list]) => ({ field, operators: list }));

const invoices = {
  ...{
    name: 'invoices',
    recordType: 'invoice',
    description: 'Invoices to customers. Cash sales have no customer.',
  },
  fields: toFields({
    ...{
      number: 'tranid',
      date: 'trandate',
      dueDate: 'duedate',
      status: 'displaystatus',
      customerId: 'entity',
    },
    ...{
      customerName: 'entity.name',
      currency: 'currency.name',
      total: 'foreigntotal',
      amountDue: 'foreignamountunpaid',
    },
  }),
  filters: toFilters({
    ...{
      number: text,
      date: dates,
      dueDate: dates,
      status: ['eq', 'not'],
      customerId: ['eq', 'null'],
      customerName: text,
    },
    ...{ currency: ['eq'], total: range, amountDue: range },
  }),
  sorts: ['number', 'date', 'dueDate', 'total', 'amountDue'],
  defaultSort: { field: 'date', order: 'desc' },
};
const functions = ['sum', 'avg', 'min', 'max'];
/** The same, and what `/summary` computes: amounts are only added up within a currency then. */
const summarizedInvoices = {
  ...invoices,
  aggregates: [
    { field: 'total', functions },
    { field: 'amountDue', functions },
  ],
  groups: ['customerName', 'currency', 'status', { field: 'date', periods: ['month', 'year'] }],
};
const customers = {
  ...{ name: 'customers', recordType: 'customer', description: 'The customers.' },
  fields: toFields({ number: 'entityid', name: 'companyname', isInactive: 'isinactive' }),
  filters: toFilters({ number: text, name: text, isInactive: ['eq'] }),
  ...{ sorts: ['number', 'name'], defaultSort: { field: 'number', order: 'asc' } },
};

/** By id from 1. Two begin alike, one is named by a code as in the demo. */
const companies = [
  ...[
    'Acme Ltd',
    'Nordlicht GmbH',
    'Blue Door Trading',
    'Paper Moon',
    'Miller & Sons',
    'CUST17450',
    'Harbour Gifts',
    'Harbour Lights',
  ],
  ...['Oak and Ivy', 'Tin Soldier', 'Zephyr Toys', 'Lantern House', 'Dormouse'],
];

const toDay = (index: number): string => new Date(Date.UTC(2011, 4, 1 + index)).toISOString().slice(0, 10);

/**
 * 180 invoices from May to August 2011; every third is unpaid, a tenth has no customer, `Dormouse` has none.
 */
function invoiceRows(currencies: readonly string[]) {
  return Array.from({ length: 180 }, (_none, index) => {
    const day = (index * 37) % 123;
    const total = 40 + ((index * 7919) % 250_000) / 100;
    const due = index % 3 === 0 ? total - (index % 9 === 0 ? 10 : 0) : 0;
    const entity = index % 10 === 7 ? null : 1 + ((Math.imul(index + 1, 2_654_435_761) >>> 20) % 12);
    return {
      ...{
        id: 700 + index,
        f_tranid: String(563_500 + index),
        f_trandate: toDay(day),
        f_duedate: toDay(day + 30),
        f_entity: entity,
      },
      ...{
        l_entity: entity === null ? null : companies[entity - 1],
        l_currency: currencies[index % currencies.length],
      },
      ...{
        f_displaystatus: due > 0 ? 'Open' : 'Paid In Full',
        f_foreigntotal: total.toFixed(2),
        f_foreignamountunpaid: due.toFixed(2),
      },
    };
  });
}
const customerRows = companies.map((name, index) => ({
  ...{
    id: index + 1,
    f_entityid: name.startsWith('CUST') ? name : `C${1001 + index}`,
    f_companyname: name,
    f_isinactive: index === 9,
  },
}));

async function load(ctx: Ctx, organizationId: string, { type, columns, rows }: Table): Promise<void> {
  const schema = tenantSchema(organizationId);
  const client = await ctx.db.data.connect();
  try {
    await createRecordTable(client, schema, `${type}_1`, 'integer', columns);
    await client.query(
      `insert into ${schema}.${type}_1 (id, generation, content_hash, ${columns.map((one) => one.column).join()})
       select id, 1, '\\x00', ${columns.map((one) => one.column).join()} from jsonb_populate_recordset(null::${schema}.${type}_1, $1)`,
      [JSON.stringify(rows)],
    );
    for (const [position, held] of columns.entries()) {
      await client.query(
        `insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, line_fields, position)
         values ($1, $2, $3, $4, $5, 'live', null, $6)`,
        [type, held.column, held.field, held.part, held.type, position],
      );
    }
    await client.query(
      `insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
       values ($1, 'integer', 1, $2, $3, $4, '2011-08-31T08:00:00Z')`,
      [type, rows.length, `epoch-${type}`, `${type}_1`],
    );
  } finally {
    client.release();
  }
}

/** What the ERP says of the invoices: the field that names the currency of both amounts. */
async function describeInvoices(ctx: Ctx, organizationId: string): Promise<void> {
  const amounts = ['foreigntotal', 'foreignamountunpaid'];
  const fields = amounts.map((name) => ({ name, type: 'number', volatile: false, currency: 'currency' }));
  const named = {
    organization_id: organizationId,
    name: 'invoice',
    position: 0,
    head: JSON.stringify({ name: 'invoice', label: 'Invoice' }),
  };
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await tx('erp_record_types').insert({
      ...named,
      description: JSON.stringify({ fields }),
      described_at: new Date(),
    });
  });
}

/**
 * The tools of a version over these books, which declares a summary or not. Each currency has as many
 * invoices as the others.
 */
export async function openBooks(
  ctx: Ctx,
  organizationId: string,
  currencies: readonly string[],
  declared = false,
): Promise<readonly ModelTool[]> {
  await createTenantSchema(ctx, organizationId);
  await load(ctx, organizationId, {
    type: 'invoice',
    columns: invoiceColumns,
    rows: invoiceRows(currencies),
  });
  await load(ctx, organizationId, { type: 'customer', columns: customerColumns, rows: customerRows });
  await describeInvoices(ctx, organizationId);
  await publishVersion(ctx, organizationId, {
    endpoints: [declared ? summarizedInvoices : invoices, customers],
  });
  return openTools(ctx, organizationId);
}
