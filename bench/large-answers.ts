// What others notice while one organization reads large answers: the lag of the service's event loop, and the
// latency of small lists of another organization. Usage: npm run bench -- large-answers [seconds per
// measurement, default 10]
import type { Pool } from 'pg';
import { type Callers, startCallers, type Workload, type WorkloadResult } from './callers.ts';
import { lagLines, peakLine, readSeconds, smallLists } from './others-lag.ts';
import { type Invoices, loadInvoices, publishInvoices } from './reads-data.ts';
import { buildHeaders } from './reads-measure.ts';
import { describeMachine, type Line, toLine, writeTable } from './table.ts';
import { type LoopLag, startWatchedService, type WatchedService } from './watched-service.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const invoices = '/api/public/v1/invoices';

/**
 * In the default order of the list: a page of 100 that fits into an answer, one of 73 MB that doesn't,
 * records of 4 MB, and a page of one text.
 */
const sizes = [
  { from: 1, to: 100, bytes: 150_000 },
  { from: 101, to: 200, bytes: 730_000 },
  { from: 201, to: 220, bytes: 4_000_000 },
  { from: 221, to: 240, bytes: 45_000 },
] as const;

type Scenario = {
  readonly name: string;
  readonly paths: readonly string[];
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
};
const bigPage = `${invoices}?pageSize=100`;
const scenarios: readonly Scenario[] = [
  { name: 'pages of 0.9 MB', paths: [`${invoices}?pageSize=20&page=12`], status: 200 },
  { name: 'pages of 15 MB', paths: [bigPage], status: 200 },
  { name: 'pages of 15 MB, gzip', paths: [bigPage], status: 200, headers: { 'Accept-Encoding': 'gzip' } },
  { name: 'refused pages of 73 MB', paths: [`${bigPage}&page=2`], status: 400 },
  {
    name: 'single records of 4 MB',
    paths: Array.from({ length: 20 }, (_, index) => `${invoices}/${201 + index}`),
    status: 200,
  },
  { name: 'changes, 1,000 at a time', paths: [`${invoices}/changes?limit=1000`], status: 200 },
];

/** Every record with its text: half of it random, letters of one to four bytes and some that JSON escapes. */
async function enlarge({ schema, table, records }: Invoices, admin: Pool): Promise<void> {
  for (const { from, to, bytes } of sizes)
    await admin.query(
      `update ${schema}.${table} set f_memo = (select string_agg(md5(t.id::text || n) || 'é "quoted" 😀 ceramic lantern', '') from generate_series(1, ${Math.ceil(bytes / 68)}) as n)
       , f_trandate = date '2026-01-01' - t.id::int from ${schema}.${table} as t where t.id = ${table}.id and t.id between ${from} and ${to}`,
    );
  await admin.query(
    `update ${schema}.${table} set f_trandate = date '2020-01-01' where id > 240 and id <= ${records}`,
  );
}

type Setting = {
  readonly service: WatchedService;
  readonly listCallers: Callers;
  readonly largeCallers: Callers;
  readonly large: Invoices;
  readonly lists: Workload;
  readonly ms: number;
};
type Measured = {
  readonly lag: LoopLag;
  readonly lists: WorkloadResult;
  readonly large: WorkloadResult | undefined;
};

/** Rejects when an answer of the scenario, or of the small lists, has another status than it should. */
async function measure(
  { service, listCallers, largeCallers, large, lists, ms }: Setting,
  scenario: Scenario | null,
): Promise<Measured> {
  await service.watch();
  const background: Workload[] =
    scenario === null
      ? []
      : [
          {
            name: 'large',
            url: service.url,
            headers: { ...buildHeaders(large), ...scenario.headers },
            paths: scenario.paths,
            connections: 4,
            perSecond: null,
          },
        ];
  const [small, found] = await Promise.all([listCallers.run([lists], ms), largeCallers.run(background, ms)]);
  const lag = await service.readLag();
  const [result, others] = [found.get('large'), small.get(lists.name)];
  if (others === undefined || Object.keys(others.statuses).join() !== '200')
    throw new Error(`The lists failed: ${JSON.stringify(others)}`);
  if (scenario !== null && Object.keys(result?.statuses ?? {}).join() !== String(scenario.status))
    throw new Error(`${scenario.name}: ${JSON.stringify(result)}`);
  return { lag, lists: others, large: result };
}

function createLines(name: string, { lag, lists, large }: Measured, ms: number): Line[] {
  const answers = Object.values(large?.statuses ?? {}).reduce((sum, times) => sum + times, 0);
  const answered = large === undefined ? [] : [toLine(`${name}: answered`, (answers * 1_000) / ms, '/s', 1)];
  return [...lagLines(name, lag, lists), ...answered, peakLine(name, lag)];
}

async function measureAll(setting: Setting): Promise<Line[]> {
  await measure(setting, null);
  const lines: Line[] = [];
  for (const scenario of [null, ...scenarios]) {
    const found = createLines(
      scenario?.name ?? 'small lists alone',
      await measure(setting, scenario),
      setting.ms,
    );
    for (const { measure: what, values, unit } of found)
      console.log(`${what}: ${values[0]?.toFixed(1)}${unit}`);
    lines.push(...found);
  }
  return lines;
}

const seconds = readSeconds('large-answers', '10');
await withWorkspace((folder) =>
  withDatabase(
    folder,
    { BODY_CACHE_MB: '0', RATE_LIMIT_PER_MINUTE: '100000', ENCRYPTION_KEY: undefined },
    async ({ ctx, admin, address }) => {
      const [small, large] = [await loadInvoices(ctx, admin, 10_000), await loadInvoices(ctx, admin, 1_000)];
      await enlarge(large, admin);
      const service = await startWatchedService({ address, settings: ctx.settings, erpUrl: null });
      const [listCallers, largeCallers] = [startCallers(), startCallers()];
      try {
        for (const each of [small, large]) await publishInvoices(service.url, each, admin);
        const lists = smallLists(service.url, small);
        const lines = await measureAll({
          service,
          listCallers,
          largeCallers,
          large,
          lists,
          ms: seconds * 1_000,
        });
        const day = ctx.clock.now().toISOString().slice(0, 10);
        return await writeTable(
          'large-answers',
          `Run of ${day}, ${seconds} s per measurement.\n${await describeMachine(admin)}`,
          lines,
        );
      } finally {
        listCallers.stop();
        largeCallers.stop();
        await service.stop();
      }
    },
  ),
);
