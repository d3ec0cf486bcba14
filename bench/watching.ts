// What counting requests for Prometheus costs: processor time of each request with METRICS_PORT and without, in turns over the same data.
// Usage: npm run bench:watching -- [records, 10000] [rounds, 9] [seconds of a measurement, 2]

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { openLog } from '../src/core/log.ts';
import { openMetrics } from '../src/operate/metrics.ts';
import { loadInvoices, publishInvoices } from './reads-data.ts';
import { load } from './reads-load.ts';
import { headersOf, listPaths } from './reads-measure.ts';
import { type Running, readArguments, startService } from './reads-servers.ts';
import { median } from './table.ts';
import { inWorkplace, withDatabase } from './workplace.ts';

const connections = 8;

/** Processor time of one call in µs, the least of some tries: what else the machine does only adds. */
function costOf(call: () => void): number {
  const [tries, calls] = [7, 300_000];
  const costs = Array.from({ length: tries }, () => {
    const before = process.cpuUsage();
    for (let count = 0; count < calls; count += 1) call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / calls;
  });
  return Math.min(...costs);
}

/** What is done for each request beside answering it, alone in this process. */
function measureAlone(): void {
  const nothing = { pools: () => ({}), caches: () => ({}), turns: () => ({}), sinceTickSeconds: () => 0, figures: async () => undefined };
  const { onServed } = openMetrics({ version: '0', ...nothing });
  const served = { route: '/api/public/{version}/{resource}', kind: 'list' } as const;
  console.log(`alone: counting ${costOf(() => onServed(served, 'GET', '200', 0.003)).toFixed(2)} µs`);
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
  const log = openLog('info', sink).child({}, { redact: [] });
  const [plain, looked] = [costOf(() => bare.info(facts, 'request')), costOf(() => log.info(facts, 'request'))];
  console.log(`alone: a line of the log ${looked.toFixed(2)} µs, ${(looked - plain).toFixed(2)} of it to look for secrets`);
}

async function main(folder: string, records: number, rounds: number, ms: number): Promise<boolean> {
  return withDatabase(folder, {}, async ({ ctx, admin }) => {
    const invoices = await loadInvoices(ctx, admin, records);
    const without = await startService(folder);
    await publishInvoices(without.url, invoices, admin);
    const counting = await startService(folder, { environment: { METRICS_PORT: '0' } });
    const ask = { headers: { ...headersOf(invoices), 'If-None-Match': '*' }, paths: listPaths.slice(0, 20) };
    const measure = async ({ pid, url }: Running): Promise<number> => (await load(pid, { ...ask, url }, connections, ms, 304)).cpuUs;
    const all: [plain: number, counted: number][] = [];
    await measure(without);
    await measure(counting);
    for (let round = 0; round < rounds; round += 1) {
      // Whoever goes first has the warmer machine as often as the other.
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
    const [ofMedians, ofLeast] = [median(counted) - median(plain), Math.min(...counted) - Math.min(...plain)];
    console.log(`in a server: ${ofMedians.toFixed(1)} µs by the medians of ${rounds} rounds, ${ofLeast.toFixed(1)} µs by the least`);
    return true;
  });
}

const { records, rounds, ms } = readArguments('bench:watching', [
  ...process.argv.slice(2),
  ...['10000', '9', '2'].slice(process.argv.length - 2),
]);
measureAlone();
await inWorkplace((folder) => main(folder, records, rounds, ms));
