// Whether the service stays answerable while its public interface is saturated, sheds politely, and lists stay quick beside exports. The
// table goes into bench/RESULTS.md. Usage: npm run bench:overload -- [records, 100000 unless told] [seconds of a measurement, 10]
import { type Callers, type Kind, type Seen, startCallers } from './callers.ts';
import { dates, type Invoices, loadInvoices, publishInvoices, statuses } from './reads-data.ts';
import { startService } from './reads-servers.ts';
import { type Line, machineText, writeTable } from './table.ts';
import { inWorkplace, withDatabase } from './workplace.ts';

const probesPerSecond = 20;
const crowd = 600;

export const readHeaders = ({ key, organizationId }: Invoices) => ({ Authorization: `Bearer ${key}`, 'x-tenant-id': organizationId });

export const listPaths: readonly string[] = statuses.flatMap((status) =>
  dates.flatMap((date) =>
    Array.from(
      { length: 20 },
      (_, page) => `/api/public/v1/invoices?statusName=${encodeURIComponent(status)}&trandate_after=${date}&page=${page + 1}`,
    ),
  ),
);

type Scene = {
  readonly url: string;
  readonly busy: Invoices;
  readonly other: Invoices;
  /** Those whose time is taken, and those who press; what keeps these busy would count as time of those. */
  readonly probers: Callers;
  readonly pressers: Callers;
  readonly ms: number;
};

/** What an operator has for health; without it the least that is answered. */
async function healthPath(url: string): Promise<string> {
  const { status } = await fetch(`${url}/healthz`, { redirect: 'manual' });
  return status === 200 ? '/healthz' : '/';
}

async function probesOf({ url, other }: Scene): Promise<Kind[]> {
  const rate = { url, connections: 8, perSecond: probesPerSecond };
  const manage = { Authorization: `Bearer ${other.key}` };
  return [
    { ...rate, name: 'health', headers: {}, paths: [await healthPath(url)] },
    { ...rate, name: 'management', headers: manage, paths: ['/api/platform/v1/whoami', '/api/platform/v1/sync-configs'] },
    { ...rate, name: 'list', headers: readHeaders(other), paths: listPaths },
  ];
}

const crowdOf = ({ url, busy }: Scene): Kind => ({
  name: 'crowd',
  url,
  headers: readHeaders(busy),
  paths: listPaths,
  connections: crowd,
  perSecond: null,
});

/** Two organizations, as one alone runs half of the exports at most. */
const exportsOf = ({ url, busy, other }: Scene): Kind[] =>
  [busy, other].map((who, index) => ({
    name: `exports ${index}`,
    url,
    headers: { ...readHeaders(who), Accept: 'application/x-ndjson', 'Accept-Encoding': 'identity' },
    paths: ['/api/public/v1/invoices'],
    connections: 4,
    perSecond: null,
  }));

type Measured = { readonly idle: Map<string, Seen>; readonly full: Map<string, Seen>; readonly exporting: Map<string, Seen> };

async function measure(scene: Scene): Promise<Measured> {
  const { probers, pressers, ms } = scene;
  const probes = await probesOf(scene);
  const beside = async (pressing: Kind[]): Promise<Map<string, Seen>> => {
    const [seen, pressed] = await Promise.all([probers.run(probes, ms), pressers.run(pressing, ms)]);
    return new Map([...seen, ...pressed]);
  };
  await beside([{ ...crowdOf(scene), connections: 16 }]);
  return { idle: await beside([]), full: await beside([crowdOf(scene)]), exporting: await beside(exportsOf(scene)) };
}

const nobody: Seen = { name: '', statuses: {}, perSecond: 0, p50Ms: Number.NaN, p99Ms: Number.NaN, refusedP99Ms: Number.NaN };
const count = ({ statuses: found }: Seen, wanted: (status: number) => boolean): number =>
  Object.entries(found).reduce((sum, [status, times]) => sum + (wanted(Number(status)) ? times : 0), 0);

