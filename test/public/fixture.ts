// A small organization with invoices in its warehouse and a published version, and the public interface in
// front of it: `openSite` gives all of it, the other functions its parts.
import { buffer } from 'node:stream/consumers';
import express, { type Express } from 'express';
import supertest from 'supertest';
import type { Ctx, ReadEngine, ReadingCtx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { sessionCookies } from '../../src/http/cookies.ts';
import { errorHandler, notFoundHandler } from '../../src/http/errors.ts';
import { applyPendingHeaders, pendingHeaders } from '../../src/http/pending-headers.ts';
import { requestLog } from '../../src/http/request-log.ts';
import { recordServed } from '../../src/http/served.ts';
import { readDocumentBrand } from '../../src/platform/index.ts';
import {
  bindDocument,
  createReadEngine,
  describeVersion,
  ensureMaskSecret,
  publicHandler,
  type RecordTypeBinding,
  readAvailable,
  SchemaDocument,
  startUsageCounter,
  type UsageCounter,
  validateDocument,
} from '../../src/public/index.ts';
import type { RecordColumn } from '../../src/warehouse/columns.ts';
import { createRecordTable } from '../../src/warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type TestDatabaseOptions, testDatabase } from '../setup/database.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../setup/organization.ts';

const column = (
  field: string,
  type: RecordColumn['type'],
  part: RecordColumn['part'] = 'value',
): RecordColumn => ({
  column: `${part === 'label' ? 'l' : 'f'}_${field}`,
  field,
  part,
  type,
  state: 'live',
  lineFields: null,
});

export const invoiceColumns: readonly RecordColumn[] = [
  column('tranid', 'text'),
  column('status', 'text'),
  column('total', 'number'),
  column('seq', 'integer'),
  column('paid', 'boolean'),
  column('trandate', 'date'),
  column('lastmodified', 'time'),
  column('entity', 'text'),
  column('entity', 'text', 'label'),
  {
    ...column('lines', 'lines', 'lines'),
    lineFields: [
      { name: 'item', type: 'text' },
      { name: 'item.name', type: 'text' },
      { name: 'quantity', type: 'number' },
      { name: 'secretcost', type: 'number' },
    ],
  },
];

/** The same with lines that have a field of every type. */
export const richLineColumns: readonly RecordColumn[] = invoiceColumns.map((held): RecordColumn => {
  if (held.lineFields === null) return held;
  const more = { position: 'integer', taxed: 'boolean', due: 'date', shipped: 'time' } as const;
  return {
    ...held,
    lineFields: [...held.lineFields, ...Object.entries(more).map(([name, type]) => ({ name, type }))],
  };
});

const all = ['eq', 'not', 'null'];
const dated = ['after', 'before', 'gte', 'lte'];
export const invoicesEndpoint = {
  name: 'invoices',
  recordType: 'invoice',
  description: 'Sales invoices',
  fields: [
    { name: 'number', source: 'tranid' },
    { name: 'status', source: 'status', description: 'Where it stands' },
    { name: 'total', source: 'total' },
    { name: 'totalText', source: 'total', as: 'string' },
    { name: 'seq', source: 'seq' },
    { name: 'paid', source: 'paid' },
    { name: 'date', source: 'trandate' },
    { name: 'modified', source: 'lastmodified' },
    { name: 'customer', source: 'entity' },
    { name: 'customerName', source: 'entity.name' },
    {
      name: 'lines',
      source: 'lines',
      fields: [
        { name: 'item', source: 'item' },
        { name: 'itemName', source: 'item.name' },
        { name: 'quantity', source: 'quantity' },
      ],
    },
  ],
  filters: [
    { field: 'number', operators: [...all, 'contains', 'starts_with'] },
    { field: 'status', operators: all },
    { field: 'total', operators: [...all, 'gt', 'lt', 'gte', 'lte'] },
    { field: 'seq', operators: [...all, 'gt', 'lt', 'gte', 'lte'] },
    { field: 'paid', operators: all },
    { field: 'date', operators: [...all, ...dated] },
    { field: 'modified', operators: [...all, ...dated] },
    { field: 'customerName', operators: ['contains', 'starts_with'] },
  ],
  sorts: ['number', 'status', 'total', 'seq', 'paid', 'date', 'modified'],
};

/** The endpoint, with more said of some of its fields, by name. */
export const withFields = <F extends { readonly name: string }, T extends { readonly fields: readonly F[] }>(
  endpoint: T & { readonly fields: readonly F[] },
  more: Readonly<Record<string, object>>,
) => ({ ...endpoint, fields: endpoint.fields.map((field) => ({ ...field, ...more[field.name] })) });
/** The usual fields, in the same way. */
export const fieldsWith = (more: Readonly<Record<string, object>>) =>
  withFields(invoicesEndpoint, more).fields;

type Masks = Readonly<Record<string, string>>;
const toDeclared = (masks: Masks) =>
  Object.fromEntries(Object.entries(masks).map(([name, mask]) => [name, { mask }]));
/** The usual invoices, with these masks of their fields and of the fields of their lines. */
export const maskInvoices = (masks: Masks, ofLines: Masks = {}) => {
  const [lines] = invoicesEndpoint.fields.flatMap((field) => ('fields' in field ? [field] : []));
  const masked = lines?.fields?.map((field) => ({ ...field, ...toDeclared(ofLines)[field.name] }));
  return withFields(invoicesEndpoint, { ...toDeclared(masks), lines: { fields: masked } });
};

export type InvoiceRow = {
  id: string | number;
  tranid?: string | null;
  status?: string | null;
  total?: string | null;
  seq?: string | null;
  paid?: boolean | null;
  trandate?: string | null;
  lastmodified?: string | null;
  entity?: string | null;
  entityName?: string | null;
  lines?: string | null;
};

let tables = 0;

type Loaded = {
  readonly recordType: string;
  readonly idType: 'integer' | 'text';
  readonly columns: readonly RecordColumn[];
  readonly rowCount: number;
  readonly syncedAt: string;
};

/** Fills a new table of the record type and makes it the active one, as a first load does; resolves to its name. */
export async function loadTable(
  ctx: Ctx,
  organizationId: string,
  { recordType, idType, columns, rowCount, syncedAt }: Loaded,
  fill: (table: string) => Promise<unknown>,
): Promise<string> {
  await createTenantSchema(ctx, organizationId);
  const schema = tenantSchema(organizationId);
  tables += 1;
  const table = `${recordType}_${tables}`;
  const client = await ctx.db.data.connect();
  try {
    await createRecordTable(client, schema, table, idType, columns);
    await fill(table);
    for (const [position, held] of columns.entries()) {
      const { column: name, field, part, type, state, lineFields } = held;
      await client.query(
        `insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, line_fields, position)
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
        [recordType, name, field, part, type, state, JSON.stringify(lineFields), position],
      );
    }
    await client.query(
      `insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
       values ($1, $2, 1, $3, $4, $5, $6)
       on conflict (record_type) do update set generation = record_state.generation + 1, row_count = excluded.row_count,
         epoch = excluded.epoch, active_table = excluded.active_table, synced_at = excluded.synced_at`,
      [recordType, idType, rowCount, `epoch-${tables}`, table, syncedAt],
    );
  } finally {
    client.release();
  }
  return table;
}

/** Loads exactly these rows into a new table. */
export const loadInvoices = (
  ctx: Ctx,
  organizationId: string,
  rows: readonly InvoiceRow[],
  idType: 'integer' | 'text' = 'integer',
  columns: readonly RecordColumn[] = invoiceColumns,
): Promise<string> => {
  const loaded = { recordType: 'invoice', idType, columns, rowCount: rows.length };
  return loadTable(ctx, organizationId, { ...loaded, syncedAt: '2026-03-01T08:00:00Z' }, (table) =>
    insertInvoices(ctx, organizationId, table, rows),
  );
};

export async function insertInvoices(
  ctx: Ctx,
  organizationId: string,
  table: string,
  rows: readonly InvoiceRow[],
): Promise<void> {
  const names = ['id', 'tranid', 'status', 'total', 'seq', 'paid', 'trandate', 'lastmodified'] as const;
  const more = ['entity', 'entityName', 'lines'] as const;
  await ctx.db.data.query(
    `insert into ${tenantSchema(organizationId)}.${table} (id, generation, content_hash, f_tranid, f_status, f_total, f_seq, f_paid, f_trandate, f_lastmodified,
       f_entity, l_entity, f_lines)
     select i, 1, '\\x00', a, b, c::numeric, d::bigint, e::boolean, f::date, g::timestamptz, h, j, k::jsonb
     from unnest($1::${await readIdType(ctx, organizationId, table)}[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
       as r(i, a, b, c, d, e, f, g, h, j, k)`,
    [...names, ...more].map((name) => rows.map((row) => row[name] ?? null)),
  );
}

async function readIdType(ctx: Ctx, organizationId: string, table: string): Promise<string> {
  const { rows } = await ctx.db.data.query<{ type: string }>(
    "select data_type as type from information_schema.columns where table_schema = $1 and table_name = $2 and column_name = 'id'",
    [tenantSchema(organizationId), table],
  );
  return rows[0]?.type ?? 'bigint';
}

/** Bumps the generation, as a publish does. */
export async function bumpGeneration(ctx: Ctx, organizationId: string, rowCount: number): Promise<void> {
  await ctx.db.data.query(
    `update ${tenantSchema(organizationId)}.record_state set generation = generation + 1, row_count = $1, synced_at = now() where record_type = 'invoice'`,
    [rowCount],
  );
}

type PublishOptions = {
  id?: string;
  version?: string;
  status?: string;
  endpoints?: readonly unknown[];
  sunsetAt?: string | null;
  describe?: (text: string) => string;
  /** What the bindings of older versions lack. */
  without?: keyof RecordTypeBinding;
};

export async function publishVersion(
  ctx: Ctx,
  organizationId: string,
  options: PublishOptions = {},
): Promise<string> {
  const { id = createId(), version = 'v1', status = 'published' } = options;
  const document = SchemaDocument.parse({ endpoints: options.endpoints ?? [invoicesEndpoint] });
  const tenant = { ...ctx, organizationId };
  const available = await readAvailable(tenant);
  // Older versions may have names that are reserved today.
  const problems = validateDocument(document, available).filter(
    ({ code }) => options.without !== 'takesFormat' || code !== 'reserved_name',
  );
  if (status !== 'draft' && problems.length > 0) throw new Error(JSON.stringify(problems));
  const entries = Object.entries(bindDocument(document, available));
  const bindings = Object.fromEntries(
    entries.map(([name, binding]) => [
      name,
      { ...binding, ...(options.without && { [options.without]: undefined }) },
    ]),
  );
  const described = {
    version,
    name: 'Test',
    notes: '',
    endpoints: document.endpoints,
    bindings,
    draft: false,
    previous: null,
  };
  const openapi = (options.describe ?? ((text) => text))(describeVersion(described));
  await inTransaction(tenant, async (tx) => {
    await ensureMaskSecret(tx, tenant, document.endpoints);
    await tx('api_schemas').insert({
      id,
      organization_id: organizationId,
      version,
      status,
      endpoints: JSON.stringify(document.endpoints),
      created_by: createId(),
      ...(status !== 'draft' && { bindings: JSON.stringify(bindings), openapi, published_at: new Date() }),
      sunset_at: options.sunsetAt ?? null,
      ...(status === 'deprecated' && { deprecated_at: new Date() }),
    });
  });
  return id;
}

/** With a read engine of its own, whose caches are empty. */
export const withReads = (ctx: Ctx): ReadingCtx => ({ ...ctx, reads: createReadEngine(ctx) });

export function publicApp(
  ctx: Ctx,
  usage: UsageCounter = startUsageCounter(ctx),
  reads: ReadEngine = createReadEngine(ctx),
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(requestLog(ctx.log, ctx.clock));
  app.use(
    '/api/public',
    publicHandler(
      { ...ctx, reads },
      {
        usage,
        sessionCookies: (req) => sessionCookies(req, ctx.settings.publicUrl),
        listPendingHeaders: pendingHeaders,
        applyHeaders: applyPendingHeaders,
        onServed: recordServed,
        readBrand: readDocumentBrand,
        referencePage: (_req, res) => {
          res.type('html').send('<!doctype html><title>reference</title>');
        },
      },
    ),
  );
  app.use(notFoundHandler);
  app.use(errorHandler(ctx.log));
  return app;
}

export type Caller = { readonly secret: string; readonly organizationId: string };
export const callerHeaders = ({ secret, organizationId }: Caller) => ({
  authorization: `Bearer ${secret}`,
  'x-tenant-id': organizationId,
});

/** Calls as a client program does, with both headers. */
export const createCaller =
  (app: Express, caller: Caller) =>
  (path: string, headers: Record<string, string> = {}) =>
    supertest(app)
      .get(`/api/public${path}`)
      .set({ ...callerHeaders(caller), ...headers });

export type Get = ReturnType<typeof createCaller>;
type OrganizationOptions = {
  readonly rows?: readonly InvoiceRow[];
  readonly idType?: 'integer' | 'text';
  readonly columns?: readonly RecordColumn[];
  /** Published in this order; by default `v1` with the usual invoices. */
  readonly versions?: readonly PublishOptions[];
};

/** A new organization, and callers of the public interface for it. */
export async function openOrganization(ctx: Ctx, app: Express, options: OrganizationOptions = {}) {
  const { rows = [], idType, columns, versions = [{}] } = options;
  const { id: organizationId, ownerId } = await makeOrganization(ctx);
  const schema = tenantSchema(organizationId);
  const table = await loadInvoices(ctx, organizationId, rows, idType, columns);
  for (const version of versions) await publishVersion(ctx, organizationId, version);
  const key = (scopes: Parameters<typeof makeKey>[2] = {}) => makeKey(ctx, organizationId, scopes);
  const callerWith = async (scopes?: Parameters<typeof makeKey>[2], on = app): Promise<Get> =>
    createCaller(on, { secret: (await key(scopes)).secret, organizationId });
  return {
    organizationId,
    ownerId,
    schema,
    table,
    tenant: { ...ctx, organizationId },
    key,
    /** Calls with a new key of these scopes. */
    callerWith,
    /** Calls with a key without limits. */
    get: await callerWith(),
    /** Calls with the session of a new member. */
    asMember: async (
      role: Parameters<typeof makeMember>[2],
      path: string,
      headers: Record<string, string> = {},
    ) => {
      const { cookie } = await makeSession(ctx, (await makeMember(ctx, organizationId, role)).id);
      return supertest(app)
        .get(`/api/public${path}`)
        .set({ cookie, 'x-tenant-id': organizationId, ...headers });
    },
    publish: (version: PublishOptions) => publishVersion(ctx, organizationId, version),
    /** Runs SQL in which `$wh` is the schema of the warehouse and `$t` the first table of invoices. */
    sql: async <T extends object = Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
      (
        await ctx.db.data.query<T>(text.replaceAll('$wh', schema).replaceAll('$t', `${schema}.${table}`), [
          ...values,
        ])
      ).rows,
    /** Runs within the organization's rows, as the service does. */
    inTransaction: <T>(work: Parameters<typeof inTransaction<T>>[1]) =>
      inTransaction({ db: ctx.db, organizationId }, work),
  };
}

export type Site = Awaited<ReturnType<typeof openSite>>;
/** A database of its own with one organization, and the public interface in front of it. */
export async function openSite({
  settings,
  clock,
  ...options
}: TestDatabaseOptions & OrganizationOptions = {}) {
  const database = await testDatabase({ ...(settings && { settings }), ...(clock && { clock }) });
  const app = publicApp(database.ctx);
  return {
    ...database,
    app,
    ...(await openOrganization(database.ctx, app, options)),
    another: (other: OrganizationOptions = {}) => openOrganization(database.ctx, app, other),
  };
}

export const listIds = (response: { body: { data: { id: string }[] } }): string[] =>
  response.body.data.map(({ id }) => id);

/** With its byte order mark, if it has one. */
export const readText = async (bytes: AsyncIterable<Buffer>): Promise<string> =>
  (await buffer(bytes)).toString();
