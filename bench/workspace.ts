// A temporary folder for a benchmark and the PostgreSQL that it starts there. The folder is removed when the
// benchmark ends or is interrupted; after a kill -9 the next benchmark removes it.
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { readConfig } from '../src/config.ts';
import type { Ctx } from '../src/core/ctx.ts';
import type { DatabaseAddress } from '../src/db/connect.ts';
import { openDatabase } from '../src/open-database.ts';
import { openCtx } from '../src/service.ts';

const prefix = 'portal-bench-';
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const timeoutMs = 30_000;

/** A process that may not be signalled (EPERM) is alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * The pid of the PostgreSQL that runs in `cluster`; undefined if none does, also when the pid now belongs to
 * another process.
 */
async function findServerPid(cluster: string): Promise<number | undefined> {
  const pid = Number.parseInt(
    await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => ''),
    10,
  );
  const at = Number.isNaN(pid) ? undefined : await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return at === cluster ? pid : undefined;
}

async function removeFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((entry) => /^postgres-\d+$/.test(entry))) {
    const server = await findServerPid(path.join(folder, name));
    if (server === undefined) continue;
    process.kill(server, 'SIGINT');
    for (let waitedMs = 0; isAlive(server) && waitedMs < timeoutMs; waitedMs += 50) await sleep(50);
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function removeAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const ownerPid = Number(/^portal-bench-(\d+)-/.exec(name)?.[1] ?? process.pid);
    if (!isAlive(ownerPid)) await removeFolder(path.join(tmpdir(), name));
  }
}

/**
 * Runs `work` in a new folder, removes the folder and exits: 0 when `work` resolves to true, 1 when it
 * resolves to false or rejects.
 */
export async function withWorkspace(work: (folder: string) => Promise<boolean>): Promise<never> {
  await removeAbandonedFolders();
  const folder = await mkdtemp(path.join(tmpdir(), `${prefix}${process.pid}-`));
  let interrupted = false;
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (interrupted) return;
      interrupted = true;
      // The interrupted work fails now, as its files and its database go away.
      process.on('uncaughtException', () => undefined);
      void removeFolder(folder).finally(() => process.exit(code));
    });
  }
  const succeeded = await work(folder).catch((error: unknown) => {
    if (!interrupted) console.error(error);
    return false;
  });
  if (interrupted) return new Promise(() => undefined);
  await removeFolder(folder);
  process.exit(succeeded ? 0 : 1);
}

type ConnectionAddress = Exclude<DatabaseAddress, string>;
export type Database = {
  readonly ctx: Ctx;
  readonly admin: Pool;
  readonly address: ConnectionAddress;
  readonly adminAddress: ConnectionAddress;
};

/**
 * Starts PostgreSQL in the folder, as the service would, and stops it after `work`. `admin` connects as its
 * superuser.
 */
export async function withDatabase<T>(
  folder: string,
  environment: Parameters<typeof readConfig>[0],
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const opened = await openDatabase({ DATA_DIR: folder });
  if (opened.embedded === undefined || typeof opened.data === 'string')
    throw new Error('The benchmark needs the embedded PostgreSQL');
  const { ctx, close } = await openCtx(
    readConfig({ DATA_DIR: folder, LOG_LEVEL: 'warn', ...environment }),
    opened,
  );
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
