// Installs two general database APIs (Platformatic, Directus) into a folder of their own and starts each over
// the table of the read benchmark, in its own process that listens on loopback only.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type LoadResult, measureLoad, type RequestSet } from './reads-load.ts';
import type { Database } from './workspace.ts';

const run = promisify(execFile);
const installTimeoutMs = 1_200_000;
const startTimeoutMs = 120_000;

const files: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({
    private: true,
    dependencies: { '@platformatic/db': '3.67.0', directus: '12.4.0' },
    // A native module that only scripts in Directus flows use; it has no build for this Node.js. Replaced by
    // an empty package.
    overrides: { 'isolated-vm': 'file:./isolated-vm' },
  }),
  'isolated-vm/package.json': JSON.stringify({ name: 'isolated-vm', version: '6.0.2', main: 'index.js' }),
  'isolated-vm/index.js': 'module.exports = {};\n',
  // In a container Platformatic ignores its hostname option and listens on every address, hence the patched
  // `listen`.
  'platformatic.mjs': `import { Server } from 'node:net';
import { create } from '@platformatic/db';
const { listen } = Server.prototype;
Server.prototype.listen = function (options, ...rest) {
  return listen.call(this, typeof options === 'object' && 'port' in options ? { ...options, host: '127.0.0.1' } : options, ...rest);
};
const { connectionString, schema, port } = JSON.parse(process.argv[2]);
const server = { hostname: '127.0.0.1', port, logger: { level: 'error' } };
const app = await create(import.meta.dirname, { server, db: { connectionString, schema: [schema], poolSize: 8, graphql: false, openapi: true, events: false }, watch: false });
await app.start({ listen: true });
`,
};

/** Rejects when npm can't install a package. */
export async function installPeers(folder: string): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  await run('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder, timeout: installTimeoutMs });
}

export type PeerOptions = {
  readonly folder: string;
  readonly database: Database['adminAddress'];
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly string[];
  readonly lists: readonly { readonly status: string; readonly date: string; readonly page: number }[];
  readonly ids: readonly number[];
};
export type Peer = {
  readonly pid: number;
  readonly list: RequestSet;
  readonly single: RequestSet;
  stop(): Promise<void>;
};

async function startPeer(
  folder: string,
  args: readonly string[],
  environment: Record<string, string>,
  probe: string,
): Promise<ChildProcess & { pid: number }> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...environment },
    stdio: 'ignore',
  });
  for (const untilMs = performance.now() + startTimeoutMs; ; ) {
    const response = await fetch(probe).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok === true && child.pid !== undefined) return Object.assign(child, { pid: child.pid });
    if (child.exitCode !== null || performance.now() > untilMs)
      throw new Error(`${args[0]} did not start within ${startTimeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const createStop = (child: ChildProcess) => async (): Promise<void> => {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

const camel = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export async function startPlatformatic(
  { folder, database, schema, columns, lists, ids }: PeerOptions,
  port: number,
): Promise<Peer> {
  const url = `http://127.0.0.1:${port}`;
  const connectionString = `postgres://${database.user}:${database.password}@/${database.database}?host=${encodeURIComponent(database.host)}&port=${database.port}`;
  const child = await startPeer(
    folder,
    ['platformatic.mjs', JSON.stringify({ connectionString, schema, port })],
    {},
    `${url}/documentation/json`,
  );
  const { paths } = z
    .object({ paths: z.record(z.string(), z.unknown()) })
    .parse(await (await fetch(`${url}/documentation/json`)).json());
  const base = Object.keys(paths)
    .find((name) => /invoice1\/?$/i.test(name))
    ?.replace(/\/$/, '');
  if (base === undefined) throw new Error('Platformatic does not serve the table');
  const fields = ['id', ...columns.map(camel)].join(',');
  return {
    pid: child.pid,
    list: {
      url,
      headers: {},
      paths: lists.map(
        ({ status, date, page }) =>
          `${base}/?where.lStatus.eq=${encodeURIComponent(status)}&where.fTrandate.gt=${date}&orderby.fTrandate=desc&limit=25&offset=${(page - 1) * 25}&totalCount=true&fields=${fields}`,
      ),
    },
    single: { url, headers: {}, paths: ids.map((id) => `${base}/${id}`) },
    stop: createStop(child),
  };
}

export async function startDirectus(
  { folder, database, schema, table, columns, lists, ids }: PeerOptions,
  port: number,
): Promise<Peer> {
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    HOST: '127.0.0.1',
    PORT: String(port),
    DB_CLIENT: 'pg',
    DB_HOST: database.host,
    DB_PORT: String(database.port),
    DB_USER: database.user,
    DB_PASSWORD: database.password ?? '',
    DB_DATABASE: database.database,
    DB_SEARCH_PATH: `array:${schema},public`,
    DB_POOL__MAX: '8',
    SECRET: 'the secret of a benchmark database that is discarded',
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: 'thrown-away',
    ADMIN_TOKEN: 'bench',
    TELEMETRY: 'false',
    LOG_LEVEL: 'error',
  };
  const program = 'node_modules/directus/cli.js';
  await run(process.execPath, [program, 'bootstrap'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...environment },
    timeout: startTimeoutMs,
  });
  const child = await startPeer(folder, [program, 'start'], environment, `${url}/server/ping`);
  const headers = { Authorization: 'Bearer bench' };
  const fields = ['id', ...columns].join(',');
  return {
    pid: child.pid,
    list: {
      url,
      headers,
      paths: lists.map(
        ({ status, date, page }) =>
          `/items/${table}?filter[l_status][_eq]=${encodeURIComponent(status)}&filter[f_trandate][_gt]=${date}&sort=-f_trandate,-id&limit=25&page=${page}&meta=filter_count&fields=${fields}`,
      ),
    },
    single: { url, headers, paths: ids.map((id) => `/items/${table}/${id}`) },
    stop: createStop(child),
  };
}

export const loadAt16 = (pid: number, requestSet: RequestSet, ms: number): Promise<LoadResult> =>
  measureLoad(pid, requestSet, 16, ms);
