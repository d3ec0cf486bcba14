// Everything at once, for long: lists, records, changes, exports, management calls, syncs against the
// simulated ERP, and mail. Reads run at 80 % of the saturation rate that was measured with the other load
// running. Goals: no errors, flat memory, p99 at most twice that of the start. Writes its table to
// bench/RESULTS.md. Usage: npm run bench -- soak [--minutes N, default 20] [--records N, default 100000]
import { parseArgs } from 'node:util';
import { startMailServer } from '../test/setup/smtp.ts';
import { type Callers, startCallers, type Workload, type WorkloadResult } from './callers.ts';
import { openInspector, type ProcessSample } from './inspect.ts';
import { dates, type Invoices, loadInvoices, publishInvoices, statuses } from './reads-data.ts';
import { freePort, startService } from './reads-servers.ts';
import { type BackgroundResult, createSoakOrganization, startErp } from './soak-organization.ts';
import { describeMachine, type Line, median, writeTable } from './table.ts';
import { type Database, withDatabase, withWorkspace } from './workspace.ts';

const readShare = 0.8;
const saturationMs = 10_000;
const windowMs = 10_000;
/** Share of the windows that is left out of all comparisons. */
const warmUpShare = 0.2;

type Scenario = { readonly url: string; readonly invoices: Invoices; readonly callers: Callers };

const listPaths = statuses.flatMap((status) =>
  dates.flatMap((date) =>
    Array.from(
      { length: 20 },
      (_, page) => `statusName=${encodeURIComponent(status)}&trandate_after=${date}&page=${page + 1}`,
    ),
  ),
);

/**
 * Six lists per three records and one page of changes, at `perSecond` in total; null runs that mix in a
 * closed loop of 16 connections.
 */
function readWorkloads({ url, invoices }: Scenario, perSecond: number | null): Workload[] {
  const headers = { Authorization: `Bearer ${invoices.key}`, 'x-tenant-id': invoices.organizationId };
  const base = '/api/public/v1/invoices';
  const records = Array.from(
    { length: listPaths.length / 2 },
    () => `${base}/${1 + Math.floor(Math.random() * invoices.records)}`,
  );
  const mix = [
    { name: 'list', tenths: 6, paths: listPaths.map((query) => `${base}?${query}`) },
    { name: 'record', tenths: 3, paths: records },
    { name: 'changes', tenths: 1, paths: [`${base}/changes?limit=100`] },
  ];
  if (perSecond === null) {
    const changes = Array.from({ length: listPaths.length / 6 }, () => `${base}/changes?limit=100`);
    const paths = [...mix.slice(0, 2).flatMap((kind) => kind.paths), ...changes];
    return [{ name: 'reads', url, headers, paths, connections: 16, perSecond }];
  }
  return mix.map(({ name, tenths, paths }) => ({
    name,
    url,
    headers,
    paths,
    connections: 4 * tenths,
    perSecond: (perSecond * tenths) / 10,
  }));
}

function otherWorkloads({ url, invoices }: Scenario): Workload[] {
  const manage = { Authorization: `Bearer ${invoices.key}` };
  const read = { ...manage, 'x-tenant-id': invoices.organizationId };
  const management = ['/whoami', '/sync-configs', '/sync-runs', '/api-schema', '/api-keys'].map(
    (path) => `/api/platform/v1${path}`,
  );
  const exported = {
    url,
    paths: ['/api/public/v1/invoices?statusName=Rejected'],
    connections: 2,
    perSecond: 0.5,
  };
  return [
    { name: 'management', url, headers: manage, paths: management, connections: 4, perSecond: 5 },
    { ...exported, name: 'NDJSON', headers: { ...read, Accept: 'application/x-ndjson' } },
    { ...exported, name: 'CSV', headers: { ...read, Accept: 'text/csv', 'Accept-Encoding': 'gzip' } },
  ];
}

const totalPerSecond = (results: Map<string, WorkloadResult>, names: readonly string[]): number =>
  names.reduce((sum, name) => sum + (results.get(name)?.perSecond ?? 0), 0);
const reads = ['list', 'record', 'changes'];

type Window = {
  readonly minute: number;
  readonly results: Map<string, WorkloadResult>;
  readonly sample: ProcessSample;
};
type SoakResult = {
  readonly saturation: number;
  readonly windows: readonly Window[];
  readonly background: BackgroundResult;
};

async function soak(
  scenario: Scenario,
  minutes: number,
  takeSample: () => Promise<ProcessSample>,
  stop: () => Promise<BackgroundResult>,
): Promise<SoakResult> {
  const others = otherWorkloads(scenario);
  await scenario.callers.run([...readWorkloads(scenario, null), ...others], saturationMs);
  const saturation = totalPerSecond(
    await scenario.callers.run([...readWorkloads(scenario, null), ...others], saturationMs),
    ['reads'],
  );
  const workloads = [...readWorkloads(scenario, readShare * saturation), ...others];
  const windows: Window[] = [];
  const startMs = performance.now();
  const minute = (): number => (performance.now() - startMs) / 60_000;
  while (minute() < minutes) {
    const results = await scenario.callers.run(workloads, windowMs);
    windows.push({ minute: minute(), results, sample: await takeSample() });
    const last = windows.at(-1);
    if (windows.length % 6 === 0 && last !== undefined)
      console.log(
        `${minute().toFixed(0)} min: list p99 ${last.results.get('list')?.p99Ms.toFixed(1)} ms, RSS ${last.sample.rssMegabytes.toFixed(0)} MB, heap ${last.sample.heapMegabytes.toFixed(1)} MB`,
      );
  }
  return { saturation, windows, background: await stop() };
}

