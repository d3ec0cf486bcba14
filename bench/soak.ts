// Everything at once for long: lists, records, changes, exports, management calls, syncs against the simulated ERP, and mail, the reads at
// 80 % of what was measured as the most beside the rest. No error, flat memory, p99 within twice that of the start; the table goes into
// bench/RESULTS.md. Usage: npm run soak -- [--minutes N, 20 unless told] [--records N, 100000]
import { parseArgs } from 'node:util';
import { startMailServer } from '../test/setup/smtp.ts';
import { type Callers, type Kind, type Seen, startCallers } from './callers.ts';
import { type Insight, openInspector } from './inspect.ts';
import { dates, type Invoices, loadInvoices, publishInvoices, statuses } from './reads-data.ts';
import { freePort, startService } from './reads-servers.ts';
import { type Background, openSoakCompany, startErp } from './soak-company.ts';
import { type Line, machineText, median, writeTable } from './table.ts';
import { type Database, inWorkplace, withDatabase } from './workplace.ts';

const share = 0.8;
const saturationMs = 10_000;
const windowMs = 10_000;
/** Of the windows, before anything is held against anything. */
const warmUp = 0.2;

type Scene = { readonly url: string; readonly invoices: Invoices; readonly callers: Callers };

const listPaths = statuses.flatMap((status) =>
  dates.flatMap((date) =>
    Array.from({ length: 20 }, (_, page) => `statusName=${encodeURIComponent(status)}&trandate_after=${date}&page=${page + 1}`),
  ),
);

/** So many reads a second, six lists for three records and one look at changes; null: as many as sixteen connections get. */
function readsOf({ url, invoices }: Scene, perSecond: number | null): Kind[] {
  const headers = { Authorization: `Bearer ${invoices.key}`, 'x-tenant-id': invoices.organizationId };
  const base = '/api/public/v1/invoices';
  const records = Array.from({ length: 2_000 }, () => `${base}/${1 + Math.floor(Math.random() * invoices.records)}`);
  const mix = [
    { name: 'list', tenths: 6, paths: listPaths.map((query) => `${base}?${query}`) },
    { name: 'record', tenths: 3, paths: records },
    { name: 'changes', tenths: 1, paths: [`${base}/changes?limit=100`] },
  ];
  return mix.map(({ name, tenths, paths }) => ({
    name,
    url,
    headers,
    paths,
    connections: perSecond === null ? Math.ceil(1.6 * tenths) : 4 * tenths,
    perSecond: perSecond === null ? null : (perSecond * tenths) / 10,
  }));
}

function besideOf({ url, invoices }: Scene): Kind[] {
  const manage = { Authorization: `Bearer ${invoices.key}` };
  const read = { ...manage, 'x-tenant-id': invoices.organizationId };
  const management = ['/whoami', '/sync-configs', '/sync-runs', '/api-schema', '/api-keys'].map((path) => `/api/platform/v1${path}`);
  const exported = { url, paths: ['/api/public/v1/invoices?statusName=Rejected'], connections: 2, perSecond: 0.5 };
  return [
    { name: 'management', url, headers: manage, paths: management, connections: 4, perSecond: 5 },
    { ...exported, name: 'NDJSON', headers: { ...read, Accept: 'application/x-ndjson' } },
    { ...exported, name: 'CSV', headers: { ...read, Accept: 'text/csv', 'Accept-Encoding': 'gzip' } },
  ];
}

const answered = (seen: Map<string, Seen>, names: readonly string[]): number =>
  names.reduce((sum, name) => sum + (seen.get(name)?.perSecond ?? 0), 0);
const reads = ['list', 'record', 'changes'];

type Window = { readonly minute: number; readonly seen: Map<string, Seen>; readonly insight: Insight };
type Soaked = { readonly saturation: number; readonly windows: readonly Window[]; readonly background: Background };

async function soak(scene: Scene, minutes: number, look: () => Promise<Insight>, stop: () => Promise<Background>): Promise<Soaked> {
  const beside = besideOf(scene);
  await scene.callers.run([...readsOf(scene, null), ...beside], saturationMs);
  const saturation = answered(await scene.callers.run([...readsOf(scene, null), ...beside], saturationMs), reads);
  const kinds = [...readsOf(scene, share * saturation), ...beside];
  const windows: Window[] = [];
  const startMs = performance.now();
  const minute = (): number => (performance.now() - startMs) / 60_000;
  while (minute() < minutes) {
    const seen = await scene.callers.run(kinds, windowMs);
    windows.push({ minute: minute(), seen, insight: await look() });
    const last = windows.at(-1);
    if (windows.length % 6 === 0 && last !== undefined)
      console.log(
        `${minute().toFixed(0)} min: list p99 ${last.seen.get('list')?.p99Ms.toFixed(1)} ms, RSS ${last.insight.rssMegabytes.toFixed(0)} MB, heap ${last.insight.heapMegabytes.toFixed(1)} MB`,
      );
  }
  return { saturation, windows, background: await stop() };
}

