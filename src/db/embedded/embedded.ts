// The embedded PostgreSQL, from npm: creates the cluster inside the data folder, attaches to its server or starts it, and stops it when no
// other process uses it. All data stays inside the data folder. Must never stop a server that another process is attached to. A
// process is attached as long as its presence connection is open, so a crashed process counts as detached.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import {
  assertOwnFolder,
  buildAtomically,
  childOptions,
  connectionTo,
  ensureSecureFolder,
  exists,
  findPrograms,
  initializeCluster,
  ownUid,
  type Programs,
  removeAbandoned,
  runProgram,
  WINDOWS,
  withView,
} from './embedded-binaries.ts';

export type EmbeddedDatabase = {
  /** node-postgres connection settings of the cluster's superuser over a private unix socket (Windows: loopback TCP and `password`). */
  readonly connection: { host: string; port: number; user: string; database: string };
  readonly startedHere: boolean;
  /**
   * Stops the server unless another client is connected; the caller must have closed its own connections. Returns whether it did. Rejects
   * when the server doesn't stop within two minutes.
   */
  stop(): Promise<boolean>;
};
export type EmbeddedOptions = { settings?: Record<string, string>; onProgress?: (step: string) => void };

type Cluster = { programs: Programs; folder: string; logFile: string; connection: EmbeddedDatabase['connection'] };
type Attached = { client: Client; socket: Socket };
type StartedServer = { child: ChildProcess; log(): Promise<string> };

/** Advisory lock that serializes attaching and stopping, so that no process attaches to a server that is about to stop. */
const GATE = 7_018_250_118;
const PRESENT = 'portal-service presence';
const LEAVING = 'portal-service leaving';

/** How long to wait for a dead server's backends and lock files to disappear. */
const LEFTOVERS_MS = 15_000;
/** How long a server may take for crash recovery until it accepts connections, or for flushing until it has stopped. */
const RECOVERY_MS = 120_000;
const LOG_BYTES = 8 * 1024 * 1024;

/** For two cores and a few gigabytes shared with other programs; without replication, so that loading into new tables bypasses the WAL. */
const DEFAULT_SETTINGS: Record<string, string> = {
  cluster_name: 'portal-service',
  max_connections: '100',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  random_page_cost: '1.1',
  max_parallel_workers: '2',
  max_parallel_workers_per_gather: '1',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};
/** Settings that callers can't change: there is no password, so only the permissions of the socket's folder keep other users out. */
const FIXED_SETTINGS = new Set(['data_directory', 'hba_file', 'listen_addresses', 'port', 'unix_socket_directories']);

/**
 * Attaches to the server of `dataDir`, or starts it (`settings` then apply). Rejects when a setting isn't allowed, the folder belongs to
 * another user or is writable by others, the programs are missing, or the server doesn't start within two minutes.
 */
export async function startEmbedded(dataDir: string, options: EmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  const onProgress = options.onProgress ?? (() => {});
  const settings = serverSettings(options.settings ?? {});
  const programs = await findPrograms(onProgress);
  const cluster = await prepareCluster(path.resolve(dataDir), programs, onProgress);
  const { presence, startedHere } = await attachOrStart(cluster, settings, onProgress);
  // The presence connection alone must not keep the process alive.
  presence.socket.unref();
  return { connection: cluster.connection, startedHere, stop: () => stopServer(cluster, presence) };
}

function serverSettings(wanted: Record<string, string>): Record<string, string> {
  for (const name of Object.keys(wanted)) {
    if (FIXED_SETTINGS.has(name.toLowerCase())) throw new Error(`The PostgreSQL setting ${name} can't be changed for the embedded server.`);
    if (!/^[a-z_][\w.]*$/i.test(name)) throw new Error(`${JSON.stringify(name)} is not the name of a PostgreSQL setting.`);
  }
  return { ...DEFAULT_SETTINGS, ...wanted };
}

async function prepareCluster(dataDir: string, programs: Programs, onProgress: (step: string) => void): Promise<Cluster> {
  // As root, reject group-writable folders too; a normal user's own group often has write permission by default.
  await ensureSecureFolder(dataDir, 0o755, programs.account ? 0o022 : 0o002);
  const folder = path.join(dataDir, `postgres-${programs.major}`);
  await removeAbandoned(folder);
  if (!(await exists(folder))) {
    onProgress('creating the database cluster');
    await buildAtomically(folder, (fresh) => initializeCluster(fresh, programs));
  }
  await assertOwnFolder(folder, programs.account?.uid ?? ownUid(), 0o077);
  return { programs, folder, logFile: `${folder}.log`, connection: await connectionTo(folder) };
}

