// Overload: does the service stay responsive while its public interface is saturated, does it shed load with
// 503, and do lists stay fast during exports? Writes its table to bench/RESULTS.md. Usage: npm run
// bench -- overload [records, default 100000] [seconds per measurement, default 10]
import { type Callers, startCallers, type Workload, type WorkloadResult } from './callers.ts';
import { dates, type Invoices, loadInvoices, publishInvoices, statuses } from './reads-data.ts';
import { startService } from './reads-servers.ts';
import { describeMachine, type Goal, type Line, toLine, writeTable } from './table.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const probesPerSecond = 20;
const crowdConnections = 600;

const readHeaders = ({ key, organizationId }: Invoices) => ({
  Authorization: `Bearer ${key}`,
  'x-tenant-id': organizationId,
});

const listPaths: readonly string[] = statuses.flatMap((status) =>
  dates.flatMap((date) =>
    Array.from(
      { length: 20 },
      (_, page) =>
        `/api/public/v1/invoices?statusName=${encodeURIComponent(status)}&trandate_after=${date}&page=${page + 1}`,
    ),
  ),
);

type Scenario = {
  readonly url: string;
  readonly busy: Invoices;
  readonly other: Invoices;
  /**
   * The measured requests and the background load run in separate processes; in one, the load would delay the
   * measured requests.
   */
  readonly probeCallers: Callers;
  readonly loadCallers: Callers;
  readonly ms: number;
};

/** `/healthz` where the service has it, else the cheapest path that responds. */
async function findHealthPath(url: string): Promise<string> {
  const { status } = await fetch(`${url}/healthz`, { redirect: 'manual' });
  return status === 200 ? '/healthz' : '/';
}

async function probeWorkloads({ url, other }: Scenario): Promise<Workload[]> {
  const rate = { url, connections: 8, perSecond: probesPerSecond };
  const manage = { Authorization: `Bearer ${other.key}` };
  return [
    { ...rate, name: 'health', headers: {}, paths: [await findHealthPath(url)] },
    {
      ...rate,
      name: 'management',
      headers: manage,
      paths: ['/api/platform/v1/whoami', '/api/platform/v1/sync-configs'],
    },
    { ...rate, name: 'list', headers: readHeaders(other), paths: listPaths },
  ];
}

const crowdWorkload = ({ url, busy }: Scenario): Workload => ({
  name: 'crowd',
  url,
  headers: readHeaders(busy),
  paths: listPaths,
  connections: crowdConnections,
  perSecond: null,
});

/** Two organizations, because one alone may run at most half of the exports. */
const exportWorkloads = ({ url, busy, other }: Scenario): Workload[] =>
  [busy, other].map((invoices, index) => ({
    name: `exports ${index}`,
    url,
    headers: { ...readHeaders(invoices), Accept: 'application/x-ndjson', 'Accept-Encoding': 'identity' },
    paths: ['/api/public/v1/invoices'],
    connections: 4,
    perSecond: null,
  }));

type Measured = {
  readonly idle: Map<string, WorkloadResult>;
  readonly crowded: Map<string, WorkloadResult>;
  readonly exporting: Map<string, WorkloadResult>;
};

async function measure(scenario: Scenario): Promise<Measured> {
  const { probeCallers, loadCallers, ms } = scenario;
  const probes = await probeWorkloads(scenario);
  const runUnder = async (background: Workload[]): Promise<Map<string, WorkloadResult>> => {
    const [probeResults, backgroundResults] = await Promise.all([
      probeCallers.run(probes, ms),
      loadCallers.run(background, ms),
    ]);
    return new Map([...probeResults, ...backgroundResults]);
  };
  await runUnder([{ ...crowdWorkload(scenario), connections: 16 }]);
  return {
    idle: await runUnder([]),
    crowded: await runUnder([crowdWorkload(scenario)]),
    exporting: await runUnder(exportWorkloads(scenario)),
  };
}

const noResult: WorkloadResult = {
  name: '',
  statuses: {},
  perSecond: 0,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  latenciesMs: [],
  errorP99Ms: Number.NaN,
};
const countStatuses = ({ statuses: found }: WorkloadResult, wanted: (status: number) => boolean): number =>
  Object.entries(found).reduce((sum, [status, times]) => sum + (wanted(Number(status)) ? times : 0), 0);

const of = (seen: Map<string, WorkloadResult>, name: string): WorkloadResult => seen.get(name) ?? noResult;
const zeroGoal: Goal = { target: 0, floor: 0, lowerIsBetter: true };
const latencyGoal: Goal = { target: 250, floor: 1_000, lowerIsBetter: true };

