// How fast and how light a sync is, as ratios from one run. Usage: npm run bench:sync -- [records, 200000 unless told] [rounds, 3]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool } from 'pg';
import { readConfig } from '../src/config.ts';
import { openCtx, openDatabase } from '../src/service.ts';
import { runRound } from './sync-throughput.ts';

async function main(records: number, rounds: number): Promise<boolean> {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-bench-'));
  const opened = await openDatabase({ DATA_DIR: folder, DATABASE_URL: undefined, WAREHOUSE_URL: undefined });
  if (opened.embedded === undefined || typeof opened.data === 'string') throw new Error('no embedded PostgreSQL');
  const config = readConfig({ DATA_DIR: folder, LOG_LEVEL: 'warn' });
  const { ctx, close } = await openCtx(config, opened);
  const admin = new Pool({ ...opened.embedded.connection, database: opened.data.database });
  try {
    const bench = { ctx, admin, folder, records };
    for (let round = 0; round < rounds; round += 1) {
      const { commitsMs, ...result } = await runRound(bench, round);
      const sorted = [...commitsMs].sort((a, b) => a - b);
      console.log(JSON.stringify(result), sorted[Math.floor(sorted.length / 2)], sorted[Math.floor(sorted.length * 0.99)]);
    }
  } finally {
    await admin.end();
    await close();
    await opened.embedded.stop();
    await rm(folder, { recursive: true, force: true });
  }
  return true;
}

const [records = '200000', rounds = '3'] = process.argv.slice(2);
process.exit((await main(Number(records), Number(rounds))) ? 0 : 1);
