// What request metrics cost: CPU time per request with METRICS_PORT and without, in alternating order over
// the same data. Usage: npm run bench:watching -- [records, default 10000] [rounds, default 9] [seconds per
// measurement, default 2]

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { createLog } from '../src/core/log.ts';
import { createMetrics } from '../src/operate/metrics.ts';
import { loadInvoices, publishInvoices } from './reads-data.ts';
import { measureLoad } from './reads-load.ts';
import { headersOf, listPaths } from './reads-measure.ts';
import { parseArguments, type RunningServer, startService } from './reads-servers.ts';
import { median } from './table.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const connections = 8;

/** CPU time of one call in µs: the minimum of several tries, as other work on the machine only adds. */
function measureCallUs(call: () => void): number {
  const [tries, calls] = [7, 300_000];
  const costs = Array.from({ length: tries }, () => {
    const before = process.cpuUsage();
    for (let count = 0; count < calls; count += 1) call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / calls;
  });
  return Math.min(...costs);
}

/** Costs of metrics and logging per request, measured in this process without a server. */
function measureInProcess(): void {
  const nothing = {
    pools: () => ({}),
    caches: () => ({}),
    queues: () => ({}),
    reads: () => ({}),
    replicas: () => ({}),
    sinceTickSeconds: () => 0,
    databaseStats: async () => undefined,
  };
  const { onServed } = createMetrics({ version: '0', ...nothing });
  const served = { route: '/api/public/{version}/{resource}', kind: 'list' } as const;
  console.log(
    `in process: metrics ${measureCallUs(() => onServed(served, 'GET', '200', 0.003)).toFixed(2)} µs`,
  );
  const id = randomUUID();
  const facts = {
    requestId: id,
    method: 'GET',
    route: served.route,
    path: '/api/public/v1/invoices',
    status: 200,
    ms: 1.2,
    organizationId: id,
  };
  const sink = { write: () => undefined };
  const bare = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  const log = createLog('info', sink).child({}, { redact: [] });
  const [plain, redacting] = [
    measureCallUs(() => bare.info(facts, 'request')),
    measureCallUs(() => log.info(facts, 'request')),
  ];
  console.log(
    `in process: a log line ${redacting.toFixed(2)} µs, ${(redacting - plain).toFixed(2)} µs of it to find secrets`,
  );
}

async function main(folder: string, records: number, rounds: number, ms: number): Promise<boolean> {
  return withDatabase(folder, {}, async ({ ctx, admin }) => {
    const invoices = await loadInvoices(ctx, admin, records);
    const without = await startService(folder);
    await publishInvoices(without.url, invoices, admin);
    const counting = await startService(folder, { environment: { METRICS_PORT: '0' } });
    const requestSet = {
      headers: { ...headersOf(invoices), 'If-None-Match': '*' },
      paths: listPaths.slice(0, 20),
    };
    const measure = async ({ pid, url }: RunningServer): Promise<number> =>
      (await measureLoad(pid, { ...requestSet, url }, connections, ms, 304)).cpuUs;
    const all: [plain: number, counted: number][] = [];
    await measure(without);
    await measure(counting);
    for (let round = 0; round < rounds; round += 1) {
      // Alternate, so that each goes first equally often.
      const [one, other] = round % 2 === 0 ? [without, counting] : [counting, without];
      const cost = new Map([
        [one, await measure(one)],
        [other, await measure(other)],
      ]);
      const [plain = 0, counted = 0] = [cost.get(without), cost.get(counting)];
      all.push([plain, counted]);
      console.log(`304: ${plain.toFixed(1)} µs without, ${counted.toFixed(1)} µs with METRICS_PORT`);
    }
    await Promise.all([without.stop(), counting.stop()]);
    const [plain, counted] = ([0, 1] as const).map((side) => all.map((costs) => costs[side]));
    if (plain === undefined || counted === undefined) return false;
    const [ofMedians, ofMinima] = [
      median(counted) - median(plain),
      Math.min(...counted) - Math.min(...plain),
    ];
    console.log(
      `in a server: ${ofMedians.toFixed(1)} µs by the medians of ${rounds} rounds, ${ofMinima.toFixed(1)} µs by the minima`,
    );
    return true;
  });
}

const { records, rounds, ms } = parseArguments('bench:watching', [
  ...process.argv.slice(2),
  ...['10000', '9', '2'].slice(process.argv.length - 2),
]);
measureInProcess();
await withWorkspace((folder) => main(folder, records, rounds, ms));
