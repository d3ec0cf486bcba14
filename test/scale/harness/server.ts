// One PostgreSQL of the npm package on a port of loopback, as primary or as streaming hot standby: started,
// killed, promoted, paused.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, chown, cp, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import type { Programs } from '../../../src/db/embedded/programs.ts';
import { childOptions, runProgram } from '../../../src/db/embedded/run-program.ts';
import { findStablePort } from '../../setup/stable-port.ts';
import { until } from '../../setup/until.ts';

/** Of the superuser. */
export type Connection = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password: string;
};

export type Server = {
  readonly name: string;
  /** To the database `postgres`, as the superuser. */
  readonly connection: Connection;
  readonly dataFolder: string;
  readonly logFile: string;
  /** Runs one statement as the superuser, by default in the database `postgres`. */
  query<Row extends object>(sql: string, values?: readonly unknown[], database?: string): Promise<Row[]>;
  /** Starts it as its folder says: as a standby if it was one. */
  start(): Promise<void>;
  /** Ends it at once, without a checkpoint, as a failure of the machine would. */
  kill(): Promise<void>;
  /** Stops it in an orderly way: connected standbys have received everything. */
  stop(): Promise<void>;
  /** The process id of the postmaster. */
  pid(): Promise<number>;
};

/** Durability isn't tested here: nothing but a standby outlives a killed server. */
const settings: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'replica',
  hot_standby: 'on',
  hot_standby_feedback: 'off',
  wal_keep_size: '1GB',
  max_wal_size: '2GB',
  wal_receiver_status_interval: '1s',
  wal_retrieve_retry_interval: '100ms',
  timezone: 'UTC',
};

const clusterOptions = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--no-instructions',
  '--no-sync',
];

export type Place = { readonly programs: Programs; readonly folder: string; readonly name: string };

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A server that runs already. */
type Running = Pick<Server, 'dataFolder' | 'logFile'> & { readonly port: number };

/**
 * The server in `<folder>/<name>/postgres-<major>`, which is where the cleanup watcher of the tests looks, or
 * the one that is `running` elsewhere.
 */
