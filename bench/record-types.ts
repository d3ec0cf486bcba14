// Syncs every record type of an account with the profile `single`: the requests of discovery, the time and
// memory of the first load, and the requests of the nine record types that the connector knows by name.
// Usage: npm run bench -- record-types
import type { NetsuiteAccount, NetsuiteAccountOptions } from 'netsuite-simulator';
import { Pool } from 'pg';
import { z } from 'zod';
import { createManagementClient, type ManagementCall } from '../demo/management-client.ts';
import { connectNetsuite, ensureMetadata, readList } from '../demo/set-up.ts';
import { shippedData } from '../demo/shipped-data.ts';
import { readConfig } from '../src/config.ts';
import { netsuite } from '../src/connectors/netsuite/connector.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { openDatabase } from '../src/open-database.ts';
import { type Service, startService } from '../src/service.ts';
import { startErpProcess } from './erp-process.ts';
import { createBenchOrganization } from './organization.ts';
import { describeMachine, type Goal, type Line, toLine, writeTable } from './table.ts';
import { withWorkspace } from './workspace.ts';

const accountId = 'TSTDRV1234567';
const atMost = (limit: number): Goal => ({ target: limit, floor: limit, lowerIsBetter: true });
/**
 * Requests of the first run and of the next one without changes, over the same data, before any other record
 * type could be synced (2026-11-23).
 */
const requestsBefore: Readonly<Record<string, readonly [first: number, next: number]>> = {
  customer: [7, 10],
  item: [8, 11],
  invoice: [114, 12],
  creditMemo: [10, 11],
  salesOrder: [12, 13],
  customerPayment: [9, 10],
  vendor: [6, 8],
  employee: [6, 8],
  contact: [6, 8],
};

const Identified = z.object({ id: z.string() });
const Config = Identified.extend({ recordType: z.string() });
const RecordType = z.object({ name: z.string(), syncable: z.boolean().nullable() });
type Run = {
  record_type: string;
  status: string;
  requests: number;
  counts: { inserted: number } | null;
  error: unknown;
};
type Organization = { readonly service: Service; readonly id: string; readonly call: ManagementCall };

/** Runs each sync once; all are queued at the same time. Rejects unless all runs succeed. */
async function runAll(
  { service, id: organizationId, call }: Organization,
  configs: readonly { id: string }[],
): Promise<Run[]> {
  const ids: string[] = [];
  for (const { id } of configs)
    ids.push((await call('POST', `/sync-configs/${id}/trigger`, Identified, {})).id);
  for (;;) {
    const runs = await inTransaction({ db: service.ctx.db, organizationId }, (tx) =>
      tx('sync_runs')
        .whereIn('id', ids)
        .select<Run[]>('record_type', 'status', 'requests', 'counts', 'error'),
    );
    const stopped = runs.find(({ status }) => ['failed', 'partial', 'cancelled'].includes(status));
    if (stopped !== undefined)
      throw new Error(
        `The run of ${stopped.record_type} ended ${stopped.status}: ${JSON.stringify(stopped.error)}`,
      );
    if (runs.every(({ status }) => status === 'succeeded')) return runs;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const startedMs = performance.now();
  const value = await work();
  return { value, seconds: (performance.now() - startedMs) / 1000 };
}

/** `peakMegabytes`: the largest resident size of this process during `work`. */
async function watchingMemory<T>(work: () => Promise<T>): Promise<{ value: T; peakMegabytes: number }> {
  let peak = 0;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 50);
  try {
    return { value: await work(), peakMegabytes: peak / 1024 / 1024 };
  } finally {
    clearInterval(sampler);
  }
}

const Plan = z.object({ totals: z.object({ requests: z.number(), minutes: z.number() }) });

/**
 * Describes every record type that may be synced. Resolves to their names, and what a dry run says of their
 * first load.
 */
async function planAll({ call }: Organization) {
  const types = await readList(call, '/netsuite/metadata', RecordType);
  const recordTypes = types.filter(({ syncable }) => syncable !== false).map(({ name }) => name);
  const { totals } = await call('POST', '/sync-configs/bulk', Plan, { recordTypes, dryRun: true });
  return { recordTypes, totals };
}

async function createAll(
  { call }: Organization,
  recordTypes: readonly string[],
): Promise<z.output<typeof Config>[]> {
  await call('POST', '/sync-configs/bulk', z.unknown(), { recordTypes });
  return readList(call, '/sync-configs', Config);
}

