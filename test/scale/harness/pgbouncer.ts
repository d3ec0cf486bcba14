// PgBouncer between the service and PostgreSQL, where the program is installed (Debian: apt-get install
// pgbouncer).
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { findPrograms } from '../../../src/db/embedded/programs.ts';
import type { TestServer } from '../../setup/global.ts';
import { startOptionDroppingProxy } from '../../setup/option-dropping-proxy.ts';
import { findStablePort } from '../../setup/stable-port.ts';
import { until } from '../../setup/until.ts';

/** Debian installs it in a folder that only root has in PATH. */
const candidates = ['pgbouncer', '/usr/sbin/pgbouncer'];
const found = candidates
  .map((program) => ({
    program,
    version: /PgBouncer (\d+)\.(\d+)/.exec(String(spawnSync(program, ['--version']).stdout ?? '')),
  }))
  .find(({ version }) => version !== null);

const [, major = '', minor = ''] = found?.version ?? [];
/** Undefined where the program isn't installed. */
export const pgBouncerVersion = found === undefined ? undefined : `${major}.${minor}`;
/** Statements that were prepared by name survive a transaction since 1.21. */
const canKeepPrepared = Number(major) > 1 || Number(minor) >= 21;

export type Login = { readonly user: string; readonly password: string };
export type PgBouncer = {
  readonly connection: { readonly host: string; readonly port: number; readonly database: string };
  readonly keepsPrepared: boolean;
  /** Runs a command of its console, such as RECONNECT. */
  command(sql: string): Promise<void>;
  /** Ends it at once and starts it again at the same address. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

const consoleLogin = { user: 'console', password: 'for-the-console' };

type Target = Pick<TestServer, 'host' | 'port' | 'database'>;

function settingsFor(
  server: Target,
  port: number,
  folder: string,
  given: Readonly<Record<string, string>>,
): string {
  const settings: Record<string, string> = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: path.join(folder, 'users'),
    admin_users: consoleLogin.user,
    pool_mode: 'transaction',
    default_pool_size: '8',
    server_tls_sslmode: 'disable',
    server_login_retry: '1',
    ...(canKeepPrepared && { max_prepared_statements: '200' }),
    ...given,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  return `[databases]\n${server.database} = host=${server.host} port=${server.port} dbname=${server.database}\n[pgbouncer]\n${lines.join('')}`;
}

/**
 * Starts it in front of one database of the server, for these logins. `settings` are those of its section
 * [pgbouncer].
 */
export async function startPgBouncer(
  server: TestServer,
  logins: readonly Login[],
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  if (found === undefined) throw new Error('PgBouncer is not installed');
  // Only the user of the test run can open the server's socket.
  const forward = await startOptionDroppingProxy(server, []);
  const target = { host: forward.host, port: forward.port, database: server.database };
  const { account } = await findPrograms(() => undefined);
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-pgbouncer-'));
  const port = await findStablePort();
  const files = {
    users: [...logins, consoleLogin].map(({ user, password }) => `"${user}" "${password}"\n`).join(''),
    'pgbouncer.ini': settingsFor(target, port, folder, settings),
  };
  await chmod(folder, 0o755);
  for (const [name, text] of Object.entries(files)) {
    await writeFile(path.join(folder, name), text, { mode: 0o600 });
    if (account) await chown(path.join(folder, name), account.uid, account.gid);
  }
  const connection = { host: '127.0.0.1', port, database: server.database };
  let child: ChildProcess | undefined;
  const command = async (sql: string): Promise<void> => {
    const client = new Client({ ...connection, ...consoleLogin, database: 'pgbouncer' });
    client.on('error', () => undefined);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  const start = async (): Promise<void> => {
    const started = spawn(found.program, [path.join(folder, 'pgbouncer.ini')], {
      ...account,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    let output = '';
    started.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`PgBouncer did not start: ${output}`);
      return command('show version').then(
        () => true,
        () => undefined,
      );
    });
  };
  const end = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    connection,
    keepsPrepared: canKeepPrepared && settings['max_prepared_statements'] !== '0',
    command,
    restart: async () => {
      await end();
      await start();
    },
    stop: async () => {
      await end();
      forward.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
