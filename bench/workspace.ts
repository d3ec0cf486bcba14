// A folder for a bench and the PostgreSQL that it starts there. It is gone when the bench ends or is interrupted; after a kill -9
// the next bench clears it away.
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { readConfig } from '../src/config.ts';
import type { Ctx } from '../src/core/ctx.ts';
import type { Address } from '../src/db/connect.ts';
import { openCtx, openDatabase } from '../src/service.ts';

const prefix = 'portal-bench-';
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const patienceMs = 30_000;

/** A process that may not be asked is alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** The server that works in this folder, and no other process that has got its number since; undefined without one. */
async function serverOf(cluster: string): Promise<number | undefined> {
  const pid = Number.parseInt(await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => ''), 10);
  const at = Number.isNaN(pid) ? undefined : await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return at === cluster ? pid : undefined;
}

async function clear(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((entry) => /^postgres-\d+$/.test(entry))) {
    const server = await serverOf(path.join(folder, name));
    if (server === undefined) continue;
    process.kill(server, 'SIGINT');
    for (let waitedMs = 0; isAlive(server) && waitedMs < patienceMs; waitedMs += 50) await sleep(50);
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function clearAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const maker = Number(/^portal-bench-(\d+)-/.exec(name)?.[1] ?? process.pid);
    if (!isAlive(maker)) await clear(path.join(tmpdir(), name));
  }
}

/** Does the work, and ends the process with 0 if it says that all is well, with 1 if not. */
export async function inWorkplace(work: (folder: string) => Promise<boolean>): Promise<never> {
  await clearAbandoned();
  const folder = await mkdtemp(path.join(tmpdir(), `${prefix}${process.pid}-`));
  let interrupted = false;
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (interrupted) return;
      interrupted = true;
      // What the work was at fails under its feet now.
      process.on('uncaughtException', () => undefined);
      void clear(folder).finally(() => process.exit(code));
    });
  }
  const good = await work(folder).catch((error: unknown) => {
    if (!interrupted) console.error(error);
    return false;
  });
  if (interrupted) return new Promise(() => undefined);
  await clear(folder);
  process.exit(good ? 0 : 1);
}

type Where = Exclude<Address, string>;
export type Database = { readonly ctx: Ctx; readonly admin: Pool; readonly address: Where; readonly adminAddress: Where };

/** Starts PostgreSQL in the folder, as the service would, for the time of the work; `admin` is its superuser. */
export async function withDatabase<T>(
  folder: string,
  environment: Parameters<typeof readConfig>[0],
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const opened = await openDatabase({ DATA_DIR: folder, DATABASE_URL: undefined, WAREHOUSE_URL: undefined });
  if (opened.embedded === undefined || typeof opened.data === 'string') throw new Error('no embedded PostgreSQL');
  const { ctx, close } = await openCtx(readConfig({ DATA_DIR: folder, LOG_LEVEL: 'warn', ...environment }), opened);
  const adminAddress = { ...opened.embedded.connection, database: opened.data.database };
  const admin = new Pool(adminAddress);
  admin.on('error', () => undefined);
  try {
    return await work({ ctx, admin, address: opened.data, adminAddress });
  } finally {
    await admin.end();
    await close();
    await opened.embedded.stop();
  }
}