function latencyLines({ idle, crowded, exporting }: Measured): Line[] {
  const failed = (seen: Map<string, WorkloadResult>, names: string[]): number =>
    names.reduce(
      (sum, name) => sum + countStatuses(of(seen, name), (status) => status === 0 || status >= 400),
      0,
    );
  return [
    toLine('management, p99, idle', of(idle, 'management').p99Ms, ' ms', 1),
    toLine(
      `management, p99, while ${crowdConnections} connections of another organization request lists continuously`,
      of(crowded, 'management').p99Ms,
      ' ms',
      1,
      latencyGoal,
    ),
    toLine('management, p99, during exports', of(exporting, 'management').p99Ms, ' ms', 1, latencyGoal),
    toLine('health, p99, idle', of(idle, 'health').p99Ms, ' ms', 1),
    toLine(
      `health, p99, while ${crowdConnections} connections request lists`,
      of(crowded, 'health').p99Ms,
      ' ms',
      1,
      latencyGoal,
    ),
    toLine("another organization's list, p99, idle", of(idle, 'list').p99Ms, ' ms', 1),
    toLine(
      `another organization's list, p99, while ${crowdConnections} connections request lists`,
      of(crowded, 'list').p99Ms,
      ' ms',
      1,
      latencyGoal,
    ),
    toLine(
      'probes refused or failed in that time',
      failed(crowded, ['health', 'management', 'list']),
      '',
      0,
      zeroGoal,
    ),
  ];
}

function crowdLines(crowd: WorkloadResult): Line[] {
  return [
    toLine(`lists served to the ${crowdConnections} connections`, crowd.perSecond, '/s', 0),
    toLine(`p99 of the ${crowdConnections} connections`, crowd.p99Ms, ' ms', 0),
    toLine(
      'share of their requests shed with 503',
      countStatuses(crowd, (status) => status === 503) /
        Math.max(
          1,
          countStatuses(crowd, () => true),
        ),
      '',
      2,
    ),
    toLine('p99 of a 503', crowd.errorP99Ms, ' ms', 0),
    toLine(
      'responses other than 200 and 503',
      countStatuses(crowd, (status) => status !== 200 && status !== 503),
      '',
      0,
      zeroGoal,
    ),
  ];
}

function createLines(measured: Measured): Line[] {
  const { idle, crowded, exporting } = measured;
  return [
    ...latencyLines(measured),
    ...crowdLines(of(crowded, 'crowd')),
    toLine(
      'list, p99 under full export load / idle',
      of(exporting, 'list').p99Ms / of(idle, 'list').p99Ms,
      '',
      1,
      {
        target: 3,
        floor: 3,
        lowerIsBetter: true,
      },
    ),
    toLine(
      'list, p50 under full export load / idle',
      of(exporting, 'list').p50Ms / of(idle, 'list').p50Ms,
      '',
      1,
    ),
    toLine(
      'exports finished in that time',
      of(exporting, 'exports 0').perSecond + of(exporting, 'exports 1').perSecond,
      '/s',
      2,
    ),
  ];
}

const [records = '100000', seconds = '10'] = process.argv.slice(2);
if (!/^\d{5,7}$/.test(records) || !/^[1-9]\d{0,2}$/.test(seconds)) {
  console.error('Usage: npm run bench -- overload [records] [seconds per measurement]');
  process.exit(2);
}
await withWorkspace((folder) =>
  withDatabase(folder, {}, async ({ ctx, admin }) => {
    const [busy, other] = [
      await loadInvoices(ctx, admin, Number(records)),
      await loadInvoices(ctx, admin, Number(records)),
    ];
    // Without the page cache, so that every list is read from the database.
    const service = await startService(folder, {
      environment: { BODY_CACHE_MB: '0', RATE_LIMIT_PER_MINUTE: '1000000' },
    });
    const [probeCallers, loadCallers] = [startCallers(), startCallers()];
    try {
      for (const invoices of [busy, other]) await publishInvoices(service.url, invoices, admin);
      const lines = createLines(
        await measure({
          url: service.url,
          busy,
          other,
          probeCallers,
          loadCallers,
          ms: Number(seconds) * 1_000,
        }),
      );
      const day = ctx.clock.now().toISOString().slice(0, 10);
      const heading = `Run of ${day}: two organizations with ${records} invoices each, ${seconds} s per measurement, probes at ${probesPerSecond}/s.\n${await describeMachine(admin)}`;
      return await writeTable('overload', heading, lines);
    } finally {
      probeCallers.stop();
      loadCallers.stop();
      await service.stop();
    }
  }),
);
