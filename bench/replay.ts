// Replays the days of a data folder one by one, with an incremental run of every sync after each day, and
// compares every served field of every record, lines included, with the account's own records: every few days
// and at the end. Finally a full run of every sync must find nothing to change. ERP_PROFILE=single or
// oneworld replays them in an account of that profile, with the record types that it has. Usage: npm run
// bench -- replay <data folder> [days | all, default 30] [--check-every <days>, default 7]
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type NetsuiteAccount, parseProfile, startNetsuiteAccount } from 'netsuite-simulator';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/open-database.ts';
import { startService } from '../src/service.ts';
import { compareServed, type Difference, type PublicAccess } from './compare-served.ts';
import { describeFolder } from './csv-sums.ts';
import { transactionTypes } from './erp-truth.ts';
import { repeatRequest } from './repeat-request.ts';
import { createReplayCompany, type FinishedRun, type ReplayCompany } from './replay-company.ts';
import { withWorkspace } from './workspace.ts';

type Options = { readonly folder: string; readonly days: number; readonly checkEvery: number };
const maxShown = 20;
const dayMs = 86_400_000;

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;
const seconds = (startedMs: number): string => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;

/** A process may serve an older generation for up to one second. */
async function waitUntilServed(
  { url, version, headers }: PublicAccess,
  name: string,
  { generation }: FinishedRun,
): Promise<void> {
  for (;;) {
    const response = await repeatRequest(() =>
      fetch(`${url}/api/public/${version}/${name}?pageSize=1`, { headers }),
    );
    await response.text();
    if (BigInt(response.headers.get('x-data-generation') ?? '-1') >= BigInt(generation)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function report(day: string, differences: readonly Difference[]): void {
  const fields = new Map<string, number>();
  for (const { recordType, field } of differences) {
    const name = `${recordType}.${field.replace(/\[\d+\]/, '')}`;
    fields.set(name, (fields.get(name) ?? 0) + 1);
  }
  console.log(
    `${day}: ${differences.length} DIFFERENT: ${[...fields].map(([name, count]) => `${name} ${count}`).join(', ')}`,
  );
  for (const { recordType, id, field, served, erp } of differences.slice(0, maxShown))
    console.log(
      `  ${recordType} ${id} ${field}: serves ${JSON.stringify(served)}, the ERP has ${JSON.stringify(erp)}`,
    );
  if (differences.length > maxShown) console.log(`  … and ${differences.length - maxShown} more`);
}

/** Resolves to whether everything served equals the account's records. */
async function check(
  { account, resources }: ReplayCompany,
  access: PublicAccess,
  day: string,
  runs: ReadonlyMap<string, FinishedRun>,
): Promise<boolean> {
  const startedMs = performance.now();
  for (const { name, recordType } of resources) {
    const run = runs.get(recordType);
    if (run !== undefined) await waitUntilServed(access, name, run);
  }
  const compared = await compareServed(account, access, resources);
  const differences = compared.flatMap((each) => each.differences);
  if (differences.length > 0) report(day, differences);
  const counts = compared.map(
    ({ recordType, records, lines }) => `${recordType} ${records}${lines > 0 ? ` (${lines} lines)` : ''}`,
  );
  console.log(
    `${day}: ${differences.length === 0 ? 'equal' : 'compared'} in ${seconds(startedMs)}: ${counts.join(', ')}`,
  );
  return differences.length === 0;
}

/** Resolves to whether all checks passed. */
async function replayDays(
  company: ReplayCompany,
  access: PublicAccess,
  from: string,
  checkEvery: number,
): Promise<boolean> {
  const { account } = company;
  const changed = { inserted: 0, updated: 0, deleted: 0 };
  let [equal, runMs, runCount, days] = [true, 0, 0, 0];
  for (let day = from; account.daysLeft() > 0; day = dayAfter(day, 1)) {
    await account.advanceTo(day);
    const startedMs = performance.now();
    const runs = await company.syncAll('incremental');
    runMs += performance.now() - startedMs;
    for (const { counts } of runs.values())
      for (const key of ['inserted', 'updated', 'deleted'] as const) changed[key] += counts[key];
    runCount += runs.size;
    days += 1;
    if (days % checkEvery === 0 || account.daysLeft() === 0)
      equal = (await check(company, access, day, runs)) && equal;
  }
  console.log(
    `${days} days, ${runCount} incremental runs in ${(runMs / 1000).toFixed(1)} s: ${JSON.stringify(changed)}`,
  );
  return equal;
}

/** Resolves to whether full runs found nothing to change. */
async function checkFullRuns(company: ReplayCompany): Promise<boolean> {
  let unchanged = true;
  for (const [recordType, { counts }] of await company.syncAll('full')) {
    const same = counts.inserted + counts.updated + counts.deleted === 0;
    unchanged &&= same;
    console.log(
      `${same ? 'equal' : 'DIFFERENT'}: a full run of ${recordType} changed ${same ? 'nothing' : JSON.stringify(counts)}`,
    );
  }
  return unchanged;
}

const profile = parseProfile(process.env['ERP_PROFILE'] || undefined);
/** What every profile has in addition to the folder's records. */
const profileTypes = ['salesOrder', 'customerPayment', 'vendor', 'employee', 'contact'];

/** The record types that the account has, and the day from which on its changes are held back. */
async function planReplay({ folder, days }: Options): Promise<{ recordTypes: string[]; from: string }> {
  const { types, firstDay, lastDay } = await describeFolder(folder);
  const known = types.flatMap((type) => transactionTypes.get(type)?.recordType ?? []);
  const unknown = types.filter((type) => !transactionTypes.has(type));
  if (unknown.length > 0) console.log(`Transactions of these types belong to no sync: ${unknown.join(', ')}`);
  // The first day's records are in the books when the replay begins.
  const held = Math.min(days, daysBetween(firstDay, lastDay));
  return {
    recordTypes: [...new Set(['customer', 'item', ...known, ...(profile === undefined ? [] : profileTypes)])],
    from: dayAfter(lastDay, 1 - held),
  };
}

async function main(options: Options, dataDir: string): Promise<boolean> {
  const startedMs = performance.now();
  const { recordTypes, from } = await planReplay(options);
  const opened = await openDatabase({ DATA_DIR: dataDir });
  if (opened.embedded === undefined) throw new Error('The benchmark needs the embedded PostgreSQL');
  const account: NetsuiteAccount = await startNetsuiteAccount({
    admin: opened.embedded.connection,
    database: 'daily',
    dataFolder: options.folder,
    accountId: 'TSTDRV1234567',
    replayFrom: from,
    ...(profile !== undefined && { profile }),
    control: {},
    // The harder way: payments leave no trace in the modification time.
    switches: { paymentTouchesInvoice: false },
  });
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '1000000',
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ALLOWED_ERP_HOSTS: new URL(account.url).host,
  });
  const service = await startService(config, opened);
  try {
    const company = await createReplayCompany(service, account, recordTypes);
    await company.syncAll('full');
    const access = await company.publish();
    console.log(`Replaying ${account.daysLeft()} days from ${from}: ${recordTypes.join(', ')}`);
    const replayed = await replayDays(company, access, from, options.checkEvery);
    const unchanged = await checkFullRuns(company);
    console.log(`${replayed && unchanged ? 'equal' : 'DIFFERENT'} after ${seconds(startedMs)}`);
    return replayed && unchanged;
  } finally {
    await service.stop();
    await account.stop();
    await opened.embedded.stop();
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'check-every': { type: 'string', default: '7' } },
});
const [folder, days = '30'] = positionals;
if (
  folder === undefined ||
  positionals.length > 2 ||
  !/^([1-9]\d{0,3}|all)$/.test(days) ||
  !/^[1-9]\d{0,3}$/.test(values['check-every'])
) {
  console.error('Usage: npm run bench -- replay <data folder> [days | all] [--check-every <days>]');
  process.exit(2);
}
const options = {
  folder: path.resolve(folder),
  days: days === 'all' ? Number.MAX_SAFE_INTEGER : Number(days),
  checkEvery: Number(values['check-every']),
};
await withWorkspace((dataDir) => main(options, dataDir));
