// How fast the public interface reads, as ratios to the smallest server that can answer the same requests.
// Writes its table to bench/RESULTS.md. Usage: npm run bench -- reads [records, default 1000000] [rounds, default
// 5] [seconds per measurement, default 2]
import { loadInvoices, publishInvoices } from './reads-data.ts';
import { measureExport } from './reads-export.ts';
import { type Bench, measureDepth, measureMemory, measureRounds, measureStart } from './reads-measure.ts';
import { reportReads } from './reads-report.ts';
import { measureScoped } from './reads-scoped.ts';
import { parseArguments, startService } from './reads-servers.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

async function step<T>(what: string, work: Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await work;
  console.log(`${what}: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  return result;
}

const main = (folder: string, records: number, rounds: number, ms: number): Promise<boolean> =>
  withDatabase(folder, {}, async ({ ctx, admin, address }) => {
    const invoices = await step('table', loadInvoices(ctx, admin, records));
    const service = await startService(folder);
    await step(
      'version with its indexes',
      publishInvoices(service.url, invoices, admin).finally(() => service.stop()),
    );
    const bench: Bench = { folder, admin, address, invoices, rounds, ms };
    const measured = {
      records,
      rounds: await step('rounds', measureRounds(bench)),
      depth: await step('depth', measureDepth(bench)),
      scoped: await step('row scopes', measureScoped(bench)),
      memory: await step('memory', measureMemory(bench)),
      exports: await step('exports', measureExport(bench)),
      startMs: await step('start', measureStart(bench)),
    };
    return reportReads(measured, admin, ctx.clock.now().toISOString().slice(0, 10));
  });

const { records, rounds, ms } = parseArguments('reads', process.argv.slice(2));
await withWorkspace((folder) => main(folder, records, rounds, ms));
