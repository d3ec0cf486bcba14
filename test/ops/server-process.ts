// Runs the service as an operator would: in a process of its own, on a database of its own in the PostgreSQL
// of the test run.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { templateName } from '../setup/global.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';

export type OpsDatabase = TestDatabase & {
  /** For DATABASE_URL. */
  readonly url: string;
  /** For DATA_DIR; processes that share it use the same encryption key. */
  readonly folder: string;
};

/** With null: an empty database, which a server migrates; its `ctx` can only be used after that. */
export async function opsDatabase(from: string | null = templateName): Promise<OpsDatabase> {
  const database = await testDatabase();
  if (from === null) await empty(database.address.database);
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-ops-'));
  return {
    ...database,
    folder,
    url: databaseUrl(database.address),
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function empty(name: string): Promise<void> {
  const admin = openKnex(inject('pg'), null, 1);
  await admin.raw(`drop database ${name} with (force)`);
  await admin.raw(`create database ${name}`);
  await admin.destroy();
}

type Environment = Readonly<Record<string, string>>;
export type OpsSite = OpsDatabase & {
  /** Starts a server on it, which is killed after the tests of the file if it still runs. */
  start(environment?: Environment, root?: string): Promise<ServingProcess>;
  /** Runs a command on it. */
  run(args: readonly string[], environment?: Environment): Promise<Ran>;
  /** Runs a statement as the superuser. */
  query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
};

/** `opsDatabase` for one test file, at its top level: it is there when the file's own hooks and tests run. */
export function useOpsDatabase(from?: null): OpsSite {
  const site = {} as OpsSite;
  const servers: ServingProcess[] = [];
  beforeAll(async () => {
    const database = await opsDatabase(from);
    const start: OpsSite['start'] = async (environment, root) => {
      const server = await startServer(database, environment, root);
      servers.push(server);
      return server;
    };
    const run: OpsSite['run'] = (args, environment) => runCommand(database, args, environment);
    const query: OpsSite['query'] = <Row extends object>(sql: string, values: readonly unknown[] = []) =>
      asSuperuser(database.address, async (client) => (await client.query<Row>(sql, [...values])).rows);
    Object.assign(site, database, { start, run, query });
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await site.close();
  });
  return site;
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };
export type ServerProcess = {
  readonly child: ChildProcess;
  readonly output: () => { readonly stdout: string; readonly stderr: string };
  /** The complete lines of its log so far. */
  readonly lines: () => LogLine[];
  /** Resolves with the first matching line of the log. Rejects with an Error when the process ends before. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Resolves when it has printed this text. Rejects with an Error when the process ends before. */
  seen(text: string): Promise<unknown>;
  /** The exit code; null when a signal ended the process. */
  readonly ended: Promise<number | null>;
  /** Sends SIGTERM, and waits for the end. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, and waits for the end. */
  kill(): Promise<unknown>;
};

export type ServingProcess = ServerProcess & { readonly url: string };

/** `root`: of the version to run; by default this one. */
export function startProcess(
  { url, folder }: Pick<OpsDatabase, 'url' | 'folder'>,
  args: readonly string[] = ['serve'],
  environment: Environment = {},
  root = process.cwd(),
): ServerProcess {
  const own = { DATA_DIR: folder, DATABASE_URL: url, PORT: '0', LOG_LEVEL: 'info' };
  return startScript(args, root, { ...own, ...environment }, root);
}

/** `npm run` with these arguments, in the folder `cwd`. */
export function startScript(
  args: readonly string[],
  cwd: string,
  environment: Environment = {},
  root = process.cwd(),
): ServerProcess {
  const child = spawn(process.execPath, [path.join(root, 'scripts/run.mjs'), ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const signal = (name: NodeJS.Signals) => {
    child.kill(name);
    return ended;
  };
  const lines = (): LogLine[] =>
    stdout
      .slice(0, stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  const find = <T>(look: () => T | undefined | false, withinMs?: number): Promise<T> =>
    until(async () => {
      const found = look();
      if ((found === undefined || found === false) && (child.exitCode !== null || child.signalCode !== null))
        throw new Error(`it ended: ${stdout}${stderr}`);
      return found;
    }, withinMs);
  return {
    child,
    output: () => ({ stdout, stderr }),
    lines,
    line: (fits) => find(() => lines().find(fits)),
    // A first start takes long on a busy machine.
    seen: (text) => find(() => `${stdout}${stderr}`.includes(text), 390_000),
    ended,
    stop: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
  };
}

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export async function runCommand(...given: Parameters<typeof startProcess>): Promise<Ran> {
  const command = startProcess(...given);
  return { code: await command.ended, ...command.output() };
}

/** Starts a server and waits until it listens. The caller must kill or stop it. */
export async function startServer(
  database: Pick<OpsDatabase, 'url' | 'folder'>,
  environment: Environment = {},
  root?: string,
): Promise<ServingProcess> {
  const running = startProcess(database, ['serve'], environment, root);
  const { url } = await running.line(({ msg }) => msg === 'listening');
  return { ...running, url: String(url) };
}
