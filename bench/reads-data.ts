// The data of the read benchmark: invoices of 40 columns with three lines each, in a tenant table created by
// the service's own DDL, and a version published over them through the management interface, including the
// indexes that publishing builds.
import type { Pool } from 'pg';
import { z } from 'zod';
import { createManagementClient } from '../demo/management-client.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { planColumns, type RecordColumn } from '../src/warehouse/columns.ts';
import { createRecordTable } from '../src/warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../src/warehouse/tenant-schema.ts';
import { createBenchOrganization } from './organization.ts';
import { recordType } from './sync-records.ts';

export const statuses = ['Open', 'Paid In Full', 'Pending Approval', 'Rejected'] as const;
/**
 * The first day of each month of 2024: two years of invoices follow the first date, about one year follows
 * the last.
 */
export const dates = Array.from(
  { length: 12 },
  (_, month) => `2024-${String(month + 1).padStart(2, '0')}-01`,
);

export type Invoices = {
  readonly organizationId: string;
  readonly key: string;
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly RecordColumn[];
  readonly records: number;
  /** `invoice` when absent. */
  readonly recordType?: string;
};

/** SQL for a pseudo-random integer below `limit`, derived from n. */
const scatter = (salt: number, limit: number): string => `mod(abs(hashint8extended(n, ${salt})), ${limit})`;
const money = (salt: number): string => `(${scatter(salt, 9_000_000)} / 100.0)::numeric(12,2)`;
const statusSql = `(case when n % 100 < 20 then '${statuses[0]}' when n % 100 < 90 then '${statuses[1]}' when n % 100 < 97 then '${statuses[2]}' else '${statuses[3]}' end)`;

/** SQL for a column's value. Dates are scattered over six years; one due date in three is null. */
function valueSql({ field, part, type }: RecordColumn, salt: number): string {
  if (part === 'label') return field === 'status' ? statusSql : `'${field} ' || ${scatter(salt - 1, 4_000)}`;
  if (type === 'text') {
    if (field === 'status') return `lower(${statusSql})`;
    if (field === 'entity') return `(${scatter(salt, 10_000)})::text`;
    if (field === 'subsidiary') return `(${scatter(salt, 4_000)})::text`;
    return field === 'memo'
      ? `'wholesale ceramic lantern ' || n || ' vintage heart paper'`
      : `'${field}-' || ${scatter(salt, 50_000)}`;
  }
  if (type === 'number') return money(salt);
  if (type === 'integer') return field === 'seq' ? 'n' : scatter(salt, 100_000);
  if (type === 'boolean') return `${scatter(salt, 2)} = 0`;
  const day = `(date '2020-01-01' + ${scatter(salt, 2_190)}::int)`;
  if (type === 'date') return field === 'duedate' ? `(case when n % 3 > 0 then ${day} end)` : day;
  if (type === 'time') return `${day} + interval '8 hours 30 minutes'`;
  const line = (
    number: number,
  ) => `jsonb_build_object('line', ${number}, 'item', (${scatter(600 + number, 5_000)})::text, 'item.name',
    'garden retro kitchen ' || ${scatter(600 + number, 5_000)}, 'quantity', -1 - ${scatter(620 + number, 48)}, 'rate', ${money(630 + number)}, 'netamount', -${money(640 + number)})`;
  return `jsonb_build_array(${[1, 2, 3].map(line).join(', ')})`;
}