function linesOf({ idle, full, exporting }: Measured): Line[] {
  const of = (seen: Map<string, Seen>, name: string): Seen => seen.get(name) ?? nobody;
  const line = (measure: string, value: number, unit: string, digits: number, goal: Line['goal'] = null): Line => ({
    measure,
    goal,
    unit,
    values: [value],
    digits,
  });
  const [all, rushed] = [(): boolean => true, of(full, 'crowd')];
  const failed = (seen: Map<string, Seen>, names: string[]): number =>
    names.reduce((sum, name) => sum + count(of(seen, name), (status) => status === 0 || status >= 400), 0);
  const none = { target: 0, floor: 0, atMost: true };
  const soon = { target: 250, floor: 1_000, atMost: true };
  return [
    line('management, p99, idle', of(idle, 'management').p99Ms, ' ms', 1),
    line(`while ${crowd} connections of another organization ask for lists without a pause`, of(full, 'management').p99Ms, ' ms', 1, soon),
    line('under exports', of(exporting, 'management').p99Ms, ' ms', 1, soon),
    line('health, p99, idle', of(idle, 'health').p99Ms, ' ms', 1),
    line('while so many ask', of(full, 'health').p99Ms, ' ms', 1, soon),
    line("another organization's list, p99, idle", of(idle, 'list').p99Ms, ' ms', 1),
    line('while so many ask', of(full, 'list').p99Ms, ' ms', 1, soon),
    line('probes refused or failed meanwhile', failed(full, ['health', 'management', 'list']), '', 0, none),
    line('lists answered to those who ask without a pause', rushed.perSecond, '/s', 0),
    line('their p99', rushed.p99Ms, ' ms', 0),
    line('share of them shed by 503', count(rushed, (status) => status === 503) / Math.max(1, count(rushed, all)), '', 2),
    line('p99 of a 503', rushed.refusedP99Ms, ' ms', 0),
    line(
      'answers that are neither 200 nor 503',
      count(rushed, (status) => status !== 200 && status !== 503),
      '',
      0,
      none,
    ),
    line('list p99 under full export load / idle', of(exporting, 'list').p99Ms / of(idle, 'list').p99Ms, '', 1, {
      target: 3,
      floor: 3,
      atMost: true,
    }),
    line('the same, p50', of(exporting, 'list').p50Ms / of(idle, 'list').p50Ms, '', 1),
    line('exports finished meanwhile', of(exporting, 'exports 0').perSecond + of(exporting, 'exports 1').perSecond, '/s', 2),
  ];
}

const [records = '100000', seconds = '10'] = process.argv.slice(2);
if (!/^\d{5,7}$/.test(records) || !/^[1-9]\d{0,2}$/.test(seconds)) {
  console.error('Usage: npm run bench:overload -- [records] [seconds of a measurement]');
  process.exit(2);
}
await inWorkplace((folder) =>
  withDatabase(folder, {}, async ({ ctx, admin }) => {
    const [busy, other] = [await loadInvoices(ctx, admin, Number(records)), await loadInvoices(ctx, admin, Number(records))];
    // Without kept pages, so that every list is read.
    const service = await startService(folder, { environment: { BODY_CACHE_MB: '0', RATE_LIMIT_PER_MINUTE: '1000000' } });
    const [probers, pressers] = [startCallers(), startCallers()];
    try {
      for (const invoices of [busy, other]) await publishInvoices(service.url, invoices, admin);
      const lines = linesOf(await measure({ url: service.url, busy, other, probers, pressers, ms: Number(seconds) * 1_000 }));
      const day = ctx.clock.now().toISOString().slice(0, 10);
      const heading = `Run of ${day}: two organizations with ${records} invoices each, ${seconds} s per measurement, probes at ${probesPerSecond}/s.\n${await machineText(admin)}`;
      return await writeTable('bench:overload', heading, lines);
    } finally {
      probers.stop();
      pressers.stop();
      await service.stop();
    }
  }),
);