/** Growth from the first window to the last, by the slope of a least-squares fit. */
function growth(windows: readonly Window[], of: (sample: ProcessSample) => number): number {
  const points = windows.map(({ minute, sample }) => [minute, of(sample)] as const);
  const mean = (index: 0 | 1): number => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const slope =
    points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0) /
    points.reduce((sum, [px]) => sum + (px - x) ** 2, 0);
  return slope * ((windows.at(-1)?.minute ?? 0) - (windows[0]?.minute ?? 0));
}

/**
 * One line per workload and status of 400 or above (0: broken connection), plus background errors and
 * undelivered mails.
 */
function listErrors(windows: readonly Window[], { errors, mails, delivered }: BackgroundResult): string[] {
  const counts = new Map<string, number>();
  for (const { results } of windows)
    for (const { name, statuses: found } of results.values())
      for (const [status, times] of Object.entries(found))
        if (Number(status) === 0 || Number(status) >= 400)
          counts.set(`${name} ${status}`, (counts.get(`${name} ${status}`) ?? 0) + times);
  const failures = [...counts].map(([what, times]) => `${what}: ${times} times`);
  return [
    ...failures,
    ...errors,
    ...(delivered === mails ? [] : [`${mails - delivered} of ${mails} mails did not arrive`]),
  ];
}

const line = (measure: string, values: number[], unit: string, digits: number, maxValue?: number): Line => ({
  measure,
  goal: maxValue === undefined ? null : { target: maxValue, floor: maxValue, lowerIsBetter: true },
  unit,
  values,
  digits,
});

function latencyLines(windows: readonly Window[], name: string): Line[] {
  const fifth = Math.max(1, Math.floor(windows.length / 5));
  const p99OfWindows = windows.map(({ results }) => results.get(name)?.p99Ms ?? Number.NaN);
  const [first, last] = [median(p99OfWindows.slice(0, fifth)), median(p99OfWindows.slice(-fifth))];
  return [
    line(`${name}, p99 per 10 s window`, p99OfWindows, ' ms', 1),
    line(`${name}, p99 of the last fifth / of the first fifth`, [last / first], '', 2, 2),
  ];
}

function processLines(windows: readonly Window[]): Line[] {
  const samples = (of: (sample: ProcessSample) => number): number[] =>
    windows.map((window) => of(window.sample));
  return [
    line(
      'RSS',
      samples(({ rssMegabytes }) => rssMegabytes),
      ' MB',
      0,
    ),
    line('RSS, growth by slope', [growth(windows, ({ rssMegabytes }) => rssMegabytes)], ' MB', 1, 15),
    line(
      'heap after garbage collection',
      samples(({ heapMegabytes }) => heapMegabytes),
      ' MB',
      1,
    ),
    line('heap, growth by slope', [growth(windows, ({ heapMegabytes }) => heapMegabytes)], ' MB', 1, 5),
    line(
      'open handles',
      samples(({ handles }) => handles),
      '',
      0,
    ),
    line('handles, growth by slope', [growth(windows, ({ handles }) => handles)], '', 1, 10),
  ];
}

function createLines({ saturation, windows: all, background }: SoakResult): Line[] {
  const windows = all.slice(Math.floor(all.length * warmUpShare));
  const errors = listErrors(all, background);
  for (const error of errors.slice(0, 20)) console.error(error);
  const readRates = windows.map(({ results }) => totalPerSecond(results, reads));
  return [
    line('errors of any kind', [errors.length], '', 0, 0),
    line('reads at saturation, with all other load', [saturation], '/s', 0),
    line('reads answered, per 10 s window', readRates, '/s', 0),
    ...[...reads, 'management'].flatMap((name) => latencyLines(windows, name)),
    ...processLines(windows),
    line('sync runs that succeeded', [background.runs], '', 0),
    line('mails delivered', [background.delivered], '', 0),
  ];
}

async function main(folder: string, database: Database, minutes: number, records: number): Promise<boolean> {
  const { ctx, admin } = database;
  const [erp, mail, callers, port] = [
    await startErp(database),
    await startMailServer(),
    startCallers(),
    await freePort(),
  ];
  const invoices = await loadInvoices(ctx, admin, records);
  const environment = {
    SMTP_URL: mail.url,
    RATE_LIMIT_PER_MINUTE: '1000000',
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ALLOWED_ERP_HOSTS: new URL(erp.url).host,
  };
  const service = await startService(folder, { environment, flags: [`--inspect=127.0.0.1:${port}`] });
  const inspector = await openInspector(service.pid, port);
  try {
    await publishInvoices(service.url, invoices, admin);
    const organization = await createSoakOrganization(database, service.url, erp);
    const { stop } = organization.startWork(mail, minutes);
    const lines = createLines(
      await soak({ url: service.url, invoices, callers }, minutes, inspector.sample, stop),
    );
    const day = ctx.clock.now().toISOString().slice(0, 10);
    const heading = `Run of ${day}: ${minutes} minutes, of which the first fifth is warm-up; ${records} invoices; reads at ${100 * readShare} % of saturation.\n${await describeMachine(admin)}`;
    return await writeTable('soak', heading, lines);
  } finally {
    inspector.close();
    callers.stop();
    await service.stop();
    await mail.close();
    await erp.stop();
  }
}

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, records: { type: 'string', default: '100000' } },
});
const [minutes, records] = [Number(values.minutes), Number(values.records)];
if (!(minutes > 0 && minutes <= 1_440) || !Number.isInteger(records) || records < 10_000) {
  console.error('Usage: npm run bench -- soak [--minutes N] [--records N]');
  process.exit(2);
}
await withWorkspace((folder) =>
  withDatabase(folder, {}, (database) => main(folder, database, minutes, records)),
);