export async function describeServer(
  { programs, folder, name }: Place,
  password: string,
  running?: Running,
): Promise<Server> {
  const dataFolder = running?.dataFolder ?? path.join(folder, name, `postgres-${programs.major}`);
  const logFile = running?.logFile ?? path.join(folder, name, 'log');
  const port = running?.port ?? (await findStablePort());
  const connection = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres', password };
  const pid = async () =>
    Number.parseInt(await readFile(path.join(dataFolder, 'postmaster.pid'), 'utf8').catch(() => ''), 10);
  const query: Server['query'] = async <Row extends object>(
    sql: string,
    values: readonly unknown[] = [],
    database = 'postgres',
  ) => {
    const client = new Client({ ...connection, database, connectionTimeoutMillis: 10_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.end();
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const server = await pid();
    if (Number.isNaN(server)) return;
    process.kill(server, signal);
    await until(async () => (isAlive(server) ? undefined : true));
  };
  const start = async () => {
    const log = await open(logFile, 'a', 0o600);
    const from = (await log.stat()).size;
    const args = ['-D', dataFolder, '-c', `port=${connection.port}`];
    const child = spawn(programs.postgres, args, {
      ...childOptions(programs.account),
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    child.unref();
    await until(async () => {
      if (child.exitCode !== null)
        throw new Error(`PostgreSQL did not start: ${(await readFile(logFile)).subarray(from).toString()}`);
      return query('select 1').catch(() => undefined);
    });
    hasStarted = true;
  };
  let hasStarted = running !== undefined;
  return {
    name,
    connection,
    dataFolder,
    logFile,
    query,
    pid,
    start: async () => {
      // Another test run may have taken the port since it was found free; afterwards clients know it.
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await start();
        } catch (error) {
          if (hasStarted || attempt === 5 || !String(error).includes('Address already in use')) throw error;
          connection.port = await findStablePort();
        }
      }
    },
    // SIGQUIT: an immediate shutdown, which ends the backends as well.
    kill: () => end('SIGQUIT'),
    stop: () => end('SIGINT'),
  };
}

/** Creates the folder that holds the server's data folder, and gives it to the user that runs PostgreSQL. */
async function createHome({ programs, folder, name }: Place): Promise<void> {
  const home = path.join(folder, name);
  await mkdir(home, { mode: 0o700 });
  if (programs.account) await chown(home, programs.account.uid, programs.account.gid);
}

/**
 * Creates a cluster, starts it as a primary, and returns it. Rejects with the output of the failing program.
 */
export async function startPrimary(place: Place, given: Record<string, string>): Promise<Server> {
  const { programs } = place;
  const password = randomBytes(18).toString('base64url');
  const server = await describeServer(place, password);
  await createHome(place);
  const passwordFile = path.join(place.folder, place.name, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (programs.account) await chown(passwordFile, programs.account.uid, programs.account.gid);
  const authentication = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, '-U', 'postgres'];
  await runProgram(
    programs.initdb,
    ['-D', server.dataFolder, ...authentication, ...clusterOptions],
    programs.account,
  );
  const lines = Object.entries({ ...settings, ...given }).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(path.join(server.dataFolder, 'postgresql.conf'), lines.join(''));
  await server.start();
  return server;
}

/**
 * What a standby connects with; its `application_name` is its name in `synchronous_standby_names` and
 * pg_stat_replication.
 */
export const buildConninfo = ({ connection }: Server, standby: string): string =>
  `host=${connection.host} port=${connection.port} user=${connection.user} password=${connection.password} application_name=${standby}`;

/** Starts it when its files belong to the user that runs PostgreSQL. */
async function startOwn({ programs: { account } }: Place, server: Server): Promise<void> {
  if (account)
    await runProgram('/bin/chown', ['-R', `${account.uid}:${account.gid}`, server.dataFolder], undefined);
  await runProgram('/bin/chmod', ['-R', 'u=rwX,go=', server.dataFolder], undefined);
  await server.start();
}

/**
 * Copies the running primary, starts the copy as a standby of it, and returns it. Settings and password are
 * the primary's.
 */
export async function startStandby(place: Place, primary: Server): Promise<Server> {
  const server = await describeServer(place, primary.connection.password);
  await createHome(place);
  const client = new Client(primary.connection);
  await client.connect();
  try {
    // Both calls need the same session.
    await client.query("select pg_backup_start('standby', fast => true)");
    const left =
      'postmaster.pid postmaster.opts pg_wal pg_replslot postgresql.auto.conf standby.signal'.split(' ');
    const filter = (file: string) => !left.includes(path.relative(primary.dataFolder, file));
    await cp(primary.dataFolder, server.dataFolder, { recursive: true, filter, force: true });
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    await writeFile(path.join(server.dataFolder, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
  for (const name of ['pg_wal', 'pg_wal/archive_status', 'pg_wal/summaries', 'pg_replslot'])
    await mkdir(path.join(server.dataFolder, name));
  await writeFile(
    path.join(server.dataFolder, 'postgresql.auto.conf'),
    `primary_conninfo = '${buildConninfo(primary, server.name)}'\n`,
  );
  await writeFile(path.join(server.dataFolder, 'standby.signal'), '');
  await startOwn(place, server);
  return server;
}

/** Starts the server of a data folder that `fill` makes, with this password of the superuser. */
export async function startFilled(
  place: Place,
  password: string,
  fill: (dataFolder: string) => Promise<void>,
): Promise<Server> {
  const server = await describeServer(place, password);
  await createHome(place);
  await fill(server.dataFolder);
  await startOwn(place, server);
  return server;
}

/** Removes a stopped server's files. */
export async function removeServer(server: Server): Promise<void> {
  await rm(path.dirname(server.dataFolder), { recursive: true, force: true });
}