export async function loadInvoices(ctx: Ctx, admin: Pool, records: number): Promise<Invoices> {
  const { id: organizationId, key } = await createBenchOrganization(ctx);
  await createTenantSchema(ctx, organizationId);
  const schema = tenantSchema(organizationId);
  const columns = planColumns([], recordType.fields.slice(1)).added.map(
    (column): RecordColumn => ({ ...column, state: 'live' }),
  );
  const table = 'invoice_1';
  const client = await ctx.db.data.connect();
  try {
    await client.query('set statement_timeout = 0; begin');
    await createRecordTable(client, schema, table, 'integer', columns);
    const values = columns.map((column, index) => valueSql(column, 10 * index));
    await client.query(
      `insert into ${schema}.${table} (id, generation, content_hash, ${columns.map(({ column }) => column).join(', ')})
       select n, 1, sha256(n::text::bytea), ${values.join(', ')} from generate_series(1::bigint, ${records}) as n`,
    );
    for (const [position, { column, field, part, type, lineFields }] of columns.entries()) {
      await client.query(
        `insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, line_fields, position) values ('invoice', $1, $2, $3, $4, 'live', $5, $6)`,
        [column, field, part, type, JSON.stringify(lineFields), position],
      );
    }
    await client.query(
      `insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, next_table, synced_at)
       values ('invoice', 'integer', 1, $1, 'bench', $2, 2, now())`,
      [records, table],
    );
    await client.query('commit');
  } finally {
    client.release(true);
  }
  await admin.query(`vacuum (analyze) ${schema}.${table}`);
  return { organizationId, key, schema, table, columns, records };
}

const field = (name: string, source: string) => ({ name, source, description: '' });
const toSource = ({ field: name, part }: RecordColumn): string =>
  part === 'lines' ? 'lines' : part === 'label' ? `${name}.name` : name;
const publicName = ({ field: name, part }: RecordColumn): string => (part === 'label' ? `${name}Name` : name);

/**
 * `invoices` with twelve fields, `full` with all forty and the lines, and `own`, the twelve fields for row
 * scopes by customer.
 */
export function buildEndpoints({ columns, recordType: type = 'invoice' }: Invoices) {
  const sortable = {
    recordType: type,
    description: '',
    filters: [
      { field: 'statusName', operators: ['eq'] },
      { field: 'trandate', operators: ['after'] },
    ],
    sorts: ['trandate', 'duedate'],
    defaultSort: { field: 'trandate', order: 'desc' },
  };
  const twelve =
    'tranid trandate duedate entity entityName statusName total balance email paid memo seq'.split(' ');
  const all = columns.map((column) => ({
    ...field(publicName(column), toSource(column)),
    ...(column.lineFields !== null && {
      fields: column.lineFields.map(({ name }) => field(name.replace('.n', 'N'), name)),
    }),
  }));
  const some = all.filter(({ name }) => twelve.includes(name));
  return [
    { ...sortable, name: 'invoices', fields: some },
    { ...sortable, name: 'full', fields: all },
    {
      ...sortable,
      name: 'own',
      fields: some.map((each) => (each.name === 'entity' ? { ...each, scopable: true } : each)),
      filters: [{ field: 'entity', operators: ['eq'] }],
    },
  ];
}

const anything = z.unknown();
const Draft = z.object({ id: z.string(), revision: z.number() });
const Published = z.object({
  status: z.string(),
  publication: z.object({ status: z.string(), problems: z.array(z.unknown()) }).nullable(),
});
const publishTimeoutMs = 1_200_000;

/** Publishes `endpointsOf` these invoices. Rejects as `publishEndpoints` does. */
export const publishInvoices = (url: string, invoices: Invoices, admin: Pool): Promise<void> =>
  publishEndpoints(url, invoices, admin, buildEndpoints(invoices));

/**
 * Publishes through the running service at `url`, as a customer would. Rejects when it takes longer than
 * `publishTimeoutMs`.
 */
export async function publishEndpoints(
  url: string,
  invoices: Invoices,
  admin: Pool,
  endpoints: readonly object[],
): Promise<void> {
  const call = createManagementClient(url, invoices.key);
  const draft = await call('POST', '/api-schema', Draft, { endpoints });
  await call('POST', `/api-schema/${draft.id}/publish`, anything, { revision: draft.revision });
  const untilMs = performance.now() + publishTimeoutMs;
  for (;;) {
    const { status, publication } = await call('GET', `/api-schema/${draft.id}`, Published);
    if (status === 'published') break;
    if (publication?.status === 'failed')
      throw new Error(`The version was not published: ${JSON.stringify(publication.problems)}`);
    if (performance.now() > untilMs)
      throw new Error(`The version was not published within ${publishTimeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await admin.query(`vacuum (analyze) ${invoices.schema}.${invoices.table}`);
  await admin.query('checkpoint');
}
