// The servers of the read bench, each in a process of its own: the service as `npm start` runs it, and the least that could answer
// the same requests: node:http and pg, with the service's own SQL, prepared, over a pool of the same size.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { type Address, poolConfig } from '../src/db/connect.ts';

export type Running = { readonly pid: number; readonly url: string; stop(): Promise<void> };

/** The least server's, and of the service's the part that public reads take. */
const poolSize = 8;
const flags = ['--max-semi-space-size=4', '--heap-growing-percent=30'];

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The first answer, whatever it says, from a service that is just starting. */
async function firstAnswer(url: string, headers: Readonly<Record<string, string>>, ended: () => boolean): Promise<Response> {
  for (;;) {
    if (ended()) throw new Error('the service did not start');
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
  /** Asked first: path and headers. */
  readonly first?: { readonly path: string; readonly headers: Readonly<Record<string, string>> };
};

/** The whole service over the running database in `folder`; its log is written and thrown away. */
export async function startService(folder: string, options: StartOptions = {}): Promise<Running & { readonly startedMs: number }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const beforeMs = performance.now();
  const child = spawn(process.execPath, [...flags, ...(options.flags ?? []), 'scripts/run.mjs', 'serve'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: folder,
      PORT: String(port),
      DATA_POOL_SIZE: '10',
      RATE_LIMIT_PER_MINUTE: '100000',
      ...options.environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { path, headers } = options.first ?? { path: '/api/platform/v1/openapi', headers: {} };
  const answer = await firstAnswer(`${url}${path}`, headers, () => child.exitCode !== null);
  if (!answer.ok) throw new Error(`the first answer was ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
  const startedMs = performance.now() - beforeMs;
  if (child.pid === undefined) throw new Error('no process');
  return { pid: child.pid, url, startedMs, stop: () => end(child) };
}

export type MinimalStatement = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };
export type MinimalOrder = {
  readonly address: Address;
  /** By path. */
  readonly lists: Readonly<Record<string, { readonly statement: MinimalStatement; readonly page: number; readonly total: number }>>;
  /** The last value is the record's id. */
  readonly record: MinimalStatement;
};

export async function startMinimal(order: MinimalOrder): Promise<Running> {
  const child = fork(fileURLToPath(import.meta.url), ['minimal'], { execArgv: flags });
  const answered = once(child, 'message') as Promise<[{ url: string }]>;
  child.send(order);
  const [{ url }] = await answered;
  if (child.pid === undefined) throw new Error('no process');
  return { pid: child.pid, url, stop: () => end(child) };
}

type Row = { records?: string; record?: string };

async function serveMinimal({ address, lists, record }: MinimalOrder): Promise<void> {
  const pool = new Pool(poolConfig(address, 'portal_service', { max: poolSize }));
  const json = { 'Content-Type': 'application/json; charset=utf-8' };
  const ask = async ({ name, text, values }: MinimalStatement): Promise<Row> =>
    (await pool.query<Row>({ name, text, values: [...values] })).rows[0] ?? {};
  const bodyOf = async (path: string): Promise<string> => {
    const list = lists[path];
    if (list === undefined)
      return `{"data":${(await ask({ ...record, values: [...record.values.slice(0, -1), path.slice(path.lastIndexOf('/') + 1)] })).record}}`;
    const { records } = await ask(list.statement);
    return `{"data":[${records}],"pagination":{"total":${list.total},"page":${list.page},"pageSize":25,"totalPages":${Math.ceil(list.total / 25)}}}`;
  };
  const server = createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
    bodyOf(req.url ?? '').then(
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

if (process.argv[2] === 'minimal') process.once('message', (order) => void serveMinimal(order as MinimalOrder));

/** Of `npm run <script> -- [records] [rounds] [seconds of a measurement]`; ends the process where they mean nothing. */
export function readArguments(script: string, given: readonly string[]): { records: number; rounds: number; ms: number } {
  const [records = '1000000', rounds = '5', seconds = '2'] = given;
  if (!/^\d{5,7}$/.test(records) || !/^[1-9]\d?$/.test(rounds) || !/^\d{1,2}(\.\d)?$/.test(seconds)) {
    console.error(`Usage: npm run ${script} -- [records] [rounds] [seconds of a measurement]`);
    process.exit(2);
  }
  return { records: Number(records), rounds: Number(rounds), ms: Number(seconds) * 1_000 };
}
