// Replays the last days of a data folder one by one, with an incremental run of every sync after each day, and compares the result with
// one load of the same data: both warehouses must hold the same rows. Usage: npm run bench:replay -- <data folder> [days, default 30]
import path from 'node:path';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { z } from 'zod';
import { createManagementClient, type ManagementCall } from '../demo/management-client.ts';
import { connectNetsuite, ensureMetadata } from '../demo/set-up.ts';
import { readConfig } from '../src/config.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { openDatabase, type Service, startService } from '../src/service.ts';
import { readRecordState } from '../src/warehouse/record-state.ts';
import { tenantSchema } from '../src/warehouse/tenant-schema.ts';
import { lastDayOf } from './csv-sums.ts';
import { createBenchOrganization } from './organization.ts';
import { withWorkspace } from './workspace.ts';

const recordTypes = ['customer', 'item', 'invoice', 'creditMemo'];
const Identified = z.object({ id: z.string() });
type ReplayOrganization = {
  readonly account: NetsuiteAccount;
  readonly organizationId: string;
  readonly call: ManagementCall;
  readonly configs: ReadonlyMap<string, string>;
};

async function createReplayOrganization(service: Service, account: NetsuiteAccount): Promise<ReplayOrganization> {
  const organization = await createBenchOrganization(service.ctx);
  const call = createManagementClient(service.url, organization.key);
  await connectNetsuite(call, account);
  await ensureMetadata(call);
  const configs = new Map<string, string>();
  for (const recordType of recordTypes)
    configs.set(recordType, (await call('POST', '/sync-configs', Identified, { recordType, name: recordType })).id);
  return { account, organizationId: organization.id, call, configs };
}

type FinishedRun = { status: string; mode: string; error: unknown; counts: { inserted: number; updated: number; deleted: number } };

async function sync({ ctx }: Service, { organizationId, call, configs }: ReplayOrganization, recordType: string): Promise<FinishedRun> {
  const { id } = await call('POST', `/sync-configs/${configs.get(recordType)}/trigger`, Identified, {});
  for (;;) {
    const run = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('sync_runs').where({ id }).first<FinishedRun>('status', 'mode', 'error', 'counts'),
    );
    if (run.status === 'succeeded') return run;
    if (['failed', 'partial', 'cancelled'].includes(run.status))
      throw new Error(`A run of ${recordType} ended ${run.status}: ${JSON.stringify(run.error)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Counts rows that are in only one of the two warehouses, comparing every column but `generation` and `changed_at`. */
async function countDifferences(
  { ctx }: Service,
  a: ReplayOrganization,
  b: ReplayOrganization,
  recordType: string,
): Promise<{ rows: number; different: number }> {
  const rowsOf = async ({ organizationId }: ReplayOrganization) => {
    const schema = tenantSchema(organizationId);
    const state = await readRecordState(ctx.db.data, schema, recordType);
    return `select to_jsonb(t) - 'generation' - 'changed_at' as row from ${schema}."${state?.activeTable}" t`;
  };
  const [left, right] = [await rowsOf(a), await rowsOf(b)];
  const { rows } = await ctx.db.control.raw<{ rows: { rows: string; different: string }[] }>(
    `select (select count(*) from (${left}) l) as rows,
            (select count(*) from (((${left}) except (${right})) union all ((${right}) except (${left}))) d) as different`,
  );
  return { rows: Number(rows[0]?.rows), different: Number(rows[0]?.different) };
}

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);

async function replay(service: Service, daily: ReplayOrganization, from: string): Promise<void> {
  for (const recordType of recordTypes) await sync(service, daily, recordType);
  const startedMs = performance.now();
  const changed = { inserted: 0, updated: 0, deleted: 0 };
  let runs = 0;
  for (let day = from; daily.account.daysLeft() > 0; day = dayAfter(day, 1)) {
    await daily.account.advanceTo(day);
    for (const recordType of recordTypes) {
      const { counts, mode } = await sync(service, daily, recordType);
      if (mode !== 'incremental') throw new Error(`The run of ${recordType} on ${day} was ${mode}, not incremental`);
      for (const key of ['inserted', 'updated', 'deleted'] as const) changed[key] += counts[key];
      runs += 1;
    }
  }
  console.log(`${runs} incremental runs in ${((performance.now() - startedMs) / 1000).toFixed(1)} s: ${JSON.stringify(changed)}`);
}

async function main(folder: string, days: number, dataDir: string): Promise<boolean> {
  const opened = await openDatabase({ DATA_DIR: dataDir, DATABASE_URL: undefined, WAREHOUSE_URL: undefined });
  if (opened.embedded === undefined) throw new Error('The benchmark needs the embedded PostgreSQL');
  const from = dayAfter(await lastDayOf(folder), 1 - days);
  const common = {
    admin: opened.embedded.connection,
    dataFolder: folder,
    accountId: 'TSTDRV1234567',
    switches: { paymentTouchesInvoice: false },
  };
  const accounts = [
    await startNetsuiteAccount({ ...common, database: 'daily', replayFrom: from }),
    await startNetsuiteAccount({ ...common, database: 'whole' }),
  ] as const;
  const hosts = accounts.map(({ url }) => new URL(url).host).join();
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '100000',
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ALLOWED_ERP_HOSTS: hosts,
  });
  const service = await startService(config, opened);
  let equal = true;
  try {
    const daily = await createReplayOrganization(service, accounts[0]);
    await replay(service, daily, from);
    const end = new Date(Math.max(...accounts.map((account) => account.businessTime().getTime())) + 3_600_000);
    for (const account of accounts) await account.setBusinessTime(end);
    const whole = await createReplayOrganization(service, accounts[1]);
    for (const recordType of recordTypes) {
      await sync(service, daily, recordType);
      await sync(service, whole, recordType);
      const { rows, different } = await countDifferences(service, daily, whole, recordType);
      equal &&= different === 0;
      console.log(`${different === 0 ? 'equal' : 'DIFFERENT'} ${recordType}: ${rows} rows, ${different} in only one of the two warehouses`);
    }
  } finally {
    await service.stop();
    for (const account of accounts) await account.stop();
    await opened.embedded.stop();
  }
  return equal;
}

const [folder, days = '30'] = process.argv.slice(2);
if (folder === undefined || !/^\d{1,3}$/.test(days)) {
  console.error('Usage: npm run bench:replay -- <data folder> [days]');
  process.exit(2);
}
await withWorkspace((dataDir) => main(path.resolve(folder), Number(days), dataDir));