async function attachOrStart(cluster: Cluster, settings: Record<string, string>, onProgress: (step: string) => void) {
  let server: StartedServer | undefined;
  let leftoverMs = 0;
  try {
    for (let waitedMs = 0; waitedMs < RECOVERY_MS; ) {
      const found = await attach(cluster);
      if (typeof found === 'object') return { presence: found, startedHere: (await lockedBy(cluster.folder)) === server?.child.pid };
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
    throw new Error(`PostgreSQL did not become ready within ${RECOVERY_MS / 1000} s. See ${cluster.logFile}.`);
  } catch (error) {
    if (server && isRunning(server)) {
      server.child.kill('SIGINT');
      await once(server.child, 'exit');
    }
    throw error;
  }
}

const isRunning = (server: StartedServer | undefined): boolean => server?.child.exitCode === null && server.child.signalCode === null;

/** Rejects unless the start failed because of the remains of an earlier or a concurrent server: only these disappear by themselves. */
async function assertRetryable(log: string, leftoverMs: number): Promise<void> {
  const temporary = /lock file|pre-existing shared memory|already in use/i.test(log);
  if (!temporary || leftoverMs >= LEFTOVERS_MS) throw new Error(`PostgreSQL did not start: ${log.trim()}`);
}

async function spawnServer(cluster: Cluster, settings: Record<string, string>): Promise<StartedServer> {
  const { programs, folder, logFile, connection } = cluster;
  const sockets = { listen_addresses: WINDOWS ? connection.host : '', unix_socket_directories: WINDOWS ? '' : '.' };
  const endpoint = { ...sockets, port: String(connection.port) };
  const args = Object.entries({ ...settings, ...endpoint }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  if (((await stat(logFile).catch(() => undefined))?.size ?? 0) > LOG_BYTES) await rename(logFile, `${logFile}.1`);
  const log = await open(logFile, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
  try {
    const from = (await log.stat()).size;
    const child = await withView(folder, programs.account, (view, inherited) =>
      // Detached: Ctrl-C and the end of this process must not stop a server that other processes may be using.
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

/** The process id in the server's lock file; NaN without a lock file. */
const lockedBy = async (folder: string): Promise<number> =>
  Number.parseInt(await readFile(path.join(folder, 'postmaster.pid'), 'utf8').catch(() => ''), 10);

/** Removes lock files that PostgreSQL would respect although they are empty, or name a zombie or another program of the same user. */
async function removeDeadLocks({ folder }: Cluster, leftoverMs: number): Promise<void> {
  if (process.platform !== 'linux') return;
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    const file = path.join(folder, name);
    const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => '0'), 10);
    // A server may be about to fill an empty file.
    const isDead = Number.isNaN(pid) ? leftoverMs > 2_000 : await isNoServerOf(folder, Math.abs(pid));
    if (isDead) await rm(file, { force: true });
  }
}

/**
 * Whether the process is no server of this folder. Servers change into the folder before they write a lock file. PostgreSQL itself
 * handles lock files of processes that no longer exist.
 */
async function isNoServerOf(folder: string, pid: number): Promise<boolean> {
  // Zombies remain forever where process 1 is no init, as in many containers.
  if (/\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))) return true;
  const working = await stat(`/proc/${pid}/cwd`, { bigint: true }).catch(() => undefined);
  const own = await stat(folder, { bigint: true });
  return working !== undefined && (working.ino !== own.ino || working.dev !== own.dev);
}

async function connect(cluster: Cluster, name: string): Promise<Attached | 'absent' | 'busy'> {
  const socket = new Socket();
  const client = new Client({
    ...cluster.connection,
    application_name: name,
    ssl: false,
    connectionTimeoutMillis: 30_000,
    stream: () => socket,
  });
  // A server that stops must not end this process; the next query on the connection fails anyway.
  client.on('error', () => {});
  try {
    await client.connect();
    return { client, socket };
  } catch (error) {
    socket.destroy();
    return classifyConnectError(error);
  }
}

/** Throws the error again unless it means that there is no server, or that it is starting or stopping. */
function classifyConnectError(error: unknown): 'absent' | 'busy' {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return 'absent';
  const message = error instanceof Error ? error.message : '';
  // node-postgres has no codes for these messages; they occur when the server stops between two steps.
  if (/^57P0[1-3]$|^ECONNRESET$|^EPIPE$/.test(code) || /^Connection terminated|not queryable$/.test(message)) return 'busy';
  throw error;
}

async function attach(cluster: Cluster): Promise<Attached | 'absent' | 'busy'> {
  const found = await connect(cluster, PRESENT);
  if (typeof found === 'string') return found;
  try {
    await found.client.query(
      `set idle_session_timeout = 0; select pg_advisory_lock_shared(${GATE}); select pg_advisory_unlock_shared(${GATE})`,
    );
    return found;
  } catch (error) {
    found.socket.destroy();
    return classifyConnectError(error);
  }
}

async function stopServer(cluster: Cluster, presence: Attached): Promise<boolean> {
  presence.socket.ref();
  await presence.client.end().catch(() => {});
  const leaving = await connect(cluster, LEAVING);
  if (typeof leaving === 'string') return false;
  try {
    // First without the lock, so that attaching processes don't have to wait for this check.
    if (await remainsUsed(leaving.client)) return false;
    await leaving.client.query('select pg_advisory_lock($1)', [GATE]);
    if (await isUsed(leaving.client)) return false;
    const { programs, folder } = cluster;
    const pid = await lockedBy(folder);
    await withView(folder, programs.account, (view, inherited) =>
      runProgram(programs.pg_ctl, ['stop', '-D', view, '-m', 'fast', '-W'], programs.account, inherited),
    );
    // pg_ctl's own waiting would mistake a server that another process starts right afterwards for the old one.
    for (let waitedMs = 0; (await lockedBy(folder)) === pid; waitedMs += 25) {
      if (waitedMs > RECOVERY_MS) throw new Error(`PostgreSQL did not stop within ${RECOVERY_MS / 1000} s. See ${cluster.logFile}.`);
      await sleep(25);
    }
    return true;
  } catch (error) {
    // Another process may have stopped it in the meantime; any other error is thrown again.
    classifyConnectError(error);
    return false;
  } finally {
    await leaving.client.end().catch(() => {});
  }
}

async function isUsed(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_stat_activity where backend_type in ('client backend', 'walsender')
    and pid <> pg_backend_pid() and application_name <> $1`,
    [LEAVING],
  );
  return rowCount !== 0;
}

/** Checks for up to a second, because the backends of connections that were just closed take a moment to end. */
async function remainsUsed(client: Client): Promise<boolean> {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    if (!(await isUsed(client))) return false;
    await sleep(25);
  }
  return true;
}
