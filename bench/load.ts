// Loads a whole data folder through the service, measures time and memory, and verifies that every record is
// served exactly once and that counts and sums equal those of the files. Usage: npm run bench -- load <data
// folder>
import path from 'node:path';
import { z } from 'zod';
import { createManagementClient, type ManagementCall } from '../demo/management-client.ts';
import { connectNetsuite, ensureMetadata } from '../demo/set-up.ts';
import { readConfig } from '../src/config.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { openDatabase } from '../src/open-database.ts';
import { type Service, startService } from '../src/service.ts';
import { millionths, type Sums, sumFolder } from './csv-sums.ts';
import { startErpProcess } from './erp-process.ts';
import { createBenchOrganization } from './organization.ts';
import { withWorkspace } from './workspace.ts';

const limits = { seconds: 300, rssMegabytes: 250 };
const field = (name: string, source: string) => ({ name, source, description: '' });
const amount = (name: string, source: string) => ({ ...field(name, source), as: 'string' });
const transactions = [
  field('number', 'tranid'),
  amount('total', 'foreigntotal'),
  {
    ...field('lines', 'lines'),
    fields: [
      field('line', 'linesequencenumber'),
      amount('quantity', 'quantity'),
      amount('amount', 'netamount'),
    ],
  },
];
const endpoints = [
  { name: 'customers', recordType: 'customer', fields: [field('number', 'entityid')], maxPageSize: 1000 },
  { name: 'items', recordType: 'item', fields: [field('number', 'itemid')], maxPageSize: 1000 },
  { name: 'invoices', recordType: 'invoice', fields: transactions, maxPageSize: 1000 },
  { name: 'credit-memos', recordType: 'creditMemo', fields: transactions, maxPageSize: 1000 },
];

const anything = z.unknown();
const Identified = z.object({ id: z.string() });

async function syncAll({ ctx }: Service, organizationId: string, call: ManagementCall): Promise<void> {
  const runs: string[] = [];
  for (const { recordType, name } of endpoints) {
    const config = await call('POST', '/sync-configs', Identified, { recordType, name, mode: 'full' });
    runs.push((await call('POST', `/sync-configs/${config.id}/trigger`, Identified, {})).id);
  }
  for (const id of runs) {
    for (;;) {
      const run = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
        tx('sync_runs').where({ id }).first<{ status: string; error: unknown }>('status', 'error'),
      );
      if (run.status === 'succeeded') break;
      if (['failed', 'partial', 'cancelled'].includes(run.status))
        throw new Error(`A run ended ${run.status}: ${JSON.stringify(run.error)}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function publish({ ctx }: Service, organizationId: string, call: ManagementCall): Promise<void> {
  const draft = await call('POST', '/api-schema', Identified.extend({ revision: z.number() }), { endpoints });
  await call('POST', `/api-schema/${draft.id}/publish`, anything, { revision: draft.revision });
  for (;;) {
    const row = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('api_schemas')
        .where({ id: draft.id })
        .first<{ status: string; publication: unknown }>('status', 'publication'),
    );
    if (row.status === 'published') return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

type RecordOf = { id: string; total?: string; lines?: { quantity: string | null; amount: string | null }[] };

async function walk(base: string, headers: Record<string, string>, resource: string): Promise<Sums> {
  const sums: Sums = { records: 0, lines: 0, total: 0n, quantity: 0n, amount: 0n };
  const seen = new Set<string>();
  for (let page = 1; ; page += 1) {
    const response = await fetch(`${base}/api/public/v1/${resource}?pageSize=1000&page=${page}`, { headers });
    const { data, pagination } = (await response.json()) as {
      data: RecordOf[];
      pagination: { total: number; totalPages: number };
    };
    for (const record of data) {
      if (seen.has(record.id)) throw new Error(`${resource} ${record.id} was served twice`);
      seen.add(record.id);
      sums.records += 1;
      sums.total += millionths(record.total);
      for (const line of record.lines ?? []) {
        sums.lines += 1;
        sums.quantity += millionths(line.quantity);
        sums.amount += millionths(line.amount);
      }
    }
    if (page >= pagination.totalPages) {
      if (pagination.total !== seen.size)
        throw new Error(`${resource}: total is ${pagination.total}, but ${seen.size} records were served`);
      return sums;
    }
  }
}

const format = (sums: Sums): string =>
  JSON.stringify(sums, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));

/** Whether the served records have the same counts and sums as the files. */
async function isEqual(url: string, headers: Record<string, string>, folder: string): Promise<boolean> {
  const expected = await sumFolder(folder);
  let equal = true;
  for (const { name, recordType } of endpoints) {
    const read = await walk(url, headers, name);
    const same = format(read) === format(expected[recordType] ?? read);
    equal &&= same;
    console.log(
      `${same ? 'equal' : 'DIFFERENT'} ${recordType}: ${format(read)}${same ? '' : ` instead of ${format(expected[recordType] ?? read)}`}`,
    );
  }
  return equal;
}

async function main(folder: string, dataDir: string): Promise<boolean> {
  const opened = await openDatabase({ DATA_DIR: dataDir });
  if (opened.embedded === undefined) throw new Error('The benchmark needs the embedded PostgreSQL');
  const account = await startErpProcess({
    admin: opened.embedded.connection,
    database: 'netsuite_account',
    dataFolder: folder,
    accountId: 'TSTDRV1234567',
  });
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '10000',
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ALLOWED_ERP_HOSTS: new URL(account.url).host,
  });
  const service = await startService(config, opened);
  let succeeded = true;
  try {
    const organization = await createBenchOrganization(service.ctx);
    const call = createManagementClient(service.url, organization.key);
    await connectNetsuite(call, account);
    await ensureMetadata(call);
    let peak = 0;
    const sampler = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 50);
    const startedMs = performance.now();
    await syncAll(service, organization.id, call);
    const seconds = (performance.now() - startedMs) / 1000;
    clearInterval(sampler);
    const megabytes = peak / 1024 / 1024;
    succeeded = seconds <= limits.seconds && megabytes <= limits.rssMegabytes;
    console.log(
      `loaded in ${seconds.toFixed(1)} s (limit ${limits.seconds}), peak RSS of the service ${megabytes.toFixed(0)} MB (limit ${limits.rssMegabytes})`,
    );
    await publish(service, organization.id, call);
    succeeded &&= await isEqual(
      service.url,
      { authorization: `Bearer ${organization.key}`, 'x-tenant-id': organization.id },
      folder,
    );
  } finally {
    await service.stop();
    await account.stop();
    await opened.embedded.stop();
  }
  return succeeded;
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error('Usage: npm run bench -- load <data folder>');
  process.exit(2);
}
await withWorkspace((dataDir) => main(path.resolve(folder), dataDir));
