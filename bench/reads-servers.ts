// The servers of the read benchmark, each in its own process: the service as `npm start` runs it, and the
// baseline server, the smallest that can answer the same requests: node:http and pg, with the service's own
// SQL as prepared statements and a pool of the same size.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { type DatabaseAddress, poolConfig } from '../src/db/connect.ts';

export type RunningServer = { readonly pid: number; readonly url: string; stop(): Promise<void> };

/** Connections of the baseline server; equal to those the service has for public reads. */
const poolSize = 8;

async function terminate(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * The first response, with any status, of a service that is starting. Rejects when its process ends before
 * that.
 */
async function waitForFirstResponse(
  url: string,
  headers: Readonly<Record<string, string>>,
  ended: () => boolean,
): Promise<Response> {
  for (;;) {
    if (ended()) throw new Error('The service ended before its first response');
    try {
      return await fetch(url, { headers });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

export type StartOptions = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** A file descriptor for the log. */
  readonly log?: number;
  /** The request that is repeated until the service responds; the response must be 2xx. */
  readonly firstRequest?: { readonly path: string; readonly headers: Readonly<Record<string, string>> };
};

/**
 * Starts the whole service over the running database in `folder`; its log is written, and discarded by default.
 * `startedMs` is the time from the start of the process to the complete first response. Rejects when that
 * response isn't 2xx.
 */
export async function startService(
  folder: string,
  options: StartOptions = {},
): Promise<RunningServer & { readonly startedMs: number }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const beforeMs = performance.now();
  const child = spawn(process.execPath, [...(options.flags ?? []), 'scripts/run.mjs', 'serve'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: folder,
      PORT: String(port),
      DATA_POOL_SIZE: '10',
      RATE_LIMIT_PER_MINUTE: '100000',
      ...options.environment,
    },
    stdio: ['ignore', options.log ?? 'ignore', 'inherit'],
  });
  const { path, headers } = options.firstRequest ?? { path: '/api/platform/v1/openapi', headers: {} };
  const response = await waitForFirstResponse(`${url}${path}`, headers, () => child.exitCode !== null);
  if (!response.ok) throw new Error(`The first response was ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
  const startedMs = performance.now() - beforeMs;
  if (child.pid === undefined) throw new Error('The process did not start');
  return { pid: child.pid, url, startedMs, stop: () => terminate(child) };
}

export type BaselineStatement = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
};
export type BaselineConfig = {
  readonly address: DatabaseAddress;
  /** Keyed by path. */
  readonly lists: Readonly<
    Record<string, { readonly statement: BaselineStatement; readonly page: number; readonly total: number }>
  >;
  /** The last value is the record's id. */
  readonly record: BaselineStatement;
};

export async function startBaseline(config: BaselineConfig): Promise<RunningServer> {
  const child = fork(fileURLToPath(import.meta.url), ['baseline'], { execArgv: process.execArgv });
  const started = once(child, 'message') as Promise<[{ url: string }]>;
  child.send(config);
  const [{ url }] = await started;
  if (child.pid === undefined) throw new Error('The process did not start');
  return { pid: child.pid, url, stop: () => terminate(child) };
}

type Row = { records?: string; record?: string };

async function serveBaseline({ address, lists, record }: BaselineConfig): Promise<void> {
  const pool = new Pool(poolConfig(address, 'portal_service', { max: poolSize }));
  const json = { 'Content-Type': 'application/json; charset=utf-8' };
  const query = async ({ name, text, values }: BaselineStatement): Promise<Row> =>
    (await pool.query<Row>({ name, text, values: [...values] })).rows[0] ?? {};
  const readBody = async (path: string): Promise<string> => {
    const list = lists[path];
    if (list === undefined)
      return `{"data":${(await query({ ...record, values: [...record.values.slice(0, -1), path.slice(path.lastIndexOf('/') + 1)] })).record}}`;
    const { records } = await query(list.statement);
    return `{"data":[${records}],"pagination":{"total":${list.total},"page":${list.page},"pageSize":25,"totalPages":${Math.ceil(list.total / 25)}}}`;
  };
  const server = createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
    readBody(req.url ?? '').then(
      (text) => {
        const body = Buffer.from(text);
        res.writeHead(200, { ...json, 'Content-Length': body.length });
        res.end(body);
      },
      (error: unknown) => {
        res.writeHead(500);
        res.end(String(error));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.on('disconnect', () => process.exit(0));
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

if (process.argv[2] === 'baseline')
  process.once('message', (config) => void serveBaseline(config as BaselineConfig));

/**
 * Parses `npm run bench -- <name> [records] [rounds] [seconds per measurement]`; exits with code 2 when an
 * argument is invalid.
 */
export function parseArguments(
  name: string,
  given: readonly string[],
): { records: number; rounds: number; ms: number } {
  const [records = '1000000', rounds = '5', seconds = '2'] = given;
  if (!/^\d{5,7}$/.test(records) || !/^[1-9]\d?$/.test(rounds) || !/^\d{1,2}(\.\d)?$/.test(seconds)) {
    console.error(`Usage: npm run bench -- ${name} [records] [rounds] [seconds per measurement]`);
    process.exit(2);
  }
  return { records: Number(records), rounds: Number(rounds), ms: Number(seconds) * 1_000 };
}
