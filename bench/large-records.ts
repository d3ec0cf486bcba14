// What others notice while pages of large texts are read from an ERP: the lag of the service's event loop,
// and the latency of small lists of another organization. Texts as large as the bounds let through, texts
// beyond them, and many small values that are as much together. Usage: npm run bench -- large-records
// [seconds per measurement, default 15]

import type { Pool } from 'pg';
import type { Ctx } from '../src/core/ctx.ts';
import { isFinal } from '../src/sync/queue/run-state.ts';
import { storeAccount } from '../test/setup/erp-account.ts';
import { type Callers, startCallers, type Workload, type WorkloadResult } from './callers.ts';
import { type LargeErp, type LargeRecords, largeRecordType, startLargeErp } from './large-erp.ts';
import { lagLines, peakLine, readSeconds, smallLists } from './others-lag.ts';
import { loadInvoices, publishInvoices } from './reads-data.ts';
import { createSyncOrganization } from './sync-organization.ts';
import { describeMachine, type Line, toLine, writeTable } from './table.ts';
import { type LoopLag, startWatchedService, type WatchedService } from './watched-service.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const mebibyte = 1024 * 1024;
const megabytes = (bytes: number): number => bytes / mebibyte;

type Scenario = LargeRecords & { readonly name: string; readonly status: 'succeeded' | 'partial' };
const scenarios: readonly Scenario[] = [
  { name: '1 MiB in each of 40 records', records: 40, fields: 1, bytes: mebibyte, status: 'succeeded' },
  {
    name: 'three times 1 MiB in each of 15 records',
    records: 15,
    fields: 3,
    bytes: mebibyte,
    status: 'succeeded',
  },
  {
    name: '4 MB in each of 20 records, rejected',
    records: 20,
    fields: 1,
    bytes: 4_000_000,
    status: 'partial',
  },
  {
    name: '1,000 records of 200 values of 100 bytes',
    records: 1_000,
    fields: 200,
    bytes: 100,
    status: 'succeeded',
  },
];

type Setting = {
  readonly ctx: Ctx;
  readonly admin: Pool;
  readonly service: WatchedService;
  readonly erp: LargeErp;
  readonly callers: Callers;
  readonly lists: Workload;
  readonly ms: number;
};
type Measured = { readonly lag: LoopLag; readonly lists: WorkloadResult };

/** The lists of the other organization while `background` runs. */
async function measure(
  { service, callers, lists, ms }: Setting,
  background: () => Promise<unknown>,
): Promise<Measured> {
  await service.watch();
  const [results] = await Promise.all([callers.run([lists], ms), background()]);
  const found = results.get(lists.name);
  if (found === undefined || found.perSecond === 0)
    throw new Error(`The lists failed: ${JSON.stringify(found)}`);
  return { lag: await service.readLag(), lists: found };
}

/**
 * Repeats full runs until the time is over, and returns how many records a second they read. Rejects when one
 * doesn't end as expected.
 */
async function syncRepeatedly({ ctx, admin, ms }: Setting, scenario: Scenario): Promise<number> {
  const organization = await createSyncOrganization(ctx, []);
  await storeAccount(
    { db: ctx.db, organizationId: organization.organizationId },
    { described: [largeRecordType(scenario)], listed: [], account: null },
  );
  const startMs = performance.now();
  let runs = 0;
  for (; performance.now() - startMs < ms; runs += 1) {
    const id = await organization.queueRun('full');
    let run = await organization.getRun(id);
    for (; !isFinal(run.status); run = await organization.getRun(id))
      await new Promise((resolve) => setTimeout(resolve, 50));
    if (run.status !== scenario.status)
      throw new Error(`A run ended ${run.status}: ${JSON.stringify(run.error)}`);
  }
  const perSecond = (runs * scenario.records) / ((performance.now() - startMs) / 1_000);
  await admin.query(`drop schema ${organization.schema} cascade`);
  return perSecond;
}

async function measureAll(setting: Setting): Promise<Line[]> {
  await measure(setting, async () => undefined);
  const idle = await measure(setting, async () => undefined);
  const lines = lagLines('no sync', idle.lag, idle.lists);
  for (const scenario of scenarios) {
    await setting.erp.setRecords(scenario);
    let perSecond = 0;
    const measured = await measure(setting, async () => {
      perSecond = await syncRepeatedly(setting, scenario);
    });
    const rate = megabytes(perSecond * scenario.fields * scenario.bytes);
    const found = [
      ...lagLines(scenario.name, measured.lag, measured.lists),
      toLine(`${scenario.name}: read from the ERP`, rate, ' MB/s', 1),
    ];
    lines.push(...found, peakLine(scenario.name, measured.lag));
    for (const { measure: what, values, unit } of found)
      console.log(`${what}: ${values[0]?.toFixed(1)}${unit}`);
  }
  return lines;
}

const seconds = readSeconds('large-records', '15');
await withWorkspace((folder) =>
  withDatabase(
    folder,
    { BODY_CACHE_MB: '0', RATE_LIMIT_PER_MINUTE: '100000', ENCRYPTION_KEY: undefined },
    async ({ ctx, admin, address }) => {
      const invoices = await loadInvoices(ctx, admin, 10_000);
      const erp = await startLargeErp();
      const service = await startWatchedService({ address, settings: ctx.settings, erpUrl: erp.url });
      const callers = startCallers();
      try {
        await publishInvoices(service.url, invoices, admin);
        const lists = smallLists(service.url, invoices);
        const lines = await measureAll({ ctx, admin, service, erp, callers, lists, ms: seconds * 1_000 });
        const day = ctx.clock.now().toISOString().slice(0, 10);
        return await writeTable(
          'large-records',
          `Run of ${day}, ${seconds} s per measurement.\n${await describeMachine(admin)}`,
          lines,
        );
      } finally {
        callers.stop();
        await service.stop();
        erp.stop();
      }
    },
  ),
);
