// Exports of a whole list as NDJSON, CSV and XLSX, compared with PostgreSQL's own COPY of the same projection in
// alternating rounds, and the service's peak memory meanwhile. The service runs in its own process. Usage:
// npm run bench -- export [records, default 1000000] [rounds, default 5] [some | all, default both]
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { to as copyTo } from 'pg-copy-streams';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { systemClock } from '../src/core/clock.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import { createLog } from '../src/core/log.ts';
import { createGuardedFetch } from '../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../src/core/secrets/keyring.ts';
import { createAccountLimits } from '../src/core/work/account-limits.ts';
import { createTrackedWork } from '../src/core/work/tracked-work.ts';
import { type DatabaseAddress, openDb, openKnex } from '../src/db/connect.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { copyStatement } from '../src/public/export/export-sql.ts';
import { bindDocument, describeVersion, readAvailable, SchemaDocument } from '../src/public/index.ts';
import { planList } from '../src/public/read/plan/plan.ts';
import { compileSchema } from '../src/public/version/compile.ts';
import { readWhole } from '../src/public/version/narrow.ts';
import { planColumns, type RecordColumn } from '../src/warehouse/columns.ts';
import { createRecordTable, quoteIdentifier } from '../src/warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../src/warehouse/tenant-schema.ts';
import { createBenchOrganization } from './organization.ts';
import { recordType } from './sync-records.ts';

const [rows = 1_000_000, rounds = 5] = process.argv.slice(2, 4).map(Number);
/** The third argument limits the run to one resource: `some` or `all`. */
const onlyResource = process.argv[4];
const postgres = {
  shared_buffers: '1GB',
  work_mem: '16MB',
  max_wal_size: '4GB',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
};
const selectedFields = [
  'tranid',
  'entity',
  'entity.name',
  'status.name',
  'total',
  'balance',
  'seq',
  'paid',
  'trandate',
  'duedate',
  'createddate',
  'memo',
];

