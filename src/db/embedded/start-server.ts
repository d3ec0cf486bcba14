// Attaches to the cluster's server, or starts one, whatever a crash of server or machine left in the folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attached, attach } from './attach.ts';
import type { Cluster } from './cluster.ts';
import { childOptions, WINDOWS, withView } from './run-program.ts';

type StartedServer = { child: ChildProcess; log(): Promise<string> };

/** How long to wait for a dead server's backends and lock files to disappear. */
const LEFTOVERS_MS = 15_000;
/** How long a server may take until it accepts connections (crash recovery) or has stopped (flushing). */
export const RECOVERY_MS = 120_000;
const LOG_BYTES = 8 * 1024 * 1024;

/** Rejects with an Error when the server can't be started or isn't ready within two minutes. */
export async function attachOrStart(
  cluster: Cluster,
  settings: Record<string, string>,
  onProgress: (step: string) => void,
): Promise<{ presence: Attached; startedHere: boolean }> {
  let server: StartedServer | undefined;
  let leftoverMs = 0;
  try {
    for (let waitedMs = 0; waitedMs < RECOVERY_MS; ) {
      const found = await attach(cluster);
      if (typeof found === 'object')
        return { presence: found, startedHere: (await lockedBy(cluster.folder)) === server?.child.pid };
      let pauseMs = 25;
      if (found === 'absent' && !isRunning(server)) {
        if (server) {
          if (leftoverMs === 0) onProgress('waiting for the remains of an earlier server to disappear');
          await assertRetryable(await server.log(), leftoverMs);
          pauseMs = 250;
          leftoverMs += pauseMs;
          await removeDeadLocks(cluster, leftoverMs);
        } else onProgress('starting PostgreSQL');
        server = await spawnServer(cluster, settings);
      }
      await sleep(pauseMs);
      waitedMs += pauseMs;
    }
    throw new Error(
      `PostgreSQL did not become ready within ${RECOVERY_MS / 1000} s. See ${cluster.logFile}.`,
    );
  } catch (error) {
    if (server && isRunning(server)) {
      server.child.kill('SIGINT');
      await once(server.child, 'exit');
    }
    throw error;
  }
}

const isRunning = (server: StartedServer | undefined): boolean =>
  server?.child.exitCode === null && server.child.signalCode === null;

/**
 * Rejects unless the start failed because of the remains of an earlier or a concurrent server: only these
 * disappear by themselves.
 */
async function assertRetryable(log: string, leftoverMs: number): Promise<void> {
  const temporary = /lock file|pre-existing shared memory|already in use/i.test(log);
  if (!temporary || leftoverMs >= LEFTOVERS_MS) throw new Error(`PostgreSQL did not start: ${log.trim()}`);
}

async function spawnServer(cluster: Cluster, settings: Record<string, string>): Promise<StartedServer> {
  const { programs, folder, logFile, connection } = cluster;
  const sockets = {
    listen_addresses: WINDOWS ? connection.host : '',
    unix_socket_directories: WINDOWS ? '' : '.',
  };
  const endpoint = { ...sockets, port: String(connection.port) };
  const args = Object.entries({ ...settings, ...endpoint }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  if (((await stat(logFile).catch(() => undefined))?.size ?? 0) > LOG_BYTES)
    await rename(logFile, `${logFile}.1`);
  const log = await open(
    logFile,
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0),
    0o600,
  );
  try {
    const from = (await log.stat()).size;
    const child = await withView(folder, programs.account, (view, inherited) =>
      // Detached: Ctrl-C and the end of this process must not stop a server that others may be using.
      spawn(programs.postgres, ['-D', view, ...args], {
        ...childOptions(programs.account),
        detached: true,
        stdio: ['ignore', log.fd, log.fd, ...inherited],
      }),
    );
    let failure = '';
    child.on('error', (error) => (failure = error.message));
    child.unref();
    return { child, log: async () => failure + (await readFile(logFile)).subarray(from).toString() };
  } finally {
    await log.close();
  }
}

const readLockFile = (folder: string): Promise<string> =>
  readFile(path.join(folder, 'postmaster.pid'), 'utf8').catch(() => '');

/** The process id in the server's lock file; NaN without a lock file. */
export const lockedBy = async (folder: string) => Number.parseInt(await readLockFile(folder), 10);

/**
 * Whether the server has begun to stop, which it writes into the eighth line of its lock file before it ends
 * any backend, or has stopped.
 */
export async function isStopping(folder: string): Promise<boolean> {
  const text = await readLockFile(folder);
  return text === '' || text.split('\n')[7]?.trim() === 'stopping';
}

/**
 * Removes lock files that PostgreSQL would respect although they are empty, or name a zombie or another
 * program of the same user.
 */
async function removeDeadLocks({ folder }: Cluster, leftoverMs: number): Promise<void> {
  if (process.platform !== 'linux') return;
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    const file = path.join(folder, name);
    const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => '0'), 10);
    // A server may be about to fill an empty file.
    const isDead = Number.isNaN(pid) ? leftoverMs > 2_000 : await isServerGone(folder, Math.abs(pid));
    if (isDead) await rm(file, { force: true });
  }
}

/**
 * Whether the process is no server of this folder. Servers change into the folder before they write a lock
 * file. PostgreSQL itself handles lock files of processes that no longer exist.
 */
async function isServerGone(folder: string, pid: number): Promise<boolean> {
  // Zombies remain forever where process 1 is no init, as in many containers.
  if (/\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))) return true;
  const working = await stat(`/proc/${pid}/cwd`, { bigint: true }).catch(() => undefined);
  const own = await stat(folder, { bigint: true });
  return working !== undefined && (working.ino !== own.ino || working.dev !== own.dev);
}