async function measureLoad(organization: Organization): Promise<Line[]> {
  const planned = await timed(() => planAll(organization));
  const { recordTypes, totals } = planned.value;
  const configs = await createAll(organization, recordTypes);
  const loaded = await timed(() => watchingMemory(() => runAll(organization, configs)));
  const { value: runs, peakMegabytes } = loaded.value;
  const sum = (of: (run: Run) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const known = configs.filter(({ recordType }) => recordType in requestsBefore);
  const next = await runAll(organization, known);
  const requests = (of: readonly Run[], recordType: string): number =>
    of.find(({ record_type }) => record_type === recordType)?.requests ?? Number.NaN;
  return [
    toLine('record types that can be synced', runs.length, '', 0),
    toLine(
      'dry run: describing the fields of all of them, and estimating their first loads',
      planned.seconds,
      ' s',
      1,
    ),
    toLine('minutes that the dry run foresees', totals.minutes, '', 1),
    toLine('requests that the dry run foresees', totals.requests, '', 0),
    toLine('first load of all of them', loaded.seconds, ' s', 1, atMost(180)),
    toLine('RSS of the service, peak of the first load', peakMegabytes, ' MB', 0, atMost(250)),
    toLine(
      'requests of the first load',
      sum(({ requests: sent }) => sent),
      '',
      0,
    ),
    toLine(
      'records of the first load',
      sum(({ counts }) => counts?.inserted ?? 0),
      '',
      0,
    ),
    ...Object.entries(requestsBefore).flatMap(([recordType, [first, later]]) => [
      toLine(`requests of the first run of ${recordType}`, requests(runs, recordType), '', 0, atMost(first)),
      toLine(`requests of the next run of ${recordType}`, requests(next, recordType), '', 0, atMost(later)),
    ]),
  ];
}

const catalogueTypes = 700;

/** The next answer with the list of types has `catalogueTypes` of them. */
function extendCatalogue(
  account: Pick<NetsuiteAccount, 'injectFault'>,
  own: readonly { readonly name: string }[],
): void {
  const more = Array.from({ length: catalogueTypes - own.length }, (_, index) => ({
    name: `customrecord_bench_${index}`,
  }));
  const items = [...own, ...more].map(({ name }) => ({ name, links: [] }));
  account.injectFault({
    path: /metadata-catalog(\?|$)/,
    times: 1,
    status: 200,
    body: { items, links: [] },
  });
}

/**
 * Lists the types of an account with as many entries in its catalogue, and describes the record types that
 * the connector knows by name, as refreshing the metadata does.
 */
async function measureDiscovery(ctx: Ctx, admin: NetsuiteAccountOptions['admin']): Promise<Line[]> {
  // Loaded after the memory was measured.
  const { startNetsuiteAccount } = await import('netsuite-simulator');
  const account = await startNetsuiteAccount({
    admin,
    database: 'discovery',
    dataFolder: shippedData,
    accountId,
    profile: 'single',
  });
  let requests = 0;
  const counting: Ctx = {
    ...ctx,
    fetch: (url, request) => {
      requests += 1;
      return ctx.fetch(url, request);
    },
  };
  try {
    const { consumerKey, consumerSecret, tokenId, tokenSecret } =
      await account.createTokenCredentials('Bench');
    const authentication = { method: 'tba' as const, consumerKey, tokenId };
    const connector = netsuite.create(
      counting,
      { accountId, baseUrl: account.url, authentication },
      { consumerSecret, tokenSecret },
    );
    const { signal } = new AbortController();
    extendCatalogue(account, (await connector.discover?.(signal)) ?? []);
    requests = 0;
    const heads = await connector.discover?.(signal);
    const listing = requests;
    await connector.metadata(signal);
    return [
      toLine('record types that the account lists', heads?.length ?? 0, '', 0, {
        target: catalogueTypes,
        floor: catalogueTypes,
      }),
      toLine('requests that list them', listing, '', 0),
      toLine(
        'requests that list them and describe the nine record types known by name',
        requests,
        '',
        0,
        atMost(60),
      ),
    ];
  } finally {
    await account.stop();
  }
}

async function main(dataDir: string): Promise<boolean> {
  const opened = await openDatabase({ DATA_DIR: dataDir });
  if (opened.embedded === undefined) throw new Error('The benchmark needs the embedded PostgreSQL');
  const { connection } = opened.embedded;
  const options = {
    admin: connection,
    database: 'netsuite_account',
    dataFolder: shippedData,
    accountId,
    profile: 'single' as const,
  };
  const account = await startErpProcess(options);
  const environment = { PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '10000' };
  const erp = { ALLOW_PRIVATE_ERP_HOSTS: 'true', ALLOWED_ERP_HOSTS: new URL(account.url).host };
  const service = await startService(readConfig({ ...environment, ...erp }), opened);
  const admin = new Pool(connection);
  try {
    const { id, key } = await createBenchOrganization(service.ctx);
    const call = createManagementClient(service.url, key);
    await connectNetsuite(call, account);
    await ensureMetadata(call);
    const load = await measureLoad({ service, id, call });
    const discovery = await measureDiscovery(service.ctx, connection);
    const heading = `Run of ${new Date().toISOString().slice(0, 10)}.\n${await describeMachine(admin)}`;
    return await writeTable('record-types', heading, [...load, ...discovery]);
  } finally {
    await admin.end();
    await service.stop();
    await account.stop();
    await opened.embedded.stop();
  }
}

await withWorkspace(main);