/** Least squares: how much more at the end than at the beginning. */
function growth(windows: readonly Window[], of: (insight: Insight) => number): number {
  const points = windows.map(({ minute, insight }) => [minute, of(insight)] as const);
  const mean = (index: 0 | 1): number => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const slope = points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0) / points.reduce((sum, [px]) => sum + (px - x) ** 2, 0);
  return slope * ((windows.at(-1)?.minute ?? 0) - (windows[0]?.minute ?? 0));
}

/** Everything that was not answered as it should be, by kind and status. */
function errorsOf(windows: readonly Window[], { errors, mails, delivered }: Background): string[] {
  const counts = new Map<string, number>();
  for (const { seen } of windows)
    for (const { name, statuses: found } of seen.values())
      for (const [status, times] of Object.entries(found))
        if (Number(status) === 0 || Number(status) >= 400) counts.set(`${name} ${status}`, (counts.get(`${name} ${status}`) ?? 0) + times);
  const answers = [...counts].map(([what, times]) => `${times} times ${what}`);
  return [...answers, ...errors, ...(delivered === mails ? [] : [`${mails - delivered} of ${mails} mails did not arrive`])];
}

function linesOf({ saturation, windows: all, background }: Soaked): Line[] {
  const windows = all.slice(Math.floor(all.length * warmUp));
  const fifth = Math.max(1, Math.floor(windows.length / 5));
  const [first, last] = [windows.slice(0, fifth), windows.slice(-fifth)];
  const p99 = (of: readonly Window[], name: string): number => median(of.map(({ seen }) => seen.get(name)?.p99Ms ?? Number.NaN));
  const line = (measure: string, values: number[], unit: string, digits: number, atMost?: number): Line => ({
    measure,
    goal: atMost === undefined ? null : { target: atMost, floor: atMost, atMost: true },
    unit,
    values,
    digits,
  });
  const seenOf = (name: string): number[] => windows.map(({ seen }) => seen.get(name)?.p99Ms ?? Number.NaN);
  const insight = (of: (insight: Insight) => number): number[] => windows.map((window) => of(window.insight));
  const errors = errorsOf(all, background);
  for (const error of errors.slice(0, 20)) console.error(error);
  const asked = windows.map(({ seen }) => answered(seen, reads));
  const kinds = [...reads, 'management'];
  return [
    line('errors of any kind', [errors.length], '', 0, 0),
    line('reads at saturation, beside all the rest', [saturation], '/s', 0),
    line('reads answered in each 10 s', asked, '/s', 0),
    ...kinds.flatMap((name) => [
      line(`${name}, p99 of each 10 s`, seenOf(name), ' ms', 1),
      line(`${name}, p99 of the last fifth / of the first`, [p99(last, name) / p99(first, name)], '', 2, 2),
    ]),
    line(
      'RSS',
      insight(({ rssMegabytes }) => rssMegabytes),
      ' MB',
      0,
    ),
    line('RSS, growth by its slope', [growth(windows, ({ rssMegabytes }) => rssMegabytes)], ' MB', 1, 15),
    line(
      'heap after a collection',
      insight(({ heapMegabytes }) => heapMegabytes),
      ' MB',
      1,
    ),
    line('heap, growth by its slope', [growth(windows, ({ heapMegabytes }) => heapMegabytes)], ' MB', 1, 5),
    line(
      'open handles',
      insight(({ handles }) => handles),
      '',
      0,
    ),
    line('handles, growth by their slope', [growth(windows, ({ handles }) => handles)], '', 1, 10),
    line('sync runs that succeeded', [background.runs], '', 0),
    line('mails delivered', [background.delivered], '', 0),
  ];
}

async function main(folder: string, database: Database, minutes: number, records: number): Promise<boolean> {
  const { ctx, admin } = database;
  const [erp, mail, callers, port] = [await startErp(database), await startMailServer(), startCallers(), await freePort()];
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
    const company = await openSoakCompany(database, service.url, erp);
    const { stop } = company.work(mail, minutes);
    const lines = linesOf(await soak({ url: service.url, invoices, callers }, minutes, inspector.look, stop));
    const day = ctx.clock.now().toISOString().slice(0, 10);
    const heading = `Run of ${day}: ${minutes} minutes, of which the first fifth is warm-up; ${records} invoices; reads at ${100 * share} % of saturation.\n${await machineText(admin)}`;
    return await writeTable('soak', heading, lines);
  } finally {
    inspector.close();
    callers.stop();
    await service.stop();
    await mail.close();
    await erp.stop();
  }
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' }, records: { type: 'string', default: '100000' } } });
const [minutes, records] = [Number(values.minutes), Number(values.records)];
if (!(minutes > 0 && minutes <= 1_440) || !Number.isInteger(records) || records < 10_000) {
  console.error('Usage: npm run soak -- [--minutes N] [--records N]');
  process.exit(2);
}
await inWorkplace((folder) => withDatabase(folder, {}, (database) => main(folder, database, minutes, records)));