const createCtx = (address: DatabaseAddress): Ctx & { db: ReturnType<typeof openDb> } => {
  const { settings } = readConfig({});
  return {
    db: openDb(address, address, { control: 4, data: 4 }, settings.readTimeoutMs),
    settings,
    clock: systemClock,
    log: createLog('warn'),
    fetch: createGuardedFetch({ allowPrivateHosts: false }),
    keyring: createKeyring([{ id: 'bench', bytes: Buffer.alloc(32) }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
  };
};

function valueSql({ type, column }: RecordColumn): string {
  const scattered = `abs(hashint8extended(n, ${column.length}))`;
  if (type === 'number') return `(${scattered} % 9000000 / 100.0)::numeric(12,2)`;
  if (type === 'integer') return `${scattered} % 100000`;
  if (type === 'boolean') return `${scattered} % 2 = 0`;
  if (type === 'date') return `date '2020-01-01' + (${scattered} % 2190)::int`;
  if (type === 'time') return `timestamptz '2020-01-01 08:30:00Z' + (${scattered} % 2190) * interval '1 day'`;
  if (type === 'lines')
    return `jsonb_build_array(jsonb_build_object('line', 1, 'item', n::text, 'quantity', 2.5, 'rate', 1.25), jsonb_build_object('line', 2, 'item', n::text, 'quantity', 1, 'rate', 9.99))`;
  return `case when n % 10 = 0 then null else '${column} "' || ${scattered} % 50000 || '", wholesale' end`;
}

/** Creates the tenant's schema with one table of `rows` records. */
async function fillTable(ctx: Ctx, organizationId: string): Promise<readonly RecordColumn[]> {
  await createTenantSchema(ctx, organizationId);
  const schema = tenantSchema(organizationId);
  const columns = planColumns([], recordType.fields.slice(1)).added.map(
    (column): RecordColumn => ({ ...column, state: 'live' }),
  );
  const client = await ctx.db.exports.connect();
  await createRecordTable(client, schema, 'customer_1', 'integer', columns);
  await client.query(
    `insert into ${schema}.customer_1 (id, generation, content_hash, ${columns.map(({ column }) => quoteIdentifier(column)).join(', ')})
     select n, 1, '\\x00', ${columns.map(valueSql).join(', ')} from generate_series(1, ${rows}) n`,
  );
  for (const [position, { column, field, part, type, lineFields }] of columns.entries()) {
    await client.query(
      `insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, line_fields, position) values ('customer', $1, $2, $3, $4, 'live', $5, $6)`,
      [column, field, part, type, JSON.stringify(lineFields), position],
    );
  }
  await client.query(
    `insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at) values ('customer', 'integer', 1, $1, $2, 'customer_1', now())`,
    [rows, randomBytes(8).toString('hex')],
  );
  await client.query(`vacuum analyze ${schema}.customer_1`);
  client.release();
  return columns;
}

/** Two resources: `some` with twelve fields, `all` with every field and the lines. */
function createDocument(): SchemaDocument {
  const sources = recordType.fields.slice(1).map(({ name }) => name);
  const plain = (source: string) => ({ name: source.replace('.', '_').replace(/^id$/, 'key'), source });
  const lines = { name: 'lines', source: 'lines', fields: ['line', 'item', 'quantity', 'rate'].map(plain) };
  return SchemaDocument.parse({
    endpoints: [
      { name: 'some', recordType: 'customer', fields: selectedFields.map(plain) },
      {
        name: 'all',
        recordType: 'customer',
        fields: [...sources.filter((name) => name !== 'lines').map(plain), lines],
      },
    ],
  });
}

/** Fills the table and publishes a version of it. */
async function prepare(ctx: Ctx): Promise<{
  organizationId: string;
  key: string;
  table: string;
  columns: readonly RecordColumn[];
  buildStatement(resource: string): string;
}> {
  const { id: organizationId, key } = await createBenchOrganization(ctx);
  const schema = tenantSchema(organizationId);
  const columns = await fillTable(ctx, organizationId);
  const tenant = { ...ctx, organizationId };
  const document = createDocument();
  const bindings = bindDocument(document, await readAvailable(tenant));
  const openapi = describeVersion({
    version: 'v1',
    name: '',
    notes: '',
    draft: false,
    previous: null,
    endpoints: document.endpoints,
    bindings,
  });
  await inTransaction(tenant, (tx) =>
    tx('api_schemas').insert({
      id: createId(),
      organization_id: organizationId,
      version: 'v1',
      status: 'published',
      endpoints: JSON.stringify(document.endpoints),
      bindings: JSON.stringify(bindings),
      openapi,
      published_at: systemClock.now(),
      created_by: createId(),
    }),
  );
  const { endpoints } = compileSchema({
    id: 'bench',
    version: 'v1',
    endpoints: document.endpoints,
    bindings,
  });
  const buildStatement = (resource: string): string => {
    const endpoint = endpoints.get(resource);
    if (endpoint === undefined) throw new Error(`No resource ${resource}`);
    return copyStatement(
      { schema, table: 'customer_1' },
      planList(readWhole(endpoint), new Map(), { paged: false }),
    ).text;
  };
  return { organizationId, key, table: `${schema}.customer_1`, columns, buildStatement };
}

async function serve(address: DatabaseAddress): Promise<void> {
  const server = createServer(createApp(createCtx(address)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.on('message', () => process.send?.({ nowBytes: process.memoryUsage.rss() }));
  process.on('disconnect', () => process.exit(0));
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const measureSeconds = async (work: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1000;
};

/** One line per variant, with its rate and the ratio of it to the rates of COPY. */
function report(secondsByVariant: Readonly<Record<string, readonly number[]>>): void {
  const copySeconds = secondsByVariant['COPY of the columns'] ?? [];
  const rowToJsonSeconds = secondsByVariant['COPY of row_to_json'] ?? [];
  const servedSelectSeconds = secondsByVariant['COPY of the served select'] ?? [];
  const ratio = (own: readonly number[], reference: readonly number[]) => {
    const all = own.map((seconds, index) => (reference[index] ?? 0) / seconds).sort((a, b) => a - b);
    return `${all[all.length >> 1]?.toFixed(2)} (${all[0]?.toFixed(2)}–${all.at(-1)?.toFixed(2)})`;
  };
  for (const [name, seconds] of Object.entries(secondsByVariant)) {
    const medianSeconds = [...seconds].sort((a, b) => a - b)[seconds.length >> 1] ?? 0;
    console.log(
      `${name}: ${Math.round(rows / medianSeconds)} rows/s; rate / COPY ${ratio(seconds, copySeconds)}, / COPY of row_to_json ${ratio(seconds, rowToJsonSeconds)}, / COPY of the served select ${ratio(seconds, servedSelectSeconds)}`,
    );
  }
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** The selected columns of each resource, as SQL. */
function buildProjections({ columns }: Prepared): Record<string, string> {
  const quoteColumn = (source: string) => {
    const [field, label] = source.split('.');
    return quoteIdentifier(
      columns.find((column) => column.field === field && (column.part === 'label') === (label !== undefined))
        ?.column ?? '',
    );
  };
  return {
    some: ['id', ...selectedFields.map(quoteColumn)].join(', '),
    all: [
      'id',
      ...columns.filter(({ part }) => part !== 'label').map(({ column }) => quoteIdentifier(column)),
    ].join(', '),
  };
}

/** What is compared: COPY in this process, and exports of the service at `url`. */
function createVariants(
  ctx: Ctx,
  url: string,
  { organizationId, key, table, buildStatement }: Prepared,
  resource: string,
  list: string,
) {
  const runCopy = async (text: string) => {
    const client = await ctx.db.exports.connect();
    const stream = client.query(copyTo(text));
    for await (const _ of stream);
    client.release();
  };
  const runExport = async (accept: string, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'x-tenant-id': organizationId, accept, ...more };
    const request = get(`${url}/api/public/v1/${resource}`, { headers });
    const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
    if (response.headers['x-total-count'] !== String(rows))
      throw new Error(`The export of ${resource} returned status ${response.statusCode}`);
    for await (const _ of response);
  };
  return {
    'COPY of the columns': () => runCopy(`copy (select ${list} from ${table} order by id) to stdout`),
    'COPY of row_to_json': () =>
      runCopy(`copy (select row_to_json(r) from (select ${list} from ${table} order by id) r) to stdout`),
    'COPY of the served select': () => runCopy(buildStatement(resource)),
    NDJSON: () => runExport('application/x-ndjson'),
    CSV: () => runExport('text/csv'),
    XLSX: () => runExport('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'),
    'NDJSON, gzip': () => runExport('application/x-ndjson', { 'accept-encoding': 'gzip' }),
  };
}

async function measure(address: DatabaseAddress): Promise<void> {
  const ctx = createCtx(address);
  const prepared = await prepare(ctx);
  const child = fork(fileURLToPath(import.meta.url), ['serve', JSON.stringify(address)], {
    execArgv: process.execArgv,
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  let peakBytes = 0;
  const sampler = setInterval(() => child.connected && child.send({}), 100);
  child.on('message', ({ nowBytes }: { nowBytes: number }) => {
    peakBytes = Math.max(peakBytes, nowBytes);
  });
  for (const [resource, list] of Object.entries(buildProjections(prepared))) {
    if (onlyResource !== undefined && resource !== onlyResource) continue;
    const secondsByVariant: Record<string, number[]> = {};
    peakBytes = 0;
    for (let round = 0; round < rounds; round += 1)
      for (const [name, variant] of Object.entries(createVariants(ctx, url, prepared, resource, list)))
        secondsByVariant[name] = [...(secondsByVariant[name] ?? []), await measureSeconds(variant)];
    console.log(
      `\n${resource}: ${rows} records, ${rounds} rounds; peak RSS of the service ${Math.round(peakBytes / 1e6)} MB`,
    );
    report(secondsByVariant);
  }
  clearInterval(sampler);
  child.disconnect();
  await ctx.db.close();
}

const [role, given] = process.argv.slice(2);
if (role === 'serve' && given !== undefined) await serve(JSON.parse(given) as DatabaseAddress);
else {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-bench-export-'));
  const server = await startEmbedded(path.join(folder, 'data'), { settings: postgres });
  try {
    const admin = openKnex(server.connection, null, 1);
    await admin.raw('create database bench');
    await admin.destroy();
    const address = { ...server.connection, database: 'bench' };
    await migrate(address);
    await measure(address);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
