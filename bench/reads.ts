// How fast the public interface reads, as ratios of one run against the least that could answer the same, with its verdict; the
// table goes into bench/RESULTS.md. Usage: npm run bench -- [records, 1000000 unless told] [rounds, 5] [seconds of a measurement, 2]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool } from 'pg';
import { readConfig } from '../src/config.ts';
import { openCtx, openDatabase } from '../src/service.ts';
import { loadInvoices, publishInvoices } from './reads-data.ts';
import { measureExport } from './reads-export.ts';
import { type Bench, measureDepth, measureMemory, measureRounds, measureStart } from './reads-measure.ts';
import { reportReads } from './reads-report.ts';
import { startService } from './reads-servers.ts';

async function main(records: number, rounds: number, ms: number): Promise<boolean> {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-bench-'));
  const opened = await openDatabase({ DATA_DIR: folder, DATABASE_URL: undefined, WAREHOUSE_URL: undefined });
  if (opened.embedded === undefined || typeof opened.data === 'string') throw new Error('no embedded PostgreSQL');
  const { ctx, close } = await openCtx(readConfig({ DATA_DIR: folder, LOG_LEVEL: 'warn' }), opened);
  const admin = new Pool({ ...opened.embedded.connection, database: opened.data.database });
  const step = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const startMs = performance.now();
    const result = await work;
    console.log(`${what}: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
    return result;
  };
  try {
    const invoices = await step('table', loadInvoices(ctx, admin, records));
    const service = await startService(folder);
    await step(
      'version with its indexes',
      publishInvoices(service.url, invoices, admin).finally(() => service.stop()),
    );
    const bench: Bench = { folder, admin, address: opened.data, invoices, rounds, ms };
    const measured = {
      records,
      rounds: await step('rounds', measureRounds(bench)),
      depth: await step('depth', measureDepth(bench)),
      memory: await step('memory', measureMemory(bench)),
      exports: await step('exports', measureExport(bench)),
      startMs: await step('start', measureStart(bench)),
    };
    return await reportReads(measured, admin, ctx.clock.now().toISOString().slice(0, 10));
  } finally {
    await admin.end();
    await close();
    await opened.embedded.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const [records = '1000000', rounds = '5', seconds = '2'] = process.argv.slice(2);
if (!/^\d{5,7}$/.test(records) || !/^[1-9]\d?$/.test(rounds) || !/^\d{1,2}(\.\d)?$/.test(seconds)) {
  console.error('Usage: npm run bench -- [records] [rounds] [seconds of a measurement]');
  process.exit(2);
}
process.exit((await main(Number(records), Number(rounds), Number(seconds) * 1_000)) ? 0 : 1);
